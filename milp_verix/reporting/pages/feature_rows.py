"""A result whose input is no image as a table: a row for each feature, signed differences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.records.base import Counterfactual, Result
from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.explanation import Explanation
from milp_verix.records.relevance import Relevance
from milp_verix.reporting.figures.gallery import chosen
from milp_verix.reporting.figures.style import Status, typeset
from milp_verix.reporting.figures.tabular_plot import changes, rows
from milp_verix.reporting.pages.markup import Html, element, joined
from milp_verix.reporting.pages.tables import scrolled
from milp_verix.reporting.words.feature_labels import labels_of
from milp_verix.reporting.words.wording import becomes_text, counted, kept_text, number, outcome_of

_LONGEST_GROUP = 4
_ROLES = {Status.EXPLANATION: "protected", Status.IRRELEVANT: "other"}


def feature_table(result: Result, most: int, name: str) -> Html | None:
    """Return the features of ``result`` with their values, and what counterfactuals change.

    Of an explanation, ``most`` counterfactuals at the most, a column each, and the 40 most
    important features if there are more. ``name`` is that of the table for the ears. None for a
    result without features to show.
    """
    if isinstance(result, Explanation):
        return _explanation(result, most, name)
    if isinstance(result, ContrastiveExplanation) and result.counterfactual is not None:
        return _contrast(result, result.counterfactual, name)
    if isinstance(result, Relevance) and result.counterfactual is not None:
        return _pair(result, result.counterfactual, name)
    return None


def _explanation(result: Explanation, most: int, name: str) -> Html:
    shown = sorted(rows(result), key=lambda row: list(Status).index(row.status))
    labels = labels_of(result)
    features = chosen(result, most, [row.feature for row in shown])
    columns = [changes(result, feature, tuple(shown)) for feature in features]
    heads = [
        joined(
            (
                f"{labels[feature]} ",
                typeset(becomes_text(result, result.counterfactuals[feature])),
            )
        )
        for feature in features
    ]
    body = [
        [
            _value(result, row.feature),
            *(
                _word(result, row.feature, result.counterfactuals[feature], freed)
                or _signed(float(column[place]), freed=freed)
                for column, feature in zip(columns, features, strict=True)
                for freed in [row.feature == feature]
            ),
        ]
        for place, row in enumerate(shown)
    ]
    left = len(result.groups) - len(shown)
    more = element(
        "p", f"and {counted(left, 'feature')} more, less important or not in the explanation"
    )
    table = _table(
        name,
        ["feature", "value", *heads],
        [
            (_status(row.status, labels[row.feature]), cells)
            for row, cells in zip(shown, body, strict=True)
        ],
    )
    return joined((table, more)) if left else table


def _contrast(result: ContrastiveExplanation, found: Counterfactual, name: str) -> Html:
    labels, after = labels_of(result), found.input.reshape(-1)
    before = result.input.reshape(-1)
    body = []
    for feature in result.contrast or ():
        group = list(result.groups[feature])
        difference = after[group].astype(np.float64) - before[group].astype(np.float64)
        strongest = float(difference[np.abs(difference).argmax()])
        word = _word(result, feature, found, freed=False)
        changed = word or _numbers(after[group])
        difference_ = _signed(strongest, freed=True) if word is None else element("td", "")
        cells = [_value(result, feature), changed, difference_]
        body.append((labels[feature], cells))
    return _table(name, ["feature", "value", "counterfactual", "difference"], body)


def _pair(result: Relevance, found: Counterfactual, name: str) -> Html:
    """Return the values of the input, and of two that protected features alone set apart.

    Where a protected feature is necessary, the input is the first of the two.
    """
    labels, freed = labels_of(result), {*result.features}
    others = [(f"decision {outcome_of(result, found)}", found.input)]
    if result.unchanged is not None and result.free:
        same = "same decision" if result.against is None else kept_text(result)
        others.insert(0, (same, result.unchanged))
    heads, points = ["value", *dict(others)], [result.input, *dict(others).values()]
    body = []
    for feature, group in enumerate(result.groups):
        at = [point.reshape(-1)[list(group)] for point in points]
        if feature in freed or any(np.any(one != at[0]) for one in at):
            status = Status.EXPLANATION if feature in freed else Status.IRRELEVANT
            cells = [_value(result, feature, point) for point in points]
            body.append((_status(status, labels[feature], _ROLES[status]), cells))
    return _table(name, ["feature", *heads], body)


def _table(name: str, headings: list[str], body: Sequence[tuple[str, list[Html]]]) -> Html:
    head = element("tr", *(element("th", text, scope="col") for text in headings))
    lines = (element("tr", element("th", label, scope="row"), *cells) for label, cells in body)
    table = element(
        "table",
        element("caption", name, class_="unseen"),
        element("thead", head),
        element("tbody", *lines),
        class_="features",
    )
    return scrolled(name, table)


def _words(result: Result, x: NDArray[Any]) -> tuple[str, ...] | None:
    """Return the values of an input in words, where the user described it; else None."""
    if result.inputs is None or len(result.inputs.features) != len(result.groups):
        return None
    return result.inputs.texts(x.reshape(-1).astype(np.float64))


def _word(result: Result, feature: int, found: Counterfactual, freed: bool) -> Html | None:
    """Return the new value of a feature whose values are words; None for a number."""
    if result.inputs is None or not result.inputs.features[feature].values:
        return None
    before, after = _words(result, result.input), _words(result, found.input)
    if before is None or after is None:
        return None
    kind = "number freed" if freed else "number"
    if before[feature] == after[feature]:
        return element("td", "same", class_=f"{kind} same")
    return element("td", after[feature], class_=kind)


def _value(result: Result, feature: int, point: NDArray[Any] | None = None) -> Html:
    """Return the value of a feature of the input, or of another ``point``."""
    x = result.input if point is None else point
    if (words := _words(result, x)) is not None:
        return element("td", words[feature], class_="number")
    return _numbers(x.reshape(-1)[list(result.groups[feature])])


def _numbers(values: NDArray[Any]) -> Html:
    told = [typeset(number(float(value))) for value in values[:_LONGEST_GROUP]]
    more = ["…"] if len(values) > _LONGEST_GROUP else []
    return element("td", ", ".join(told + more), class_="number")


def _status(status: Status, label: str, told_as: str | None = None) -> Html:
    """Return the label of a feature behind the mark of its status, which is read out."""
    told = element("span", f" ({told_as or status.value})", class_="unseen")
    return element("span", label, told, class_=f"status {status.name.lower()}")


def _signed(change: float, *, freed: bool) -> Html:
    """Return a change with its sign; that of the freed feature is framed."""
    if not change:
        return element("td", "0", class_="number same freed" if freed else "number same")
    kind = "rise" if change > 0 else "fall"
    text = typeset(f"{change:+.3g}")
    return element("td", text, class_=f"number {kind} freed" if freed else f"number {kind}")
