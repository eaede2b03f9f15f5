"""The optimum over an embedded network is that of brute force, and the network's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.embedding import drawn, each_way, in_gurobi, solved_gurobi
from tests.support.installed_solvers import needs


@each_way
@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_that_of_brute_force(
    build: Callable[..., Any], solve: Callable[..., float], solver: str, formulation: str, seed: int
) -> None:
    task = drawn(seed)
    model, inside = build(task, formulation=formulation)
    assert solve(model, solver) == pytest.approx(task.least, abs=2e-5)
    told = inside.check()
    assert told.solver_difference < 2e-5
    assert told.difference < 2e-5
    assert told.outside < 1e-6


@needs("gurobi")
@pytest.mark.parametrize("bounds", ["interval", "crown", "alpha", "lp", "milp"])
@pytest.mark.parametrize("seed", range(10))
def test_each_stage_of_bounds_leaves_the_optimum(bounds: str, seed: int) -> None:
    task = drawn(seed)
    model, inside = in_gurobi(task, bounds=bounds)
    assert solved_gurobi(model, "gurobi") == pytest.approx(task.least, abs=2e-5)
    assert inside.check().difference < 2e-5


@needs("gurobi")
@pytest.mark.parametrize("seed", range(10))
def test_tighter_bounds_make_smaller_models(seed: int) -> None:
    task = drawn(seed, hidden=(8, 8, 8))
    sizes = [in_gurobi(task, bounds=bounds)[1] for bounds in ("interval", "crown", "lp", "milp")]
    assert list(np.diff([one.binaries for one in sizes]) <= 0) == [True] * 3
    assert list(np.diff([one.largest_big_m for one in sizes]) <= 1e-9) == [True] * 3
