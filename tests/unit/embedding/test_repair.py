"""A check leaves the inputs where the solver put them, and moves them only if it is asked to."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix
from milp_verix import Embedded, EmbeddedCheck, InputError
from milp_verix.base import number_text
from tests.support.onnx_models import FLOAT, build, node, weights

pyo = pytest.importorskip("pyomo.environ")
trees = pytest.importorskip("sklearn.tree")
ensemble = pytest.importorskip("sklearn.ensemble")

ENDS = {"share": (0.0, 0.1), "age": (18.0, 80.0), "income": (0.0, 2e5)}


def table(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.uniform(*ends, rows) for name, ends in ENDS.items()})


def value(X: pd.DataFrame) -> Any:
    return np.sin(60 * X.share) + np.cos(X.age / 9) * X.income / 1e5


def embedded(fitted: Any) -> Embedded:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(list(ENDS)[::-1], bounds=lambda _, name: ENDS[name])
    return milp_verix.embed(model, fitted, model.x)


def threshold_of(fitted: Any, feature: int | None = None) -> float:
    """Return the first threshold in float64; scikit-learn rounds inputs to float32."""
    ensemble = milp_verix.load_network(fitted).ensemble
    found = ensemble.feature >= 0 if feature is None else ensemble.feature == feature
    return float(ensemble.threshold[found][0])


def at(inside: Embedded, x: Any, y: float) -> Any:
    """Return a solution in which the inputs are ``x`` and the output is ``y``."""
    return pyo.ComponentMap(zip([*inside.inputs, *inside.outputs], [*x, y], strict=True))


@pytest.fixture(scope="module")
def stump() -> Any:
    X = table()
    return trees.DecisionTreeRegressor(max_depth=1).fit(X, X.share > 0.05)


def test_the_inputs_stay(stump: Any) -> None:
    inside = embedded(stump)
    t = threshold_of(stump)
    solution = at(inside, [t, 40.0, 1e5], 1.0)
    told = inside.check(solution)
    assert told.inputs.tolist() == [t, 40.0, 1e5]
    assert told.moved == 0.0
    assert told.difference == 1.0 == told.solver_difference
    assert told.near == ("share",)
    assert told.beside == 0.0
    assert "differ from the runtime's by 1 at most" in str(told)
    assert "within 1e-06 of thresholds of trees: share; check(repair=True, tolerance=1e-06)" in str(
        told
    )
    assert str(told).endswith("to a difference of 0")
    right = inside.check(at(inside, [t, 40.0, 1e5], 0.0))
    assert right.difference == 0.0
    assert right.near == ("share",)
    assert "repair" not in str(right)
    assert "larger" not in str(right)


@pytest.mark.parametrize("tolerance", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("side", [0, 1])
def test_a_move_is_no_longer_than_the_tolerance(stump: Any, side: int, tolerance: float) -> None:
    inside = embedded(stump)
    t = threshold_of(stump)
    for off in (0.0, 0.3, 0.9, 1.1, 5.0):
        x = t + (off if side == 0 else -off) * tolerance
        solution = at(inside, [x, 40.0, 1e5], float(side))
        there = stump.predict(pd.DataFrame([[x, 40.0, 1e5]], columns=list(ENDS)))[0]
        told = inside.check(solution, repair=True, tolerance=tolerance)
        assert np.abs(told.inputs - [x, 40.0, 1e5]).max() <= tolerance
        assert told.moved <= tolerance
        seen = stump.predict(pd.DataFrame([told.inputs], columns=list(ENDS)))[0]
        assert told.difference == abs(seen - side)
        if off <= 0.9:
            assert told.difference == 0.0
        if off > 1:
            assert told.inputs.tolist() == [x, 40.0, 1e5]
            assert told.difference == abs(there - side)
        assert ("moved" in str(told)) == (told.moved > 0)
        assert ("a larger tolerance looks farther" in str(told)) == (told.difference > 0)


def test_the_width_of_the_box_scales_nothing() -> None:
    """Each input has a threshold, and the default tolerance is the same for all."""
    for name in ENDS:
        X = table()
        middle = float(np.median(X[name]))
        fitted = trees.DecisionTreeRegressor(max_depth=1).fit(X, X[name] > middle)
        t = threshold_of(fitted)
        inside = embedded(fitted)
        place = list(ENDS).index(name)
        for off, repaired in ((9e-7, True), (3e-6, False), (0.02, False)):
            x = [0.05, 40.0, 1e5]
            x[place] = t + off
            told = inside.check(at(inside, x, 0.0), repair=True)
            assert (told.difference == 0.0) == repaired
            assert told.moved <= 1e-6


def test_an_input_outside_the_box_is_not_pulled_into_it(stump: Any) -> None:
    inside = embedded(stump)
    t = threshold_of(stump)
    told = inside.check(at(inside, [t, 90.0, 3e5], 1.0), repair=True)
    assert told.inputs[1:].tolist() == [90.0, 3e5]
    assert told.difference == 0.0
    assert told.outside == 1e5


def test_an_end_of_the_box_is_not_crossed(stump: Any) -> None:
    t = threshold_of(stump)
    model = pyo.ConcreteModel()
    ends = {**ENDS, "share": (0.0, t)}
    model.x = pyo.Var(list(ENDS), bounds=lambda _, name: ends[name])
    inside = milp_verix.embed(model, stump, model.x)
    told = inside.check(at(inside, [t, 40.0, 1e5], 1.0), repair=True)
    assert told.moved == 0.0
    assert told.difference == 1.0
    assert told.near == ("share",)


@pytest.mark.parametrize("seed", range(10))
def test_optima_on_thresholds_are_those_of_predict(seed: int) -> None:
    X = table(seed=seed)
    fitted = ensemble.RandomForestRegressor(4, max_depth=4, random_state=seed).fit(X, value(X))
    inside = embedded(fitted)
    model = inside.model
    rest = sum(model.x[name] / ENDS[name][1] for name in ENDS)
    model.goal = pyo.Objective(expr=inside.outputs[0] - 1e-3 * rest)
    inside.solve("highs")
    plain, told = inside.check(), inside.check(repair=True)
    assert plain.inputs == pytest.approx([model.x[name].value for name in ENDS], abs=0)
    seen = fitted.predict(pd.DataFrame([told.inputs], columns=list(ENDS)))
    assert seen == pytest.approx(told.outputs, abs=1e-5)
    assert told.replayed == pytest.approx(seen, abs=0)
    assert told.moved <= 1e-6
    assert_told_holds(inside, plain)


def test_numbers_told_as_upper_ends_are_rounded_up(stump: Any) -> None:
    inside, t = embedded(stump), threshold_of(stump)
    told = inside.check(at(inside, [t + 0.0101249, 40.0, 2e5 + 0.1249], 3.449))
    assert "differ from the runtime's by 2.5 at most, and by 2.5 from the network" in str(told)
    assert "outside the embedded box by 0.13" in str(told)
    near = at(inside, [t - 0.0101249, 40.0, 1e5], 1.0)
    told = inside.check(near, repair=True, tolerance=0.0202498)
    moved = re.search("moved by up to ([0-9.e-]+),", str(told))
    assert moved is not None
    assert told.moved <= float(moved[1]) <= 0.0202498


def assert_told_holds(inside: Embedded, told: EmbeddedCheck) -> None:
    """What the sentence promises of a repair comes true."""
    found = re.search(r"check\(repair=True, tolerance=(.*)\).*a difference of (.*)$", str(told))
    if found is None:
        assert told.beside == told.solver_difference
        return
    repaired = inside.check(repair=True, tolerance=float(found[1]))
    assert number_text.up(repaired.solver_difference, 2) == found[2]
    assert repaired.solver_difference < told.solver_difference


def test_thresholds_that_only_matter_together() -> None:
    """An exclusive or: no single move has closer outputs."""
    X = table(2000)
    up = X.assign(share=X.share > 0.05, age=X.age > 49)
    fitted = trees.DecisionTreeRegressor(max_depth=2, random_state=0).fit(
        X.assign(share=up.share * 0.1, age=up.age * 62.0 + 18), 4.0 * (up.share & up.age)
    )
    root = fitted.tree_
    assert sorted(root.feature[root.feature >= 0].tolist()) == [0, 1]
    inside = embedded(fitted)
    x = [threshold_of(fitted, i) for i in (0, 1)]
    told = inside.check(at(inside, [*x, 1e5], 4.0), repair=True)
    assert told.difference == 0.0
    assert told.near == ("share", "age")


def test_networks_have_no_thresholds() -> None:
    nodes = [node("Gemm", ["x", "A"], ["h"]), node("Relu", ["h"], ["y"])]
    network = build(nodes, inputs={"x": (1, 2)}, constants={"A": weights(2, 1)}, elem=FLOAT)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(0, 1))
    inside = milp_verix.embed(model, network, model.x)
    told = inside.check(at(inside, [0.5, 0.5], 9.0), repair=True, tolerance=0.1)
    assert told.inputs.tolist() == [0.5, 0.5]
    assert (told.moved, told.near, told.beside) == (0.0, (), None)
    assert "threshold" not in str(told)
    assert "tolerance" not in str(told)


def test_the_library_itself_is_asked() -> None:
    xgboost = pytest.importorskip("xgboost")
    X = table()
    fitted = xgboost.XGBRegressor(n_estimators=4, max_depth=2, n_jobs=1).fit(X, value(X))
    inside = embedded(fitted)
    told = inside.check(at(inside, [0.03, 40.0, 1e5], 0.0))
    want = fitted.predict(pd.DataFrame([[0.03, 40.0, 1e5]], columns=list(ENDS)))
    assert told.replayed.tolist() == want.tolist()
    assert told.difference == abs(float(want[0]))


def test_compare_embedded_repairs_if_it_is_asked_to(stump: Any) -> None:
    def build_model(**options: Any) -> Embedded:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(list(ENDS)[::-1], bounds=lambda _, name: ENDS[name])
        inside = milp_verix.embed(model, stump, model.x, **options)
        model.goal = pyo.Objective(expr=model.x["share"] - inside.outputs[0])
        return inside

    plain, repaired = (
        milp_verix.compare_embedded(build_model, ["highs"], repair=repair)
        for repair in (False, True)
    )
    assert not plain.replayed
    assert repaired.replayed


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tolerance": -1e-9}, "tolerance is finite and not negative"),
        ({"tolerance": float("nan")}, "tolerance is finite and not negative"),
        ({"tolerance": float("inf")}, "tolerance is finite and not negative"),
        ({"tolerance": "1"}, "tolerance must be a number"),
        ({"repair": 1}, "repair must be True or False"),
    ],
)
def test_refusals(stump: Any, options: dict[str, Any], told: str) -> None:
    inside = embedded(stump)
    with pytest.raises(InputError, match=told):
        inside.check(at(inside, [0.03, 40.0, 1e5], 0.0), **options)


def test_a_tolerance_of_zero_moves_nothing(stump: Any) -> None:
    inside = embedded(stump)
    t = threshold_of(stump)
    told = inside.check(at(inside, [t, 40.0, 1e5], 1.0), repair=True, tolerance=0)
    assert told.moved == 0.0
    assert told.near == ("share",)
    assert told.difference == 1.0
