"""Cases of trees: their search is fast, and ends where there is no proof."""

import json
from dataclasses import replace

import numpy as np
import pytest

from milp_verix import Problem, certify
from milp_verix.oracle.verdict import TIME_LIMIT


def problem(count: int = 20) -> Problem:
    """Return a question about a forest."""
    kind = pytest.importorskip("sklearn.ensemble").RandomForestClassifier
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    model = kind(count, random_state=0).fit(X, y)
    return Problem(model, X[0], epsilon=1.0, domain=(-9.0, 9.0))


def test_the_votes_of_one_tree_have_no_rounding_and_a_rule_for_ties() -> None:
    posed = problem(1)
    proof = certify(posed.network, posed.explain())
    assert proof.proven
    assert proof.model is not None
    read = json.loads(proof.model)
    assert (read["rounding"], read["ties"]) == ([0, 0], "first")
    assert proof.unproven == ()


def test_a_larger_set_of_free_features_has_no_certificate() -> None:
    posed = problem()
    found = posed.explain()
    first, *others = found.explanation
    more = replace(
        found,
        explanation=tuple(others),
        irrelevant=tuple(sorted((*found.irrelevant, first))),
        counterfactuals={f: c for f, c in found.counterfactuals.items() if f != first},
    )
    proof = certify(posed.network, more)
    assert "another prediction" in str(proof.reason)


def test_a_search_ends_in_time() -> None:
    posed = problem()
    assert certify(posed.network, posed.explain(), time_limit=1e-9).reason == TIME_LIMIT
