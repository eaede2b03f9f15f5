"""The figure of a sweep: one colour for each radius, as in VeriX (NeurIPS 2023, Figure 6).

Dark features matter at no radius asked about, the lighter ones at large radii only; features in the
explanation at every radius keep the grey of the image.
"""

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.patches import Patch

from milp_verix.base.number_text import counted
from milp_verix.results.explanation import EpsilonSweep
from milp_verix.views.figures.parts.described_rows import right_of, short_names
from milp_verix.views.figures.parts.image_view import ImageView, greys
from milp_verix.views.figures.parts.sheet import GAP, HEADER, MARGIN, Drawing, PictureRow, Sheet
from milp_verix.views.figures.parts.style import FRAME, INK, Status, typeset
from milp_verix.views.words.explanation import domain_parts
from milp_verix.views.words.labels import labels_of
from milp_verix.views.words.radius import sweep_headline, sweep_outcome
from milp_verix.views.words.wording import norm_text, one_radius, radius_text, shortened
from verix_encodings.arrays import FloatArray

_GAP = 0.3
_CAPTION = 0.3
_LEGEND = 2.6
_LINE = 0.24
_MOST = 60
_ROW, _COLUMN = 0.22, 0.75
_NARROWEST = 7.5
_EXPLAINED, _GREY = "#f2f2f2", "#c8c8c8"


def level_colours(count: int) -> list[str]:
    """Return one colour for each level, the darkest first, in the order of the radii.

    Viridis grows lighter evenly, for every eye and in print without colours; its lightest end is
    left out, which would not stand out from white.
    """
    shades = colormaps["viridis"](np.linspace(0.0, 0.88, max(count, 2)))[:count]
    return ["#" + "".join(f"{round(255 * part):02x}" for part in shade[:3]) for shade in shades]


def _handles(sweep: EpsilonSweep, explained: str) -> list[Patch]:
    """Return the keys: a radius with the features that are irrelevant there, and at none larger."""
    keys: list[Patch] = []
    colours = level_colours(len(sweep.levels))
    parts = zip(sweep.levels, colours, sweep.freed(), sweep.added(), strict=True)
    for level, colour, free, added in parts:
        here = f"{radius_text(level, short=True)}: {free} irrelevant"
        more = f" (+{added})" if keys else ""
        keys.append(Patch(facecolor=colour, edgecolor=FRAME, label=typeset(here + more)))
    first = sweep.levels[0]
    never = len(first.groups) - sum(sweep.added()) - len({*first.irrelevant} & {*first.still})
    left = counted(never, "feature")
    keys.append(Patch(facecolor=explained, edgecolor=FRAME, label=f"at no radius: {left}"))
    if any({*level.irrelevant} & {*level.still} for level in sweep.levels):
        still = Status.STILL
        keys.append(Patch(facecolor=still.colour, edgecolor=FRAME, label=still.value))
    return keys


def _legend(axes: Axes, keys: list[Patch]) -> None:
    axes.axis("off")
    axes.legend(
        handles=keys,
        loc="upper left",
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        handlelength=1.2,
        handleheight=1.2,
        borderaxespad=0.0,
        borderpad=0.0,
        labelspacing=0.6,
        title="irrelevant within the radius",
        title_fontsize=9,
        alignment="left",
    )


def _titled(sheet: Sheet, sweep: EpsilonSweep) -> None:
    first = sweep.levels[0]
    radii = [radius_text(level, short=True) for level in sweep.levels]
    radii = radii[:1] + [radius.removeprefix("ε = ") for radius in radii[1:]]
    ball = ", ".join(radii)
    if one_radius(first) and first.norm == "linf":  # each radius tells another norm
        ball += f" ({norm_text(first.norm)})"
    asked = map(typeset, [ball, *domain_parts(first)])
    about = [shortened(first.model.file, 36), f"{sweep.seconds:.2f} s"]
    sheet.headed(sweep_headline(sweep), [*asked, sweep_outcome(sweep), *about])


