"""Sweeps and robustness radii in words, and the facts about them."""

from dataclasses import replace
from math import floor

from milp_verix.base.number_text import counted, down, percent, up
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.radii import common_share
from milp_verix.results.explanation import EpsilonSweep
from milp_verix.results.ranges import RadiusBracket, RobustnessRadii
from milp_verix.views import sentences
from milp_verix.views.explanation_words import outcome_text
from milp_verix.views.facts import Facts, Wording, axes_facts, change_facts, still_facts, to_try
from milp_verix.views.labels import SHOWN, labels_of
from milp_verix.views.wording import (
    compared,
    decided,
    kept_text,
    norm_suffix,
    own_radii,
    predicted_text,
    radius_text,
    seconds_text,
    stays_text,
    tally,
)

_MOST = 3
"""So many radii of single features are listed in a sentence."""


def sweep_headline(sweep: EpsilonSweep) -> str:
    """Return the result in a line: ``"Prediction 7, explained at 2 radii: 618, 253 of 784"``."""
    first, count = sweep.levels[0], len(sweep.levels)
    sizes = ", ".join(map(str, sweep.sizes))
    radii = "1 radius" if count == 1 else f"{count} radii"
    features = counted(len(first.groups), "feature")
    return f"{predicted_text(first)}, explained at {radii}: {sizes} of {features}"


def sweep_outcome(sweep: EpsilonSweep) -> str:
    """Return how far the explanations are decided."""
    if sweep.minimal:
        return "locally minimal at each radius"
    return f"features undecided: {', '.join(str(len(level.unknown)) for level in sweep.levels)}"


def sweep_sentence(sweep: EpsilonSweep) -> str:
    """Return the sizes of the explanations in words, from the largest radius to the smallest."""
    first = sweep.levels[0]
    count = counted(len(first.groups), "feature")
    kept = f"{decided(first)}{compared(first)}"
    sizes = [
        # radii of features' own are told with the values they are around
        f"{level.size}, {', '.join(sentences.move_parts(level, range(len(level.groups)), False))}"
        if own_radii(level)
        else f"{level.size} at {radius_text(level)}{norm_suffix(level)}"
        for level in sweep.levels
    ]
    parts = [f"Of {count}, so many are enough to keep {kept}: {'; '.join(sizes)}."]
    if sweep.minimal:
        parts.append("None of them can be left out.")
    elif unknown := [len(level.unknown) for level in sweep.levels if level.unknown]:
        parts.append(f"At some radii up to {counted(max(unknown), 'feature')} may not be needed.")
    if not any(map(own_radii, sweep.levels)):  # else each level tells what stays as it is
        parts += [f"This holds {part}." for part in sentences.limit_parts(first, first.still)]
    return " ".join([*parts, *sentences.bounds_sentences(first)])


def sweep_facts(sweep: EpsilonSweep) -> Facts:
    """Return the facts about ``sweep`` that others have not."""
    rows = []
    for number, level in enumerate(sweep.levels):
        size = f"{level.size} of {counted(len(level.groups), 'feature')}, {outcome_text(level)}"
        checks = counted(level.statistics.checks, "check")
        effort = f"{seconds_text(level.statistics.seconds)}, {checks}"
        rows.append((radius_text(level, short=True), f"{size}; {_freed(sweep, number)}; {effort}"))
    nested = "yes: features irrelevant at a radius are irrelevant at every smaller one"
    rows.append(("nested", nested if sweep.nested else "no: each radius is explained alone"))
    stopped = f"; stopped: {sweep.stopped}" if sweep.stopped else ""
    rows.append(("time", seconds_text(sweep.seconds) + stopped))
    return [*rows, *(("note", note) for note in sweep.levels[0].notes)]


def _freed(sweep: EpsilonSweep, number: int) -> str:
    """Return how many features are irrelevant at a level, were not before, or cannot change."""
    free, later = sweep.freed()[number], sweep.added()[number]
    text = f"irrelevant: {counted(free, 'feature')}"
    if number and later:
        text += f", {later} of them in the explanation at every larger radius"
    still = len(sweep.levels[number].irrelevant) - free
    return f"{text}; without room to change: {still}" if still else text


