"""Radii and relevance have certificates that the checker accepts; false ones have none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix import (
    Certificate,
    OnnxNetwork,
    Relevance,
    RobustnessRadii,
    load_network,
    minimum,
    relevance,
    robustness_radius,
)
from milp_verix.inputs.feature import continuous, integer
from milp_verix.inputs.inputs import Inputs
from tests.support.certificates import checked
from tests.support.random_networks import as_layers, dense_network, random_layers

# the first score is ahead by 1 - x0 - x1/10; x2 has no part in it
LAYERS = as_layers(([[1, 0.1, 0], [0, 0, 0]], [0, 0]), ([[0, 0], [1, 0]], [1, 0]))
X = np.full(3, 0.5, dtype=np.float32)


def accepted(network: OnnxNetwork, found: Certificate) -> bool:
    assert network.path is not None
    return found.proven and checked(network.path.read_bytes(), found.to_json())


def claim(found: Certificate) -> dict[str, Any]:
    assert found.data is not None
    told: dict[str, Any] = found.data["claim"]
    return told


def test_a_radius_is_proven_and_no_larger_one(tmp_path: Path) -> None:
    network = dense_network(LAYERS, tmp_path)
    found = robustness_radius(network, X, free=[0, 1])
    proof = found.certify(network)
    assert accepted(network, proof)
    assert claim(proof)["irrelevant"] == [0, 1]
    assert 0.35 < found.bracket.lower < 0.45 / 1.1 + 1e-6
    larger = replace(found.bracket, lower=0.42, upper=None, counterfactual=None, reach=0.5)
    refused = replace(found, brackets=(larger,)).certify(network)
    assert not refused.proven


def test_a_minimum_with_a_tiny_radius_is_proven(tmp_path: Path) -> None:
    network = dense_network(LAYERS, tmp_path)
    found = minimum(network, X, epsilon=np.array([1e-200, 1, 1]))
    assert found.size == found.lower_bound
    assert accepted(network, found.certify(network))


def test_a_radius_of_described_inputs_counts_in_their_units(tmp_path: Path) -> None:
    layers = as_layers(([[0.1, 1, 0], [0, 0, 0]], [0, 0]), ([[0, 0], [1, 0]], [2, 0]))
    network = dense_network(layers, tmp_path)
    inputs = Inputs([integer("age", 0, 10), continuous("share", 0, 1), continuous("rest", 0, 1)])
    found = robustness_radius(
        network, [5, 0.5, 0.5], inputs=inputs, scale={"age": 5, "share": 1, "rest": 1}
    )
    proof = found.certify(network)
    assert accepted(network, proof)
    assert claim(proof)["whole"] == [0]
    assert float(found.bracket.lower) > 0


def test_brackets_of_each_feature_have_no_certificate(tmp_path: Path) -> None:
    network = dense_network(LAYERS, tmp_path)
    found = robustness_radius(network, X, each=True).certify(network)
    assert not found.proven
    assert "each feature" in str(found.reason)


def test_necessary_features_are_needed_with_nothing_free(tmp_path: Path) -> None:
    network = dense_network(LAYERS, tmp_path)
    found = relevance(network, X, 0, epsilon=0.48)
    assert found.necessary
    proof = found.certify(network)
    assert accepted(network, proof)
    assert (claim(proof)["irrelevant"], proof.needed) == ([], (0,))


def test_relevant_features_are_needed_beside_others_that_are_free(tmp_path: Path) -> None:
    # two inputs of which either alone keeps the prediction
    layers = as_layers(([[1, 1, 0], [0, 0, 0]], [0, 0]), ([[0, 0], [1, 0]], [1.6, 0]))
    network = dense_network(layers, tmp_path)
    found = relevance(network, X, 0, epsilon=0.5)
    assert (found.relevant, found.necessary) == (True, False)
    proof = found.certify(network)
    assert accepted(network, proof)
    assert claim(proof)["irrelevant"] == [1]
    assert found.counterfactual is not None
    kept = replace(found.counterfactual, input=found.input)
    assert not replace(found, counterfactual=kept).certify(network).proven


def test_features_that_play_no_part_are_proven(tmp_path: Path) -> None:
    network = dense_network(LAYERS, tmp_path)
    found = relevance(network, X, 2, epsilon=0.5)
    assert found.relevant is False
    proof = found.certify(network)
    assert accepted(network, proof)
    assert (claim(proof)["no_part"], proof.about) == ([2], "no_part")


def test_random_radii_and_relevance_are_proven_or_say_why(random_seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(random_seed)
    network = dense_network(random_layers(rng, [4, 5, 4, 3]), tmp_path)
    x = rng.uniform(0.3, 0.7, 4).astype(np.float32)
    read = load_network(str(network.path))
    assert isinstance(read, OnnxNetwork)
    found: list[RobustnessRadii | Relevance] = [
        robustness_radius(read, x, free=[0, 1, 3]),
        *(relevance(read, x, feature, epsilon=0.3) for feature in range(4)),
    ]
    for one in found:
        proof = one.certify(read)
        assert accepted(read, proof) == proof.proven
        if isinstance(one, Relevance):
            assert proof.proven
