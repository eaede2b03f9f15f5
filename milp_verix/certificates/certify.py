"""Certificates of explanations: found in float64, with slack for the rounding of the checker."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any, TypeAlias, get_args

import numpy as np
import onnx

from milp_verix.base.arguments import SECONDS, checked, instance_of, seconds_of
from milp_verix.base.clock import Deadline, deadline_in
from milp_verix.base.errors import InputError, refusing
from milp_verix.certificates.case_trees import FIRST_TURN, MOST_FREE, quick_trees, trees_of
from milp_verix.certificates.certificate import Certificate, claim_data, question_bits
from milp_verix.certificates.phase_leaves import NoProofError, Tree, require_time
from milp_verix.certificates.reading import ReadClaim, Reading, RoundedClaim, margins_of, read
from milp_verix.certificates.restated import (
    box_explanation,
    everything_kept,
    radius_explanation,
    refuting_explanation,
    relevant_explanation,
    sound_explanation,
)
from milp_verix.certificates.whole_proof import Proof, points_of, with_sets
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.model_file import serialised
from milp_verix.models.onnx.onnx_network import NetworkLike, OnnxNetwork, loaded
from milp_verix.results.audit import Audit
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.ranges import Ranges, RobustnessRadii
from verix_checker.claim import Claim
from verix_checker.neurons import UnreadableError
from verix_encodings.arrays import count_of_entries

_MOST_WEIGHTS = 5_000_000


Certifiable: TypeAlias = Explanation | Audit | Ranges | RobustnessRadii | Relevance | Importance
"""The results that have certificates."""


@checked(explanation=instance_of(*get_args(Certifiable)), time_limit=SECONDS)
def certify(
    network: NetworkLike, explanation: Certifiable, *, time_limit: float | None = None
) -> Certificate:
    """Return a certificate of ``explanation``: a proof that needs neither a solver nor trust.

    That of an audit is about its sound set, or about the counterexample of a set that is not sound;
    that of ranges is about their box, in which every feature may move. That of a robustness radius
    is about its proven lower end. That of relevance shows features to be needed beside others that
    are free, or that they play no part in any minimal one. That of importance shows the sets that
    its brackets rest on, and the brackets of Shapley values of 16 features at most.

    The proof is searched for with bounds and with branching on phases, whatever solver found the
    explanation, for ``time_limit`` seconds at most (no limit by default). It is found in float64,
    rounding counted; the exact arithmetic of the checker decides where that leaves a doubt. Smooth
    activations and operators that the checker does not read have no certificate; ``reason`` says
    so. Raises ``InputError`` where ``network`` is not the network explained.
    """
    deadline = deadline_in(seconds_of(time_limit, "time_limit"))
    network = loaded(network, explanation.inputs, input_shape=explanation.model.input_shape)
    return _PROVERS[explanation.kind](explanation, network, deadline)


def _of_ranges(found: Ranges, network: LoadedModel, deadline: Deadline) -> Certificate:
    if found.unknown_reason is not None:
        return Certificate(None, f"there are no ranges: {found.unknown_reason}")
    return _certified(box_explanation(found), network, deadline)


def _of_audit(audit: Audit, network: LoadedModel, deadline: Deadline) -> Certificate:
    if audit.unknown_reason is not None:
        return Certificate(None, f"the audit is open: {audit.unknown_reason}")
    if audit.sound:
        return _certified(sound_explanation(audit), network, deadline)
    found = _certified(refuting_explanation(audit), network, deadline)
    if found.proven and not found.needed:
        return Certificate(None, "exact arithmetic does not confirm the counterexample")
    return replace(found, refutes=True)


def _of_radius(radii: RobustnessRadii, network: LoadedModel, deadline: Deadline) -> Certificate:
    if radii.each:
        return Certificate(None, "each feature has a radius of its own, and a proof has one claim")
    if not radii.bracket.lower:
        return Certificate(None, f"no radius is proven: {radii.bracket.unknown_reason}")
    return _certified(radius_explanation(radii), network, deadline)


def _of_relevance(found: Relevance, network: LoadedModel, deadline: Deadline) -> Certificate:
    if found.relevant is None:
        return Certificate(None, found.unknown_reason)
    if {*found.features} <= {*found.still}:
        return Certificate(None, "no input in question changes the features: nothing is to prove")
    if not found.relevant:
        return _certified(everything_kept(found), network, deadline, found)
    proof = _certified(relevant_explanation(found), network, deadline)
    if proof.proven and 0 not in proof.needed:
        return Certificate(None, "exact arithmetic does not confirm the counterexample")
    return proof


def _certified(
    explanation: Explanation,
    network: LoadedModel,
    deadline: Deadline,
    about: Relevance | Importance | None = None,
) -> Certificate:
    started = time.monotonic()
    try:
        if isinstance(network, OnnxNetwork):
            proof = _of_network(explanation, network, deadline)
        else:
            from milp_verix.certificates.of_trees import proof_of_trees  # it loads their readers

            proof = proof_of_trees(explanation, network, deadline)
        if explanation.lower_bound is not None or about is not None:
            proof = with_sets(proof, explanation, network, about, deadline)
    except (NoProofError, UnreadableError) as error:
        return Certificate(None, str(error), seconds=time.monotonic() - started)
    return replace(proof.certificate, seconds=time.monotonic() - started)


_PROVERS: dict[str, Callable[..., Certificate]] = {
    Explanation.kind: _certified,
    Audit.kind: _of_audit,
    Ranges.kind: _of_ranges,
    RobustnessRadii.kind: _of_radius,
    Relevance.kind: _of_relevance,
    Importance.kind: lambda found, network, deadline: _certified(
        everything_kept(found), network, deadline, found
    ),
}


def _of_network(explanation: Explanation, network: OnnxNetwork, deadline: Deadline) -> Proof:
    model = _bytes_of(network, explanation)
    matrices = (matrix for node in network.ir.nodes for _, matrix in node.matrices)
    if (weights := sum(map(count_of_entries, matrices))) > _MOST_WEIGHTS:
        text = f"the network has {weights} weights, and certificates take {_MOST_WEIGHTS} at most"
        raise NoProofError(text)
    question = claim_data(explanation, network.scores_name)
    beside = _beside(model, network)
    reading = read(model, network.scores_name, tuple(beside.items()))
    question["bits"] = max(reading.bits, question_bits(explanation))
    if reading.odd != 1:
        question["odd"] = reading.odd
    if beside:
        question["beside"] = {name: sha256(data).hexdigest() for name, data in beside.items()}

    described = explanation.inputs is not None

    def keeper(free: frozenset[int], exact: Callable[[], Claim] | None = None) -> list[Tree]:
        coordinates = sum(len(explanation.groups[feature]) for feature in free)
        text = {**question, "irrelevant": sorted(free)}
        exactly = exact or cache(lambda: _claim(reading, model, text, beside))
        # described inputs are for exact cases
        return _trees(None if described else coordinates, reading, text, exactly, deadline)

    exact = cache(lambda: _claim(reading, model, question, beside))
    trees = keeper(frozenset(explanation.irrelevant), exact)
    x = explanation.input.ravel().astype(np.float64)
    found = points_of(explanation, margins_of(reading.network, question, x), exact)
    unproven = tuple(i for i in sorted(explanation.explanation) if i not in found.points)
    points = {str(feature): moves for feature, moves in sorted(found.points.items())}
    data: dict[str, Any] = {
        "claim": {**question, "minimal": not unproven},
        "trees": trees,
        "starts": found.starts,
        "points": points,
    }

    certificate = Certificate(data, None, tuple(sorted(found.points)), unproven)
    return Proof(certificate, exact, keeper)


def _trees(
    free: int | None,
    reading: Reading,
    question: Mapping[str, Any],
    exact: Callable[[], Claim],
    deadline: Deadline,
) -> list[Tree]:
    """Return trees in float64, else exact; ``free`` counts coordinates, None for exact alone."""
    if free is not None:
        turn = deadline.within(FIRST_TURN) if free <= MOST_FREE else deadline
        with suppress(NoProofError, OverflowError):
            return quick_trees(RoundedClaim.of(reading, question), exact, turn)
    require_time(deadline)
    return trees_of(exact(), deadline)


def _claim(
    reading: Reading, model: bytes, question: Mapping[str, Any], beside: Mapping[str, bytes]
) -> Claim:
    try:
        return ReadClaim(reading, model, question, beside)
    except (ValueError, KeyError) as error:
        raise UnreadableError(f"the checker does not read the claim: {error}") from error


def _bytes_of(network: OnnxNetwork, explanation: Explanation) -> bytes:
    """Return the bytes that the explanation's hash is of; ``InputError`` if they are others."""
    explanation.refuse_other(network)
    if network.path is None:
        return serialised(network.model)
    with refusing(f"cannot read {network.path}"):
        return network.path.read_bytes()


def _beside(model: bytes, network: OnnxNetwork) -> dict[str, bytes]:
    """Return the content of files with weights beside that of the network, by their names."""
    graph = onnx.load_model_from_string(model).graph
    stored = ({e.key: e.value for e in one.external_data} for one in graph.initializer)
    names = sorted({entry["location"] for entry in stored if "location" in entry})
    if not names:
        return {}
    if network.path is None:
        raise UnreadableError("the network's weights are beside it, and it has no folder")
    try:
        return {name: (network.path.parent / name).read_bytes() for name in names}
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
