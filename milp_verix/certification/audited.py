"""Audits as explanations that have certificates: of a set that is sound, or of one that is not.

A set that is not sound is refuted by one point: in terms of certificates, the features that the set
leaves free are one feature, nothing is irrelevant, and a point shows that feature to be needed.
"""

from dataclasses import fields
from typing import Any

from milp_verix.results.records.audit import Audit
from milp_verix.results.records.base import Result
from milp_verix.results.records.explanation import Explanation

_UNTRIED = "not tried"


class _Coarser(Explanation):
    """An explanation whose features are groups of the features that its inputs describe."""

    __slots__ = ()

    def _refuse_contradictions(self) -> None:
        """Accept names, radii and inputs of other features."""


def sound_explanation(audit: Audit) -> Explanation:
    """Return the sound set of ``audit`` as an explanation."""
    return Explanation(
        **_shared(audit),
        permutation=tuple(range(len(audit.groups))),
        explanation=audit.sound_set,
        irrelevant=tuple(sorted({*range(len(audit.groups))} - {*audit.sound_set})),
        unknown_reasons=audit.unknown_reasons,
        counterfactuals=audit.counterfactuals,
    )


def refuting_explanation(audit: Audit) -> Explanation:
    """Return an explanation whose feature 0 is all that a set leaves free, with its counterexample.

    ``audit`` must have a counterexample.
    """
    assert audit.counterexample is not None
    kept = {i for feature in audit.explanation for i in audit.groups[feature]}
    free = {i for group in audit.groups for i in group} - kept
    groups = tuple(tuple(sorted(group)) for group in (free, kept) if group)
    shared = _shared(audit) | {"groups": groups, "feature_names": None, "feature_shape": None}
    return _Coarser(
        **shared,
        permutation=tuple(range(len(groups))),
        explanation=tuple(range(len(groups))),
        irrelevant=(),
        unknown_reasons=dict.fromkeys(range(1, len(groups)), _UNTRIED),
        counterfactuals={0: audit.counterexample},
    )


def _shared(audit: Audit) -> dict[str, Any]:
    names = (field.name for field in fields(Result))
    return {name: getattr(audit, name) for name in names} | {"order": "index", "sensitivity": None}
