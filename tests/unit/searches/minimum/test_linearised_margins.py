"""A linear program with few of its rows has the optimum of all."""

import numpy as np
import pytest
from scipy.optimize import linprog

from milp_verix.searches.minimum.proposals import minimised

_NEAR = 1e-5


@pytest.mark.parametrize("seed", range(10))
def test_rows_that_come_when_violated_change_no_minimum(seed: int) -> None:
    rng = np.random.default_rng([seed, 89])
    cost = rng.normal(size=8)
    rows = rng.normal(size=(60, 8)), rng.random(60)
    always = np.ones((1, 8)), np.array([3.0])
    bounds = np.full(8, -1.0), np.full(8, 1.0)
    found = minimised(cost, rows, bounds, always)
    exact = linprog(
        cost,
        A_ub=np.vstack([rows[0], always[0]]),
        b_ub=np.append(rows[1], always[1]),
        bounds=np.column_stack(bounds),
    )
    assert found.fun == pytest.approx(exact.fun, abs=_NEAR)
    assert np.max(rows[0] @ found.x - rows[1]) <= _NEAR
    assert found.x.sum() <= 3.0 + _NEAR
