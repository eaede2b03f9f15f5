"""Certificates against exact enumeration: none is accepted for a claim that is false."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix.certificates.phase_leaves import NoProofError
from tests.support.certificates import (
    certified,
    changed,
    checked,
    explained,
    mutants_of,
    numbers_in,
    proven,
)
from tests.support.exact_pieces import holds, shows
from tests.support.random_networks import Layer, dense_model

# explanations of three of five features, whose proofs split neurons
SEEDS = (1, 6, 7, 18, 21, 39)


def is_true(layers: tuple[Layer, ...], model: bytes, data: dict[str, Any]) -> bool:
    """Return whether all that an accepted certificate claims is true."""
    claim, points, starts = data["claim"], data["points"], data["starts"]
    kept = set(range(len(claim["features"]))) - set(claim["irrelevant"])
    return (
        claim["sha256"] == hashlib.sha256(model).hexdigest()
        and holds(layers, claim)
        and all(shows(layers, claim, int(name), moved, starts) for name, moved in points.items())
        and {int(name) for name in points} <= kept
        and (claim.get("minimal", True) is False or {int(name) for name in points} == kept)
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_claim_on_two_coordinates_is_certified_if_and_only_if_it_is_true(
    seed: int, tmp_path: Path
) -> None:
    layers, model, data = certified(seed, tmp_path)
    outcomes = set()
    for first in range(5):
        for second in range(first):
            for epsilon in ("1/16", "1/5", "3/8"):
                claim = {**data["claim"], "irrelevant": [first, second], "bits": 128}
                claim["epsilon"] = str(Fraction(float(Fraction(epsilon))))
                true = holds(layers, claim)
                outcomes.add(true)
                if true:
                    trees = proven(model, claim)
                    proof = {"claim": {**claim, "minimal": False}, "trees": trees, "points": {}}
                    assert checked(model, json.dumps(proof))
                else:
                    with pytest.raises(NoProofError):
                        proven(model, claim)
    assert outcomes == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_no_changed_number_makes_a_false_claim_accepted(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    assert checked(model, json.dumps(data))
    assert is_true(layers, model, data)
    mutants = [
        changed(data, path, mutant)
        for path, value in numbers_in(data)
        for mutant in mutants_of(value)
    ]
    assert len(mutants) > 200
    accepted = [mutant for mutant in mutants if checked(model, json.dumps(mutant))]
    assert len(accepted) < len(mutants) / 2
    for mutant in accepted:
        assert is_true(layers, model, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_no_changed_structure_makes_a_false_claim_accepted(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    mutants = []

    def vary(part: Any, path: tuple[Any, ...]) -> None:
        if not isinstance(part, dict | list):
            return
        for key in part if isinstance(part, dict) else range(len(part)):
            mutants.append(without(data, (*path, key)))
            vary(part[key], (*path, key))
        if isinstance(part, dict) and "neuron" in part:
            for side, other in (("below", "above"), ("above", "below")):
                mutants.append(changed(data, path, part[side]))  # a case is dropped
                mutants.append(changed(data, path, {**part, side: part[other]}))
        if isinstance(part, dict) and "slopes" in part:
            mutants.append(changed(data, path, {"slopes": {}, "multipliers": {}}))

    vary(data, ())
    accepted = [mutant for mutant in mutants if checked(model, json.dumps(mutant))]
    assert len(mutants) > 50
    for mutant in accepted:
        assert is_true(layers, model, mutant)
    splits = json.dumps(data).count('"neuron"')
    assert splits
    assert len(accepted) < len(mutants) / 2


def without(data: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy of JSON without the part at ``path``."""
    copy = json.loads(json.dumps(data))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 7, 18])
