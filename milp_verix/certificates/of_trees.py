"""Certificates about trees: their file, cases for each margin, and points."""

import hashlib
from typing import Any

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.certificates.certificate import Certificate
from milp_verix.certificates.claims import ball_of, bits_of, claim_data, exact, question_bits
from milp_verix.certificates.leaves import NoProofError, Tree
from milp_verix.certificates.proofs import Proof
from milp_verix.certificates.tree_cases import cases_of
from milp_verix.certificates.tree_models import trees_file
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.trees.missing_values import with_missing
from milp_verix.models.trees.tree_network import TreeNetwork
from milp_verix.results.records.explanation import ExplanationRecord
from verix_checker.trees import TreeClaim


def proof_of_trees(
    explanation: ExplanationRecord, network: LoadedModel, deadline: Deadline
) -> Proof:
    """Return the proof of an explanation of trees, with the file that it is about.

    Raises ``NoProofError`` where there is none.
    """
    explanation.refuse_other(network)
    described = explanation.inputs
    read = with_missing(network, described.missing if described is not None else {})
    assert isinstance(read, TreeNetwork)
    model = trees_file(read)
    asked = _claim(explanation, read, model)
    try:
        claim = TreeClaim(model, asked)
    except ValueError as error:
        raise NoProofError(f"the checker does not read the claim: {error}") from error

    def keeper(free: frozenset[int]) -> list[Tree]:
        other = TreeClaim(model, {**asked, "irrelevant": sorted(free)})
        return cases_of(other, read.ensemble, deadline)

    cases = cases_of(claim, read.ensemble, deadline)
    points = _points(explanation, claim)
    unproven = tuple(i for i in sorted(explanation.explanation) if str(i) not in points)
    data = {"claim": {**asked, "minimal": not unproven}, "trees": cases, "points": points}
    found = Certificate(data, None, tuple(map(int, points)), unproven, model=model)
    return Proof(found, lambda: claim, keeper)


def _claim(explanation: ExplanationRecord, network: TreeNetwork, model: bytes) -> dict[str, Any]:
    claim = claim_data(explanation, "")
    del claim["output"]
    trees = network.ensemble
    inner = trees.feature >= 0
    numbers = (trees.threshold[inner], trees.value_of, trees.base, trees.error)
    bits = max(question_bits(explanation), *map(bits_of, numbers))
    found = {"sha256": hashlib.sha256(model).hexdigest(), "source": explanation.model.sha256}
    return {**claim, **found, "bits": bits + 1}  # whole numbers are split at halves


def _points(explanation: ExplanationRecord, claim: TreeClaim) -> dict[str, Any]:
    """Return the counterfactuals that change the prediction whatever the rounding."""
    ball, points = ball_of(explanation), {}
    for feature, found in sorted(explanation.counterfactuals.items()):
        given = found.input.ravel()
        moved = np.flatnonzero(given != ball.centre).tolist()
        point = [claim.one, *map(claim.net.number, given.tolist())]
        free = claim.variables({*claim.irrelevant, feature})
        if claim.ball.holds(point, free) and claim.changed(point):
            points[str(feature)] = {str(place): exact(float(given[place])) for place in moved}
    return points
