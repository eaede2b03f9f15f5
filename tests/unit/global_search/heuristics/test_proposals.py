"""Proposals keep to what they are asked for, and what refutes one is worth as much as it can be."""

from itertools import product

import numpy as np
import pytest

from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.heuristics.round_and_swap import polished
from milp_verix.global_search.pricing.perturbation_set import Perturbations, perturbations_of
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import Objective, make_objective
from milp_verix.problem.problem import make_problem
from tests.support.digits_example import images, network
from verix_encodings.arrays import BoolArray, FloatArray

_FEATURES = 12


def posed(index: int) -> Perturbations:
    """Return the perturbations of a digit."""
    return perturbations_of(make_problem(network(), images()[index], epsilon=0.2))


def known(perturbations: Perturbations, seed: int) -> FloatArray:
    """Return perturbations that hurt where nothing, and where random sets, are explained."""
    rng = np.random.default_rng(seed)
    deltas = np.zeros((64, 1))
    for share in (0.0, 0.1, 0.2, 0.3):
        chosen = rng.random(64) < share
        weight = perturbations.weight(chosen)
        found = perturbations.worst(weight, deltas, 3)[0]
        deltas = np.concatenate([deltas, found], axis=1)
    return deltas


def survives(perturbations: Perturbations, chosen: BoolArray, deltas: FloatArray) -> bool:
    reached = perturbations.reached(perturbations.weight(chosen), deltas)
    return bool(np.max(reached) <= 0)


def objective_of(seed: int) -> Objective:
    rng = np.random.default_rng(seed)
    costs = rng.integers(1, 4, size=64) if seed % 2 else np.ones(64)
    return make_objective(64, costs, must=[3, 20], must_not=[40, 41])


@pytest.mark.parametrize("seed", range(12))
def test_a_proposal_costs_no_more_than_allowed_and_survives_what_is_known(seed: int) -> None:
    perturbations, objective = posed(15 + seed % 3), objective_of(seed)
    deltas = known(perturbations, seed)
    found = 0
    for budget in (8.0, 16.0, 32.0, 64.0):
        chosen = polished(perturbations, objective, deltas, np.full(64, 0.3), budget)
        if chosen is None:
            continue
        found += 1
        assert objective.cost(chosen) <= budget + 1e-9
        assert chosen[objective.must].all()
        assert not chosen[objective.must_not].any()
        assert survives(perturbations, chosen, deltas)
    assert found


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_proposal_is_nearly_that_of_brute_force(seed: int) -> None:
    perturbations = posed(15)
    rng = np.random.default_rng(seed)
    free = rng.choice(64, size=_FEATURES, replace=False)
    must = [f for f in range(0, 64, 2) if f not in free]
    must_not = [f for f in range(1, 64, 2) if f not in free]
    objective = make_objective(64, None, must, must_not)
    deltas = known(perturbations, seed)
    base = objective.must
    cheapest = np.inf
    for choice in product([False, True], repeat=_FEATURES):
        chosen = base.copy()
        chosen[free] = choice
        if objective.cost(chosen) < cheapest and survives(perturbations, chosen, deltas):
            cheapest = objective.cost(chosen)
    start = np.full(64, 0.5)
    most = float(base.sum() + _FEATURES)
    budgets = np.arange(base.sum(), most + 1.0)
    proposed = [
        b for b in budgets if polished(perturbations, objective, deltas, start, b) is not None
    ]
    if np.isinf(cheapest):
        assert not proposed
        return
    assert cheapest <= min(proposed) <= cheapest + 2


def test_a_counterfactual_is_kept_as_bad_as_a_search_makes_it() -> None:
    problem = make_problem(network(), images()[15], epsilon=0.2)
    perturbations = perturbations_of(problem)
    objective = make_objective(64, None, [], [])
    with Oracle(problem, "highs") as oracle:
        incumbent = Incumbent(oracle, perturbations, objective, 60.0)
        chosen = np.zeros(64, dtype=bool)
        verdict = incumbent.decide(chosen, np.inf)
    assert verdict.witness is not None
    weight = perturbations.weight(chosen)
    start = verdict.witness.reshape(-1, 1).astype(np.float64) - perturbations.centre[:, None]
    at_witness = np.max(perturbations.reached(weight, start))
    kept = np.max(perturbations.reached(weight, incumbent.adversary.pool), axis=0)
    assert kept.size
    assert kept.min() > 0
    assert kept.max() > at_witness + 0.1
    assert np.all(incumbent.adversary.pool <= perturbations.upper[:, None])
    assert np.all(incumbent.adversary.pool >= perturbations.lower[:, None])


def test_budgets_halve_what_is_left_until_the_dearest_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = make_problem(network(), images()[3], epsilon=0.1)
    perturbations, objective = perturbations_of(problem), make_objective(64, None, [], [])
    cheapest = 13
    asked: list[float] = []

    def chase(self: Incumbent, selection: FloatArray, budget: float, deadline: float) -> bool:
        asked.append(budget)
        if budget < cheapest:
            return False
        return self.take(np.arange(64) < budget)

    monkeypatch.setattr(Incumbent, "_chase", chase)
    with Oracle(problem, "highs") as oracle:
        incumbent = Incumbent(oracle, perturbations, objective, 60.0)
        incumbent.take(np.arange(64) < 20)
        for _ in range(10):
            incumbent.improve(np.zeros(64), 1.0, np.inf)
    assert incumbent.cost == cheapest
    # two ways to begin for each budget that fails: 10, then 12 below 15 and 13, then again
    assert asked[:7] == [10, 10, 15, 12, 12, 13, 12]
    assert set(asked[7:]) == {12}
