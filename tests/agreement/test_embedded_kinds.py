"""Trees, products and smooth functions inside models."""

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

import milp_verix
from tests.support.installed_solvers import needs
from tests.support.onnx_models import FLOAT, build, node, weights

pyo = pytest.importorskip("pyomo.environ")


def posed(network: Any, low: Any, high: Any, **options: Any) -> tuple[Any, milp_verix.Embedded]:
    model = pyo.ConcreteModel()
    ends = list(zip(np.asarray(low).tolist(), np.asarray(high).tolist(), strict=True))
    model.x = pyo.Var(range(len(ends)), bounds=lambda _, i: ends[i])
    inside = milp_verix.embed(model, network, model.x, **options)
    return model, inside


@needs("gurobi")
@pytest.mark.parametrize("operator", ["Relu", "LeakyRelu", "Abs", "MaxPool"])
def test_general_constraints_of_gurobi(operator: str) -> None:
    import gurobipy as gp

    if operator == "MaxPool":
        nodes = [
            node("Reshape", ["x", "shape"], ["h"]),
            node("MaxPool", ["h"], ["p"], kernel_shape=[1, 2], strides=[1, 1]),
            node("Flatten", ["p"], ["r"]),
        ]
    else:
        nodes = [node("Gemm", ["x", "A", "a"], ["h"]), node(operator, ["h"], ["r"])]
    constants = {"A": weights(4, 3), "a": weights(3, seed=1), "B": weights(3, 1, seed=2)}
    constants["shape"] = np.array([1, 1, 1, 4])
    nodes.append(node("Gemm", ["r", "B"], ["y"]))
    network = milp_verix.load_network(
        build(nodes, inputs={"x": (1, 4)}, constants=constants, elem=FLOAT)
    )
    optima = []
    for formulation in ("big_m", "general"):
        model = gp.Model(env=gp.Env(params={"OutputFlag": 0, "Threads": 1}))
        x = model.addMVar(4, lb=-1.0, ub=1.0)
        inside = milp_verix.embed(model, network, x, formulation=formulation)
        model.setObjective(inside.outputs[0])
        for sense in (gp.GRB.MINIMIZE, gp.GRB.MAXIMIZE):
            model.ModelSense = sense
            optima.append(inside.solve("gurobi").objective)
            assert inside.check().difference < 1e-5
        general = model.NumGenConstrs
        assert (inside.binaries > 0) == (formulation == "big_m") == (general == 0)
        inside.remove()
        assert (model.NumVars, model.NumConstrs, model.NumGenConstrs) == (4, 0, 0)
    assert optima[:2] == pytest.approx(optima[2:], abs=1e-5)


def trees(seed: int) -> Any:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(seed)
    X = rng.random((80, 3)).astype(np.float32)
    y = np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 2] > 0.5)
    made = (
        ensemble.RandomForestRegressor(3, max_depth=3, random_state=seed),
        ensemble.GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=seed),
    )
    return made[seed % 2].fit(X, y)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_the_optimum_over_trees_is_that_of_all_cells(solver: str, seed: int) -> None:
    model = trees(seed)
    network = milp_verix.load_network(model)
    stages = np.ravel(model.estimators_)
    cells = []
    for f in range(3):
        splits = [t.tree_.threshold[t.tree_.feature == f] for t in stages]
        ends = np.unique(np.concatenate([[0.1, 0.9], *splits]))
        ends = ends[(ends >= 0.1) & (ends <= 0.9)]
        cells.append((ends[:-1] + ends[1:]) / 2)
    grid = np.array(list(product(*cells)), dtype=np.float32)
    seen = model.predict(grid)
    whole, inside = posed(network, [0.1] * 3, [0.9] * 3)
    for sense, best in ((1, seen.min()), (-1, seen.max())):
        whole.goal = pyo.Objective(expr=inside.outputs[0], sense=sense)
        solved = inside.solve(solver)
        assert solved.objective == pytest.approx(best, abs=1e-5)
        assert inside.check().moved == 0.0
        told = inside.check(repair=True)
        assert told.difference < 1e-5
        assert told.moved <= 1e-6
        assert model.predict(told.inputs[None].astype(np.float32)) == pytest.approx(best, abs=1e-5)
        whole.del_component(whole.goal)
    assert "threshold" in inside.notes[0]


def test_xgboost_and_a_network_in_one_model() -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = rng.random((60, 2)).astype(np.float32)
    fitted = xgboost.XGBRegressor(n_estimators=4, max_depth=2, n_jobs=1).fit(X, X[:, 0] - X[:, 1])
    nodes = [node("Gemm", ["x", "A"], ["h"]), node("Relu", ["h"], ["y"])]
    other = milp_verix.load_network(
        build(nodes, inputs={"x": (1, 2)}, constants={"A": weights(2, 1)}, elem=FLOAT)
    )
    model, forest = posed(fitted, [0, 0], [1, 1])
    dense = milp_verix.embed(model, other, model.x)
    model.goal = pyo.Objective(expr=forest.outputs[0] - dense.outputs[0])
    solved = forest.solve("highs")
    grid = rng.random((4000, 2)).astype(np.float32)
    seen = fitted.predict(grid) - other.evaluate_many(grid)[:, 0]
    assert solved.objective <= seen.min() + 1e-5
    assert forest.check(repair=True).difference < 1e-5
    assert forest.check(repair=True).moved <= 1e-6
    assert dense.check().difference < 1e-5


@pytest.mark.parametrize("operator", ["Tanh", "Sigmoid", "Mul", "LeakyRelu", "Abs"])
def test_other_operators_enclose_the_network(operator: str) -> None:
    sources = ["h", "h"] if operator == "Mul" else ["h"]
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node(operator, sources, ["r"]),
        node("Gemm", ["r", "B"], ["y"]),
    ]
    constants = {"A": weights(2, 3), "a": weights(3, seed=1), "B": weights(3, 1, seed=2)}
    network = milp_verix.load_network(
        build(nodes, inputs={"x": (1, 2)}, constants=constants, elem=FLOAT)
    )
    model, inside = posed(network, [-1, -1], [1, 1])
    rng = np.random.default_rng(0)
    seen = network.evaluate_many(rng.uniform(-1, 1, (500, 2)))[:, 0]
    for sense in (1, -1):
        model.goal = pyo.Objective(expr=inside.outputs[0], sense=sense)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            objective = inside.solve("highs").objective
        best = seen.min() if sense == 1 else seen.max()
        assert sense * objective <= sense * best + 1e-6
        if not network.ir.enclosed:
            assert inside.check().difference < 1e-5
        model.del_component(model.goal)
    assert bool(network.ir.enclosed) == any("enclosed" in note for note in inside.notes)
