"""Audits in words, and the facts about them."""

from milp_verix.base.number_text import counted, up
from milp_verix.results.audit import Audit, Minimum
from milp_verix.views.words.explanation import (
    about_facts,
    effort_facts,
    features_facts,
    to_try,
    words_facts,
)
from milp_verix.views.words.labels import labels_of
from milp_verix.views.words.sentences import (
    change_told,
    held_told,
    kept_values,
    limit_parts,
    open_claim,
    open_told,
    rules_told,
    scope_sentences,
    set_claim,
)
from milp_verix.views.words.wording import becomes_text, predicted_text


def audit_headline(audit: Audit) -> str:
    """Return the result in a line: ``"Prediction 7 is kept by 60 of 784 features, proven"``."""
    prediction = predicted_text(audit)
    features = f"{audit.size} of {counted(len(audit.groups), 'feature')}"
    if audit.sound is None:
        return f"{prediction}: not known if {features} keep it in the ball"
    kept = f"is{' ' if audit.sound else ' not '}kept by {features} in the ball"
    return f"{prediction} {kept}{', proven' if audit.sound else ''}"


def audit_outcome(audit: Audit) -> str:
    """Return how far the set is from a minimal one, or from a sound one, in words."""
    if audit.sound:
        spare, held = _without_room(audit)
        undecided = f", {len(audit.unknown)} undecided" if audit.unknown else ""
        if spare:
            return f"too large by {counted(len(spare), 'feature')}{undecided}"
        if audit.unknown:
            return f"minimality is not known{undecided}"
        return f"minimal: no feature{' with room to change' if held else ''} can be left out"
    if not audit.completed:
        return "no completion is known"
    return f"sound with {_more(audit)}"


def soundness_text(audit: Audit) -> str:
    """Return the answer on soundness with its proof, its witness or the obstacle."""
    if audit.sound:
        proof = "" if audit.bound is None else f": no margin is above {up(audit.bound)}"
        return f"yes, proven{proof}"
    if audit.counterexample is not None:
        changed = becomes_text(audit, audit.counterexample)
        return f"no: a counterexample ({changed}), run by the model itself"
    return f"not known: {audit.unknown_reason}"


def completion_text(audit: Audit) -> str:
    """Return how many features make a set sound that is not."""
    if not audit.completed:
        reasons = ", ".join(sorted(set(audit.unknown_reasons.values())))
        return f"none found: {reasons}"
    return f"sound with {_more(audit)}, {len(audit.sound_set)} in all"


def minimum_text(found: Minimum) -> str:
    """Return the size of the smallest set, or the range that it is known to be in."""
    if found.proven:
        return f"{counted(found.size, 'feature')}, proven"
    return f"{found.lower_bound} to {counted(found.size, 'feature')}"


def _without_room(audit: Audit) -> tuple[list[int], list[int]]:
    """Return the features that can be left out, and those that stay as they are anyway."""
    still = {*audit.still}
    spare = [feature for feature in audit.removable if feature not in still]
    return spare, [feature for feature in audit.removable if feature in still]


def _more(audit: Audit) -> str:
    undecided = f" ({len(audit.unknown)} of them undecided)" if audit.unknown else ""
    return f"{len(audit.added)} more{undecided}"


def audit_sentence(audit: Audit) -> str:
    """Return whether the set keeps the prediction in words: the claim, or what refutes it."""
    kept = audit.explanation
    claim = set_claim(audit, kept, "of the set")
    if audit.sound:
        return " ".join([claim, *_spare(audit), *rules_told(audit)])
    if audit.counterexample is None:
        return " ".join([open_claim(claim, audit.unknown_reason), *rules_told(audit)])
    told = ["It is not enough to fix no feature."]
    if kept:
        told = [f"It is not enough that {kept_values(audit, kept, 'of the set')}."]
    told.append(change_told(audit, audit.counterexample))
    return " ".join([*told, *_missing(audit), *scope_sentences(audit)])


def _spare(audit: Audit) -> list[str]:
    """Return sentences on the features that a sound set does not need."""
    kept, (spare, held) = audit.sound_set, _without_room(audit)
    told = [f"{held_told(audit, held)}."] if held else []
    if spare:
        together = ", all at once" if len(spare) > 1 else ""
        free = spare  # all features that are free share the radius of L1 and L2
        if audit.norm != "linf":
            free = [f for f in range(len(audit.groups)) if f in spare or f not in kept]
        limits = "".join(f", {part}" for part in limit_parts(audit, free))
        told.append(f"It does so without {labels_of(audit).named(spare)}, too{together}{limits}.")
    elif kept and not audit.unknown and held:
        others = "None of the others" if len(kept) > 1 else "The other one"
        told.append(f"{others} can{'' if len(kept) > 1 else '’t'} be left out.")
    elif kept and not audit.unknown:
        told.append("None of them can be left out." if len(kept) > 1 else "It can’t be left out.")
    return [*told, *open_told(audit, audit.unknown)]


def _missing(audit: Audit) -> list[str]:
    """Return a sentence on the features that make a set sound that is not."""
    if not audit.completed:
        return []
    as_well = " as well" if audit.explanation else ""
    missing = kept_values(audit, audit.added, "that are missing")
    return [f"It is enough if {missing}{as_well}.", *open_told(audit, audit.unknown, " for that")]


def audit_facts(audit: Audit) -> list[tuple[str, str]]:
    """Return the facts about ``audit``, as pairs of a name and a text."""
    labels = labels_of(audit)
    told = [
        *words_facts(audit, audit_sentence),
        *about_facts(audit),
        ("audited", f"{audit.size} of {counted(len(audit.groups), 'feature')}"),
        *features_facts(audit, audit.explanation),
        ("sound", soundness_text(audit)),
    ]
    if audit.sound:
        told.append(("minimality", audit_outcome(audit)))
        spare, _ = _without_room(audit)
        told += [("left out", labels.listed(spare))] if spare else []
    else:
        told.append(("completion", completion_text(audit)))
        told += [("added", labels.listed(audit.added))] if audit.completed else []
    told += to_try(audit, [audit.unknown_reason, *audit.unknown_reasons.values()])
    if audit.minimum is not None:
        told.append(("smallest sound set", minimum_text(audit.minimum)))
    if audit.completion is not None:
        told.append(("smallest that holds it", minimum_text(audit.completion)))
    return told + effort_facts(audit)
