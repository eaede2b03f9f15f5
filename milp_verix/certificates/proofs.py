"""Proofs as certificates hold them, and claims about all sets of features beside them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from milp_verix.base.clock import Deadline
from milp_verix.certificates.certificate import Certificate
from milp_verix.certificates.claims import exact
from milp_verix.certificates.leaves import NoProofError
from milp_verix.certificates.lower_bounds import asked_bound, bound_proof
from milp_verix.certificates.sets_of import (
    Keeper,
    SetProof,
    bound_by_changes,
    importance_proof,
    no_part_proof,
)
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results.again import posed_again
from milp_verix.results.power_indices.indices import Bracket, brackets
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.importance import ImportanceRecord
from milp_verix.results.records.relevance import RelevanceRecord
from verix_checker.claim import Claim
from verix_checker.sets import MOST

_FEW = 64
"""Features of a network whose lower bounds are tried to be proven by changes, if not otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A certificate, its claim as the checker reads it, and a way to prove other claims."""

    certificate: Certificate
    claim: Callable[[], Claim]
    keeper: Keeper


def with_sets(
    proof: Proof,
    explanation: ExplanationRecord,
    network: LoadedModel,
    about: RelevanceRecord | ImportanceRecord | None,
    deadline: Deadline,
) -> Proof:
    """Return a proof with the lower bound of ``explanation``, or with what another result says.

    A lower bound without a proof is left out, and noted. ``NoProofError`` if the result ``about``
    features that play no part, or about importance, has none.
    """
    made = proof.certificate
    assert made.data is not None
    data: dict[str, Any] = dict(made.data)
    told: Any
    if about is not None:
        with SetProof(posed_again(explanation, network), proof.claim(), deadline) as found:
            if isinstance(about, RelevanceRecord):
                name, told = "no_part", sorted(about.features)
                data[name] = no_part_proof(found, frozenset(about.features), proof.keeper)
            else:
                name, told = "importance", _brackets(about)
                data[name] = importance_proof(found, about, proof.keeper)
        data["claim"] = {**data["claim"], name: told}
        return replace(proof, certificate=replace(made, data=data, about=name))
    least = asked_bound(explanation)
    try:
        data["minimum"] = _lower_bound(proof, explanation, network, least, deadline)
    except NoProofError as error:
        data["notes"] = [f"the lower bound {least['bound']} is not proven here: {error}"]
        return replace(proof, certificate=replace(made, data=data))
    data["claim"] = {**data["claim"], "minimum": least}
    return replace(proof, certificate=replace(made, data=data, bound=least["bound"]))


def _brackets(found: ImportanceRecord) -> dict[str, Any]:
    """Return the brackets of a Shapley value exactly; none of other indices, nor of many features.

    The checker goes through all subsets.
    """
    if found.index != "shapley" or len(found.game.players) > MOST:
        return {}
    known = brackets(found.game, found.index)
    nothing = Bracket(Fraction(0), Fraction(0))
    ends = [known.get(feature, nothing) for feature in range(len(found.groups))]
    return {"shapley": [[exact(one.lower), exact(one.upper)] for one in ends]}


def _lower_bound(
    proof: Proof,
    explanation: ExplanationRecord,
    network: LoadedModel,
    least: dict[str, Any],
    deadline: Deadline,
) -> dict[str, Any]:
    claim = proof.claim()
    if not (claim.ball.rules or claim.loose):
        try:
            return bound_proof(claim, least, deadline)
        except NoProofError:
            if len(explanation.groups) > _FEW or deadline.passed():
                raise
    with SetProof(posed_again(explanation, network), claim, deadline) as found:
        for known in explanation.counterfactuals.values():
            found.add(known.input)
        return bound_by_changes(found, least)
