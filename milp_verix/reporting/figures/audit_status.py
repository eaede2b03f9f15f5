"""The status of a feature in an audit, with its colour."""

from enum import Enum

from milp_verix.results.records.audit import AuditRecord


class AuditStatus(Enum):
    """Status of a feature in an audit."""

    KEPT = "in the set"
    REMOVABLE = "can be left out"
    ADDED = "missing"
    UNDECIDED = "undecided"
    OUTSIDE = "not in the set"

    @property
    def colour(self) -> str:
        """The colour of tints, bars and legends."""
        return _COLOURS[self]


_COLOURS = {
    AuditStatus.KEPT: "#12a05c",
    AuditStatus.REMOVABLE: "#56b4e9",
    AuditStatus.ADDED: "#9b4dca",
    AuditStatus.UNDECIDED: "#f59b00",
    AuditStatus.OUTSIDE: "#b4b4b4",
}


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
    if audit.completed or audit.sound:
        for feature in audit.added:
            found[feature] = AuditStatus.ADDED
        for feature in audit.unknown:
            found[feature] = AuditStatus.UNDECIDED
    return tuple(found)
