"""Between variables by name, in any order, each kind of model has the values of its ``predict``."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix
from milp_verix import Embedded
from tests.support.installed_solvers import needs

pyo = pytest.importorskip("pyomo.environ")
pytest.importorskip("sklearn")

pytestmark = pytest.mark.filterwarnings("ignore")
ENDS = {"merit": (0.0, 2.5), "SAT score": (800.0, 1600.0), "GPA": (2.0, 4.0), "age": (17.0, 90.0)}


def table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    names = rng.permutation(list(ENDS))
    return pd.DataFrame({str(name): rng.uniform(*ENDS[name], 200) for name in names})


def target(X: pd.DataFrame) -> Any:
    return np.sin(2 * X["merit"]) + X["SAT score"] / 400 - (X["GPA"] - 3) * (X["age"] > 40)


def of_sklearn(module: str, name: str, **options: Any) -> Callable[[pd.DataFrame, Path], Any]:
    def fit(X: pd.DataFrame, _folder: Path) -> Any:
        estimator = getattr(pytest.importorskip(f"sklearn.{module}"), name)(**options)
        return (fitted := estimator.fit(X, target(X))), fitted

    return fit


def scaled_perceptron(X: pd.DataFrame, _folder: Path) -> Any:
    pipeline = pytest.importorskip("sklearn.pipeline")
    neural = pytest.importorskip("sklearn.neural_network")
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
    perceptron = neural.MLPRegressor(hidden_layer_sizes=(8, 6), max_iter=300, random_state=0)
    return (fitted := pipeline.make_pipeline(scaler, perceptron).fit(X, target(X))), fitted


def lightgbm_model(X: pd.DataFrame, folder: Path, *, file: bool) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    fitted = lightgbm.LGBMRegressor(n_estimators=5, num_leaves=5, verbose=-1).fit(X, target(X))
    path = folder / "model.txt"
    fitted.booster_.save_model(path)
    return fitted, path if file else fitted


def xgboost_model(X: pd.DataFrame, folder: Path, *, file: bool) -> Any:
    xgboost = pytest.importorskip("xgboost")
    fitted = xgboost.XGBRegressor(n_estimators=5, max_depth=2, n_jobs=1).fit(X, target(X))
    path = folder / "model.json"
    fitted.save_model(path)
    return fitted, path if file else fitted


MODELS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "linear": of_sklearn("linear_model", "LinearRegression"),
    "perceptron": scaled_perceptron,
    "tree": of_sklearn("tree", "DecisionTreeRegressor", max_depth=4),
    "forest": of_sklearn("ensemble", "RandomForestRegressor", n_estimators=3, max_depth=3),
    "boosted": of_sklearn("ensemble", "GradientBoostingRegressor", n_estimators=4, max_depth=2),
    "histograms": of_sklearn("ensemble", "HistGradientBoostingRegressor", max_iter=4),
    "LightGBM": lambda X, folder: lightgbm_model(X, folder, file=False),
    "LightGBM file": lambda X, folder: lightgbm_model(X, folder, file=True),
    "XGBoost": lambda X, folder: xgboost_model(X, folder, file=False),
    "XGBoost file": lambda X, folder: xgboost_model(X, folder, file=True),
}

Ends = dict[str, tuple[float, float]]
Posed = tuple[Embedded, Callable[[str], float | None]]


def in_pyomo(network: Any, ends: Ends, sense: int) -> Posed:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(list(ends), bounds=lambda _, name: ends[name])
    inside = milp_verix.embed(model, network, model.x)
    model.goal = pyo.Objective(expr=sense * inside.outputs[0])
    assert inside.solve("highs").optimal
    return inside, lambda name: model.x[name].value


def in_gurobi(network: Any, ends: Ends, sense: int) -> Posed:
    import gurobipy as gp

    model = gp.Model(env=gp.Env(params={"OutputFlag": 0, "Threads": 1, "MIPGap": 0}))
    low, high = ([side[k] for side in ends.values()] for k in (0, 1))
    x = pd.Series(model.addVars(list(ends), lb=low, ub=high))
    inside = milp_verix.embed(model, network, x)
    model.setObjective(sense * inside.outputs[0])
    assert inside.solve("gurobi").optimal
    return inside, lambda name: x[name].X


def in_pulp(network: Any, ends: Ends, sense: int) -> Posed:
    import pulp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pulp.LpProblem("task")
        x = pulp.LpVariable.dicts("x", list(ends))
    for name, side in ends.items():
        x[name].bounds(*side)
    inside = milp_verix.embed(model, network, x)
    model.setObjective(sense * inside.outputs[0])
    assert inside.solve("highs").optimal  # CBC 2.10.3 calls worse solutions optimal
    return inside, lambda name: x[name].varValue


HOSTS = [
    pytest.param(in_pyomo, id="pyomo"),
    pytest.param(in_gurobi, id="gurobi", marks=needs("gurobi")),
    pytest.param(in_pulp, id="pulp", marks=needs("highs")),
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pose", HOSTS)
@pytest.mark.parametrize("kind", MODELS)
def test_values_and_optima_are_those_of_predict(
    kind: str, pose: Callable[..., Posed], seed: int, tmp_path: Path
) -> None:
    X = table(seed)
    fitted, source = MODELS[kind](X, tmp_path)
    network = milp_verix.load_network(source)
    rng = np.random.default_rng(seed)
    names = list(X.columns)
    for row in X.iloc[rng.integers(0, len(X), 2)].round(2).to_dict("records"):
        at = {str(name): (row[name], row[name]) for name in rng.permutation(names)}
        told = pose(network, at, 1)[0].check()
        want = fitted.predict(pd.DataFrame([row])[names])
        assert told.outputs == pytest.approx(want, abs=1e-4)
        assert told.replayed == pytest.approx(want, abs=1e-4)
    ends: Ends = {}
    for name in map(str, rng.permutation(names)):
        reach, centre = 0.1 * np.ptp(ENDS[name]), X[name][seed]
        ends[name] = max(ENDS[name][0], centre - reach), min(ENDS[name][1], centre + reach)
    seen = fitted.predict(pd.DataFrame({name: rng.uniform(*ends[name], 500) for name in names}))
    for sense in (1, -1):
        inside, value = pose(network, ends, sense)
        told = inside.check(repair=True, tolerance=1e-4)
        assert sense * told.outputs[0] <= (sense * seen).min() + 1e-4
        moved = pd.DataFrame([told.inputs], columns=names)
        assert told.outputs == pytest.approx(fitted.predict(moved), abs=1e-4)
        for name, x in zip(names, told.inputs, strict=True):
            given = value(name)  # none where no output depends on it
            assert given is None or x == pytest.approx(given, abs=1.1e-4)
