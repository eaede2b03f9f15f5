"""Certificates of trees: the checker accepts them, and nothing that is false exactly."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Certificate, Inputs, Problem, category, certify, continuous, integer
from milp_verix.models.trees.tree_network import TreeNetwork
from tests.support.certificates import changed, checked, mutants_of, numbers_in
from tests.support.tree_claims import given, keeps, margins_at
from tests.support.tree_models import LIBRARIES
from verix_checker.command import main

QUESTIONS = ("two", "three", "value")


def posed(library: str, question: str, seed: int, norm: str = "linf") -> Problem:
    """Return a question about random trees of three inputs."""
    rng = np.random.default_rng([seed, QUESTIONS.index(question)])
    X = np.round(rng.normal(size=(60, 3)), 2)
    labels = {
        "two": (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int),
        "three": rng.integers(0, 3, 60),
        "value": np.abs(X[:, 0] + X[:, 1]) + 0.1,
    }
    model = LIBRARIES[library](rng, X, labels[question])
    delta = {"delta": 0.3} if question == "value" else {}
    epsilon = float(rng.choice([0.3, 1.0]))
    return Problem(model, X[0], epsilon=epsilon, norm=norm, domain=(-4.0, 4.0), **delta)


def parts(proof: Certificate) -> tuple[bytes, dict[str, Any]]:
    """Return the file of trees, and the certificate as JSON has it."""
    assert proof.model is not None, proof.reason
    return proof.model, json.loads(proof.to_json())


def true(model: bytes, data: dict[str, Any]) -> bool:
    """Return whether all that a certificate claims is true, by going through all cells."""
    claim, x = data["claim"], given(data["claim"])
    groups = claim["features"]
    free = {i for feature in claim["irrelevant"] for i in groups[feature]}
    for feature, moves in data["points"].items():
        point = list(x)
        for place, number in moves.items():
            point[int(place)] = type(x[0])(number)
        margins = margins_at(json.loads(model), claim, point)
        if not any(value > off or (value == off and not kept) for value, off, kept in margins):
            return False
        assert {int(place) for place in moves} <= free | {*groups[int(feature)]}
    return keeps(model, claim, free)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_explanations_of_trees_are_proven(library: str, question: str, random_seed: int) -> None:
    norm = ("linf", "l1", "l2")[random_seed % 3]
    problem = posed(library, question, random_seed, norm)
    found = problem.explain()
    proof = certify(problem.network, found)
    if not proof.proven:  # the library itself has decided sums too near to a tie
        assert "too near" in str(proof.reason)
        assert isinstance(problem.network, TreeNetwork)
        assert not problem.network.step  # sums of votes are exact
        return
    model, data = parts(proof)
    assert checked(model, json.dumps(data))
    assert true(model, data)
    for feature in found.explanation:
        more = sorted({*found.irrelevant, feature})
        points = {name: moves for name, moves in data["points"].items() if int(name) != feature}
        forged = {**changed(data, ("claim", "irrelevant"), more), "points": points}
        accepted = checked(model, json.dumps(forged))
        assert not accepted or (feature in proof.unproven and true(model, forged))


@pytest.mark.parametrize("library", LIBRARIES)
def test_changed_certificates_of_trees_are_refused_or_true(library: str, random_seed: int) -> None:
    problem = posed(library, "two", random_seed)
    proof = certify(problem.network, problem.explain())
    if not proof.proven:
        return
    model, data = parts(proof)
    rng = np.random.default_rng(random_seed)
    listed = [*numbers_in(data)]
    for place in rng.permutation(len(listed))[:12]:
        path, value = listed[place]
        for other in mutants_of(value)[:4]:
            mutant = changed(data, path, other)
            assert not checked(model, json.dumps(mutant)) or true(model, mutant), (path, other)
    trees = json.loads(model)
    listed = [*numbers_in(trees)]
    for place in rng.permutation(len(listed))[:12]:
        path, value = listed[place]
        for other in mutants_of(value)[:3]:
            file = json.dumps(changed(trees, path, other)).encode()
            assert not checked(file, json.dumps(data))
            named = changed(data, ("claim", "sha256"), hashlib.sha256(file).hexdigest())
            named["claim"]["bits"] += 8
            accepted = checked(file, json.dumps(named))
            assert not accepted or true(file, named), (path, other)


def test_described_inputs_of_trees_are_proven(random_seed: int) -> None:
    rng = np.random.default_rng(random_seed)
    X = np.column_stack(
        [rng.integers(0, 9, 80), rng.integers(0, 9, 80), np.eye(3)[rng.integers(0, 3, 80)]]
    ).astype(np.float64)
    y = (X[:, 0] + 3 * X[:, 2] > X[:, 1] + X[:, 4]).astype(int)
    model = LIBRARIES["LightGBM"](rng, X, y)
    inputs = Inputs(
        [
            integer("paid", 0, 9),
            integer("owed", 0, 9),
            category("town", ["a", "b", "c"], one_hot=True),
        ],
        rules=["paid + owed <= 14"],
    )
    row = X[int(np.argmax(X[:, 0] + X[:, 1] <= 14))]
    problem = Problem(model, row, inputs=inputs, epsilon=[4, np.inf, np.inf])
    proof = certify(problem.network, problem.explain())
    if not proof.proven:
        assert "too near" in str(proof.reason)
        return
    model_file, data = parts(proof)
    assert data["claim"]["rules"]
    assert checked(model_file, json.dumps(data))
    assert true(model_file, data)


def test_other_results_about_trees_have_certificates() -> None:
    problem = posed("XGBoost", "two", 3)
    for found in (
        problem.audit(problem.explain().explanation),
        problem.audit([]),
        problem.inflate(),
        problem.radius(free=[0, 1]),
    ):
        proof = certify(problem.network, found)
        assert proof.proven, proof.reason
        model, data = parts(proof)
        assert checked(model, json.dumps(data))
        assert true(model, data)


def test_values_that_may_be_missing_are_proven() -> None:
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(90, 3)), 2)
    X[::4, 1] = np.nan
    y = (X[:, 0] > np.nan_to_num(X[:, 1], nan=0.7)).astype(int)
    model = LIBRARIES["XGBoost"](rng, X, y)
    inputs = Inputs(
        [
            continuous("a", -4, 4),
            continuous("b", -4, 4, missing=True),
            continuous("c", -4, 4),
        ]
    )
    problem = Problem(model, X[1], inputs=inputs, epsilon=np.inf)
    proof = certify(problem.network, problem.explain())
    file, data = parts(proof)
    assert checked(file, json.dumps(data))
    assert true(file, data)


def test_a_certificate_is_written_with_its_trees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = posed("LightGBM", "three", 2)
    proof = certify(problem.network, problem.explain())
    proof.to_json(tmp_path / "proof.json")
    trees = tmp_path / str(proof.model_name)
    assert main([str(trees), str(tmp_path / "proof.json")]) == 0
    assert "which" not in capsys.readouterr().err
    trees.write_bytes(trees.read_bytes().replace(b'"ties":null', b'"ties": null'))
    assert main([str(trees), str(tmp_path / "proof.json")]) == 1
