"""Contrastive explanations and enumerations in words, and the facts about them."""

from collections.abc import Callable
from typing import Any

from milp_verix.base.number_text import counted, down, exact, nearest, percent, up
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.results.contrast import (
    NEAREST_GAP,
    Alternative,
    ContrastiveExplanation,
    Enumeration,
)
from milp_verix.views import sentences, wording
from milp_verix.views.facts import Facts, Wording, axes_facts, change_facts, features_facts, to_try
from milp_verix.views.labels import SHOWN, change_texts, labels_of
from milp_verix.views.sentences import limit_parts, move_parts, rules_sentences, scope_sentences
from milp_verix.views.wording import change_text, joined

_SETS, _NAMED = 3, 3
"""So many sets of each kind, and so many held features, are told in a sentence."""
_SHARES = "the sum of each change as a share of its radius, or of its domain if smaller"


def contrast_headline(found: ContrastiveExplanation) -> str:
    """Return the result in a line: ``"Prediction 7, changed to 2 by 6 of 64 features"``."""
    prediction = wording.predicted_text(found)
    if found.contrast is None or found.counterfactual is None:
        nothing = f"no change in the ball{_held_text(found)} {change_text(found)}"
        return f"{prediction}, {nothing if found.robust else 'no contrast found'}"
    changed = wording.becomes_text(found, found.counterfactual)
    text = f"{prediction} {changed}, by {found.size} of {counted(len(found.groups), 'feature')}"
    return text if found.distance is None else f"{text}, at distance {_distance_text(found)}"


def _distance_text(found: ContrastiveExplanation) -> str:
    """Return the distance of the change, rounded up; if it is proven to be the least, so is this.

    It has four digits, and more where no change is to be nearer than it by a share of 0.1 %.
    """
    distance, bound = found.distance or 0.0, found.lower_bound or 0.0
    texts = (up(distance, digits) for digits in range(4, 17))
    near = (one for one in texts if bound >= (1 - NEAREST_GAP) * float(one))
    return next(near, exact(distance)) if found.proven else up(distance)


def contrast_outcome(found: ContrastiveExplanation) -> str:
    """Return the claim that is proven of a contrast, in words."""
    where = f"in the ball{_held_text(found)}"
    if found.robust:
        return f"proven: no change {where} {change_text(found)}"
    if found.contrast is None:
        return f"undecided: {found.unknown_reason or found.statistics.stopped or 'unknown'}"
    if found.distance is not None:
        none = f"no counterfactual {where} is nearer"
        if found.proven:
            return f"proven: {none} by more than {percent(NEAREST_GAP)} %"
        return f"not proven to be the nearest; {none} than {down(found.lower_bound or 0.0)}"
    if found.proven:
        return f"proven: no {_less_text(found)} {where} {change_text(found)}"
    fewer = "costs less" if found.costs else "has fewer features"
    return f"not proven: none {where} {fewer} than {down(found.lower_bound or 0.0)}"


def _less_text(found: ContrastiveExplanation) -> str:
    return "cheaper change at the given costs" if found.costs else "change of fewer features"


def _held_text(found: ContrastiveExplanation) -> str:
    """Return the words for changes that leave the features alone that must not change, if any."""
    features = () if found.inputs is None else found.inputs.features
    one_way = any(f.only for i, f in enumerate(features) if i not in found.must_not)
    if not found.must_not:
        return " that keeps to the given directions" * one_way
    names = labels_of(found)
    text = counted(len(found.must_not), "given feature")
    if names.names is not None and len(found.must_not) <= _NAMED:
        text = " and ".join(names[feature] for feature in found.must_not)
    return f" that leaves {text} alone{' and keeps to the given directions' * one_way}"