def bracket_text(found: RobustnessRadii, bracket: RadiusBracket) -> str:
    """Return ``"0.0228 to 0.02303"``, ``"irrelevant up to 1"`` or ``"at least 0.5"``.

    Of one described feature in its unit, ``"by 11 years, not by 12"``.
    """
    if {*bracket.features} <= {*found.still}:
        return "stays as it is" if len(bracket.features) == 1 else "stay as they are"
    feature, (lower, upper, reach, unit) = (
        single_feature(found, bracket),
        bracket_ends(found, bracket),
    )
    # other values of a category are all as far away
    choice = feature is not None and (feature.unordered or len(feature.values) == 2)
    if bracket.irrelevant:
        limited = feature is None or not (choice or not reach)
        return f"irrelevant{f' up to {down(reach)}{unit}' * limited}"
    if choice:
        return "not decided" if upper is None else "another value changes the prediction"
    if upper is None:
        return f"at least {down(lower)}{unit}"
    if feature is None or not feature.whole:
        return f"{down(lower)} to {up(upper)}{unit}"
    return (
        f"by {down(lower)}{unit}, not by {up(upper)}" if lower else f"not even by {up(upper)}{unit}"
    )


def unit_of(found: RobustnessRadii) -> tuple[float, str]:
    """Return a factor for radii of several features, and the words that follow their numbers."""
    if found.inputs is None or found.scale is None:
        return 1.0, norm_suffix(found)
    if found.inputs.of_domain and len({*found.scale}) == 1:
        return found.scale[0], ""
    if set(found.scale) == {1.0}:
        return 1.0, ", in each feature's unit"
    share = common_share(found.inputs, found.scale)
    if share is not None:
        return 100 * share, " % of each feature's range"
    return 1.0, " times the given radii"


def single_feature(found: RobustnessRadii, bracket: RadiusBracket) -> Feature | None:
    """Return the one described feature that a bracket is about, or None."""
    if found.inputs is None or found.scale is None or len(bracket.features) != 1:
        return None
    return found.inputs.features[bracket.features[0]]


def bracket_ends(
    found: RobustnessRadii, bracket: RadiusBracket
) -> tuple[float, float | None, float, str]:
    """Return the ends of a bracket and its reach in the unit that readers see, and this unit.

    A feature of whole numbers has proven all steps below the next one.
    """
    feature, (scale, unit) = single_feature(found, bracket), unit_of(found)
    if feature is not None and found.scale is not None:
        scale = found.scale[bracket.features[0]]
        unit = f" {feature.unit}" if feature.unit else ""
    lower, upper = bracket.lower * scale, None if bracket.upper is None else bracket.upper * scale
    if feature is not None and feature.whole:
        lower, upper = floor(lower), None if upper is None else round(upper)
    return lower, upper, bracket.reach * scale, unit


def radii_headline(found: RobustnessRadii) -> str:
    """Return the result in a line: ``"Prediction 7, robustness radius 0.0228 to 0.02303"``."""
    prediction = predicted_text(found)
    count = counted(len(found.groups), "feature")
    if found.each:
        return f"{prediction}, radius of each of {count}"
    chosen = len(found.bracket.features)
    of = "" if chosen == len(found.groups) else f" of {chosen} of {count}"
    return f"{prediction}, robustness radius{of}: {bracket_text(found, found.bracket)}"


def radii_outcome(found: RobustnessRadii) -> str:
    """Return how many brackets are as narrow as asked for."""
    open_ = sum(not bracket.settled for bracket in found.brackets)
    if open_:
        return f"{counted(open_, 'bracket')} wider than asked for"
    return f"proven within {percent(found.tolerance)} %"


def radii_sentence(found: RobustnessRadii) -> str:
    """Return how far features may move in words, and what a farther change does."""
    if found.each:
        return " ".join([*_alone(found), *sentences.bounds_sentences(found)])
    bracket, texts = found.bracket, [f"No radius is proven at which {stays_text(found)}."]
    others = len(bracket.features) < len(found.groups)
    if bracket.lower > 0 or bracket.irrelevant:
        radii = None
        if found.inputs is not None and found.scale is not None:
            radii = tuple(bracket.lower * scale for scale in found.scale)
        near = replace(found, epsilon=bracket.lower if radii is None else max(radii), radii=radii)
        parts = [stays_text(found), *sentences.move_parts(near, bracket.features, others)]
        parts += ["as long as the other features keep their values"] if others else []
        texts = [sentences.claim_text(parts)]
    if bracket.counterfactual is not None:
        texts.append(sentences.change_sentence(found, bracket.counterfactual))
    elif not bracket.irrelevant:
        texts.append(f"Larger radii are open: {bracket.unknown_reason}.")
    return " ".join([*texts, *sentences.rules_sentences(found)])


