"""The figure of ranges: a bar for each kept feature on its own scale, or maps of pixels."""

import numpy as np
from matplotlib.axes import Axes

from milp_verix.base.number_text import counted, percent_of
from milp_verix.results.ranges import FeatureRange, Ranges
from milp_verix.views.figures.parts.described_rows import (
    key_above,
    right_of,
    short_names,
    told_beside,
    width_of,
)
from milp_verix.views.figures.parts.image_view import ImageView
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Drawing, PictureRow, Sheet
from milp_verix.views.figures.parts.style import FRAME, INK, bar_rows, colour_scale
from milp_verix.views.words.labels import labels_of
from milp_verix.views.words.ranges import range_text, ranges_headline, ranges_outcome
from milp_verix.views.words.wording import shortened
from verix_encodings.arrays import FloatArray

_CAPTION, _BELOW = 0.3, 0.6
_MARGIN_BELOW = 0.25
_MOST, _ROW, _BARS = 40, 0.3, 3.2
_LONGEST_TEXT = 64
_TRACK, _PROVEN, _MISSING = "#e4e4e4", "#12a05c", "#e4e4e4"


def _headed(sheet: Sheet, found: Ranges) -> None:
    outcome = ranges_outcome(found)
    if found.coverage is not None:
        share = percent_of(found.inside or 0, found.rows or 0)
        outcome += f"   ·   {share} % of {counted(found.rows or 0, 'row')} inside"
    sheet.titled(ranges_headline(found), outcome, found)


def bars(found: Ranges) -> Drawing:
    """Draw a bar for each kept feature, on its own scale."""
    labels, shown = labels_of(found), found.ranges[:_MOST]
    names = short_names([labels[one.feature] for one in shown])
    texts = [shortened(range_text(found, one), _LONGEST_TEXT) for one in shown]
    left, beside = right_of(names), width_of(texts) + 0.3
    width, height = max(8.5, left + _BARS + beside + MARGIN), _ROW * max(len(shown), 1)
    sheet = Sheet(width, HEADER + _CAPTION + height + _MARGIN_BELOW)
    _headed(sheet, found)
    if len(shown) < len(found.ranges):
        sheet.text(MARGIN, HEADER - 0.12, f"the first {len(shown)} of {len(found.ranges)} ranges")
    axes = sheet.axes(left, HEADER + _CAPTION, _BARS, height)
    for row, one in enumerate(shown):
        _bar(axes, found, one, row)
    told_beside(axes, texts)
    bar_rows(axes, names, pad=4)
    axes.grid(visible=False)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([])
    keys = {"the prediction stays, proven": _PROVEN, "beyond the range": _TRACK, "the input": INK}
    key_above(axes, height, keys)
    return sheet.figure


def _bar(axes: Axes, found: Ranges, one: FeatureRange, row: int) -> None:
    """Draw a range as a part of its track; words as cells of one width."""
    kind = None if found.inputs is None else found.inputs.features[one.feature]
    if one.words is not None and kind is not None and not one.ordered:
        size, own = len(kind.values), found.inputs.texts(found.input)[one.feature]  # type: ignore[union-attr]
        for place, word in enumerate(kind.values):
            colour = _PROVEN if word in one.words else _MISSING
            cell = 1 / size
            axes.barh(row, 0.9 * cell, left=place * cell, height=0.5, color=colour, zorder=2)
            if word == own:
                axes.plot((place + 0.45) * cell, row, "o", color=INK, markersize=4, zorder=4)
        return
    assert one.lower is not None
    assert one.upper is not None
    assert one.least is not None
    assert one.most is not None
    span = one.most - one.least or 1.0
    low, high = (one.lower - one.least) / span, (one.upper - one.least) / span
    axes.barh(row, 1.0, height=0.5, color=_TRACK, zorder=1)
    axes.barh(row, max(high - low, 0.008), left=low, height=0.5, color=_PROVEN, zorder=2)
    group = found.groups[one.feature]
    x = float(found.input.reshape(-1)[group[0]]) if len(group) == 1 else 0.0
    axes.plot((x - one.least) / span, row, "o", color=INK, markersize=4, zorder=4)


def images(found: Ranges, view: ImageView, _shape: object) -> Drawing:
    """Draw the input, and how far each kept pixel may fall and rise."""
    row = PictureRow(view, 3, _BELOW)
    _headed(row.sheet, found)
    row.picture(0, view.rgb(found.input), "Input")
    maps = _maps(found, view)
    most = max(float(np.nanmax(part, initial=0.0)) for part in maps)
    scale = colour_scale(np.array([0.0, most]))
    for place, part, way in zip((1, 2), maps, ("fall", "rise"), strict=True):
        label, title = "in input units; grey: not kept", f"A kept pixel may {way} by"
        row.mapped(place, part, title, label, scale).set_facecolor(FRAME)
    return row.sheet.figure


def _maps(found: Ranges, view: ImageView) -> tuple[FloatArray, FloatArray]:
    """Return how far the kept pixels may fall and rise, (height, width); NaN for the others."""
    falls, rises = (np.full((view.height, view.width), np.nan) for _ in range(2))
    x = found.input.reshape(-1)
    for one in found.ranges:
        if one.lower is None or one.upper is None:
            continue
        group = [*found.groups[one.feature]]
        start = float(x[group[0]]) if len(group) == 1 else 0.0
        pixels = view.covered(group)
        falls[pixels] = np.fmin(falls[pixels], start - one.lower)
        rises[pixels] = np.fmin(rises[pixels], one.upper - start)
    return falls, rises
