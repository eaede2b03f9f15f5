"""The optimum over an embedded network is that of brute force, and the network's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import milp_verix
from tests.support.embedding import drawn, each_way, in_gurobi, solved_gurobi
from tests.support.installed_solvers import needs
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import dense_model, random_layers


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
@pytest.mark.parametrize("bounds", ["interval", "crown", "alpha", "branched", "lp", "milp"])
@pytest.mark.parametrize("seed", range(10))
def test_each_stage_of_bounds_leaves_the_optimum(bounds: str, seed: int) -> None:
    task = drawn(seed)
    model, inside = in_gurobi(task, bounds=bounds)
    assert solved_gurobi(model, "gurobi") == pytest.approx(task.least, abs=2e-5)
    assert inside.check().difference < 2e-5


@pytest.mark.slow
@needs("gurobi")
@pytest.mark.parametrize("seed", range(10))
def test_tighter_bounds_make_smaller_models(seed: int) -> None:
    task = drawn(seed, hidden=(8, 8, 8))
    sizes = [in_gurobi(task, bounds=bounds)[1] for bounds in ("interval", "crown", "lp", "milp")]
    assert list(np.diff([one.binaries for one in sizes]) <= 0) == [True] * 3
    assert list(np.diff([one.largest_big_m for one in sizes]) <= 1e-9) == [True] * 3


@needs("gurobi")
@pytest.mark.parametrize("seed", range(40))
def test_margins_are_those_of_check(seed: int) -> None:
    """The largest lead of a rival, over the box of a ball, decides what ``check`` answers."""
    import gurobipy as gp

    rng = np.random.default_rng(seed)
    layers = random_layers(rng, (4, 6, 5, 3), DOUBLE)
    network = milp_verix.load_network(dense_model(layers, DOUBLE))
    x, epsilon = rng.random(4), float(rng.choice([0.05, 0.15, 0.4]))
    verdict = milp_verix.check(network, x, range(4), epsilon=epsilon)
    model = gp.Model(env=gp.Env(params={"OutputFlag": 0, "Threads": 1, "MIPGap": 0}))
    low, high = np.clip(x - epsilon, 0, 1), np.clip(x + epsilon, 0, 1)
    inside = milp_verix.embed(model, network, model.addMVar(4, lb=low, ub=high))
    label = int(np.argmax(network.evaluate(x)))
    leads = []
    for rival in {0, 1, 2} - {label}:
        model.setObjective(inside.outputs[rival] - inside.outputs[label], gp.GRB.MAXIMIZE)
        leads.append(solved_gurobi(model, "gurobi"))
        told = inside.check()
        assert told.outputs[rival] - told.outputs[label] == pytest.approx(leads[-1], abs=1e-6)
    assert verdict.answer is (
        milp_verix.Answer.HOLDS if max(leads) < 0 else milp_verix.Answer.VIOLATED
    )
    if verdict.holds:
        assert verdict.bound is not None
        assert max(leads) <= verdict.bound + 1e-6