def _alone(found: RobustnessRadii) -> list[str]:
    """Return the features that never matter alone, and the proven radii of the least robust."""
    labels = labels_of(found)
    still = {*found.still}
    every = [b for b in found.brackets if b.features[0] not in still]
    whole = {
        b.features[0]
        for b in every
        if b.irrelevant and not sentences.limit_parts(found, b.features)
    }
    parts = []
    if whole:
        parts.append(f"whatever {labels.named(sorted(whole))} {'is' if len(whole) == 1 else 'are'}")
    near = [b for b in every if b.features[0] not in whole]
    near.sort(key=lambda one: (one.lower, one.features))
    moving = [one for one in near if _proven_text(found, one)]
    parts += [f"{labels[b.features[0]]} by up to {_proven_text(found, b)}" for b in moving[:_MOST]]
    if len(moving) > _MOST:
        others = counted(len(moving) - _MOST, "other feature")
        own = "a radius of its own" if len(moving) == _MOST + 1 else "radii of their own"
        parts.append(f"{others} by {own}")
    texts = []
    if parts:
        texts.append(f"If one feature changes alone, {stays_text(found)}: {'; '.join(parts)}.")
    weak = [b for b in near if not _proven_text(found, b) and b.counterfactual is not None]
    if weak:
        weakest = labels.named([one.features[0] for one in weak])
        texts.append(f"A change of {weakest} alone is enough for another prediction.")
    if not every:
        return [f"{sentences.held_text(found, found.still)}."]
    return texts or [f"No radius is proven at which {stays_text(found)}."]


def _proven_text(found: RobustnessRadii, bracket: RadiusBracket) -> str:
    """Return the proven radius of one feature in its unit, rounded down; empty for none."""
    feature, (lower, _, _, unit) = single_feature(found, bracket), bracket_ends(found, bracket)
    ordered = feature is None or not feature.unordered
    return f"{down(lower)}{unit}" if lower and ordered else ""


def radii_facts(found: RobustnessRadii) -> Facts:
    """Return the facts about ``found`` that others have not."""
    text = _each(found) if found.each else _together(found, found.bracket)
    open_ = [b.unknown_reason for b in found.brackets if b.unknown_reason is not None]
    if open_:
        text.append(("wider than asked", f"{counted(len(open_), 'bracket')}: {tally(open_)}"))
    return text + to_try(open_)


def _together(found: RobustnessRadii, bracket: RadiusBracket) -> Facts:
    count = len(found.groups)
    chosen = f"{len(bracket.features)} of {counted(count, 'feature')}"
    if len(bracket.features) < count:
        chosen += f": {labels_of(found).listed(bracket.features)}"
    rows = [("free", chosen), *still_facts(found), ("radius", bracket_text(found, bracket))]
    factor, unit = unit_of(found)
    fixed = f"{down(factor * bracket.lower, 6)}{unit}"
    rows.append(("proven", f"{kept_text(found)} up to {fixed}"))
    if bracket.counterfactual is not None and bracket.upper is not None:
        far = f"{up(factor * bracket.upper, 6)}{unit}"
        rows.append(("counterfactual", f"at the distance {far}"))
        rows += change_facts(found, bracket.counterfactual)
    return rows


def _each(found: RobustnessRadii) -> Facts:
    """Return the features irrelevant at all radii, and the others, the smallest radius first."""
    labels = labels_of(found)
    never = sorted({*found.irrelevant} - {*found.still})
    rows = axes_facts(found)
    count = f"{len(never)} of {counted(len(found.groups), 'feature')}"
    rows.append(("irrelevant", f"{count}, within {radius_text(found)}{norm_suffix(found)}"))
    if never:
        rows.append(("", labels.listed(never)))
    rows += still_facts(found)
    others = sorted(
        (bracket for bracket in found.brackets if not bracket.irrelevant),
        key=lambda bracket: (bracket.lower, bracket.features),
    )
    rows += [(labels.short(one.features[0]), bracket_text(found, one)) for one in others[:SHOWN]]
    if len(others) > SHOWN:
        rows.append(("", f"… and {len(others) - SHOWN} more"))
    return rows


WORDS = {
    "radius": Wording(radii_headline, radii_outcome, radii_sentence, radii_facts),
    "sweep": Wording(sweep_headline, sweep_outcome, sweep_sentence, sweep_facts),
}
