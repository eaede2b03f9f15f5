"""The figures of other results than explanations whose inputs are no images: a row a feature."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from milp_verix.base.number_text import counted, down, percent_of, up
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.importance import Importance
from milp_verix.results.ranges import FeatureRange, RadiusBracket, Ranges, RobustnessRadii
from milp_verix.views.facts import domain_parts
from milp_verix.views.feature_status import AuditStatus, Status, audit_statuses, status_keys
from milp_verix.views.image_view import MARK
from milp_verix.views.importance_words import NAMES, bracket_of
from milp_verix.views.labels import labels_of
from milp_verix.views.radius_words import bracket_ends, bracket_text, single_feature, unit_of
from milp_verix.views.ranges_words import range_text
from milp_verix.views.result_words import words_of
from milp_verix.views.style import (
    HEADER,
    INK,
    LABEL,
    LONGEST_NAME,
    MARGIN,
    OPEN,
    PROVEN,
    Drawing,
    Sheet,
    bar_rows,
    key_above,
    right_of,
    run_facts,
    short_names,
    status_bars,
    texts_beside,
    typeset,
    width_of,
)
from milp_verix.views.wording import change_text, changed_text, kept_text, norm_text, shortened

NEVER = "#d9d9d9"
_CAPTION = 0.3
_TRACK, _KEPT = "#e4e4e4", "#12a05c"
_SCORE, _WRONG = "#9c9c9c", "#c23b22"
_MOST, _MOST_RADII = 40, 60
_LONGEST_TITLE = 40
_WIDTH = 4.0
_FAR = 1e300


def _scale(largest: float) -> tuple[float, str]:
    """Return what lengths are divided by, and words for it: ticks overflow near 1e308."""
    return (_FAR, f", times {_FAR:g}") if largest > _FAR else (1.0, "")


def _bars(
    labels: list[str], row: float, top: float, below: float, *, least: float, gap: float = 0.2
) -> tuple[Sheet, Axes, float]:
    """Return a sheet with space for bars behind ``labels``, and the height of the bars."""
    left, height = right_of(labels, gap), max(len(labels), 1) * row
    sheet = Sheet(max(least, left + _WIDTH + MARGIN), top + height + below)
    return sheet, sheet.axes(left, top, sheet.width - MARGIN - left, height), height


def contrast_bars(found: ContrastiveExplanation) -> Drawing:
    """Draw a bar for the change of each coordinate in the contrast."""
    names, x = labels_of(found), found.input.reshape(-1).astype(np.float64)
    rows = [
        (name if len(found.groups[feature]) == 1 else f"{name}: input {i}", i)
        for feature in found.contrast or ()
        for name in [shortened(names[feature], LONGEST_NAME)]
        for i in found.groups[feature]
    ][:_MOST]
    labels, shown = [label for label, _ in rows], [i for _, i in rows]
    after = x if found.counterfactual is None else found.counterfactual.input.reshape(-1)
    sheet, axes, _ = _bars(labels, 0.22, HEADER, 0.6, least=8.0, gap=0.15)
    sheet.titled(found)
    scale, more = _scale(np.abs([after[shown], x[shown]]).max(initial=0.0))
    lengths = after[shown].astype(np.float64) / scale - x[shown] / scale
    axes.barh(range(len(shown)), lengths, color=MARK, height=0.7)
    bar_rows(axes, labels)
    axes.set_xlabel(f"change, in input units{more}", **LABEL)
    return sheet.figure


def flip_of(audit: Audit) -> tuple[int | None, Counterfactual] | None:
    """Return an input that changes the prediction, behind the feature it needs freed, if any."""
    if audit.counterexample is not None:
        return None, audit.counterexample
    features = sorted(audit.counterfactuals)
    if not features:
        return None
    feature = features[len(features) // 2]
    return feature, audit.counterfactuals[feature]


def audit_bars(audit: Audit) -> Drawing:
    """Draw a bar for each feature: its change in an input that changes the prediction."""
    known, flip, names = audit_statuses(audit), flip_of(audit), labels_of(audit)
    # those outside the set come last, and are left out first
    ranked = sorted(range(len(known)), key=lambda f: known[f] is AuditStatus.OUTSIDE)
    shown = sorted(ranked[:_MOST])
    lengths, label = [0.0] * len(shown), f"change: no input that {change_text(audit)} is known"
    if flip is not None:
        freed, point = flip
        what = "counterexample"
        if freed is not None:
            what = f"counterfactual without {shortened(names[freed], _LONGEST_TITLE)}"
        before, after = (x.reshape(-1).astype(np.float64) for x in (audit.input, point.input))
        scale, more = _scale(np.abs([before, after]).max())
        changes = [(after / scale - before / scale)[list(audit.groups[f])] for f in shown]
        what += f" ({typeset(changed_text(audit, point))})"
        label = f"change of the {what}, in input units{more}"
        lengths = [float(change[np.abs(change).argmax()]) for change in changes]
    labels = short_names([names[feature] for feature in shown])
    top = HEADER + _CAPTION
    sheet, axes, height = _bars(labels, 0.22, top, 0.75, least=8.0, gap=0.3)
    sheet.titled(audit)
    status_bars(axes, labels, lengths, [known[feature].colour for feature in shown])
    axes.set_xlabel(label, **LABEL)
    keys = status_keys([known[feature] for feature in shown])
    key_above(axes, height, keys, 2 if len(keys) > 3 else len(keys))
    return sheet.figure


def importance_bars(found: Importance) -> Drawing:
    """Draw a bar up to the lower end, and another one on it up to the upper end."""
    shown, labels, lower, upper = found.ranking[:_MOST], labels_of(found), found.lower, found.upper
    names = [typeset(labels.short(one, 44)) for one in shown]
    bars, numbers, gap, scores = 3.8, 1.15, 0.35, 2.6
    left, top, height = right_of(names), HEADER + 0.5, 0.26 * max(len(shown), 1)
    beside = 0.0 if found.beside is None else gap + scores
    sheet = Sheet(left + bars + numbers + beside + MARGIN, top + height + 0.65)
    sheet.titled(found)
    axes = sheet.axes(left, top, bars, height)
    open_ = [upper[one] - lower[one] for one in shown]
    _brackets(axes, [lower[one] for one in shown], open_, PROVEN, 0.66)
    bar_rows(axes, names)
    axes.set_xlim(0.0, max(max(upper, default=0.0), 0.01) * 1.02)
    axes.set_xlabel(f"importance: {NAMES[found.index]}", **LABEL)
    texts_beside(axes, [bracket_of(found, one) for one in shown])
    key_above(axes, height, {"proven": PROVEN, **({"open": OPEN} if any(open_) else {})})
    if found.beside is not None:
        _scores(sheet.axes(left + bars + numbers + gap, top, scores, height), height, found, shown)
    if left_out := len(found.ranking) - len(shown):
        most = max(upper[one] for one in found.ranking[_MOST:])
        more = f"and {counted(left_out, 'other feature')}, none above {typeset(up(most, 3))}"
        sheet.text(MARGIN, top + height + 0.4, more)
    elif found.still:
        stay = f"without room to change: {counted(len(found.still), 'other feature')}"
        sheet.text(MARGIN, top + height + 0.4, stay)
    return sheet.figure


def _brackets(
    axes: Axes, lower: list[float], open_: list[float], colours: str | list[str], height: float
) -> None:
    """Draw bars that are proven up to the lower end, open up to the upper one."""
    places = range(len(lower))
    axes.barh(places, lower, height=height, color=colours, zorder=2)
    axes.barh(places, open_, left=lower, height=height, color=OPEN, zorder=2)


def _scores(axes: Axes, height: float, found: Importance, shown: tuple[int, ...]) -> None:
    """Draw the scores by another tool; those that are in a wrong pair are red."""
    wrong = {feature for pair in found.misordered for feature in pair}
    colours = [_WRONG if one in wrong else _SCORE for one in shown]
    lengths = [abs((found.beside or ())[one]) for one in shown]
    axes.barh(range(len(shown)), lengths, height=0.66, color=colours, zorder=2)
    bar_rows(axes, ["" for _ in shown], pad=0)
    axes.set_xlabel("size of the given score", **LABEL)
    keys = {"given": _SCORE}
    if wrong:
        pairs = counted(len(found.misordered), "pair")
        keys[f"in one of {pairs} ordered otherwise than proven"] = _WRONG
    key_above(axes, height, keys, 1)


def radii_titled(sheet: Sheet, found: RobustnessRadii) -> None:
    """Write the headline and the facts of radii."""
    factor, unit = unit_of(found)
    reach = down(factor * max(bracket.reach for bracket in found.brackets))
    ball = f"{norm_text(found.norm)} up to {reach}"
    if found.inputs is not None:
        ball = "each in its own unit" if found.each else f"up to {reach}{unit}"
    words, domain = words_of(found), map(typeset, domain_parts(found))
    sheet.headed(words.title(found), [ball, *domain, words.outcome(found), *run_facts(found)])


def radii_bars(found: RobustnessRadii) -> Drawing:
    """Draw a bar for each bracket: proven up to the lower end, open up to the upper one."""
    ranked = sorted(found.brackets, key=lambda one: (one.irrelevant, _ends(found, one)))
    shown, labels, still = ranked[:_MOST_RADII], labels_of(found), {*found.still}
    names = short_names(
        [
            labels[one.features[0]]
            if len(one.features) == 1
            else f"{counted(len(one.features), 'feature')} together"
            for one in shown
        ]
    )
    texts = [bracket_text(found, one) for one in shown if found.inputs is not None]
    beside = width_of(texts) + 0.15 * bool(texts)
    left, top, height = right_of(names), HEADER + _CAPTION, 0.22 * len(shown)
    sheet = Sheet(max(7.5, left + 4.0 + beside + MARGIN), top + height + 0.85)
    radii_titled(sheet, found)
    if len(shown) < len(ranked):
        sheet.text(MARGIN, HEADER - 0.12, f"the {len(shown)} smallest of {len(ranked)} radii")
    axes = sheet.axes(left, top, sheet.width - left - beside - MARGIN, height)
    colours = [
        Status.STILL.colour if {*one.features} <= still else NEVER if one.irrelevant else PROVEN
        for one in shown
    ]
    ends = [_ends(found, one) for one in shown]
    scale, more = _scale(max(high for _, high in ends))
    ends = [(low / scale, high / scale) for low, high in ends]
    open_ = [high - low for low, high in ends]
    _brackets(axes, [low for low, _ in ends], open_, colours, 0.7)
    bar_rows(axes, names)
    axes.set_xlim(left=0.0)
    unit = "radius, in input units"
    if found.inputs is not None and (found.each or len(found.bracket.features) == 1):
        unit = "radius, as a share of each feature's way to the far end of its range"
    elif found.inputs is not None:
        unit = f"radius,{(unit_of(found)[1] or ' in input units').removeprefix(',')}"
    axes.set_xlabel(unit + more, **LABEL)
    texts_beside(axes, texts)
    kinds = [
        (f"proven: {kept_text(found)}", PROVEN, PROVEN in colours),
        ("not decided", OPEN, any(open_)),
        ("irrelevant at all radii", NEVER, NEVER in colours),
        (Status.STILL.value, Status.STILL.colour, Status.STILL.colour in colours),
    ]
    key_above(axes, height, {word: colour for word, colour, drawn in kinds if drawn})
    return sheet.figure


def _ends(found: RobustnessRadii, bracket: RadiusBracket) -> tuple[float, float]:
    """Return the ends of the open part of a bar; features of different units as shares."""
    feature, (lower, upper, reach, _) = single_feature(found, bracket), bracket_ends(found, bracket)
    if feature is not None:
        if feature.whole and bracket.settled:
            upper = lower  # there is nothing between two steps
        scale = reach or 1.0
        lower, upper, reach = lower / scale, None if upper is None else upper / scale, 1.0
    if bracket.irrelevant:
        return reach, reach
    return lower, reach if upper is None else upper


def ranges_titled(sheet: Sheet, found: Ranges) -> None:
    """Write the headline and the facts of ranges."""
    share, rows = percent_of(found.inside or 0, found.rows or 0), counted(found.rows or 0, "row")
    sheet.titled(found, *([] if found.coverage is None else [f"{share} % of {rows} inside"]))


def ranges_bars(found: Ranges) -> Drawing:
    """Draw a bar for each kept feature, on its own scale."""
    labels, shown = labels_of(found), found.ranges[:_MOST]
    names = short_names([labels[one.feature] for one in shown])
    texts = [shortened(range_text(found, one), 64) for one in shown]
    left, top, height = right_of(names), HEADER + _CAPTION, 0.3 * max(len(shown), 1)
    beside = width_of(texts) + 0.3
    sheet = Sheet(max(8.5, left + 3.2 + beside + MARGIN), top + height + 0.25)
    ranges_titled(sheet, found)
    if len(shown) < len(found.ranges):
        sheet.text(MARGIN, HEADER - 0.12, f"the first {len(shown)} of {len(found.ranges)} ranges")
    axes = sheet.axes(left, top, 3.2, height)
    for row, one in enumerate(shown):
        _track(axes, found, one, row)
    texts_beside(axes, texts)
    bar_rows(axes, names)
    axes.grid(visible=False)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([])
    keys = {"the prediction stays, proven": _KEPT, "beyond the range": _TRACK, "the input": INK}
    key_above(axes, height, keys)
    return sheet.figure


def _track(axes: Axes, found: Ranges, one: FeatureRange, row: int) -> None:
    """Draw a range as a part of its track; words as cells of one width."""
    dot: dict[str, Any] = {"color": INK, "markersize": 4, "zorder": 4}
    if one.words is not None and found.inputs is not None and not one.ordered:
        values, own = found.inputs.features[one.feature].values, found.inputs.texts(found.input)
        cell = 1 / len(values)
        for place, word in enumerate(values):
            colour = _KEPT if word in one.words else _TRACK
            axes.barh(row, 0.9 * cell, left=place * cell, height=0.5, color=colour, zorder=2)
            if word == own[one.feature]:
                axes.plot((place + 0.45) * cell, row, "o", **dot)
        return
    lower, upper, least, most = (end or 0.0 for end in (one.lower, one.upper, one.least, one.most))
    span = most - least or 1.0
    low, high = (lower - least) / span, (upper - least) / span
    axes.barh(row, 1.0, height=0.5, color=_TRACK, zorder=1)
    axes.barh(row, max(high - low, 0.008), left=low, height=0.5, color=_KEPT, zorder=2)
    group = found.groups[one.feature]
    x = float(found.input.reshape(-1)[group[0]]) if len(group) == 1 else 0.0
    axes.plot((x - least) / span, row, "o", **dot)
