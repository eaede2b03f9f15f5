"""Certificates about all sets of features at once agree with going through all of these sets."""

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Certificate, Inputs, Problem, certify, continuous, integer
from tests.support.certificates import changed, checked
from tests.support.random_networks import dense_network, random_layers
from tests.support.tree_models import LIBRARIES

Posed = Callable[[int, Path], Problem]


def network(seed: int, folder: Path) -> Problem:
    """Return a question about a random network of four inputs."""
    rng = np.random.default_rng(seed)
    made = dense_network(random_layers(rng, [4, 5, 4, 3]), folder)
    return Problem(made, rng.uniform(0.3, 0.7, 4).astype(np.float32), epsilon=0.4)


def ruled(seed: int, folder: Path) -> Problem:
    """Return a question about a random network whose inputs have a rule."""
    rng = np.random.default_rng(seed)
    made = dense_network(random_layers(rng, [4, 5, 4, 3]), folder)
    names = [integer("a", 0, 3), continuous("b", 0, 1), continuous("c", 0, 1), integer("d", 0, 2)]
    inputs = Inputs(names, rules=["b + c <= 1.25", "a >= d"])
    return Problem(made, [2, 0.5, 0.5, 1], inputs=inputs, epsilon=[2, 0.5, 0.5, 1])


def trees(seed: int, _: Path) -> Problem:
    """Return a question about random boosted trees of four inputs."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 4)), 2)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > X[:, 3]).astype(int)
    return Problem(LIBRARIES["LightGBM"](rng, X, y), X[0], epsilon=1.0, domain=(-4.0, 4.0))


def model_of(problem: Problem, proof: Certificate) -> bytes:
    """Return the bytes that a certificate is about."""
    if proof.model is not None:
        return proof.model
    assert problem.network.path is not None
    return problem.network.path.read_bytes()


def keeping(problem: Problem) -> dict[frozenset[int], bool]:
    """Return for each set of features whether it keeps the prediction."""
    every = range(problem.features.count)
    sets = [frozenset(one) for size in range(len(every) + 1) for one in combinations(every, size)]
    return {one: problem.check([f for f in every if f not in one]).holds for one in sets}


@pytest.mark.parametrize("posed", [network, ruled, trees])
def test_lower_bounds_are_proven_and_no_higher_ones(
    posed: Posed, random_seed: int, tmp_path: Path
) -> None:
    problem = posed(random_seed, tmp_path)
    costs = [1.0, 2.0, 0.5, 1.5] if random_seed % 2 else None
    found = problem.minimum(costs=costs)
    proof = certify(problem.network, found)
    assert proof.bound is not None, str(proof)
    model, data = model_of(problem, proof), json.loads(proof.to_json())
    assert checked(model, json.dumps(data))
    least = min(
        sum((costs or [1.0] * 4)[f] for f in one) for one, kept in keeping(problem).items() if kept
    )
    assert Fraction(proof.bound) == Fraction(least)
    more = str(Fraction(proof.bound) + Fraction(1, 2 if costs else 1))
    assert not checked(model, json.dumps(changed(data, ("claim", "minimum", "bound"), more)))
    assert ("changes" in data["minimum"]) == (posed is not network)
    for number in range(len(data["minimum"].get("changes", ()))):
        moves = data["minimum"]["changes"][number]
        kept = {place: data["claim"]["input"][int(place)] for place in moves}
        forged = changed(data, ("minimum", "changes", number), kept)
        assert not checked(model, json.dumps(forged))


@pytest.mark.parametrize("posed", [network, ruled, trees])
def test_features_that_play_no_part_are_proven(
    posed: Posed, random_seed: int, tmp_path: Path
) -> None:
    problem = posed(random_seed, tmp_path)
    sets = keeping(problem)
    for feature in range(4):
        found = problem.relevance(feature)
        proof = certify(problem.network, found)
        apart = all(kept == sets[one - {feature}] for one, kept in sets.items())
        assert found.relevant == (not apart)
        model, data = model_of(problem, proof), json.loads(proof.to_json())
        assert checked(model, json.dumps(data))
        if found.relevant:
            continue
        assert proof.about == "no_part"
        for other in range(4):
            forged = changed(data, ("claim", "no_part"), [other])
            truly = all(kept == sets[one - {other}] for one, kept in sets.items())
            assert not checked(model, json.dumps(forged)) or truly
        for tree in ({"change": 0}, {"kept": 0}):
            forged = changed(data, ("no_part", "tree"), tree)
            assert tree == data["no_part"]["tree"] or not checked(model, json.dumps(forged))


@pytest.mark.parametrize("posed", [network, ruled, trees])
def test_brackets_of_importance_are_proven(posed: Posed, random_seed: int, tmp_path: Path) -> None:
    problem = posed(random_seed, tmp_path)
    found = problem.importance()
    proof = certify(problem.network, found)
    model, data = model_of(problem, proof), json.loads(proof.to_json())
    assert checked(model, json.dumps(data))
    told = data["claim"]["importance"]["shapley"]
    assert [float(Fraction(low)) for low, _ in told] == pytest.approx(found.lower)
    assert [float(Fraction(high)) for _, high in told] == pytest.approx(found.upper)
    for feature, (low, high) in enumerate(told):
        for place, end in ((0, Fraction(low) + Fraction(1, 100)), (1, Fraction(high) - 1)):
            path: tuple[Any, ...] = ("claim", "importance", "shapley", feature, place)
            assert not checked(model, json.dumps(changed(data, path, str(end))))
    for name in ("kept", "changes"):
        for number in range(len(data["importance"][name])):
            fewer = [one for i, one in enumerate(data["importance"][name]) if i != number]
            forged = changed(data, ("importance", name), fewer)
            assert not checked(model, json.dumps(forged))


def test_sets_alone_are_proven_for_other_indices(tmp_path: Path) -> None:
    problem = network(3, tmp_path)
    found = problem.importance(index="responsibility")
    proof = certify(problem.network, found)
    assert checked(model_of(problem, proof), proof.to_json())
    assert "sets below" in str(proof)