def contrast_sentence(found: ContrastiveExplanation) -> str:
    """Return the change that is enough, and whether a smaller one is."""
    if found.robust:
        one_way = _one_way(found, "up") + _one_way(found, "down")
        limits = _limits(found, move_parts, one_way=one_way)
        parts = [sentences.claim_text([wording.stays_text(found), *limits])]
    elif found.counterfactual is None:
        none = f"No change was found that {change_text(found)}{limits_text(found)}"
        parts = [f"{none}; there may be one."]
    else:
        plain = found.against is None and found.delta is None
        least = f"{_less_text(found)} {'does that' if plain else change_text(found)}"
        least = f"{'No' if found.proven else 'It is open if a'} {least}"
        if found.distance is not None:
            least = f"{'No such' if found.proven else 'It is open if such a'} change is nearer"
            least += f"{at_costs(found)} by more than {percent(NEAREST_GAP)} %"
        parts = [sentences.change_sentence(found, found.counterfactual)]
        parts.append(f"{least}{limits_text(found)}.")
    for other in found.alternatives:
        changed = sentences.change_sentence(found, other.counterfactual)
        parts.append(f"Or: {changed[0].lower()}{changed[1:]}")
    return " ".join([*parts, *rules_sentences(found)])


def limits_text(found: ContrastiveExplanation) -> str:
    """Return the limits of the changes that were sought, each behind a comma."""
    return "".join(f", {part}" for part in _limits(found, limit_parts))


def at_costs(found: ContrastiveExplanation) -> str:
    """Return ``" at the given costs"``, nothing where features have none."""
    return " at the given costs" if found.costs else ""


def _limits(
    found: ContrastiveExplanation, parts: Callable[..., list[str]], **how: Any
) -> list[str]:
    """Return how far features may move, as ``parts`` tells it, and what is held, as parts."""
    free = [f for f in range(len(found.groups)) if f not in found.must_not]
    held = found.must_not
    conditions = [sentences.kept_values(found, held, "given")] if held else []
    conditions += directions_of(found)
    kept = [f"as long as {joined(conditions)}"] if conditions else []
    return [*parts(found, free, bool(kept), **how), *kept]


def directions_of(found: ContrastiveExplanation) -> list[str]:
    """Return ``["age only rises"]`` and the like: the one way in which features may change."""
    if found.inputs is None:
        return []
    parts = []
    for direction, one, several in (("up", "rises", "rise"), ("down", "falls", "fall")):
        names = [labels_of(found)[feature] for feature in _one_way(found, direction)]
        if names:
            parts.append(f"{joined(names)} only {one if len(names) == 1 else several}")
    return parts


def _one_way(found: ContrastiveExplanation, direction: str) -> list[int]:
    features, held = () if found.inputs is None else found.inputs.features, found.still
    return [
        place
        for place, feature in enumerate(features)
        if feature.only == direction and place not in {*found.must_not, *held}
    ]


def contrast_facts(found: ContrastiveExplanation) -> Facts:
    """Return the facts about ``found`` that others have not."""
    rows: Facts = []
    if found.must_not:
        rows.append(("held", labels_of(found).listed(found.must_not)))
    rows += [("direction", text) for text in directions_of(found)]
    if found.contrast is not None and found.counterfactual is not None:
        rows += [
            ("contrast", f"{found.size} of {counted(len(found.groups), 'feature')}"),
            *features_facts(found, found.contrast),
            ("counterfactual", wording.becomes_text(found, found.counterfactual)),
            *change_facts(found, found.counterfactual),
        ]
    if found.distance is not None:
        weighed = ", times its cost" if found.costs is not None else ""
        rows.append(("distance", f"{_distance_text(found)}, {_SHARES}{weighed}"))
    elif found.costs is not None and found.cost is not None:
        rows.append(("cost", nearest(found.cost)))
    rows.append(("minimum", contrast_outcome(found)))
    rows += [("or", _alternative(found, other)) for other in found.alternatives]
    if not found.proven:
        rows += to_try([found.statistics.stopped, found.unknown_reason])
    return rows


def _alternative(found: ContrastiveExplanation, other: Alternative) -> str:
    """Return another change, its cost, and what is proven of it."""
    labels, cost = labels_of(found), found.cost_of(other.contrast, other.counterfactual)
    text = ", ".join(labels.short(feature) for feature in other.contrast)
    if found.inputs is not None:
        text = ", ".join(change_texts(found, other.counterfactual))
    what = f"distance {up(cost)}" if found.scales is not None else f"cost {nearest(cost)}"
    proof = "proven to be the least that does not change all of a set above"
    if other.unknown_reason is not None:
        proof = f"none below {down(other.lower_bound)}; open: {other.unknown_reason}"
    return f"{text} {wording.becomes_text(found, other.counterfactual)}; {what}, {proof}"


