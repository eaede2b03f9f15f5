"""Facts about audits, as pairs of a name and a text."""

from milp_verix.records.audit import Audit
from milp_verix.reporting.words.audit_wording import (
    completion_text,
    minimality_text,
    minimum_text,
    soundness_text,
)
from milp_verix.reporting.words.contrast_table import effort_facts
from milp_verix.reporting.words.explanation_table import about_facts, features_facts
from milp_verix.reporting.words.feature_labels import labels_of
from milp_verix.reporting.words.wording import counted


def audit_facts(audit: Audit) -> list[tuple[str, str]]:
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
