"""The figure of the importance of features: a bar with a bracket for each, or a map of pixels."""

import numpy as np

from milp_verix.base.number_text import counted, up
from milp_verix.results.importance import Importance
from milp_verix.views.figures.parts.described_rows import (
    OPEN,
    PROVEN,
    key_above,
    right_of,
    told_beside,
)
from milp_verix.views.figures.parts.image_view import ImageView
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Drawing, PictureRow, Sheet
from milp_verix.views.figures.parts.style import LABEL, Status, bar_rows, typeset
from milp_verix.views.words.importance import (
    NAMES,
    bracket_of,
    importance_headline,
    importance_outcome,
)
from milp_verix.views.words.labels import labels_of

_MOST, _ROW = 40, 0.26
_BARS, _BESIDE, _GAP, _NUMBERS = 3.8, 2.6, 0.35, 1.15
_CAPTION, _BELOW = 0.5, 0.65
_LONGEST_NAME = 44
_SCORE, _WRONG = "#9c9c9c", "#c23b22"


def bars(found: Importance) -> Drawing:
    """Draw a bar up to the lower end, and another one on it up to the upper end."""
    shown, labels, lower, upper = found.ranking[:_MOST], labels_of(found), found.lower, found.upper
    names = [typeset(labels.short(one, _LONGEST_NAME)) for one in shown]
    left = right_of(names)
    height = _ROW * max(len(shown), 1)
    beside = 0.0 if found.beside is None else _GAP + _BESIDE
    top = HEADER + _CAPTION
    sheet = Sheet(left + _BARS + _NUMBERS + beside + MARGIN, top + height + _BELOW)
    sheet.titled(importance_headline(found), importance_outcome(found), found)
    axes, places = sheet.axes(left, top, _BARS, height), range(len(shown))
    low = [lower[one] for one in shown]
    open_ = [upper[one] - lower[one] for one in shown]
    axes.barh(places, low, height=0.66, color=PROVEN, zorder=2)
    axes.barh(places, open_, left=low, height=0.66, color=OPEN, zorder=2)
    bar_rows(axes, names, pad=4)
    axes.set_xlim(0.0, max(max(upper, default=0.0), 0.01) * 1.02)
    axes.set_xlabel(f"importance: {NAMES[found.index]}", **LABEL)
    told_beside(axes, [bracket_of(found, one) for one in shown])
    keys = {"proven": PROVEN, **({"open": OPEN} if any(open_) else {})}
    key_above(axes, height, keys)
    if found.beside is not None:
        _scores(sheet, found, (left + _BARS + _NUMBERS + _GAP, top, _BESIDE, height), shown)
    if left_out := len(found.ranking) - len(shown):
        most = max(upper[one] for one in found.ranking[_MOST:])
        more = f"and {counted(left_out, 'other feature')}, none above {typeset(up(most, 3))}"
        sheet.text(MARGIN, top + height + 0.4, more)
    elif found.still:
        stay = f"without room to change: {counted(len(found.still), 'other feature')}"
        sheet.text(MARGIN, top + height + 0.4, stay)
    return sheet.figure


def _scores(
    sheet: Sheet,
    found: Importance,
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
    keys = {"given": _SCORE, f"in one of {pairs} ordered otherwise than proven": _WRONG}
    if not wrong:
        del keys[[*keys][1]]
    key_above(axes, box[3], keys, 1)


def images(found: Importance, view: ImageView, _shape: object) -> Drawing:
    """Draw the input, and beside it both ends of the importance of each pixel's features."""
    ends = [("Importance", found.lower)]
    if not found.exact:
        ends = [("Lower end, proven", found.lower), ("Upper end, proven", found.upper)]
    row = PictureRow(view, 1 + len(ends), _BELOW)
    row.sheet.titled(importance_headline(found), importance_outcome(found), found)
    row.picture(0, view.rgb(found.input), "Input")
    for place, (title, values) in enumerate(ends, 1):
        most = np.full((view.height, view.width), np.nan)
        for feature in found.ranking:  # nothing is told of pixels that stay as they are
            mask = view.covered(list(found.groups[feature]))
            most[mask] = np.fmax(most[mask], values[feature])
        row.mapped(place, most, title, NAMES[found.index]).set_facecolor(Status.STILL.colour)
    return row.sheet.figure
