"""Certificates about whole numbers, one-hot blocks and rules, against a list of all inputs."""

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix.api.calls import explain
from milp_verix.certificates.case_trees import trees_of
from milp_verix.certificates.phase_leaves import NoProofError
from milp_verix.inputs.feature import category, continuous, integer
from milp_verix.inputs.inputs import Inputs
from tests.support.certificates import changed, checked, mutants_of, numbers_in
from tests.support.exact_pieces import scores
from tests.support.random_networks import Layer, dense_network, random_layers
from verix_checker.claim import Claim

WIDTHS = [5, 6, 5, 3]
# claims of both kinds, some of which need whole numbers or rules, and proofs that split inputs
SEEDS = (10, 2, 18, 14, 19, 20)


def described() -> Inputs:
    """Return two whole numbers and a one-hot block, joined by rules."""
    inputs = Inputs(
        [integer("a", 0, 3), integer("b", 0, 3), category("c", ["p", "q", "r"], one_hot=True)]
    )
    ordered = 2 * inputs["a"] <= inputs["b"] + 4
    return inputs.where(ordered, (inputs["c"] == "p").implies(inputs["a"] >= 1))


def inputs_in(claim: dict[str, Any]) -> Iterator[tuple[int, ...]]:
    """Yield all inputs of a claim, by its definition."""
    x = [Fraction(entry) for entry in claim["input"]]
    free = {i for feature in claim["irrelevant"] for i in claim["features"][feature]}
    for point in product(range(4), range(4), (0, 1), (0, 1), (0, 1)):
        if all(a == b or i in free for i, (a, b) in enumerate(zip(point, x, strict=True))) and (
            within(claim, point)
        ):
            yield point


def within(claim: dict[str, Any], point: tuple[Any, ...]) -> bool:
    """Return whether a point is in ball and domain, and keeps blocks and rules."""
    x = [Fraction(entry) for entry in claim["input"]]
    radii = claim["epsilon"] if isinstance(claim["epsilon"], list) else [claim["epsilon"]] * len(x)
    near = all(
        r is None or abs(a - b) <= Fraction(r) for a, b, r in zip(point, x, radii, strict=True)
    )
    low, high = claim["domain"]
    inside = all(
        (a is None or Fraction(a) <= n) and (b is None or n <= Fraction(b))
        for a, n, b in zip(low, point, high, strict=True)
    )
    whole = all(Fraction(point[i]).denominator == 1 for i in claim["whole"])
    blocks = all(sum(point[i] for i in block) == 1 for block in claim["blocks"])
    rules = all(any(keeps(row, point) for row in rule) for rule in claim["rules"])
    return near and inside and whole and blocks and rules


def keeps(row: dict[str, Any], point: tuple[Any, ...]) -> bool:
    """Return whether a point satisfies a row of a rule."""
    total = sum(Fraction(k) * point[int(i)] for i, k in row["factors"].items())
    return total < Fraction(row["limit"]) if row.get("strict") else total <= Fraction(row["limit"])


def keeps_class(layers: tuple[Layer, ...], claim: dict[str, Any]) -> bool:
    """Return whether all inputs of a claim keep its class."""
    return all(stays(layers, claim, point) for point in inputs_in(claim))


def stays(layers: tuple[Layer, ...], claim: dict[str, Any], point: tuple[Any, ...]) -> bool:
    """Return whether the class is above all others at a point."""
    found = scores(layers, [Fraction(n) for n in point])
    own = found.pop(claim["class"])
    return max(found) < own


