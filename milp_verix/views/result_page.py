"""The page of a result, with its pictures or its features as a table; HTML for notebooks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted, exact, nearest
from milp_verix.base.tolerances import Tolerances
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.comparison import Comparison
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.json_format import StoredResult
from milp_verix.results.ranges import Ranges, RobustnessRadii
from milp_verix.views.feature_status import Status, chosen
from milp_verix.views.labels import labels_of, marked_words
from milp_verix.views.pictures import pictures
from milp_verix.views.plot import figure_of
from milp_verix.views.rendering import Cell, PageTable, View, drawn, png, rendered
from milp_verix.views.result_words import facts_of, outcome, title
from milp_verix.views.sentences import changes_listed
from milp_verix.views.style import Drawing, typeset
from milp_verix.views.tabular_plot import rows
from milp_verix.views.text_tables import TEXTS, comparison_heads, comparison_rows, remarks
from milp_verix.views.wording import becomes_text, kept_text, named_prediction

_LONGEST_GROUP = 4
_ROLES = {Status.EXPLANATION: "protected", Status.IRRELEVANT: "other"}


def feature_view(result: Result, most: int, name: str) -> View:
    """Return the features of ``result`` with their values, and what counterfactuals change.

    Of an explanation, ``most`` counterfactuals at the most, each beside the feature that it frees,
    and the 40 most important features if there are more. ``name`` is that of the table for the
    ears. A result without features to show has a note instead.
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
    labels, points = labels_of(result), result.counterfactuals
    features = {*chosen(result, most, [row.feature for row in shown])}
    outcomes = {named_prediction(result, points[feature].prediction) for feature in features}
    one = typeset(outcomes.pop()) if len(outcomes) == 1 else None
    body = []
    for row in shown:
        text = "not decided" if row.status is Status.UNDECIDED else ""
        if row.feature in features:
            text = _without(result, row.feature, points[row.feature], named=one is None)
        status = _status(row.status, labels[row.feature])
        body.append([status, _value(result, row.feature), Cell(text, "told")])
    head = f"becomes {one} with" if one else "becomes another prediction with"
    notes = []
    if left := len(result.groups) - len(shown):
        less = "later in the order or not in the explanation"
        notes.append(f"and {counted(left, 'feature')} more, {less}")
    if len(features) < len(points):
        notes.append(f"{len(features)} of {counted(len(points), 'counterfactual')} are shown")
    return _view(name, [head] if features else ["open"], body, "; ".join(notes), "features changes")


def _without(result: Explanation, feature: int, found: Counterfactual, *, named: bool) -> str:
    """Return ``"→ cook, with age 40 → 45 years"``; ``named`` says that the outcome is stated."""
    before, after = result.input.reshape(-1), found.input.reshape(-1)
    different = before != after
    moved = [one for one, group in enumerate(result.groups) if different[[*group]].any()]
    labels = labels_of(result)
    text = f"→ {_text(result, feature, found.input)}" if feature in moved else ""
    others = [
        f"{labels[one]} {_text(result, one, result.input)} → {_text(result, one, found.input)}"
        for one in moved
        if one != feature
    ]
    if others:
        text += f"{', ' * bool(text)}with {changes_listed(others)}"
    return f"{text}: {typeset(becomes_text(result, found))}" if named else text


def _contrast(result: ContrastiveExplanation, found: Counterfactual, name: str) -> View:
    labels, after = labels_of(result), found.input.reshape(-1)
    before = result.input.reshape(-1)
    body = []
    for feature in result.contrast or ():
        group = list(result.groups[feature])
        difference = after[group].astype(np.float64) - before[group].astype(np.float64)
        strongest = float(difference[np.abs(difference).argmax()])
        word = _word(result, feature, found)
        changed = word or _numbers(after[group])
        difference_ = _signed(strongest) if word is None else Cell("")
        body.append([Cell(labels[feature]), _value(result, feature), changed, difference_])
    return _view(name, ["counterfactual", "difference"], body)


def _pair(result: Relevance, found: Counterfactual, name: str) -> View:
    """Return the values of the input, and of two that protected features alone set apart.

    Where a protected feature is necessary, the input is the first of the two.
    """
    labels, freed = labels_of(result), {*result.features}
    others = [(f"decision {named_prediction(result, found.prediction)}", found.input)]
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


