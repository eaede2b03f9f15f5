"""Contrastive explanations and enumerations in words, and the facts about them."""

from collections.abc import Callable
from typing import Any

from milp_verix.base.number_text import counted, down, nearest, percent, up
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.results.contrast import (
    NEAREST_GAP,
    Alternative,
    ContrastiveExplanation,
    Enumeration,
)
from milp_verix.views.words.explanation import (
    about_facts,
    effort_facts,
    features_facts,
    to_try,
    words_facts,
)
from milp_verix.views.words.labels import SHOWN, change_texts, labels_of
from milp_verix.views.words.sentences import (
    change_told,
    claim_text,
    compared,
    decided,
    kept_values,
    limit_parts,
    room_parts,
    rules_told,
    scope_sentences,
    set_claim,
    stays_text,
)
from milp_verix.views.words.wording import (
    becomes_text,
    change_text,
    contrast_outcome,
    distance_text,
    joined,
    kept_text,
    less_text,
)

_SETS = 3
"""So many sets of each kind are told in a sentence."""
_SHARES = "the sum of each change as a share of its radius, or of its domain if smaller"


def contrast_sentence(found: ContrastiveExplanation) -> str:
    """Return the change that is enough, and whether a smaller one is."""
    if found.robust:
        one_way = _one_way(found, "up") + _one_way(found, "down")
        told = [claim_text([stays_text(found), *_limits(found, room_parts, one_way=one_way)])]
    elif found.counterfactual is None:
        none = f"No change was found that {change_text(found)}{limits_told(found)}"
        told = [f"{none}; there may be one."]
    else:
        plain = found.against is None and found.delta is None
        least = f"{less_text(found)} {'does that' if plain else change_text(found)}"
        least = f"{'No' if found.proven else 'It is open if a'} {least}"
        if found.distance is not None:
            least = f"{'No such' if found.proven else 'It is open if such a'} change is nearer"
            least += f"{at_costs(found)} by more than {percent(NEAREST_GAP)} %"
        told = [change_told(found, found.counterfactual), f"{least}{limits_told(found)}."]
    for other in found.alternatives:
        changed = change_told(found, other.counterfactual)
        told.append(f"Or: {changed[0].lower()}{changed[1:]}")
    return " ".join([*told, *rules_told(found)])


def limits_told(found: ContrastiveExplanation) -> str:
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
    held = [kept_values(found, found.must_not, "given")] if found.must_not else []
    conditions = [*held, *directions_of(found)]
    kept = [f"as long as {joined(conditions)}"] if conditions else []
    return [*parts(found, free, bool(kept), **how), *kept]


def directions_of(found: ContrastiveExplanation) -> list[str]:
    """Return ``["age only rises"]`` and the like: the one way in which features may change."""
    if found.inputs is None:
        return []
    told = []
    for direction, one, several in (("up", "rises", "rise"), ("down", "falls", "fall")):
        names = [found.inputs.names[feature] for feature in _one_way(found, direction)]
        if names:
            told.append(f"{joined(names)} only {one if len(names) == 1 else several}")
    return told


def _one_way(found: ContrastiveExplanation, direction: str) -> list[int]:
    features, held = () if found.inputs is None else found.inputs.features, found.still
    return [
        place
        for place, feature in enumerate(features)
        if feature.only == direction and place not in {*found.must_not, *held}
    ]


def contrast_facts(found: ContrastiveExplanation) -> list[tuple[str, str]]:
    """Return the facts about ``found``, as pairs of a name and a text."""
    told = [*words_facts(found, contrast_sentence), *about_facts(found)]
    if found.must_not:
        told.append(("held", labels_of(found).listed(found.must_not)))
    told += [("direction", text) for text in directions_of(found)]
    if found.contrast is not None and found.counterfactual is not None:
        told += [
            ("contrast", f"{found.size} of {counted(len(found.groups), 'feature')}"),
            *features_facts(found, found.contrast),
            ("counterfactual", becomes_text(found, found.counterfactual)),
        ]
        told += [("change", text) for text in change_texts(found, found.counterfactual)]
    if found.distance is not None:
        weighed = ", times its cost" if found.costs is not None else ""
        told.append(("distance", f"{distance_text(found)}, {_SHARES}{weighed}"))
    elif found.costs is not None and found.cost is not None:
        told.append(("cost", nearest(found.cost)))
    told.append(("minimum", contrast_outcome(found)))
    told += [("or", _alternative(found, other)) for other in found.alternatives]
    if not found.proven:
        told += to_try(found, [found.statistics.stopped, found.unknown_reason])
    return told + effort_facts(found)


