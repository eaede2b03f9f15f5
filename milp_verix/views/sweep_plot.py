"""The figure of a sweep: one colour for each radius, as in VeriX (NeurIPS 2023, Figure 6)."""

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb

from milp_verix.base.number_text import counted
from milp_verix.results.explanation import EpsilonSweep
from milp_verix.views import style
from milp_verix.views.facts import domain_parts
from milp_verix.views.feature_status import Status
from milp_verix.views.image_view import GAP, ImageView, PictureRow, greys
from milp_verix.views.labels import labels_of
from milp_verix.views.result_words import words_of
from milp_verix.views.wording import norm_text, one_radius, radius_text, shortened
from verix_encodings.arrays import FloatArray

_LEGEND, _LINE, _CAPTION = 2.6, 0.24, 0.3
_MOST = 60
_EXPLAINED, _GREY = "#f2f2f2", "#c8c8c8"


def level_colours(count: int) -> list[str]:
    """Return one colour for each level, the darkest first, in the order of the radii.

    Viridis grows lighter evenly, for every eye and in print without colours; its lightest end is
    left out, which would not stand out from white.
    """
    shades = colormaps["viridis"](np.linspace(0.0, 0.88, max(count, 2)))[:count]
    return ["#" + "".join(f"{round(255 * part):02x}" for part in shade[:3]) for shade in shades]


def _titled(sheet: style.Sheet, sweep: EpsilonSweep) -> None:
    """Write the headline and the facts of a sweep."""
    first, words = sweep.levels[0], words_of(sweep)
    largest, *others = [radius_text(level, short=True) for level in sweep.levels]
    ball = ", ".join([largest, *(radius.removeprefix("ε = ") for radius in others)])
    if one_radius(first) and first.norm == "linf":  # each radius tells another norm
        ball += f" ({norm_text(first.norm)})"
    texts = map(style.typeset, [ball, *domain_parts(first)])
    about = [shortened(first.model.file, 36), f"{sweep.seconds:.2f} s"]
    sheet.headed(words.title(sweep), [*texts, words.outcome(sweep), *about])


def _legend(axes: Axes, sweep: EpsilonSweep, explained: str) -> None:
    """Tell how many features are irrelevant at each radius; ``explained`` colours all others."""
    keys: list[tuple[str, str]] = []
    colours, first = level_colours(len(sweep.levels)), sweep.levels[0]
    parts = zip(sweep.levels, colours, sweep.freed(), sweep.added(), strict=True)
    for level, colour, free, added in parts:
        more = f" (+{added})" if keys else ""
        here = f"{radius_text(level, short=True)}: {free} irrelevant{more}"
        keys.append((style.typeset(here), colour))
    never = len(first.groups) - sum(sweep.added()) - len({*first.irrelevant} & {*first.still})
    keys.append((f"at no radius: {counted(never, 'feature')}", explained))
    if any({*level.irrelevant} & {*level.still} for level in sweep.levels):
        keys.append((Status.STILL.value, Status.STILL.colour))
    axes.axis("off")
    title = {"title": "irrelevant within the radius", "title_fontsize": 9, "alignment": "left"}
    size = {"fontsize": 9, "handlelength": 1.2, "handleheight": 1.2, "handletextpad": 0.8}
    style.legend(
        axes, keys, style.FRAME, loc="upper left", ncols=1, labelspacing=0.6, **size, **title
    )


def sweep_rows(sweep: EpsilonSweep) -> style.Drawing:
    """Draw a row for each feature and a column for each radius; the first to be freed on top."""
    first, levels, count = sweep.levels[0], sweep.level_of(), len(sweep.levels)
    ranked = sorted(range(len(levels)), key=lambda f: math.inf if (v := levels[f]) is None else v)
    shown, labels = ranked[-_MOST:], labels_of(first)
    names = style.short_names([labels[feature] for feature in shown])
    left, top = style.right_of(names), style.HEADER + _CAPTION
    height, width = 0.22 * len(shown), 0.75 * count
    below, right = max(height, (count + 2) * _LINE), left + width + 0.3
    sheet = style.Sheet(max(7.5, right + _LEGEND + style.MARGIN), top + below + style.MARGIN)
    _titled(sheet, sweep)
    if len(shown) < len(ranked):
        sheet.text(
            style.MARGIN,
            style.HEADER - 0.12,
            f"the last {len(shown)} of {len(ranked)} features freed",
        )
    table = np.full((len(shown), count), count)
    for column, level in enumerate(sweep.levels):
        free, still = set(level.irrelevant), set(level.still)
        for row, feature in enumerate(shown):
            if feature in free:
                table[row, column] = count + 1 if feature in still else column
    colours = ListedColormap([*level_colours(count), _EXPLAINED, Status.STILL.colour])
    axes, end = sheet.axes(left, top, width, height), count + 1.5
    axes.imshow(table, cmap=colours, vmin=-0.5, vmax=end, aspect="auto", interpolation="nearest")
    radii = [radius_text(level, short=True) for level in sweep.levels]
    radii = [radius.replace(" domain", "\ndomain") for radius in radii]
    axes.set_yticks(range(len(shown)), names, parse_math=False)
    axes.set_xticks(range(count), radii, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8.5, labelcolor=style.INK, pad=3)
    style.divided(axes, count, len(shown))
    for spine in axes.spines.values():
        spine.set(edgecolor=style.FRAME, linewidth=0.6)
    _legend(sheet.axes(right, top, _LEGEND, below), sweep, _EXPLAINED)
    return sheet.figure


def sweep_images(sweep: EpsilonSweep, view: ImageView) -> style.Drawing:
    """Draw the input, and its irrelevant pixels in the colours of the radii."""
    keys = (len(sweep.levels) + 2) * _LINE
    row = PictureRow(view, 2, style.MARGIN, GAP + _LEGEND)
    if keys > row.height:
        row = PictureRow(view, 2, style.MARGIN + keys - row.height, GAP + _LEGEND)
    _titled(row.sheet, sweep)
    row.picture(0, view.rgb(sweep.levels[0].input), "Input")
    row.picture(1, _levels(sweep, view), "Irrelevant")
    box = row.sheet.axes(row.left(2), row.top, _LEGEND, max(row.height, keys))
    _legend(box, sweep, _GREY)
    return row.sheet.figure


def _levels(sweep: EpsilonSweep, view: ImageView) -> FloatArray:
    """Return the image in greys, irrelevant pixels in the colour of their first level.

    A pixel with several features has the level of the one that is irrelevant last, and is grey if
    one of them never is.
    """
    first, levels = sweep.levels[0], view.filled(-1.0)
    for feature, level in enumerate(sweep.level_of()):
        mask = view.pixels(first, [feature])
        levels[mask] = np.maximum(levels[mask], math.inf if level is None else level)
    # light greys alone, like the key: no pixel is mistaken for one of a dark level
    colours = 0.62 + 0.36 * greys(view.rgb(first.input))
    for level, colour in enumerate(level_colours(len(sweep.levels))):
        colours[levels == level] = to_rgb(colour)
    still = view.pixels(first, first.still) & (levels >= 0)
    colours[still] = to_rgb(Status.STILL.colour)
    return colours
