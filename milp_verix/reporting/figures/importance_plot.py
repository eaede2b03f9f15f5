"""The figure of the importance of features: a bar with a bracket for each, or a map of pixels."""

from pathlib import Path

import numpy as np

from milp_verix.reporting.figures.image_view import ImageView, image_view
from milp_verix.reporting.figures.sheet import HEADER, MARGIN, Drawing, Sheet
from milp_verix.reporting.figures.style import (
    INK,
    LABEL,
    bar_rows,
    colour_bar,
    colour_scale,
    frame,
    legend,
    typeset,
)
from milp_verix.reporting.figures.writing import drawn
from milp_verix.reporting.words.feature_labels import labels_of
from milp_verix.reporting.words.importance import (
    NAMES,
    bracket_of,
    importance_headline,
    importance_outcome,
)
from milp_verix.reporting.words.wording import counted, shortened
from milp_verix.results.records.importance import ImportanceRecord

_MOST, _ROW = 40, 0.26
_BARS, _BESIDE, _GAP, _NUMBERS = 3.8, 2.6, 0.35, 1.15
_PANEL, _CAPTION, _BELOW = 3.4, 0.5, 0.65
_LONGEST_NAME, _INCHES_PER_CHARACTER = 44, 0.068
_PROVEN, _OPEN, _SCORE, _WRONG = "#31688e", "#fdae61", "#9c9c9c", "#c23b22"


def plot_importance(
    found: ImportanceRecord,
    path: str | Path | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
) -> Drawing:
    """Draw ``found``; write it to ``path`` if given, in the format of its suffix.

    Raises ``InputError`` as :func:`.explanation_plot.plot_explanation` does.
    """

    def draw() -> Drawing:
        view = image_view(found, image_shape)
        return _bars(found) if view is None else _map(found, view)

    return drawn(draw, path)


def _bars(found: ImportanceRecord) -> Drawing:
    """Draw a bar up to the lower end, and another one on it up to the upper end."""
    shown, labels, lower, upper = found.ranking[:_MOST], labels_of(found), found.lower, found.upper
    names = [typeset(shortened(labels.short(one), _LONGEST_NAME)) for one in shown]
    left = MARGIN + max(map(len, names)) * _INCHES_PER_CHARACTER + 0.2
    height = _ROW * len(shown)
    beside = 0.0 if found.beside is None else _GAP + _BESIDE
    top = HEADER + _CAPTION
    sheet = Sheet(left + _BARS + _NUMBERS + beside + MARGIN, top + height + _BELOW)
    sheet.titled(importance_headline(found), importance_outcome(found), found)
    axes, places = sheet.axes(left, top, _BARS, height), range(len(shown))
    low = [lower[one] for one in shown]
    open_ = [upper[one] - lower[one] for one in shown]
    axes.barh(places, low, height=0.66, color=_PROVEN, zorder=2)
    axes.barh(places, open_, left=low, height=0.66, color=_OPEN, zorder=2)
    bar_rows(axes, names, pad=4)
    axes.set_xlim(0.0, max(max(upper, default=0.0), 0.01) * 1.02)
    axes.set_xlabel(f"importance: {NAMES[found.index]}", **LABEL)
    for place, one in enumerate(shown):
        axes.text(
            1.0,
            place,
            f"  {bracket_of(found, one)}",
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=8.5,
            color=INK,
        )
    keys = {"proven": _PROVEN, **({"open": _OPEN} if any(open_) else {})}
    legend(axes, keys, loc="lower left", bbox_to_anchor=(0.0, 1 + 0.07 / height))
    if found.beside is not None:
        _scores(sheet, found, (left + _BARS + _NUMBERS + _GAP, top, _BESIDE, height), shown)
    if left_out := len(found.groups) - len(shown):
        most = max(upper[one] for one in found.ranking[_MOST:])
        more = f"and {counted(left_out, 'other feature')}, none above {typeset(f'{most:.3g}')}"
        sheet.text(MARGIN, top + height + 0.4, more)
    return sheet.figure


def _scores(
    sheet: Sheet,
    found: ImportanceRecord,
    box: tuple[float, float, float, float],
    shown: tuple[int, ...],
) -> None:
    """Draw the scores by another tool beside the bars; those that are in a wrong pair are red."""
    assert found.beside is not None
    wrong = {feature for pair in found.misordered for feature in pair}
    axes = sheet.axes(*box)
    colours = [_WRONG if one in wrong else _SCORE for one in shown]
    axes.barh(
        range(len(shown)),
        [abs(found.beside[one]) for one in shown],
        height=0.66,
        color=colours,
        zorder=2,
    )
    bar_rows(axes, ["" for _ in shown], pad=0)
    axes.set_xlabel("size of the given score", **LABEL)
    pairs = counted(len(found.misordered), "pair")
    keys = {"given": _SCORE, f"in one of {pairs} ordered wrongly, proven": _WRONG}
    if not wrong:
        del keys[[*keys][1]]
    legend(axes, keys, loc="lower left", bbox_to_anchor=(0.0, 1 + 0.07 / box[3]), ncols=1)


def _map(found: ImportanceRecord, view: ImageView) -> Drawing:
    """Draw the input, and beside it both ends of the importance of each pixel's features."""
    ratio = min(1.3, max(0.1, view.height / view.width))
    height, exact = _PANEL * ratio, found.exact
    ends = [("Importance", found.lower)]
    if not exact:
        ends = [("Lower end, proven", found.lower), ("Upper end, proven", found.upper)]
    panels = 1 + len(ends)
    width = panels * _PANEL + (panels - 1) * _GAP + 2 * MARGIN
    sheet = Sheet(width, HEADER + _CAPTION + height + _BELOW)
    sheet.titled(importance_headline(found), importance_outcome(found), found)
    top = HEADER + _CAPTION
    first = sheet.axes(MARGIN, top, _PANEL, height)
    first.imshow(view.rgb(found.input), interpolation="nearest")
    boxes, titles = [first], ["Input"]
    for place, (title, values) in enumerate(ends, 1):
        left = MARGIN + place * (_PANEL + _GAP)
        drawn_ = np.zeros((view.height, view.width))
        for feature, value in enumerate(values):
            mask = view.covered(list(found.groups[feature]))
            drawn_[mask] = np.maximum(drawn_[mask], value)
        colours, norm = colour_scale(drawn_)
        axes = sheet.axes(left, top, _PANEL, height)
        image = axes.imshow(drawn_, cmap=colours, norm=norm, interpolation="nearest")
        colour_bar(image, sheet.axes(left, top + height + 0.09, _PANEL, 0.1), NAMES[found.index])
        boxes.append(axes)
        titles.append(title)
    for axes, title in zip(boxes, titles, strict=True):
        axes.set_title(title, fontsize=10.0, pad=4, color=INK)
        frame(axes)
    return sheet.figure