def _alternative(found: ContrastiveExplanation, other: Alternative) -> str:
    """Return another change, its cost, and what is proven of it."""
    labels = labels_of(found)
    told = ", ".join(labels.short(feature) for feature in other.contrast)
    if found.inputs is not None:
        told = ", ".join(change_texts(found, other.counterfactual))
    what = "distance" if found.scales is not None else "cost"
    found_cost = found.cost_of(other.contrast, other.counterfactual)
    cost = up(found_cost) if found.scales is not None else nearest(found_cost)
    proof = "proven to be the least that does not change all of a set above"
    if other.unknown_reason is not None:
        proof = f"none below {down(other.lower_bound)}; open: {other.unknown_reason}"
    return f"{told} {becomes_text(found, other.counterfactual)}; {what} {cost}, {proof}"


def enumeration_sentence(found: Enumeration) -> str:
    """Return the minimal sets of both kinds in words, and whether there may be others."""
    if found.abductive == ((),):
        return " ".join([set_claim(found, ()), *rules_told(found)])
    told, explained = [], f"{decided(found)}{compared(found)}"
    if sets := found.abductive:
        which = "This minimal set" if len(sets) == 1 else f"Each of these {len(sets)} minimal sets"
        told.append(f"{which} of features explains {explained}: {_told_sets(found, sets)}.")
    if sets := tuple(found.contrastive):
        which = "this minimal set" if len(sets) == 1 else f"any of these {len(sets)} minimal sets"
        told.append(f"Some change of {which} {change_text(found)}: {_told_sets(found, sets)}.")
    if needed := found.necessary:
        names = joined([labels_of(found)[feature] for feature in needed])
        told.append(f"Every explanation contains {names}.")
    reason = found.statistics.stopped or found.unknown_reason or "unknown"
    told.append("There are no others." if found.complete else f"There may be others: {reason}.")
    return " ".join([*told, *scope_sentences(found)])


def _told_sets(found: Enumeration, sets: tuple[FeatureSet, ...]) -> str:
    labels, told = labels_of(found), []
    for one in sets[:_SETS]:
        names = [labels[feature] for feature in one]
        told.append(joined(names) if len(names) <= SHOWN else counted(len(names), "feature"))
    more = [counted(len(sets) - _SETS, "other set")] if len(sets) > _SETS else []
    return "; ".join([*told, *more])


def enumeration_facts(found: Enumeration) -> list[tuple[str, str]]:
    """Return the facts about ``found``, as pairs of a name and a text."""
    labels = labels_of(found)
    told = [*words_facts(found, enumeration_sentence), *about_facts(found)]
    if labels.axes:
        told.append((labels.unit, f"listed as {labels.axes} from 0"))
    for name, sets, what in (
        ("abductive", found.abductive, f"with each one fixed, {kept_text(found)}"),
        ("contrastive", tuple(found.contrastive), f"a change of each one {change_text(found)}"),
    ):
        told.append((name, f"{_sizes(sets)}: {what}" if sets else "none"))
        told += [("", labels.listed(one) or "the empty set") for one in sets[:SHOWN]]
        if len(sets) > SHOWN:
            told.append(("", f"… and {len(sets) - SHOWN} more"))
    told.append(("smallest", _smallest(found)))
    complete = "yes, proven: there are no others"
    if not found.complete:
        reason = found.statistics.stopped or found.unknown_reason or "unknown"
        complete = f"no: {reason}"
    told.append(("complete", complete))
    if not found.complete and found.statistics.stopped != "limit":
        told += to_try(found, [found.statistics.stopped, found.unknown_reason])
    return told + effort_facts(found)


def _smallest(found: Enumeration) -> str:
    """Return the size of the smallest abductive set, or how to get it where it is not known."""
    if found.minimum is not None:
        size = counted(len(found.minimum), "feature")
        return f"{size}, proven: no explanation in the ball has fewer"
    least = counted(found.lower_bound, "feature")
    return (
        "not known: sets are not found in the order of their size, so explain may find a smaller "
        f"one, of {least} or more; minimum finds the smallest"
    )


def _sizes(sets: tuple[FeatureSet, ...]) -> str:
    least, most = min(map(len, sets)), max(map(len, sets))
    sizes = counted(least, "feature") if least == most else f"{least} to {most} features"
    return f"{counted(len(sets), 'minimal explanation')} of {sizes}"
