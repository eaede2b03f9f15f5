"""The figure of an explained input that is no image: a bar per feature, a column per witness."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from milp_verix.base.number_text import exact, nearest
from milp_verix.results.explanation import Explanation
from milp_verix.views.figures.parts.described_rows import LONGEST_NAME, chosen, key_above, right_of
from milp_verix.views.figures.parts.image_view import mark
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Drawing, Sheet
from milp_verix.views.figures.parts.style import (
    INK,
    LABEL,
    Status,
    bar_rows,
    colour_bar,
    colour_scale,
    frame,
    gallery_heading,
    sensitivity_label,
    status_keys,
    status_marks,
    statuses,
    typeset,
)
from milp_verix.views.words.labels import labels_of
from milp_verix.views.words.wording import changed_text, shortened
from verix_encodings.arrays import FloatArray

MOST = 40
_LONGEST_CAPTION = 14
_COLUMNS = 8
_ROW = 0.22
_BARS = 3.7
_GAP = 0.35
_HEADING = 0.32
_HEADING_WIDTH = 5.0
_LINE = 0.16
_NARROWEST = 7.5
_NARROWEST_BAR = 2.4
_BELOW = 0.65
_CAPTION_INCHES_PER_CHARACTER = 0.06


class Row(NamedTuple):
    """A feature as a row: its number, label, status, and the length of its bar."""

    feature: int
    label: str
    status: Status
    length: float


def rows(explanation: Explanation, most: int = MOST) -> tuple[Row, ...]:
    """Return the features to show, from the top: all, or the ``most`` important ones.

    Where there is a sensitivity its magnitude is the length of the bar and decides the sequence;
    otherwise the length is the feature's value and the sequence that of the traversal. If not all
    can be shown those in the explanation come first.
    """
    known = statuses(explanation)
    scores = explanation.sensitivity
    if scores is None:
        ranked = list(explanation.permutation)
    else:
        ranked = sorted(range(len(scores)), key=lambda feature: -abs(scores[feature]))
    by_status = sorted(ranked, key=lambda feature: not known[feature].kept)
    shown = set(by_status[:most])
    values = explanation.input.reshape(-1)
    result = []
    for feature in ranked:
        if feature in shown:
            value = np.mean(values[list(explanation.groups[feature])])
            length = float(value) if scores is None else abs(scores[feature])
            result.append(Row(feature, _label(explanation, feature, value), known[feature], length))
    return tuple(result)


def _label(explanation: Explanation, feature: int, value: np.floating[Any]) -> str:
    size = len(explanation.groups[feature])
    label = shortened(labels_of(explanation)[feature], LONGEST_NAME)
    if size == 1:
        return f"{label} = {exact(value)}"
    return f"{label}: {size} inputs, mean {nearest(float(value), 3)}"


def changes(explanation: Explanation, feature: int, shown: tuple[Row, ...]) -> FloatArray:
    """Return by how much the counterfactual of ``feature`` changes each row's feature.

    Of a feature with several coordinates, the change of largest magnitude.
    """
    before = explanation.input.reshape(-1).astype(np.float64)
    after = explanation.counterfactuals[feature].input.reshape(-1).astype(np.float64)
    difference = after - before
    groups = [difference[list(explanation.groups[row.feature])] for row in shown]
    return np.array([group[np.abs(group).argmax()] for group in groups])


def tabular_figure(explanation: Explanation) -> Drawing:
    """Draw a bar per feature and, beside it, the changes of a few counterfactuals."""
    shown, count = rows(explanation), len(explanation.groups)
    columns = _columns(explanation, shown)
    lines = max((caption.count("\n") + 1 for caption in columns.values()), default=1)
    left, height = right_of([row.label for row in shown], 0.25), _ROW * len(shown)
    heading = f"{len(shown)} of {count} features: explaining ones first" * (len(shown) < count)
    top = HEADER + lines * _LINE + (_HEADING if columns or heading else 0.0)
    cells_left, cells_width = left + _BARS + _GAP, len(columns) * _column_width(columns)
    right = cells_left + max(_HEADING_WIDTH, cells_width) if columns else left + _BARS
    sheet = Sheet(max(_NARROWEST, right + MARGIN), top + height + _BELOW)
    sheet.header(explanation)
    bars = sheet.axes(left, top, _BARS if columns else sheet.width - MARGIN - left, height)
    _bars(bars, shown, explanation)
    key_above(bars, height, status_keys([row.status for row in shown]))
    sheet.text(MARGIN, HEADER, heading)
    if columns:
        sheet.text(cells_left, HEADER, gallery_heading(len(columns), explanation))
        cells = sheet.axes(cells_left, top, cells_width, height)
        bar_width = max(cells_width, _NARROWEST_BAR)
        bar = sheet.axes(cells_left, top + height + 0.09, bar_width, 0.1)
        _cells(cells, bar, explanation, columns, shown)
    return sheet.figure


def _column_width(columns: dict[int, str]) -> float:
    lines = [line for caption in columns.values() for line in caption.split("\n")]
    return max(map(len, lines), default=0) * _CAPTION_INCHES_PER_CHARACTER + 0.09


def _columns(explanation: Explanation, shown: tuple[Row, ...]) -> dict[int, str]:
    # features with a counterfactual to show, and what is written over it; by class, from the top
    places = {row.feature: place for place, row in enumerate(shown)}
    features = chosen(explanation, _COLUMNS, places)
    labels, found = labels_of(explanation), explanation.counterfactuals

    def key(feature: int) -> tuple[int, int]:
        prediction = found[feature].prediction
        return prediction if isinstance(prediction, int) else 0, places[feature]

    return {
        feature: shortened(labels[feature], _LONGEST_CAPTION)
        + "\n"
        + typeset(changed_text(explanation, found[feature], "\n"))
        for feature in sorted(features, key=key)
    }


def _bars(axes: Axes, shown: tuple[Row, ...], explanation: Explanation) -> None:
    places = range(len(shown))
    colours = [row.status.colour for row in shown]
    axes.barh(places, [row.length for row in shown], height=0.7, color=colours, zorder=2)
    status_marks(axes, colours)
    bar_rows(axes, [typeset(row.label) for row in shown], pad=14)
    if explanation.sensitivity is None:
        axes.set_xlabel("value", **LABEL)
    else:
        axes.set_xlabel(f"sensitivity: {sensitivity_label(explanation)}", **LABEL)
    if not any(row.length for row in shown):
        axes.set_xlim(0.0, 1.0)


def _cells(
    axes: Axes,
    bar: Axes,
    explanation: Explanation,
    columns: dict[int, str],
    shown: tuple[Row, ...],
) -> None:
    table = np.stack([changes(explanation, feature, shown) for feature in columns], axis=1)
    colours, norm = colour_scale(table)
    image = axes.imshow(table, cmap=colours, norm=norm, aspect="auto", interpolation="nearest")
    frame(axes)
    row_of = {row.feature: place for place, row in enumerate(shown)}
    for column, (feature, caption) in enumerate(columns.items()):
        cell = np.zeros(table.shape, dtype=bool)
        cell[row_of[feature], column] = True
        mark(axes, cell)
        axes.annotate(
            caption,
            (column, -0.5),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
            color=INK,
            annotation_clip=False,
        )
    axes.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(shown) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.tick_params(which="minor", length=0)
    colour_bar(image, bar, "change of the feature")
