"""Facts about contrastive explanations and enumerations, as pairs of a name and a text."""

from milp_verix.reporting.words.explanation import (
    about_facts,
    effort_facts,
    features_facts,
    words_facts,
)
from milp_verix.reporting.words.feature_labels import SHOWN, change_texts, labels_of
from milp_verix.reporting.words.sentences import contrast_sentence
from milp_verix.reporting.words.wording import (
    becomes_text,
    change_text,
    contrast_outcome,
    counted,
    kept_text,
    number,
)
from milp_verix.results.records.contrast import Alternative, ContrastiveExplanationRecord
from milp_verix.results.records.enumeration import EnumerationRecord
from milp_verix.results.records.kinds import FeatureSet

_SHARES = "the sum of each change as a share of its radius, or of its domain if smaller"


def contrast_facts(found: ContrastiveExplanationRecord) -> list[tuple[str, str]]:
    """Return the facts about ``found``, as pairs of a name and a text."""
    told = [*words_facts(found, contrast_sentence), *about_facts(found)]
    if found.must_not:
        told.append(("held", labels_of(found).listed(found.must_not)))
    if found.contrast is not None and found.counterfactual is not None:
        told += [
            ("contrast", f"{found.size} of {counted(len(found.groups), 'feature')}"),
            *features_facts(found, found.contrast),
            ("counterfactual", becomes_text(found, found.counterfactual)),
        ]
        if found.inputs is not None:
            told += [("change", text) for text in change_texts(found, found.counterfactual)]
    if found.distance is not None:
        weighed = ", times its cost" if found.costs is not None else ""
        told.append(("distance", f"{number(found.distance)}, {_SHARES}{weighed}"))
    elif found.costs is not None and found.cost is not None:
        told.append(("cost", number(found.cost)))
    told.append(("minimum", contrast_outcome(found)))
    told += [("or", _alternative(found, other)) for other in found.alternatives]
    return told + effort_facts(found)


def _alternative(found: ContrastiveExplanationRecord, other: Alternative) -> str:
    """Return another change, its cost, and what is proven of it."""
    labels = labels_of(found)
    told = ", ".join(labels.short(feature) for feature in other.contrast)
    if found.inputs is not None:
        told = ", ".join(change_texts(found, other.counterfactual))
    what = "distance" if found.scales is not None else "cost"
    cost = number(found.cost_of(other.contrast, other.counterfactual))
    proof = "proven to be the least without the sets above"
    if other.unknown_reason is not None:
        proof = f"none below {number(other.lower_bound)}; open: {other.unknown_reason}"
    return f"{told} {becomes_text(found, other.counterfactual)}; {what} {cost}, {proof}"


def enumeration_facts(found: EnumerationRecord) -> list[tuple[str, str]]:
    """Return the facts about ``found``, as pairs of a name and a text."""
    told, labels = about_facts(found), labels_of(found)
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
    return told + effort_facts(found)


def _smallest(found: EnumerationRecord) -> str:
    """Return the size of the smallest abductive set, or how to get it where it is not known."""
    if found.minimum is not None:
        size = counted(len(found.minimum), "feature")
        return f"{size}, proven: no set of fewer keeps the prediction"
    least = counted(found.lower_bound, "feature")
    return (
        "not known: sets are not found in the order of their size, so explain may find a smaller "
        f"one, of {least} or more; minimum finds the smallest"
    )


def _sizes(sets: tuple[FeatureSet, ...]) -> str:
    least, most = min(map(len, sets)), max(map(len, sets))
    sizes = counted(least, "feature") if least == most else f"{least} to {most} features"
    return f"{counted(len(sets), 'minimal explanation')} of {sizes}"