def _view(
    name: str,
    heads: list[str],
    body: Sequence[Sequence[Cell]],
    note: str = "",
    kind: str = "features",
) -> View:
    heads = ["feature", "value", *heads]
    return View(table=PageTable(name, heads, body, len(heads), kind), note=note)


def _word(result: Result, feature: int, found: Counterfactual) -> Cell | None:
    """Return the new value of a feature whose values are words; None for a number."""
    if result.inputs is None or not result.inputs.features[feature].values:
        return None
    before, after = (_text(result, feature, x) for x in (result.input, found.input))
    return Cell("same", "number same") if before == after else Cell(after, "number")


def _value(result: Result, feature: int, point: NDArray[Any] | None = None) -> Cell:
    """Return the value of a feature of the input, or of another ``point``."""
    x = result.input if point is None else point
    return Cell(_text(result, feature, x), "number")


def _text(result: Result, feature: int, point: NDArray[Any]) -> str:
    """Return the value of a feature at a point, in words or in numbers as people write them."""
    if result.inputs is not None:
        return result.inputs.texts(point)[feature]
    return _numbers(point.reshape(-1)[[*result.groups[feature]]]).text


def _numbers(values: NDArray[Any]) -> Cell:
    parts = [typeset(exact(value)) for value in values[:_LONGEST_GROUP]]
    more = ["…"] if len(values) > _LONGEST_GROUP else []
    return Cell(", ".join(parts + more), "number")


def _status(status: Status, label: str, spoken: str | None = None) -> Cell:
    """Return the label of a feature behind the mark of its status, which is read out."""
    return Cell(label, status=status.name.lower(), unseen=spoken or status.value)


def _signed(change: float) -> Cell:
    """Return a change with its sign, in a frame."""
    if not change:
        return Cell("0", "number same freed")
    text = typeset(f"{'+' * (change > 0)}{nearest(change, 3)}")
    return Cell(text, f"number {'rise' if change > 0 else 'fall'} freed")


def view(result: Result, most: int, name: str, *, sensitivity: bool = False) -> View:
    """Return the pictures of ``result``, or the table of its features, called ``name``.

    ``most`` counterfactuals at the most, and the ``sensitivity`` of pixels on request. A result
    whose numbers are damaged is stated in words.
    """
    if isinstance(result, RobustnessRadii | Ranges | Importance):
        return drawn(figure_of(result), f"{title(result)}; {outcome(result)}")
    try:
        shown = pictures(result, most, sensitivity=sensitivity)
        return View(pictures=shown) if shown else feature_view(result, most, name)
    except InputError as error:
        return View(note=f"It cannot be drawn: {error}")


def result_page(result: StoredResult, *, counterfactuals: int) -> str:
    """Return the report of a result or sweep as HTML, with so many ``counterfactuals`` at most."""
    facts = facts_of(result)
    if isinstance(result, EpsilonSweep):
        first: Result = result.levels[0]
        lead, tasks = "; ".join(map(outcome, result.levels)), ["explain"]
        shown = drawn(figure_of(result), title(result))
    else:
        first = result
        lead, tasks = outcome(result), _tasks(result)
        shown = view(result, counterfactuals, "Features", sensitivity=True)
    return rendered(
        "result.html",
        title=title(result),
        lead=lead,
        sentence=dict(facts).get("in words"),
        message=marked_words(first),
        shown=shown,
        fact_rows=facts,
        several=first is not result,
        tasks=tasks,
        tolerances=Tolerances(),
        versions=[*sorted(first.versions.items()), ("SHA-256 of the network", first.model.sha256)],
    )


def _tasks(result: Result) -> list[str]:
    """Return the kinds of claims that the page of ``result`` explains."""
    if isinstance(result, ContrastiveExplanation):
        return ["contrastive" if result.scales is None else "nearest"]
    if isinstance(result, Explanation):
        return ["explain", "minimum"] if result.lower_bound is not None else ["explain"]
    return [result.kind]


def result_html(result: StoredResult, figure: Drawing) -> str:
    """Return the headline of ``result``, its ``figure`` and its facts."""
    return rendered(
        "notebook.html",
        title=title(result),
        address=png(figure.render()),
        width=figure.css_width,
        facts=facts_of(result),
    )


def comparison_html(comparison: Comparison) -> str:
    """Return a row for each run of ``comparison``, and the remarks."""
    return rendered(
        "notebook_comparison.html",
        heads=comparison_heads(comparison),
        rows=comparison_rows(comparison),
        texts=TEXTS,
        remarks=remarks(comparison),
    )