def images(sweep: EpsilonSweep, view: ImageView, _shape: object) -> Drawing:
    """Draw the input, and its irrelevant pixels in the colours of the radii."""
    keys = (len(sweep.levels) + 2) * _LINE
    row = PictureRow(view, 2, MARGIN, GAP + _LEGEND)
    if keys > row.height:
        row = PictureRow(view, 2, MARGIN + keys - row.height, GAP + _LEGEND)
    _titled(row.sheet, sweep)
    row.picture(0, view.rgb(sweep.levels[0].input), "Input")
    row.picture(1, _tinted(sweep, view), "Irrelevant")
    box = row.sheet.axes(row.left(2), row.top, _LEGEND, max(row.height, keys))
    _legend(box, _handles(sweep, _GREY))
    return row.sheet.figure


def _tinted(sweep: EpsilonSweep, view: ImageView) -> FloatArray:
    """Return the image in greys, irrelevant pixels in the colour of their first level.

    A pixel with several features has the level of the one that is irrelevant last, and is grey if
    one of them never is.
    """
    first = sweep.levels[0]
    levels = np.full((view.height, view.width), -1.0)
    for group, level in zip(first.groups, sweep.level_of(), strict=True):
        mask = view.covered(list(group))
        levels[mask] = np.maximum(levels[mask], math.inf if level is None else level)
    grey = greys(view.rgb(first.input))
    # light greys alone, like the key: no pixel is mistaken for one of a dark level
    tinted = 0.62 + 0.36 * grey
    for level, colour in enumerate(level_colours(len(sweep.levels))):
        tinted[levels == level] = to_rgb(colour)
    still = [i for feature in first.still for i in first.groups[feature]]
    tinted[view.covered(still) & (levels >= 0)] = to_rgb(Status.STILL.colour)
    return tinted


def rows(sweep: EpsilonSweep) -> Drawing:
    """Draw a row for each feature and a column for each radius; the first to be freed on top."""
    first, levels = sweep.levels[0], sweep.level_of()
    ranked = sorted(range(len(levels)), key=lambda f: math.inf if (v := levels[f]) is None else v)
    shown = ranked if len(ranked) <= _MOST else ranked[-_MOST:]
    labels = labels_of(first)
    names = short_names([labels[feature] for feature in shown])
    left = right_of(names)
    height, width = _ROW * len(shown), _COLUMN * len(sweep.levels)
    below = max(height, (len(sweep.levels) + 2) * _LINE)
    right = left + width + _GAP + _LEGEND
    sheet = Sheet(max(_NARROWEST, right + MARGIN), HEADER + _CAPTION + below + MARGIN)
    _titled(sheet, sweep)
    if len(shown) < len(ranked):
        sheet.text(MARGIN, HEADER - 0.12, f"the last {len(shown)} of {len(ranked)} features freed")
    table = np.full((len(shown), len(sweep.levels)), len(sweep.levels))
    for column, level in enumerate(sweep.levels):
        free, still = set(level.irrelevant), set(level.still)
        for row, feature in enumerate(shown):
            if feature in free:
                table[row, column] = len(sweep.levels) + 1 if feature in still else column
    colours = ListedColormap([*level_colours(len(sweep.levels)), _EXPLAINED, Status.STILL.colour])
    axes = sheet.axes(left, HEADER + _CAPTION, width, height)
    axes.imshow(
        table,
        cmap=colours,
        vmin=-0.5,
        vmax=len(sweep.levels) + 1.5,
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_yticks(range(len(shown)), names, parse_math=False)
    axes.set_xticks(
        range(len(sweep.levels)),
        [radius_text(level, short=True).replace(" domain", "\ndomain") for level in sweep.levels],
        parse_math=False,
    )
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8.5, labelcolor=INK, pad=3)
    axes.set_xticks(np.arange(len(sweep.levels) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(shown) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set(edgecolor=FRAME, linewidth=0.6)
    _legend(
        sheet.axes(left + width + _GAP, HEADER + _CAPTION, _LEGEND, below),
        _handles(sweep, _EXPLAINED),
    )
    return sheet.figure
