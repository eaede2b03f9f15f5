"""Certificates of explanations: found in float64, proven in exact arithmetic before they exist."""

import time
from itertools import chain
from typing import Any

import onnx
from onnx.numpy_helper import to_array

from milp_verix.arguments import seconds_of
from milp_verix.certification.certificate import Certificate
from milp_verix.certification.claims import bits_of, claim_data, points_of
from milp_verix.certification.needed import needed_features
from milp_verix.certification.trees import NoProofError, trees_of
from milp_verix.clock import deadline_in
from milp_verix.errors import InputError
from milp_verix.onnx_reader import serialised
from milp_verix.onnx_reader.onnx_network import NetworkLike, OnnxNetwork, load_network
from milp_verix.records.explanation import Explanation
from onnx_neurons import UnreadableError
from verix_check import Claim
from verix_encodings.arrays import count_of_entries
from verix_encodings.network.nodes import Affine

_MOST_BITS = 1000
_MOST_WEIGHTS = 5_000_000


def certify(
    explanation: Explanation, network: NetworkLike, *, time_limit: float | None = None
) -> Certificate:
    """Return a certificate of ``explanation``: a proof that needs neither a solver nor trust.

    The proof is searched for with bounds and with branching on phases, whatever solver found the
    explanation, for ``time_limit`` seconds at most (no limit by default), and accepted by the exact
    arithmetic of the checker. Smooth activations and operators that the checker does not read have
    none; ``reason`` says so. Raises ``InputError`` where ``network`` is not the network explained.
    """
    started = time.monotonic()
    deadline = deadline_in(seconds_of(time_limit, "time_limit"))
    if not isinstance(network, OnnxNetwork):
        network = load_network(network, input_shape=explanation.model.input_shape)
    model = _bytes_of(network, explanation)
    refused = _refusal(network)
    if refused is not None:
        return Certificate(None, refused, seconds=time.monotonic() - started)
    asked, points = claim_data(explanation, network.scores_name), points_of(explanation)
    try:
        claim, asked = _read(model, asked, _bits(explanation))
        trees = trees_of(claim, deadline)
    except (NoProofError, UnreadableError) as error:
        return Certificate(None, str(error), seconds=time.monotonic() - started)
    needed = needed_features(explanation, claim)
    unproven = tuple(i for i in sorted(explanation.explanation) if i not in needed)
    data = {
        "claim": {**asked, "minimal": not unproven},
        "trees": trees,
        "points": {str(feature): points[feature] for feature in needed},
    }
    return Certificate(data, None, needed, unproven, time.monotonic() - started)


def _refusal(network: OnnxNetwork) -> str | None:
    """Return why no proof is searched for, None if one is."""
    affine = [node for node in network.ir.nodes if isinstance(node, Affine)]
    weights = sum(count_of_entries(matrix) for node in affine for _, matrix in node.terms)
    if weights > _MOST_WEIGHTS:
        return f"the network has {weights} weights, and certificates take {_MOST_WEIGHTS} at most"
    return None


def _bytes_of(network: OnnxNetwork, explanation: Explanation) -> bytes:
    """Return the bytes that the explanation's hash is of; ``InputError`` if they are others."""
    if network.sha256 != explanation.model.sha256:
        raise InputError(
            f"{network.path or network.name} is not the network explained: its SHA-256 is "
            f"{network.sha256[:12]}…, that of {explanation.model.file} was "
            f"{explanation.model.sha256[:12]}…"
        )
    if network.path is None:
        return serialised(network.model)
    try:
        return network.path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {network.path}: {error.strerror}") from error


def _read(model: bytes, asked: dict[str, Any], numbers: int) -> tuple[Claim, dict[str, Any]]:
    """Return the claim as the checker reads it, in a unit of as few bits as are exact.

    ``numbers`` are the bits that the claim itself needs. Raises ``UnreadableError`` where the
    checker does not read the network.
    """
    stored = onnx.load_model_from_string(model).graph.initializer
    weights = (to_array(tensor) for tensor in stored if tensor.data_location == 0)
    fewest = max(numbers, *map(bits_of, weights))
    for bits in range(fewest, max(fewest, _MOST_BITS) + 1, fewest):
        data = {**asked, "bits": bits}
        try:
            return Claim(model, data), data
        except UnreadableError as error:
            if "finer unit" not in str(error):
                raise
        except (ValueError, KeyError) as error:
            raise UnreadableError(f"the checker does not read the claim: {error}") from error
    raise UnreadableError(f"products of weights need more than {_MOST_BITS} bits")


def _bits(explanation: Explanation) -> int:
    """Return the bits behind the point of all numbers in the claim of ``explanation``."""
    numbers = [explanation.epsilon, explanation.delta or 0.0, *(explanation.radii or ())]
    mixed = None if explanation.inputs is None else explanation.inputs.mixed
    for half in chain.from_iterable(() if mixed is None else mixed.clauses):
        numbers += [half.upper, *half.coefficients.tolist()]
    points = [found.input for found in explanation.counterfactuals.values()]
    return max(map(bits_of, [numbers, *explanation.domain, explanation.input, *points]))
