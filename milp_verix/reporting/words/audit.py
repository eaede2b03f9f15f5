"""Audits in words, and the facts about them."""

from milp_verix.reporting.words.explanation import about_facts, effort_facts, features_facts
from milp_verix.reporting.words.feature_labels import labels_of
from milp_verix.reporting.words.wording import becomes_text, counted, number, predicted_text
from milp_verix.results.records.audit import AuditRecord, Minimum


def audit_headline(audit: AuditRecord) -> str:
    """Return the result in a line: ``"Prediction 7 is kept by 60 of 784 features, proven"``."""
    prediction = predicted_text(audit)
    features = f"{audit.size} of {counted(len(audit.groups), 'feature')}"
    if audit.sound is None:
        return f"{prediction}: not known if {features} keep it"
    kept = f"is kept by {features}, proven" if audit.sound else f"is not kept by {features}"
    return f"{prediction} {kept}"


def audit_outcome(audit: AuditRecord) -> str:
    """Return how far the set is from a minimal one, or from a sound one, in words."""
    if audit.sound:
        if audit.minimal:
            return "minimal: no feature can be left out"
        undecided = f", {len(audit.unknown)} undecided" if audit.unknown else ""
        if not audit.removable:
            return f"minimality is not known{undecided}"
        return f"too large by {counted(len(audit.removable), 'feature')}{undecided}"
    if not audit.completed:
        return "no completion is known"
    return f"sound with {_more(audit)}"


def soundness_text(audit: AuditRecord) -> str:
    """Return the answer on soundness with its proof, its witness or the obstacle."""
    if audit.sound:
        proof = "" if audit.bound is None else f": no margin is above {number(audit.bound)}"
        return f"yes, proven{proof}"
    if audit.counterexample is not None:
        changed = becomes_text(audit, audit.counterexample)
        return f"no: a counterexample ({changed}), run by the model itself"
    return f"not known: {audit.unknown_reason}"


def minimality_text(audit: AuditRecord) -> str:
    """Return whether features of a sound set can be left out, and how many."""
    if audit.minimal:
        return "yes: each feature has a counterfactual"
    undecided = f"; {counted(len(audit.unknown), 'feature')} undecided" if audit.unknown else ""
    if not audit.removable:
        return f"not known{undecided}"
    count = counted(len(audit.removable), "feature")
    together = " together" if len(audit.removable) > 1 else ""
    return f"no: {count} can be left out{together}, {len(audit.sound_set)} are left{undecided}"


def completion_text(audit: AuditRecord) -> str:
    """Return how many features make a set sound that is not."""
    if not audit.completed:
        reasons = ", ".join(sorted(set(audit.unknown_reasons.values())))
        return f"none found: {reasons}"
    return f"sound with {_more(audit)}, {len(audit.sound_set)} in all"


def minimum_text(found: Minimum) -> str:
    """Return the size of the smallest set, or the range that it is known to be in."""
    if found.proven:
        return f"{counted(found.size, 'feature')}, proven"
    return f"{found.lower_bound} to {found.size} features"


def _more(audit: AuditRecord) -> str:
    undecided = f" ({len(audit.unknown)} of them undecided)" if audit.unknown else ""
    return f"{len(audit.added)} more{undecided}"


def audit_facts(audit: AuditRecord) -> list[tuple[str, str]]:
    """Return the facts about ``audit``, as pairs of a name and a text."""
    labels = labels_of(audit)
    told = [
        *about_facts(audit),
        ("audited", f"{audit.size} of {counted(len(audit.groups), 'feature')}"),
        *features_facts(audit, audit.explanation),
        ("sound", soundness_text(audit)),
    ]
    if audit.sound:
        told.append(("minimal", minimality_text(audit)))
        told += [("left out", labels.listed(audit.removable))] if audit.removable else []
    else:
        told.append(("completion", completion_text(audit)))
        told += [("added", labels.listed(audit.added))] if audit.completed else []
    if audit.minimum is not None:
        told.append(("smallest sound set", minimum_text(audit.minimum)))
    if audit.completion is not None:
        told.append(("smallest that holds it", minimum_text(audit.completion)))
    return told + effort_facts(audit)
