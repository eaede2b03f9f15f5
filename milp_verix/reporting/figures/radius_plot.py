"""The figure of robustness radii: a map or bars of the features, or the one counterfactual."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize
from matplotlib.patches import Patch

from milp_verix.reporting.figures.image_view import ImageView, image_view
from milp_verix.reporting.figures.sheet import HEADER, MARGIN, Drawing, Sheet
from milp_verix.reporting.figures.style import (
    FRAME,
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
from milp_verix.reporting.words.radius import (
    bracket_text,
    feature_ends,
    radii_headline,
    radii_outcome,
    single_feature,
    unit_of,
)
from milp_verix.reporting.words.wording import (
    changed_text,
    counted,
    kept_text,
    norm_text,
    number,
    seconds_text,
    shortened,
)
from milp_verix.results.records.radius import RadiusBracket, RobustnessRadii
from verix_encodings.arrays import FloatArray

_PANEL, _GAP, _CAPTION = 3.2, 0.3, 0.3
_BELOW = 0.85
_TALLEST, _FLATTEST = 1.3, 0.1
_MOST, _ROW, _NARROWEST, _BARS = 60, 0.22, 7.5, 4.0
_LONGEST_NAME = 32
_INCHES_PER_CHARACTER = 0.068
_BESIDE: dict[str, Any] = {"va": "center", "fontsize": 8.5, "color": INK, "parse_math": False}
_NEVER = "#d9d9d9"
_PROVEN, _OPEN = "#31688e", "#fdae61"


def plot_radii(
    found: RobustnessRadii,
    path: str | Path | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
) -> Drawing:
    """Draw ``found``; write it to ``path`` if given, in the format of its suffix.

    Raises ``InputError`` as :func:`.explanation_plot.plot_explanation` does.
    """

    def draw() -> Drawing:
        view = image_view(found, image_shape)
        if view is None:
            return _bars(found)
        return _images(found, view)

    return drawn(draw, path)


def _headed(sheet: Sheet, found: RobustnessRadii) -> None:
    delta = "" if found.delta is None else f", δ = {number(found.delta)}"
    factor, unit = unit_of(found)
    reach = number(factor * max(bracket.reach for bracket in found.brackets))
    asked = f"{norm_text(found.norm)} up to {reach}"
    if found.inputs is not None:
        asked = "each in its own unit" if found.each else f"up to {reach}{unit}"
    sheet.headed(
        radii_headline(found),
        [
            f"{asked}{delta}",
            radii_outcome(found),
            shortened(found.model.file, 36),
            f"{seconds_text(found.statistics.seconds)} with {found.solver}",
        ],
    )


def _images(found: RobustnessRadii, view: ImageView) -> Drawing:
    """Draw the input, and the map of radii or the counterfactual with its difference."""
    ratio = min(_TALLEST, max(_FLATTEST, view.height / view.width))
    height, panels = _PANEL * ratio, 2 if found.each else 3
    width = panels * _PANEL + (panels - 1) * _GAP + 2 * MARGIN
    sheet = Sheet(width, HEADER + _CAPTION + height + _BELOW)
    _headed(sheet, found)
    top, below = HEADER + _CAPTION, HEADER + _CAPTION + height + 0.09
    boxes = [
        sheet.axes(MARGIN + place * (_PANEL + _GAP), top, _PANEL, height)
        for place in range(1 if not found.each and found.bracket.counterfactual is None else panels)
    ]
    boxes[0].imshow(view.rgb(found.input), interpolation="nearest")
    titles = ["Input"]
    if found.each:
        colours, norm = colormaps["viridis"], _scale(found)
        radii = _map(found, view)
        image = boxes[1].imshow(radii, cmap=colours, norm=norm, interpolation="nearest")
        boxes[1].set_facecolor(_NEVER)
        titles.append("Proven radius of each feature alone")
        if len(found.irrelevant) < len(found.groups):
            bar = sheet.axes(MARGIN + _PANEL + _GAP, below, _PANEL, 0.1)
            colour_bar(image, bar, "radius, in input units")
        never = f"irrelevant at all radii: {counted(len(found.irrelevant), 'feature')}"
        boxes[0].legend(
            handles=[Patch(facecolor=_NEVER, edgecolor=FRAME, label=never)],
            loc="upper left",
            bbox_to_anchor=(0.0, -0.03),
            frameon=False,
            fontsize=9,
            labelcolor=INK,
            borderaxespad=0.0,
        )
    elif found.bracket.counterfactual is not None:
        after = found.bracket.counterfactual
        change = view.change(found.input, after.input)
        colours, norm = colour_scale(change)
        image = boxes[1].imshow(change, cmap=colours, norm=norm, interpolation="nearest")
        colour_bar(image, sheet.axes(MARGIN + _PANEL + _GAP, below, _PANEL, 0.1), "in input units")
        boxes[2].imshow(view.rgb(after.input), interpolation="nearest")
        changed = changed_text(found, after)
        titles += ["Change", f"Nearest counterfactual found {changed}"]
    for axes, title in zip(boxes, titles, strict=True):
        axes.set_title(typeset(title), fontsize=10.0, pad=4, color=INK)
        frame(axes)
    return sheet.figure


def _map(found: RobustnessRadii, view: ImageView) -> FloatArray:
    """Return the smallest proven radius of each pixel's features, NaN if none ever matters."""
    radii = np.full((view.height, view.width), np.inf)
    for bracket in found.brackets:
        if not bracket.irrelevant:
            mask = view.covered(list(found.groups[bracket.features[0]]))
            radii[mask] = np.minimum(radii[mask], bracket.lower)
    return np.where(np.isfinite(radii), radii, np.nan)