def enumeration_headline(found: Enumeration) -> str:
    """Return the result in a line: how many of each kind, and whether these are all."""
    kinds = f"{len(found.abductive)} abductive and {len(found.contrastive)} contrastive"
    complete = "complete" if found.complete else "not complete"
    return f"{wording.predicted_text(found)}: {kinds} explanations, {complete}"


def enumeration_sentence(found: Enumeration) -> str:
    """Return the minimal sets of both kinds in words, and whether there may be others."""
    if found.abductive == ((),):
        return " ".join([sentences.set_claim(found, ()), *rules_sentences(found)])
    parts, explained = [], f"{wording.decided(found)}{wording.compared(found)}"
    if sets := found.abductive:
        which = "This minimal set" if len(sets) == 1 else f"Each of these {len(sets)} minimal sets"
        parts.append(f"{which} of features explains {explained}: {_sets_text(found, sets)}.")
    if sets := tuple(found.contrastive):
        which = "this minimal set" if len(sets) == 1 else f"any of these {len(sets)} minimal sets"
        parts.append(f"Some change of {which} {change_text(found)}: {_sets_text(found, sets)}.")
    if needed := found.necessary:
        names = joined([labels_of(found)[feature] for feature in needed])
        parts.append(f"Every explanation contains {names}.")
    others = f"There may be others: {_reason(found)}."
    parts.append("There are no others." if found.complete else others)
    return " ".join([*parts, *scope_sentences(found)])


def _reason(found: Enumeration) -> str:
    return found.statistics.stopped or found.unknown_reason or "unknown"


def _sets_text(found: Enumeration, sets: tuple[FeatureSet, ...]) -> str:
    labels, parts = labels_of(found), []
    for one in sets[:_SETS]:
        names = [labels[feature] for feature in one]
        parts.append(joined(names) if len(names) <= SHOWN else counted(len(names), "feature"))
    more = [counted(len(sets) - _SETS, "other set")] if len(sets) > _SETS else []
    return "; ".join([*parts, *more])


def enumeration_facts(found: Enumeration) -> Facts:
    """Return the facts about ``found`` that others have not."""
    labels, rows = labels_of(found), axes_facts(found)
    for name, sets, what in (
        ("abductive", found.abductive, f"with each one fixed, {wording.kept_text(found)}"),
        ("contrastive", tuple(found.contrastive), f"a change of each one {change_text(found)}"),
    ):
        rows.append((name, f"{_sizes(sets)}: {what}" if sets else "none"))
        rows += [("", labels.listed(one) or "the empty set") for one in sets[:SHOWN]]
        if len(sets) > SHOWN:
            rows.append(("", f"… and {len(sets) - SHOWN} more"))
    least = counted(found.lower_bound, "feature")
    smallest = (
        "not known: sets are not found in the order of their size, so explain may find a smaller "
        f"one, of {least} or more; minimum finds the smallest"
    )
    if found.minimum is not None:
        size = counted(len(found.minimum), "feature")
        smallest = f"{size}, proven: no explanation in the ball has fewer"
    complete = "yes, proven: there are no others" if found.complete else f"no: {_reason(found)}"
    rows += [("smallest", smallest), ("complete", complete)]
    if not found.complete and found.statistics.stopped != "limit":
        rows += to_try([found.statistics.stopped, found.unknown_reason])
    return rows


def _sizes(sets: tuple[FeatureSet, ...]) -> str:
    least, most = min(map(len, sets)), max(map(len, sets))
    sizes = counted(least, "feature") if least == most else f"{least} to {most} features"
    return f"{counted(len(sets), 'minimal explanation')} of {sizes}"


WORDS = {
    "contrastive": Wording(contrast_headline, contrast_outcome, contrast_sentence, contrast_facts),
    "enumeration": Wording(
        enumeration_headline, lambda _: "", enumeration_sentence, enumeration_facts
    ),
}
