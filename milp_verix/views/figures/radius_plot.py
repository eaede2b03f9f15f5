"""The figure of robustness radii: a map or bars of the features, or the one counterfactual."""

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize

from milp_verix.base.number_text import counted, down
from milp_verix.results.ranges import RadiusBracket, RobustnessRadii
from milp_verix.views.figures.parts.described_rows import (
    OPEN,
    PROVEN,
    key_above,
    right_of,
    short_names,
    told_beside,
    width_of,
)
from milp_verix.views.figures.parts.image_view import ImageView
from milp_verix.views.figures.parts.sheet import (
    HEADER,
    MARGIN,
    Drawing,
    PictureRow,
    Sheet,
    run_facts,
)
from milp_verix.views.figures.parts.style import LABEL, Status, bar_rows, legend, typeset
from milp_verix.views.words.explanation import domain_parts
from milp_verix.views.words.labels import labels_of
from milp_verix.views.words.radius import (
    bracket_text,
    feature_ends,
    radii_headline,
    radii_outcome,
    single_feature,
    unit_of,
)
from milp_verix.views.words.wording import changed_text, kept_text, norm_text
from verix_encodings.arrays import FloatArray

_CAPTION, _BELOW = 0.3, 0.85
_MOST, _ROW, _NARROWEST, _BARS = 60, 0.22, 7.5, 4.0
_NEVER = "#d9d9d9"
_COLOURS = colormaps["viridis"]


def _headed(sheet: Sheet, found: RobustnessRadii) -> None:
    factor, unit = unit_of(found)
    reach = down(factor * max(bracket.reach for bracket in found.brackets))
    asked = f"{norm_text(found.norm)} up to {reach}"
    if found.inputs is not None:
        asked = "each in its own unit" if found.each else f"up to {reach}{unit}"
    facts = [asked, *map(typeset, domain_parts(found)), radii_outcome(found), *run_facts(found)]
    sheet.headed(radii_headline(found), facts)


def images(found: RobustnessRadii, view: ImageView, _shape: object) -> Drawing:
    """Draw the input, and the map of radii or the counterfactual with its difference."""
    row = PictureRow(view, 2 if found.each else 3, _BELOW)
    _headed(row.sheet, found)
    first = row.picture(0, view.rgb(found.input), "Input")
    if found.each:
        some = len(found.irrelevant) < len(found.groups)
        label, scale = "radius, in input units" if some else "", (_COLOURS, _scale(found))
        title = "Proven radius of each feature alone"
        radii = row.mapped(1, _map(found, view), title, label, scale)
        radii.set_facecolor(_NEVER)
        never = f"irrelevant at all radii{' or without room to change' * bool(found.still)}: "
        never += counted(len(found.irrelevant), "feature")
        legend(first, {never: _NEVER}, loc="upper left", bbox_to_anchor=(0.0, -0.03))
    elif found.bracket.counterfactual is not None:
        after = found.bracket.counterfactual
        row.mapped(1, view.change(found.input, after.input), "Change", "in input units")
        changed = typeset(changed_text(found, after))
        row.picture(2, view.rgb(after.input), f"Nearest counterfactual found {changed}")
    return row.sheet.figure


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


def bars(found: RobustnessRadii) -> Drawing:
    """Draw a bar for each bracket: proven up to the lower end, open up to the upper one."""
    ranked = sorted(found.brackets, key=lambda one: (one.irrelevant, _ends(found, one)))
    shown, labels = ranked[:_MOST], labels_of(found)
    names = short_names(
        [
            labels[one.features[0]]
            if len(one.features) == 1
            else counted(len(one.features), "feature") + " together"
            for one in shown
        ]
    )
    left = right_of(names)
    height = _ROW * len(shown)
    texts = [bracket_text(found, one) for one in shown if found.inputs is not None]
    beside = width_of(texts) + 0.15 * bool(texts)
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
    colours = [_colour(found, one) for one in shown]
    axes.barh(places, lower, height=0.7, color=colours, zorder=2)
    axes.barh(places, open_, left=lower, height=0.7, color=OPEN, zorder=2)
    bar_rows(axes, names, pad=4)
    axes.set_xlim(left=0.0)
    axes.set_xlabel(_unit(found), **LABEL)
    told_beside(axes, texts)
    kinds = [
        (f"proven: {kept_text(found)}", PROVEN, PROVEN in colours),
        ("not decided", OPEN, any(open_)),
        ("irrelevant at all radii", _NEVER, _NEVER in colours),
        (Status.STILL.value, Status.STILL.colour, Status.STILL.colour in colours),
    ]
    keys = {word: colour for word, colour, drawn in kinds if drawn}
    key_above(axes, height, keys)
    return sheet.figure


def _colour(found: RobustnessRadii, bracket: RadiusBracket) -> str:
    if {*bracket.features} <= {*found.still}:
        return Status.STILL.colour
    return _NEVER if bracket.irrelevant else PROVEN


def _unit(found: RobustnessRadii) -> str:
    if found.inputs is None:
        return "radius, in input units"
    if found.each or len(found.bracket.features) == 1:
        return "radius, as a share of each feature's way to the far end of its range"
    return f"radius,{(unit_of(found)[1] or ' in input units').removeprefix(',')}"


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
        upper = None if upper is None else factor * upper
        lower, reach = factor * lower, factor * reach
    if bracket.irrelevant:
        return reach, reach
    return lower, reach if upper is None else upper
