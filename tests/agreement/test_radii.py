"""Radii and sweeps against brute force over all activation patterns, and against other solvers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Answer, check, epsilon_sweep, explain, robustness_radius
from tests.support import brute_force_norms
from tests.support.brute_force import BruteForce
from tests.support.brute_force_cases import Case, case
from tests.support.max_pool_cases import pooled

SEEDS = range(24)
POOLED = range(6)


def options_of(posed: Case) -> dict[str, Any]:
    given = {**posed.options, "bounds": posed.bounds}
    del given["epsilon"]
    return given


def critical(brute: BruteForce, free: tuple[int, ...], reach: float) -> float:
    """Return the radius at which the worst margin reaches zero, by halving; ``reach`` if never."""

    def worst(epsilon: float) -> float:
        return float(np.max(replace(brute, epsilon=epsilon, _worst={}).worst(free)))

    if worst(reach) < 0:
        return reach
    low, high = 0.0, reach
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if worst(middle) < 0 else (low, middle)
    return (low + high) / 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_brackets_hold_the_radius_of_brute_force(seed: int, tmp_path: Path) -> None:
    posed = case(seed)
    network, options = posed.network(tmp_path), options_of(posed)
    widths = 2.0
    for free in posed.subsets(2):
        if not free:
            continue
        found = robustness_radius(network, posed.x, free=free, largest=widths, **options)
        bracket = found.bracket
        exact = critical(posed.brute, tuple(free), bracket.reach)
        slack = 1e-3 * exact
        assert bracket.lower <= exact + slack
        assert exact - slack <= (bracket.reach if bracket.upper is None else bracket.upper)
        assert bracket.settled
        assert bracket.irrelevant == (bracket.upper is None)
        if bracket.upper is not None:
            assert bracket.lower >= (1 - found.tolerance) * bracket.upper
        assert found.replay(network) == ()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", POOLED)
def test_max_pools_have_the_radius_of_brute_force(seed: int, tmp_path: Path) -> None:
    network, brute = pooled(seed, tmp_path)
    bracket = robustness_radius(network, brute.x).bracket
    exact = critical(brute, bracket.features, bracket.reach)
    assert bracket.lower <= exact * 1.001
    assert (bracket.upper or bracket.reach) >= exact * 0.999


@pytest.mark.slow
@pytest.mark.parametrize("norm", brute_force_norms.NORMS)
@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_brackets_in_other_norms(seed: int, norm: str, tmp_path: Path) -> None:
    posed = case(seed)
    network, options = posed.network(tmp_path), options_of(posed)
    found = robustness_radius(network, posed.x, norm=norm, largest=3.0, **options)
    bracket, number = found.bracket, brute_force_norms.NORMS[norm]

    def worst(epsilon: float) -> float:
        free = bracket.features
        return brute_force_norms.worst_margin(posed.brute, free, number, epsilon)

    assert worst(bracket.lower) < 1e-5
    if bracket.upper is None:
        assert worst(bracket.reach) < 1e-5
    else:
        assert worst(bracket.upper) > -1e-5
        assert bracket.counterfactual is not None
        moved = bracket.counterfactual.input.reshape(-1).astype(float) - posed.x.reshape(-1)
        assert np.linalg.norm(moved, number) <= bracket.upper * (1 + 1e-12)
    assert found.replay(network) == ()


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("seed", range(8))
def test_levels_are_nested_and_stand_before_another_solver(
    seed: int, norm: str, tmp_path: Path
) -> None:
    posed = case(seed)
    network, options = posed.network(tmp_path), options_of(posed)
    epsilons = [0.25 * posed.epsilon, posed.epsilon, 0.5 * posed.epsilon]
    swept = epsilon_sweep(network, posed.x, epsilons=epsilons, norm=norm, **options)
    assert swept.epsilons == tuple(sorted(epsilons, reverse=True))
    before: set[int] = set()
    for level in swept.levels:
        asked = {**options, "epsilon": level.epsilon, "norm": norm}
        other = "highs" if norm != "l2" else "split"
        assert before <= set(level.irrelevant)
        verdict = check(network, posed.x, level.irrelevant, solver=other, **asked)
        assert verdict.answer is not Answer.VIOLATED
        assert verdict.holds or norm == "l2"
        assert level.replay(network) == ()
        assert level.minimal
        # the order that the level tells is one in which Algorithm 1 finds the same
        again = explain(network, posed.x, order=level.permutation, **asked)
        assert again.explanation == level.explanation
        before = set(level.irrelevant)