def certified(seed: int, folder: Path) -> tuple[tuple[Layer, ...], bytes, dict[str, Any]]:
    """Return layers, file and certificate of a random network on described inputs."""
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, WIDTHS)
    network = dense_network(layers, folder)
    assert network.path is not None
    x = [2, 2, *np.eye(3)[rng.integers(3)]]
    explanation = explain(network, x, epsilon=np.inf, inputs=described())
    certificate = explanation.certify(network)
    assert certificate.proven, certificate.reason
    assert not certificate.unproven
    return layers, network.path.read_bytes(), json.loads(certificate.to_json())


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_claim_is_certified_if_and_only_if_it_is_true(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    assert checked(model, json.dumps(data))
    outcomes, over_the_hull = set(), set()
    for irrelevant in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        for radius in (1, None):
            claim = {
                **data["claim"],
                "irrelevant": irrelevant,
                "epsilon": [radius] * 2 + [None] * 3,
            }
            true = keeps_class(layers, claim)
            outcomes.add(true)
            read = Claim(model, claim)
            if not true:
                with pytest.raises(NoProofError):
                    trees_of(read)
                continue
            trees = trees_of(read)
            proof = {"claim": {**claim, "minimal": False}, "trees": trees, "points": {}}
            assert checked(model, json.dumps(proof))
            hull = {**proof["claim"], "whole": [], "blocks": [], "rules": []}
            over_the_hull.add(checked(model, json.dumps({**proof, "claim": hull})))
    assert outcomes == {True, False}
    assert False in over_the_hull


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_no_changed_number_makes_a_false_claim_accepted(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    mutants = [
        changed(data, path, mutant)
        for path, value in numbers_in(data)
        for mutant in mutants_of(value)
    ]
    mutants += [
        changed(data, ("claim", key), value)
        for key in ("whole", "blocks", "rules", "epsilon", "domain")
        for value in ([], [[]], 1, [[0]], [0])
    ]
    accepted = [mutant for mutant in mutants if checked(model, json.dumps(mutant))]
    assert len(mutants) > 200
    assert 0 < len(accepted) < len(mutants) / 2
    for mutant in accepted:
        assert true_by_definition(layers, model, mutant), mutant


def true_by_definition(layers: tuple[Layer, ...], model: bytes, data: dict[str, Any]) -> bool:
    """Return whether all that an accepted certificate claims is true, at whole numbers."""
    claim, points = data["claim"], data["points"]
    x = [Fraction(entry) for entry in claim["input"]]
    kept = {*range(len(claim["features"]))} - {*claim["irrelevant"]}
    for name, moved in points.items():
        point = list(x)
        for place, value in moved.items():
            point[int(place)] = Fraction(value)
        free = {i for one in (*claim["irrelevant"], int(name)) for i in claim["features"][one]}
        differs = {i for i, (a, b) in enumerate(zip(point, x, strict=True)) if a != b}
        shown = not stays(layers, claim, tuple(point))
        if not (int(name) in kept and differs <= free and within(claim, tuple(point)) and shown):
            return False
    return (
        claim["sha256"] == hashlib.sha256(model).hexdigest()
        and keeps_class(layers, claim)
        and (claim["minimal"] is False or {int(name) for name in points} == kept)
    )


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_points_are_whole_and_keep_blocks_and_rules(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    tried = refused = 0
    for name, moved in data["points"].items():
        free = [*data["claim"]["irrelevant"], int(name)]
        places = [i for one in free for i in data["claim"]["features"][one]]
        for place in places:
            for value in ("1/2", "3/2", 0, 1, 2, 3, 4, -1):
                mutant = changed(data, ("points", name), {**moved, str(place): value})
                point = [Fraction(entry) for entry in data["claim"]["input"]]
                for i, entry in mutant["points"][name].items():
                    point[int(i)] = Fraction(entry)
                true = within(data["claim"], tuple(point)) and not stays(
                    layers, data["claim"], tuple(point)
                )
                assert checked(model, json.dumps(mutant)) == true
                tried, refused = tried + 1, refused + (not true)
    assert tried > refused > 0


@pytest.mark.parametrize("inputs", ["ordinals", "reals"])
def test_radii_of_features_are_those_of_the_claim(inputs: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    network = dense_network(random_layers(rng, WIDTHS), tmp_path)
    kind = integer if inputs == "ordinals" else continuous
    features = Inputs([kind(f"n{i}", -4, 4) for i in range(5)])
    epsilon = [2, 1, 0, 0.5, np.inf]
    explanation = explain(network, [1, 0, 0, -1, 2], epsilon=epsilon, inputs=features)
    certificate = explanation.certify(network)
    assert certificate.proven, certificate.reason
    data = json.loads(certificate.to_json())
    whole = inputs == "ordinals"
    assert data["claim"]["epsilon"] == [2, 1, 0, 0 if whole else "1/2", None]
    assert data["claim"].get("whole", []) == ([0, 1, 2, 3, 4] if whole else [])
    assert checked(network.path.read_bytes(), certificate.to_json())  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [10, 18])
def test_no_changed_split_makes_a_false_claim_accepted(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    leaf = {"slopes": {}, "multipliers": {}}
    mutants, splits = [], [path for path, _ in numbers_in(data) if path[-1] == "at"]
    assert splits
    for *path, _ in splits:
        for side in ("below", "above"):
            mutants += [changed(data, (*path, side), value) for value in ({}, leaf)]
        for other in range(5):
            mutants.append(changed(data, (*path, "input"), other))
    verdicts = [checked(model, json.dumps(mutant)) for mutant in mutants]
    assert False in verdicts
    for mutant, accepted in zip(mutants, verdicts, strict=True):
        assert not accepted or true_by_definition(layers, model, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_splits_prove_no_false_claim(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    rng = np.random.default_rng(seed)
    for feature in map(int, data["points"]):
        irrelevant = [*data["claim"]["irrelevant"], feature]
        claim = {**data["claim"], "irrelevant": irrelevant, "minimal": False}
        assert not keeps_class(layers, claim)
        for _ in range(150):
            trees = [split_at_random(rng, 4) for _ in data["trees"]]
            assert not checked(model, json.dumps({"claim": claim, "trees": trees, "points": {}}))


def split_at_random(rng: np.random.Generator, depth: int) -> dict[str, Any]:
    """Return a tree of inputs split at halves, some outside of their ends."""
    if not depth or rng.random() < 0.1:
        return {"slopes": {}, "multipliers": {}}
    halves = {side: split_at_random(rng, depth - 1) for side in ("below", "above")}
    return {"input": int(rng.integers(5)), "at": int(rng.integers(-3, 9)) / 2, **halves}
