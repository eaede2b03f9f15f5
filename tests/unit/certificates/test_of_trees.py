"""Certificates of trees: finite points where the domain has no end, and no rivals of one score."""

import json
from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
import pytest

from milp_verix import Inputs, Problem, certify, continuous
from tests.support.certificates import checked
from tests.support.tree_models import LIBRARIES


def posed(**asked: Any) -> Problem:
    """Return a question about boosted trees of two classes and one score."""
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(80, 3)), 2)
    y = (X[:, 0] > X[:, 1] * X[:, 2]).astype(int)
    return Problem(LIBRARIES["LightGBM"](rng, X, y), X[0], **asked)


def coordinates(part: Any) -> Iterator[Any]:
    """Yield all coordinates of points in a certificate."""
    for name, moves in part.items():
        if name in ("minimum", "importance", "no_part"):
            for change in moves["changes"]:
                yield from change.values()
        elif name == "points":
            for point in moves.values():
                yield from point.values()


@pytest.mark.parametrize("described", [True, False])
def test_points_are_finite_where_the_domain_has_no_end(described: bool) -> None:
    names = [continuous(name) for name in "abc"]
    asked: dict[str, Any] = {"epsilon": 1.5, "domain": (-inf, inf)}
    if described:
        asked = {"epsilon": [1.5, 0.5, 2.0], "inputs": Inputs(names)}
    problem, seen = posed(**asked), 0
    for found in (
        problem.explain(),
        problem.minimum(),
        problem.importance(),
        problem.relevance(0),
        problem.audit([]),
    ):
        proof = certify(problem.network, found)
        assert proof.proven, proof.reason
        data = json.loads(proof.to_json(), parse_constant=pytest.fail)
        ends = data["claim"]["domain"]
        assert ends in ([None, None], [[None] * 3, [None] * 3])
        for number in coordinates(data):
            assert number not in ("-", "+")
            seen += 1
        assert proof.model is not None
        assert checked(proof.model, json.dumps(data))
    assert seen > 4


def test_a_single_score_has_no_rivals_to_choose() -> None:
    asked: dict[str, Any] = {"epsilon": 1.0, "domain": (-4.0, 4.0)}
    rival = 1 - posed(**asked).explain().prediction  # type: ignore[operator]
    problem = posed(**asked, against=[rival])
    proof = certify(problem.network, problem.explain())
    assert proof.data is not None
    assert proof.model is not None
    assert "against" not in proof.data["claim"]
    assert checked(proof.model, proof.to_json())
    claim = {**proof.data["claim"], "against": [rival]}
    assert not checked(proof.model, json.dumps({**proof.data, "claim": claim}))
