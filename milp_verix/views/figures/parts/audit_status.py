"""The status of a feature in an audit, with its colour."""

from milp_verix.results.records.audit import AuditRecord
from milp_verix.views.figures.parts.style import Coloured, Status


class AuditStatus(Coloured):
    """Status of a feature in an audit."""

    KEPT = "in the set", "#12a05c"
    REMOVABLE = "can be left out", "#56b4e9"
    ADDED = "missing", "#9b4dca"
    UNDECIDED = "undecided", "#f59b00"
    OUTSIDE = "not in the set", "#b4b4b4"
    STILL = Status.STILL.value, Status.STILL.colour


def audit_statuses(audit: AuditRecord) -> tuple[AuditStatus, ...]:
    """Return the status of each feature.

    Outside of a set that is not sound, features are missing or undecided only if the audit found a
    sound set around it.
    """
    found = [AuditStatus.OUTSIDE] * len(audit.groups)
    for feature in audit.explanation:
        found[feature] = AuditStatus.KEPT
    for feature in audit.removable:
        found[feature] = AuditStatus.REMOVABLE
    for feature in {*audit.still} - {*audit.sound_set}:
        found[feature] = AuditStatus.STILL
    if audit.completed or audit.sound:
        for feature in audit.added:
            found[feature] = AuditStatus.ADDED
        for feature in audit.unknown:
            found[feature] = AuditStatus.UNDECIDED
    return tuple(found)