def test_a_changed_weight_is_refused_and_with_its_hash_never_wrongly_accepted(
    seed: int, tmp_path: Path
) -> None:
    layers, _, data = certified(seed, tmp_path)
    rng = np.random.default_rng(seed)
    verdicts = []
    for _ in range(40):
        copies = [(matrix.copy(), bias.copy()) for matrix, bias in layers]
        matrix = copies[rng.integers(len(copies))][0]
        place = tuple(rng.integers(n) for n in matrix.shape)
        bits = np.array(matrix[place], dtype=np.float32).view(np.uint32)
        bits ^= np.uint32(1 << rng.integers(31))
        matrix[place] = float(bits.view(np.float32))
        if not np.isfinite(matrix[place]) or not 1e-30 < abs(matrix[place]) < 1e30:
            continue
        other = dense_model(copies).SerializeToString()
        assert not checked(other, json.dumps(data))
        sha = hashlib.sha256(other).hexdigest()
        forged = changed(changed(data, ("claim", "sha256"), sha), ("claim", "bits"), 200)
        verdicts.append(checked(other, json.dumps(forged)))
        if verdicts[-1]:
            assert is_true(tuple(copies), other, forged)
    assert set(verdicts) == {True, False}


@pytest.mark.parametrize("seed", [seed for seed in range(30) if seed not in (12, 16, 17, 23)])
def test_an_explanation_with_one_feature_too_few_gets_no_certificate(
    seed: int, tmp_path: Path
) -> None:
    _, model, explanation = explained(seed, tmp_path, 0.3)
    data = json.loads(explanation.certify(tmp_path / "model.onnx").to_json())
    assert explanation.explanation
    for feature in explanation.explanation:
        claim = {**data["claim"], "irrelevant": [*explanation.irrelevant, feature]}
        with pytest.raises(NoProofError):
            proven(model, claim)
        points = {name: moved for name, moved in data["points"].items() if int(name) != feature}
        assert not checked(model, json.dumps({**data, "claim": claim, "points": points}))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 7])
def test_hostile_numbers_prove_no_false_claim(seed: int, tmp_path: Path) -> None:
    _, model, explanation = explained(seed, tmp_path, 0.3)
    data = json.loads(explanation.certify(tmp_path / "model.onnx").to_json())
    rng = np.random.default_rng(seed)
    for feature in explanation.explanation:
        irrelevant = [*explanation.irrelevant, feature]
        claim = {**data["claim"], "irrelevant": irrelevant, "minimal": False}
        for _ in range(150):
            far = float(rng.choice([0.5, 3.0, 100.0]))
            ends = (0, 1, 0, far) if rng.random() < 0.7 else (-far, far, -far, far)
            trees = [hostile(rng, ends, {}) for _ in data["trees"]]
            proof = {"claim": claim, "trees": trees, "points": {}}
            assert not checked(model, json.dumps(proof))


def hostile(
    rng: np.random.Generator, ends: tuple[float, ...], signs: dict[int, int]
) -> dict[str, Any]:
    """Return a random tree over eleven neurons; slopes and multipliers lie between ``ends``."""
    if len(signs) < 4 and rng.random() < 0.8:
        neuron = int(rng.choice([place for place in range(11) if place not in signs]))
        sides = (("below", -1), ("above", 1))
        halves = {side: hostile(rng, ends, {**signs, neuron: sign}) for side, sign in sides}
        return {"neuron": neuron, **halves}
    return {
        "slopes": {str(i): round(rng.uniform(*ends[:2]), 3) for i in range(11)},
        "multipliers": {str(i): round(rng.uniform(*ends[2:]), 3) for i in signs},
    }


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_a_point_moves_its_own_and_irrelevant_features_alone(seed: int, tmp_path: Path) -> None:
    layers, model, data = certified(seed, tmp_path)
    claim, moved_elsewhere = data["claim"], 0
    for name, moved in data["points"].items():
        for other in set(data["points"]) - {name}:
            for mutant in ({**moved, other: "1/2"}, {**moved, other: data["points"][other][other]}):
                changed_points = changed(data, ("points", name), mutant)
                true = shows(layers, claim, int(name), mutant, data["starts"])
                assert checked(model, json.dumps(changed_points)) == true
                moved_elsewhere += not true
    assert moved_elsewhere
