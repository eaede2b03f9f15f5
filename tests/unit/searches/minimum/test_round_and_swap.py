"""Proposals cost no more than asked for and survive every known perturbation."""

from itertools import product

import numpy as np
import pytest

from milp_verix.oracle.attacks import PerturbationSet, perturbation_set
from milp_verix.problem.objective import Objective, make_objective
from milp_verix.searches.minimum.proposals import RoundAndSwap
from tests.support.searches import LIMITS, digit
from verix_encodings.arrays import BoolArray, FloatArray

_FEATURES = 12


def posed(index: int) -> PerturbationSet:
    """Return the perturbations of a digit."""
    return perturbation_set(digit(index))


def known(perturbations: PerturbationSet, seed: int) -> FloatArray:
    """Return perturbations that the empty set and random sets do not survive."""
    rng = np.random.default_rng(seed)
    deltas = np.zeros((64, 1))
    for share in (0.0, 0.1, 0.2, 0.3):
        chosen = rng.random(64) < share
        weight = perturbations.weight(chosen)
        found = perturbations.worst(weight, deltas, 3)[0]
        deltas = np.concatenate([deltas, found], axis=1)
    return deltas


def survives(perturbations: PerturbationSet, chosen: BoolArray, deltas: FloatArray) -> bool:
    reached = perturbations.margins_at(perturbations.weight(chosen), deltas)
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
    for cost in (8.0, 16.0, 32.0, 64.0):
        chosen = RoundAndSwap(perturbations, objective, deltas, cost, LIMITS).propose(
            np.full(64, 0.3)
        )
        if chosen is None:
            continue
        found += 1
        assert objective.cost(chosen) <= cost + 1e-9
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
    proposed = [
        cost
        for cost in np.arange(base.sum(), most + 1.0)
        if RoundAndSwap(perturbations, objective, deltas, cost, LIMITS).propose(start) is not None
    ]
    if np.isinf(cheapest):
        assert not proposed
        return
    assert cheapest <= min(proposed) <= cheapest + 2