def _scale(found: RobustnessRadii) -> Normalize:
    """Return the scale of the map: dark for features that matter at small radii."""
    lower = [bracket.lower for bracket in found.brackets if not bracket.irrelevant]
    return Normalize(0.0, max(lower, default=1.0) or 1.0)


def _bars(found: RobustnessRadii) -> Drawing:
    """Draw a bar for each bracket: proven up to the lower end, open up to the upper one."""
    ranked = sorted(found.brackets, key=lambda one: (one.irrelevant, _ends(found, one)))
    shown, labels = ranked[:_MOST], labels_of(found)
    names = [
        shortened(labels[one.features[0]], _LONGEST_NAME)
        if len(one.features) == 1
        else counted(len(one.features), "feature") + " together"
        for one in shown
    ]
    left = MARGIN + max(map(len, names)) * _INCHES_PER_CHARACTER + 0.2
    height = _ROW * len(shown)
    beside = 0.0
    if found.inputs is not None:
        beside = max(len(bracket_text(found, one)) for one in shown) * _INCHES_PER_CHARACTER + 0.15
    width = max(_NARROWEST, left + _BARS + beside + MARGIN)
    sheet = Sheet(width, HEADER + _CAPTION + height + _BELOW)
    _headed(sheet, found)
    if len(shown) < len(ranked):
        sheet.text(MARGIN, HEADER - 0.12, f"the {len(shown)} smallest of {len(ranked)} radii")
    axes = sheet.axes(left, HEADER + _CAPTION, width - left - beside - MARGIN, height)
    places = np.arange(len(shown))
    ends = [_ends(found, one) for one in shown]
    lower = np.array([low for low, _ in ends])
    open_ = [high - low for low, high in ends]
    colours = [_NEVER if one.irrelevant else _PROVEN for one in shown]
    axes.barh(places, lower, height=0.7, color=colours, zorder=2)
    axes.barh(places, open_, left=lower, height=0.7, color=_OPEN, zorder=2)
    bar_rows(axes, [typeset(name) for name in names], pad=4)
    axes.set_xlim(left=0.0)
    axes.set_xlabel(_unit(found), **LABEL)
    for place, one in enumerate(shown if found.inputs is not None else ()):
        told = f"  {typeset(bracket_text(found, one))}"
        axes.text(1.0, place, told, transform=axes.get_yaxis_transform(), **_BESIDE)
    kinds = [
        (f"proven: {kept_text(found)}", _PROVEN, any(not one.irrelevant for one in shown)),
        ("not decided", _OPEN, any(open_)),
        ("irrelevant at all radii", _NEVER, any(one.irrelevant for one in shown)),
    ]
    keys = {word: colour for word, colour, drawn in kinds if drawn}
    legend(axes, keys, loc="lower left", bbox_to_anchor=(0.0, 1 + 0.07 / height))
    return sheet.figure


def _unit(found: RobustnessRadii) -> str:
    if found.inputs is None:
        return "radius, in input units"
    if found.each or len(found.bracket.features) == 1:
        return "radius, as a share of each feature's way to the far end of its range"
    return f"radius,{unit_of(found)[1].removeprefix(',')}"


def _ends(found: RobustnessRadii, bracket: RadiusBracket) -> tuple[float, float]:
    """Return the ends of the open part of a bar; features of different units as shares."""
    lower, upper, reach = bracket.lower, bracket.upper, bracket.reach
    feature = single_feature(found, bracket)
    if feature is not None:
        lower, upper, reach = feature_ends(found, bracket)
        if feature.whole and bracket.settled:
            upper = lower  # there is nothing between two steps
        scale = reach or 1.0
        lower, upper, reach = lower / scale, None if upper is None else upper / scale, 1.0
    elif found.inputs is not None:
        factor, _ = unit_of(found)
        lower, upper, reach = (
            factor * lower,
            None if upper is None else factor * upper,
            factor * reach,
        )
    if bracket.irrelevant:
        return reach, reach
    return lower, reach if upper is None else upper
