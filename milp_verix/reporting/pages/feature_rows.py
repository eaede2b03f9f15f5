"""A result whose input is no image as a table: a row for each feature, signed differences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.reporting.figures.shown_counterfactuals import chosen
from milp_verix.reporting.figures.style import Status, typeset
from milp_verix.reporting.figures.tabular_plot import changes, rows
from milp_verix.reporting.pages.parts import Cell, PageTable, View
from milp_verix.reporting.words.feature_labels import labels_of
from milp_verix.reporting.words.wording import becomes_text, counted, kept_text, number, outcome_of
from milp_verix.results.records.base import Counterfactual, Result
from milp_verix.results.records.contrast import ContrastiveExplanation
from milp_verix.results.records.explanation import Explanation
from milp_verix.results.records.relevance import Relevance

_LONGEST_GROUP = 4
_ROLES = {Status.EXPLANATION: "protected", Status.IRRELEVANT: "other"}


def feature_view(result: Result, most: int, name: str) -> View:
    """Return the features of ``result`` with their values, and what counterfactuals change.

    Of an explanation, ``most`` counterfactuals at the most, a column each, and the 40 most
    important features if there are more. ``name`` is that of the table for the ears. A result
    without features to show has a note instead.
    """
    if isinstance(result, Explanation):
        return _explanation(result, most, name)
    if isinstance(result, ContrastiveExplanation) and result.counterfactual is not None:
        return _contrast(result, result.counterfactual, name)
    if isinstance(result, Relevance) and result.counterfactual is not None:
        return _pair(result, result.counterfactual, name)
    return View(note="There is nothing to draw.")


def _explanation(result: Explanation, most: int, name: str) -> View:
    shown = sorted(rows(result), key=lambda row: list(Status).index(row.status))
    labels = labels_of(result)
    features = chosen(result, most, [row.feature for row in shown])
    columns = [changes(result, feature, tuple(shown)) for feature in features]
    heads = [
        f"{labels[feature]} {typeset(becomes_text(result, result.counterfactuals[feature]))}"
        for feature in features
    ]
    body = [
        [
            _status(row.status, labels[row.feature]),
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
    left = counted(len(result.groups) - len(shown), "feature")
    more = f"and {left} more, less important or not in the explanation"
    return _view(name, heads, body, more if len(shown) < len(result.groups) else "")


def _contrast(result: ContrastiveExplanation, found: Counterfactual, name: str) -> View:
    labels, after = labels_of(result), found.input.reshape(-1)
    before = result.input.reshape(-1)
    body = []
    for feature in result.contrast or ():
        group = list(result.groups[feature])
        difference = after[group].astype(np.float64) - before[group].astype(np.float64)
        strongest = float(difference[np.abs(difference).argmax()])
        word = _word(result, feature, found, freed=False)
        changed = word or _numbers(after[group])
        difference_ = _signed(strongest, freed=True) if word is None else Cell("")
        body.append([Cell(labels[feature]), _value(result, feature), changed, difference_])
    return _view(name, ["counterfactual", "difference"], body)


def _pair(result: Relevance, found: Counterfactual, name: str) -> View:
    """Return the values of the input, and of two that protected features alone set apart.

    Where a protected feature is necessary, the input is the first of the two.
    """
    labels, freed = labels_of(result), {*result.features}
    others = [(f"decision {outcome_of(result, found)}", found.input)]
    if result.unchanged is not None and result.free:
        same = "same decision" if result.against is None else kept_text(result)
        others.insert(0, (same, result.unchanged))
    heads, points = [*dict(others)], [result.input, *dict(others).values()]
    body = []
    for feature, group in enumerate(result.groups):
        at = [point.reshape(-1)[list(group)] for point in points]
        if feature in freed or any(np.any(one != at[0]) for one in at):
            status = Status.EXPLANATION if feature in freed else Status.IRRELEVANT
            cells = [_value(result, feature, point) for point in points]
            body.append([_status(status, labels[feature], _ROLES[status]), *cells])
    return _view(name, heads, body)


def _view(name: str, heads: list[str], body: Sequence[Sequence[Cell]], note: str = "") -> View:
    heads = ["feature", "value", *heads]
    return View(table=PageTable(name, heads, body, len(heads), "features"), note=note)


def _words(result: Result, x: NDArray[Any]) -> tuple[str, ...] | None:
    """Return the values of an input in words, where the user described it; else None."""
    if result.inputs is None or len(result.inputs.features) != len(result.groups):
        return None
    return result.inputs.texts(x.reshape(-1).astype(np.float64))


def _word(result: Result, feature: int, found: Counterfactual, freed: bool) -> Cell | None:
    """Return the new value of a feature whose values are words; None for a number."""
    if result.inputs is None or not result.inputs.features[feature].values:
        return None
    before, after = _words(result, result.input), _words(result, found.input)
    if before is None or after is None:
        return None
    kind = "number freed" if freed else "number"
    if before[feature] == after[feature]:
        return Cell("same", f"{kind} same")
    return Cell(after[feature], kind)


def _value(result: Result, feature: int, point: NDArray[Any] | None = None) -> Cell:
    """Return the value of a feature of the input, or of another ``point``."""
    x = result.input if point is None else point
    if (words := _words(result, x)) is not None:
        return Cell(words[feature], "number")
    return _numbers(x.reshape(-1)[list(result.groups[feature])])


def _numbers(values: NDArray[Any]) -> Cell:
    told = [typeset(number(float(value))) for value in values[:_LONGEST_GROUP]]
    more = ["…"] if len(values) > _LONGEST_GROUP else []
    return Cell(", ".join(told + more), "number")


def _status(status: Status, label: str, told_as: str | None = None) -> Cell:
    """Return the label of a feature behind the mark of its status, which is read out."""
    return Cell(label, status=status.name.lower(), unseen=told_as or status.value)


def _signed(change: float, *, freed: bool) -> Cell:
    """Return a change with its sign; that of the freed feature is framed."""
    if not change:
        return Cell("0", "number same freed" if freed else "number same")
    kind = "rise" if change > 0 else "fall"
    text = typeset(f"{change:+.3g}")
    return Cell(text, f"number {kind} freed" if freed else f"number {kind}")
