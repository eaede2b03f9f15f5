"""The bound from a budget is below the least cost by brute force, and exact for linear networks."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.attacks import PerturbationSet, perturbation_set
from milp_verix.problem.objective import Objective
from milp_verix.searches.budget_bound import budget_bound
from tests.support.exhaustive_explanations import (
    problem_with_least_costs,
)
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import dense_network
from tests.support.searches import digit, equal_costs


def _attacked(p: PerturbationSet, objective: Objective) -> np.ndarray:
    zero = np.zeros((p.centre.size, 1))
    return p.worst(p.weight(objective.least), zero, 1)[0]


def _bound(
    problem: Problem, objective: Objective, least: float = 0.0, passes: int = 10**9
) -> float:
    p, made = perturbation_set(problem), [0]

    def late() -> bool:
        # it is asked before a pass, and twice in it
        made[0] += 1
        return made[0] > 3 * passes

    return budget_bound(
        p,
        objective,
        _attacked(p, objective),
        least=least,
        most=float(objective.costs[~objective.must_not].sum()),
        tolerances=Tolerances(),
        late=late,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_no_explanation_costs_less(seed: int, tmp_path: Path) -> None:
    problem, posed = problem_with_least_costs(seed, tmp_path)
    for objective, least in posed:
        assert _bound(problem, objective) <= least + 1e-9


def test_it_is_exact_for_a_linear_network_with_one_rival(tmp_path: Path) -> None:
    """The features with the largest gains make up for the worst perturbation, and no fewer do."""
    sizes = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 4])
        gains = rng.uniform(0.1, 1.0, 12) * rng.choice([-1.0, 1.0], 12)
        reach = 0.125 * np.abs(gains)
        over = float(rng.uniform(0.2, 0.8) * reach.sum())
        # at the worst perturbation, the margin is `over`
        bias = np.array([0.0, over - reach.sum() - gains.sum() / 2])
        layer = np.array([np.zeros(12), gains]), bias
        problem = Problem(dense_network([layer], tmp_path, DOUBLE), np.full(12, 0.5), epsilon=0.125)
        fewest = int(np.searchsorted(np.cumsum(np.sort(reach)[::-1]), over)) + 1
        assert _bound(problem, equal_costs(12)) == fewest
        sizes.append(fewest)
    assert max(sizes) > 5


@pytest.mark.parametrize("index", [15, 17])
def test_a_digit_has_a_bound_after_a_dozen_passes(index: int) -> None:
    problem = digit(index)
    found = _bound(problem, equal_costs(), passes=12)
    assert 1 < found <= _bound(problem, equal_costs())
    assert _bound(problem, equal_costs(), passes=0) == 0


def test_it_keeps_what_is_proven_before() -> None:
    problem = digit(15)
    highest = _bound(problem, equal_costs())
    for least in (highest - 1, highest, highest + 1):
        assert _bound(problem, equal_costs(), least=least) == max(least, highest)


def test_a_prediction_that_nothing_changes_has_no_bound() -> None:
    assert _bound(digit(0, 0.001), equal_costs()) == 0
