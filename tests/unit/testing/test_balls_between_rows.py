"""The optima of the suite's balls between rows, found by sequential quadratic programming."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.support.suite_cases import WRITTEN

BALLS = [name for name in WRITTEN if name.startswith("a ball between rows")]


@pytest.mark.parametrize("name", BALLS)
def test_no_point_of_a_ball_costs_less(name: str) -> None:
    data = WRITTEN[name]
    rows = np.array([row for row, _, _ in data["rows"]])
    upper = np.array([end for _, _, end in data["rows"]])
    cost, radius, whole = np.array(data["cost"]), data["ball"], data["whole"]
    n = cost.size - len(whole)
    box = data["box"][:n]
    found = []
    for binaries in itertools.product((0.0, 1.0), repeat=len(whole)):
        left = upper - rows[:, n:] @ binaries
        done = minimize(
            lambda v: cost[:n] @ v,
            np.zeros(n),
            jac=lambda _: cost[:n],
            bounds=box,
            constraints=[
                {"type": "ineq", "fun": lambda v: radius - v @ v / radius},
                {"type": "ineq", "fun": lambda v, left=left: left - rows[:, :n] @ v},
            ],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        inside = done.x @ done.x <= radius**2 * (1 + 1e-9)
        if inside and np.all(rows[:, :n] @ done.x <= left + 1e-9):
            found.append(cost[:n] @ done.x + cost[n:] @ binaries)
    assert min(found) == pytest.approx(float(data["best"]), rel=3e-8)
