"""What figures show of a feature: its status, its sensitivity, and a few counterfactuals."""

from collections.abc import Collection
from enum import Enum
from typing import Self

from milp_verix.base.number_text import counted
from milp_verix.results.audit import Audit
from milp_verix.results.explanation import Explanation
from milp_verix.views.wording import rivals_text

FREED = "the feature taken out of the explanation"
"""The meaning of outlines, in pictures and pages."""


class Coloured(Enum):
    """Words with the ``colour`` of their tints, bars and legends."""

    colour: str

    def __new__(cls, word: str, colour: str) -> Self:
        """Make a member whose value is ``word``."""
        member = object.__new__(cls)
        member._value_, member.colour = word, colour
        return member


class Status(Coloured):
    """Status of a feature. The colours differ in lightness too, for every eye."""

    EXPLANATION = "explanation", "#12a05c"
    UNDECIDED = "undecided", "#f59b00"
    IRRELEVANT = "irrelevant", "#b4b4b4"
    STILL = "stays as it is", "#c8b89a"

    @property
    def kept(self) -> bool:
        """True for features of the explanation, decided or not."""
        return self in (Status.EXPLANATION, Status.UNDECIDED)


class AuditStatus(Coloured):
    """Status of a feature in an audit."""

    KEPT = "in the set", "#12a05c"
    REMOVABLE = "can be left out", "#56b4e9"
    ADDED = "missing", "#9b4dca"
    UNDECIDED = "undecided", "#f59b00"
    OUTSIDE = "not in the set", "#b4b4b4"
    STILL = Status.STILL.value, Status.STILL.colour


def statuses(explanation: Explanation) -> tuple[Status, ...]:
    """Return the status of each feature."""
    found = dict.fromkeys(range(len(explanation.groups)), Status.IRRELEVANT)
    found |= dict.fromkeys(explanation.still, Status.STILL)
    found |= dict.fromkeys(explanation.explanation, Status.EXPLANATION)
    return tuple({**found, **dict.fromkeys(explanation.unknown, Status.UNDECIDED)}.values())


def audit_statuses(audit: Audit) -> tuple[AuditStatus, ...]:
    """Return the status of each feature.

    Outside of a set that is not sound, features are missing or undecided only if the audit found a
    sound set around it.
    """
    found = dict.fromkeys(range(len(audit.groups)), AuditStatus.OUTSIDE)
    found |= dict.fromkeys(audit.explanation, AuditStatus.KEPT)
    found |= dict.fromkeys(audit.removable, AuditStatus.REMOVABLE)
    found |= dict.fromkeys({*audit.still} - {*audit.sound_set}, AuditStatus.STILL)
    if audit.completed or audit.sound:
        found |= dict.fromkeys(audit.added, AuditStatus.ADDED)
        found |= dict.fromkeys(audit.unknown, AuditStatus.UNDECIDED)
    return tuple(found.values())


def status_keys(shown: Collection[Coloured]) -> dict[str, str]:
    """Return the words and the colours of the statuses ``shown``, for a legend."""
    every = type(next(iter(shown), Status.STILL))
    return {status.value: status.colour for status in every if status in shown}


def sensitivity_label(explanation: Explanation) -> str:
    """Return the meaning of the sensitivity of a feature, which its order gives it."""
    if explanation.order == "adaptive" or explanation.order.endswith("influence"):
        named = "another prediction" if explanation.against is None else rivals_text(explanation)
        return f"estimated share of the way to {named}"
    if explanation.order == "margin":
        return "most that a rival gains if it changes alone, by bounds"
    if explanation.order in ("bound", "bound_crown"):
        return "most that confidence drops if it changes alone, by bounds"
    return "drop of the score" if explanation.delta is None else "change of the output"


def gallery_heading(shown: int, explanation: Explanation, drawn: str = "") -> str:
    """Return the heading of a gallery: ``"8 of 191 counterfactuals"``, and a key to the outline.

    ``drawn`` follows the count, for pictures that are not the counterfactuals themselves.
    """
    total = counted(len(explanation.counterfactuals), "counterfactual")
    count = total if shown == len(explanation.counterfactuals) else f"{shown} of {total}"
    return f"{count}{drawn}   ·   outlined: {FREED}"


def chosen(
    explanation: Explanation, limit: int, among: Collection[int] | None = None
) -> tuple[int, ...]:
    """Return at most ``limit`` features whose counterfactuals to show, by class, then ascending.

    Every predicted class gets one before any gets a second, the most frequent first; within a
    class, and for a regression, they are spread evenly. ``among`` restricts the features.
    """
    by_class: dict[int, list[int]] = {}
    for feature, found in sorted(explanation.counterfactuals.items()):
        if among is None or feature in among:
            # the values of a regression are all different, so that they tell nothing apart
            label = found.prediction if isinstance(found.prediction, int) else 0
            by_class.setdefault(label, []).append(feature)
    most_frequent_first = sorted(by_class, key=lambda label: (-len(by_class[label]), label))
    turns = sorted(
        (turn, place, label)
        for place, label in enumerate(most_frequent_first)
        for turn in range(len(by_class[label]))
    )
    taken = [label for _, _, label in turns[:limit]]
    return tuple(
        # the middle of each of so many equal parts
        features[(2 * part + 1) * len(features) // (2 * taken.count(label))]
        for label, features in sorted(by_class.items())
        for part in range(taken.count(label))
    )
