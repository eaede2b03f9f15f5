"""Variables that have keys are paired with a network's inputs and outputs by these."""

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix
from milp_verix import Embedded, InputError
from milp_verix.embedding import sockets as pairing
from tests.support.installed_solvers import needs
from tests.support.onnx_models import FLOAT, build, node, weights

pyo = pytest.importorskip("pyomo.environ")
pulp = pytest.importorskip("pulp")
linear_model = pytest.importorskip("sklearn.linear_model")

pytestmark = pytest.mark.filterwarnings("ignore")  # PuLP's, on names of version 4

COLUMNS = ["merit", "SAT", "GPA"]
ROW = {"GPA": 3.0, "SAT": 1000.0, "merit": 2.0}


def table(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ends = {"merit": (0, 2.5), "SAT": (800, 1600), "GPA": (2, 4)}
    return pd.DataFrame({name: rng.uniform(*ends[name], rows) for name in COLUMNS})


def linear(columns: list[str] | None = None) -> Any:
    X = table()
    y = X.merit + 0.001 * X.SAT + 0.1 * X.GPA
    X.columns = columns or COLUMNS
    return linear_model.LinearRegression().fit(X, y)


NAMELESS = build(
    [node("Gemm", ["x", "A"], ["y"])],
    inputs={"x": (1, 3)},
    constants={"A": np.array([[1.0], [10.0], [100.0]])},
)


def fixed(values: dict[Any, float]) -> tuple[Any, dict[Any, Any]]:
    """Return a problem of PuLP, and variables with one value each."""
    model = pulp.LpProblem("task")
    return model, {
        key: pulp.LpVariable(f"v{place}", value, value)
        for place, (key, value) in enumerate(values.items())
    }


def value_of(model: Any, network: Any, given: Any, **options: Any) -> tuple[float, Embedded]:
    """Return the output of a network between fixed variables, after a check of the solution."""
    inside = milp_verix.embed(model, network, given, **options)
    if hasattr(model, "component_data_objects"):
        model.goal = pyo.Objective(expr=inside.outputs[0])
        solver = "highs"
    elif hasattr(model, "NumVars"):
        model.setObjective(inside.outputs[0])
        solver = "gurobi"
    else:
        model.setObjective(inside.outputs[0])
        solver = "cbc"
    found = inside.solve(solver).objective
    assert inside.check().difference < 1e-5
    return found, inside


def pulp_form(wrap: Callable[[dict[str, Any]], Any]) -> Callable[[], tuple[Any, Any]]:
    def build_model() -> tuple[Any, Any]:
        model, v = fixed(ROW)
        return model, wrap(v)

    return build_model


def pyomo_form(wrap: Callable[[Any], Any]) -> Callable[[], tuple[Any, Any]]:
    def build_model() -> tuple[Any, Any]:
        model = pyo.ConcreteModel()
        model.S = pyo.Set(initialize=list(ROW))
        model.x = pyo.Var(["ann"], model.S, bounds=lambda _, _person, k: (ROW[k], ROW[k]))
        model.v = pyo.Var(model.S, bounds=lambda _, k: (ROW[k], ROW[k]))
        return model, wrap(model)

    return build_model


def gurobi_form(wrap: Callable[[Any], Any]) -> Callable[[], tuple[Any, Any]]:
    def build_model() -> tuple[Any, Any]:
        import gurobipy as gp

        model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
        v = model.addVars(list(ROW), lb=list(ROW.values()), ub=list(ROW.values()))
        model.update()
        return model, wrap(v)

    return build_model


def expressions(model: Any) -> Any:
    model.e = pyo.Expression(model.S, rule=lambda m, k: m.v[k] + 0)
    return model.e


FORMS = {
    "dict": pulp_form(lambda v: v),
    "named tuple": pulp_form(lambda v: namedtuple("Row", v)(**v)),  # type: ignore[misc]
    "dict of expressions": pulp_form(lambda v: {k: v[k] * 2 - ROW[k] for k in v}),
    "dict with a number": pulp_form(lambda v: {**v, "SAT": 1000}),
    "Series": pulp_form(pd.Series),
    "DataFrame": pulp_form(lambda v: pd.DataFrame([v], index=["ann"])),
    "list of one dict": pulp_form(lambda v: [v]),
    "Var": pyomo_form(lambda m: m.v),
    "Reference": pyomo_form(lambda m: pyo.Reference(m.x["ann", :])),
    "slice": pyomo_form(lambda m: m.x["ann", :]),
    "Expression": pyomo_form(expressions),
    "dict of Pyomo": pyomo_form(lambda m: {k: m.v[k] for k in m.S}),
    "Series of Pyomo": pyomo_form(lambda m: pd.Series({k: m.v[k] for k in m.S})),
    "list in order": pyomo_form(lambda m: [m.v[k] for k in COLUMNS]),
    "tupledict": gurobi_form(lambda v: v),
    "Series of Gurobi": gurobi_form(pd.Series),
    "DataFrame of Gurobi": gurobi_form(lambda v: pd.DataFrame([v])),
}
each_form = pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            make, id=name, marks=needs("gurobi") if "tuple" in name or "Gu" in name else ()
        )
        for name, make in FORMS.items()
    ],
)


@each_form
def test_every_form_is_understood_by_its_keys(make: Callable[[], tuple[Any, Any]]) -> None:
    model, given = make()
    network = linear()
    found, inside = value_of(model, network, given)
    assert found == pytest.approx(network.predict(pd.DataFrame([ROW])[COLUMNS])[0], abs=1e-5)
    assert inside.input_names == tuple(COLUMNS)
    assert inside.check().inputs == pytest.approx([ROW[name] for name in COLUMNS])


@each_form
def test_a_wrong_pairing_is_seen_by_the_check(
    make: Callable[[], tuple[Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check goes by the names alone, so a fault in the order of the entries shows."""
    model, given = make()
    right = pairing.order_of
    monkeypatch.setattr(pairing, "order_of", lambda keys, side: right(keys, side)[::-1])
    inside = milp_verix.embed(model, linear(), given)
    told = inside.check(known_values(model, inside))
    positional = isinstance(given, list) and len(given) > 1
    assert (told.difference > 0.1) == (not positional)
    assert told.inputs == pytest.approx([ROW[name] for name in COLUMNS])


def known_values(model: Any, inside: Embedded) -> Any:
    """Return a solution of the rows: inputs at their bounds, outputs of the network there."""
    make = pyo.ComponentMap if hasattr(model, "component_data_objects") else dict
    at = inside.bounds[0].lower
    outputs = inside.network.ir.evaluate(at)
    return make(zip([*inside.inputs, *inside.outputs], [*at, *outputs], strict=True))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"merit": 2, "SAT": 1, "sat": 3}, "missing: GPA; extra: sat"),
        ({"merit": 2, "SAT": 1}, "missing: GPA"),
        ({**ROW, "id": 7}, "extra: id"),
        ({1: 2, 2: 3, 4: 5}, "missing: merit, SAT, GPA; extra: 1, 2, 4"),
        ({True: 2, False: 3, 2: 5}, "missing: merit"),
        ({0: 1, 1: 2}, "inputs has 2 entries, but the network has 3"),
        ({}, "missing: merit, SAT, GPA"),
        (pd.Series([1, 2, 3], ["SAT", "SAT", "GPA"]), "two entries of inputs have one name"),
        (pd.DataFrame([ROW, ROW]), "a DataFrame of one row is expected, 2 were seen"),
        (pd.DataFrame([[1, 2, 3]], columns=["SAT", "SAT", "GPA"]), "SAT"),
        ([{"GPA": 2}, {"SAT": 1}, {"merit": 3}], "GPA, and nothing tells"),
        ({"merit": [1, 2], "SAT": 1, "GPA": 2}, r"missing: merit; extra: merit\[0\]"),
        ({"merit": [], "SAT": 1, "GPA": 2}, "missing: merit"),
        ({"merit": {"a": 1, "b": 2}, "SAT": 1, "GPA": 2}, "keys a, b, and nothing tells"),
    ],
)
def test_other_keys_are_refused(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        milp_verix.embed(pulp.LpProblem("task"), linear(), given)


def test_many_other_names_are_counted() -> None:
    given = {f"a{i}": 0.0 for i in range(9)}
    with pytest.raises(InputError, match=r"a0, a1, a2, a3, a4, … \(9 in all\)"):
        milp_verix.embed(pulp.LpProblem("task"), linear(), given)
    with pytest.raises(InputError, match=r"a0, a1, a2, a3, a4, … \(9 in all\), and nothing"):
        milp_verix.embed(pulp.LpProblem("task"), NAMELESS, given)


@pytest.mark.parametrize(
    "given",
    [
        {2: 3.0, 0: 1.0, 1: 2.0},
        {3: 3.0, 1: 1.0, 2: 2.0},
        {(0, 2): 3.0, (0, 0): 1.0, (0, 1): 2.0},
        {np.int64(2): 3.0, np.int64(1): 2.0, np.int64(0): 1.0},
        pd.Series([3.0, 1.0, 2.0], [2, 0, 1]),
        pd.Series([1.0, 2.0, 3.0]),
        pd.DataFrame([[3.0, 1.0, 2.0]], columns=[2, 0, 1]),
        {1: [2.0, 3.0], 0: [1.0]},
        [1.0, {1: 3.0, 0: 2.0}],
        np.array([[1.0, 2.0, 3.0]]),
    ],
)
@pytest.mark.parametrize("network", [NAMELESS, "named"])
def test_whole_numbers_are_places(given: Any, network: Any) -> None:
    network = linear() if network == "named" else network
    inside = milp_verix.embed(pulp.LpProblem("task"), network, given)
    assert inside.bounds[0].lower.tolist() == [1.0, 2.0, 3.0]


def test_names_that_are_numbers_come_before_places() -> None:
    inside = milp_verix.embed(
        pulp.LpProblem("task"), linear(["2", "0", "1"]), {0: 10.0, 1: 11.0, 2: 12.0}
    )
    assert inside.bounds[0].lower.tolist() == [12.0, 10.0, 11.0]


@pytest.mark.parametrize("keys", [("a", "b", "c"), (0, 1, 3), (0, 1, "c"), (-1, 0, 1), (0.5, 1, 2)])
def test_keys_of_a_network_without_names_are_refused(keys: Any) -> None:
    with pytest.raises(InputError, match=r"nothing tells the place.*list.*or names=\[…\]"):
        milp_verix.embed(pulp.LpProblem("task"), NAMELESS, dict.fromkeys(keys, 1.0))


def test_names_for_a_network_that_stores_none() -> None:
    model, v = fixed({"c": 3.0, "a": 1.0, "b": 2.0})
    found, inside = value_of(model, NAMELESS, v, names=["a", "b", "c"])
    assert found == pytest.approx(321)
    assert inside.input_names == ("a", "b", "c")
    assert inside.start({"b": 2.0, "c": 3.0, "a": 1.0}) == pytest.approx([321])
    model = pulp.LpProblem("task")
    for names in (["a", "b"], ["a", "b", "b"], ["a", "b", "c", "d"]):
        with pytest.raises(InputError, match="expected one for each of 3 inputs"):
            milp_verix.embed(model, NAMELESS, [1, 2, 3], names=names)
    with pytest.raises(InputError, match="names must be a list of texts"):
        milp_verix.embed(model, NAMELESS, [1, 2, 3], names=[1, 2, 3])  # type: ignore[list-item]
    milp_verix.embed(model, linear(), [1, 2, 3], names=COLUMNS[::-1])
    with pytest.raises(InputError, match="missing: merit; extra: prize"):
        milp_verix.embed(model, linear(), [1, 2, 3], names=["prize", "SAT", "GPA"])


def test_a_network_of_one_input_needs_no_names() -> None:
    one = build(
        [node("Gemm", ["x", "A"], ["y"])], inputs={"x": (1, 1)}, constants={"A": np.array([[2.0]])}
    )
    model = pyo.ConcreteModel()
    model.price = pyo.Var(["price"], bounds=(0, 1))
    inside = milp_verix.embed(model, one, {"size": 4.0}, model.price)
    assert inside.outputs == (model.price["price"],)


def test_places_in_a_tensor() -> None:
    grid = build(
        [node("Flatten", ["x"], ["f"]), node("Gemm", ["f", "B"], ["y"])],
        inputs={"x": (1, 1, 2, 3)},
        constants={"B": weights(6, 1)},
        elem=FLOAT,
    )
    model = pyo.ConcreteModel()
    model.x = pyo.Var([1, 0], [2, 0, 1], bounds=lambda _, i, j: (10 * i + j, 10 * i + j))
    model.t = pyo.Var(range(3), range(2), bounds=(0, 1))
    inside = milp_verix.embed(model, grid, model.x)
    assert inside.bounds[0].lower.tolist() == [0, 1, 2, 10, 11, 12]
    with pytest.raises(InputError, match=r"shape \(3, 2\), expected \(1, 1, 2, 3\)"):
        milp_verix.embed(model, grid, model.t)


def test_several_inputs_by_name() -> None:
    nodes = [node("Gemm", ["a", "A"], ["h"]), node("Add", ["h", "b"], ["y"])]
    network = milp_verix.load_network(
        build(nodes, inputs={"a": (1, 2), "b": (1, 1)}, constants={"A": np.array([[1.0], [10.0]])})
    )
    assert network.columns == ("a[0]", "a[1]", "b")
    forms: list[Any] = [
        {"b": 3.0, "a": [1.0, 2.0]},
        {"b": 3.0, "a": {1: 2.0, 0: 1.0}},
        {"b": [3.0], "a[1]": 2.0, "a[0]": 1.0},
    ]
    for given in forms:
        inside = milp_verix.embed(pulp.LpProblem("task"), network, given)
        assert inside.bounds[0].lower.tolist() == [1.0, 2.0, 3.0]
        assert inside.start(given) == pytest.approx([24])
    with pytest.raises(InputError, match=r"missing: a\[1\]; extra: a"):
        milp_verix.embed(pulp.LpProblem("task"), network, {"b": 3.0, "a[0]": 1.0, "a": 2.0})


def test_spaces_that_lightgbm_stores_as_underscores(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X = table()
    X.columns = ["my merit", "SAT score", "GPA"]
    fitted = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, X["my merit"] - X["GPA"])
    path = tmp_path / "model.txt"
    fitted.booster_.save_model(path)
    row = {"GPA": 3.0, "SAT score": 1000.0, "my merit": 2.0}
    for network in (fitted, str(path)):
        found, inside = value_of(*_of(network, row))
        assert found == pytest.approx(fitted.predict(pd.DataFrame([row])[X.columns])[0], abs=1e-5)
        assert inside.start(pd.Series(row)) == pytest.approx([found], abs=1e-5)
    both = {**row, "my_merit": 1.0}
    with pytest.raises(InputError, match="'my merit' and 'my_merit' differ by spaces"):
        milp_verix.embed(pulp.LpProblem("task"), fitted, both)
    spaced = linear(["my merit", "SAT", "GPA"])
    inside = milp_verix.embed(pulp.LpProblem("task"), spaced, {"SAT": 2, "my_merit": 1, "GPA": 3})
    assert inside.bounds[0].lower.tolist() == [1, 2, 3]


def test_lightgbm_numbers_the_columns_of_arrays() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X = table()
    fitted = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X.to_numpy(), X.merit - X.GPA)
    model, v = fixed(ROW)
    with pytest.raises(InputError, match="missing: Column_0, Column_1, Column_2"):
        milp_verix.embed(model, fitted, v)
    found, inside = value_of(model, fitted, v, names=COLUMNS)
    want = fitted.predict(np.array([[ROW[name] for name in COLUMNS]]))
    assert found == pytest.approx(want[0], abs=1e-5)
    assert inside.start(ROW) == pytest.approx(want, abs=1e-5)


def _of(network: Any, row: dict[str, float]) -> tuple[Any, Any, Any]:
    model, v = fixed(row)
    return model, network, v


def test_a_pipeline_of_words_has_a_name_for_each_word() -> None:
    compose = pytest.importorskip("sklearn.compose")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    pipeline = pytest.importorskip("sklearn.pipeline")
    X = table()
    X["town"] = np.array(["Oslo", "Paris", "Rome"])[np.arange(len(X)) % 3]
    y = X.merit + 3.0 * (X.town == "Rome")
    steps = compose.make_column_transformer(
        (preprocessing.OneHotEncoder(), ["town"]), remainder=preprocessing.StandardScaler()
    )
    fitted = pipeline.make_pipeline(steps, linear_model.LinearRegression()).fit(X, y)
    row = {"town=Rome": 1.0, "town=Oslo": 0.0, "town=Paris": 0.0, **ROW}
    found, inside = value_of(*_of(fitted, row))
    asked = pd.DataFrame([{**ROW, "town": "Rome"}])[X.columns]
    assert found == pytest.approx(fitted.predict(asked)[0], abs=1e-4)
    assert inside.start(row) == pytest.approx([found], abs=1e-4)
    with pytest.raises(
        InputError, match=r"one for each coordinate.*missing: town=Oslo.*extra: town"
    ):
        milp_verix.embed(pulp.LpProblem("task"), fitted, {**ROW, "town": 2})


def test_a_start_by_names() -> None:
    model, v = fixed(ROW)
    for variable in v.values():
        variable.bounds(0, 2000)
    inside = milp_verix.embed(model, linear(), v)
    want = [2.0 + 1.0 + 0.3]
    rows = [ROW, pd.Series(ROW), pd.DataFrame([ROW]), [ROW], {**ROW, "id": 7}, [2.0, 1000.0, 3.0]]
    for x in rows:
        assert inside.start(x) == pytest.approx(want, abs=1e-4)
        told = inside.check()
        assert told.inputs == pytest.approx([2.0, 1000.0, 3.0])
        assert told.difference < 1e-4
    assert v["SAT"].varValue == 1000.0
    with pytest.raises(InputError, match="missing: merit; extra: Merit"):
        inside.start({"Merit": 1, "SAT": 2, "GPA": 3})
    with pytest.raises(InputError, match=r"input SAT is -1, outside"):
        inside.start({**ROW, "SAT": -1})
    with pytest.raises(InputError, match="is nan, outside"):
        inside.start({**ROW, "SAT": float("nan")})
    fitted = inside.network.origin.models[-1]
    fitted.coef_ = -fitted.coef_
    for ask in (lambda: inside.start(ROW), inside.check):
        with pytest.raises(InputError, match="fitted again"):
            ask()


def test_a_missing_value_is_told_by_its_name() -> None:
    model, v = fixed(ROW)
    inside = milp_verix.embed(model, linear(), v)
    with pytest.raises(InputError, match="input merit has no value"):
        inside.check()
    with pytest.raises(InputError, match=r"lacks .*, of input merit"):
        inside.check({})
    v["GPA"].lowBound = None
    with pytest.raises(InputError, match=r"input GPA .* has no finite lower bound"):
        milp_verix.embed(model, linear(), v)


def classifier(classes: list[Any]) -> Any:
    trees = pytest.importorskip("sklearn.tree")
    X = table()
    labels = np.array(classes)[np.digitize(X.SAT, np.linspace(800, 1600, len(classes) + 1)[1:-1])]
    return trees.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, labels)


def test_outputs_by_the_names_of_classes() -> None:
    fitted = classifier(["low", "mid", "top"])
    assert list(fitted.classes_) == ["low", "mid", "top"]
    model = pyo.ConcreteModel()
    model.v = pyo.Var(list(ROW), bounds=lambda _, k: (ROW[k], ROW[k]))
    model.s = pyo.Var(["top", "low", "mid"], bounds=(-9, 9))
    inside = milp_verix.embed(model, fitted, model.v, model.s)
    assert inside.output_names == ("low", "mid", "top")
    model.goal = pyo.Objective(expr=model.s["low"])
    inside.solve("highs")
    seen = {name: model.s[name].value for name in model.s}
    assert max(seen, key=lambda name: seen[name]) == fitted.predict(pd.DataFrame([ROW])[COLUMNS])[0]
    assert inside.check().difference < 1e-6
    for given in ({0: 1, 1: 0, 2: 0}, [1, 0, 0]):
        milp_verix.embed(model, fitted, model.v, given)
    with pytest.raises(
        InputError, match=r"outputs are given by other names.*missing: mid; extra: x"
    ):
        milp_verix.embed(model, fitted, model.v, {"top": 1, "low": 0, "x": 0})


def test_outputs_in_a_wrong_order_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = classifier(["low", "mid", "top"])
    right = pairing.order_of
    monkeypatch.setattr(
        pairing,
        "order_of",
        lambda keys, side: right(keys, side)[:: -1 if side.what == "outputs" else 1],
    )
    model, v = fixed(ROW)
    y = pulp.LpVariable.dicts("y", ["low", "mid", "top"], -9, 9)
    inside = milp_verix.embed(model, fitted, v, y)
    model.setObjective(y["low"])
    inside.solve("cbc")
    assert fitted.predict(pd.DataFrame([ROW])[COLUMNS])[0] == "low"
    assert inside.check().difference > 0.5


def test_numbers_of_classes() -> None:
    three = classifier([3, 5, 7])
    model = pulp.LpProblem("task")
    y = pulp.LpVariable.dicts("y", [7, 3, 5], -9, 9)
    inside = milp_verix.embed(model, three, [1, 1000, 3], y)
    assert [variable.name for variable in inside.outputs] == ["y_3", "y_5", "y_7"]
    numbered = classifier([0, 1, 2])
    y = pulp.LpVariable.dicts("z", [2, 0, 1], -9, 9)
    inside = milp_verix.embed(model, numbered, [1, 1000, 3], y)
    assert [variable.name for variable in inside.outputs] == ["z_0", "z_1", "z_2"]
    with pytest.raises(InputError, match=r"keys a, b, c, and nothing tells.*order$"):
        milp_verix.embed(model, numbered, [1, 1000, 3], dict.fromkeys("abc", 1))


def test_a_single_score_is_that_of_the_second_class() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X = table()
    words = np.where(X.merit > 1, "yes", "no")
    fitted = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(X, words)
    model, v = fixed(ROW)
    score = pulp.LpVariable("score", -99, 99)
    inside = milp_verix.embed(model, fitted, v, {"yes": score})
    assert inside.output_names == ("yes",)
    model.setObjective(score)
    inside.solve("cbc")
    assert (score.varValue > 0) == (fitted.predict(pd.DataFrame([ROW])[COLUMNS])[0] == "yes")
    with pytest.raises(InputError, match="missing: yes; extra: no"):
        milp_verix.embed(model, fitted, v, {"no": score})


@needs("gurobi")
def test_gurobi_variables_with_umlauts_are_embedded() -> None:
    import gurobipy as gp

    model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    row = {"Größe": 3.0, "Maß": 1000.0, "Alter": 2.0}
    v = model.addVars(list(row), lb=list(row.values()), ub=list(row.values()), name="x")
    model.update()
    fitted = linear(["Alter", "Maß", "Größe"])
    found, _ = value_of(model, fitted, v)
    assert found == pytest.approx(fitted.predict(pd.DataFrame([row])[["Alter", "Maß", "Größe"]])[0])


def test_values_of_a_dictionary_are_a_list() -> None:
    model, v = fixed({name: ROW[name] for name in COLUMNS})
    expected = linear().predict(pd.DataFrame([ROW])[COLUMNS])[0]
    assert value_of(model, linear(), v.values())[0] == pytest.approx(expected)


@pytest.mark.parametrize("count", [1, 5])
def test_outputs_of_classifying_trees_are_told_as_sums_or_ranks(count: int) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    rows = rng.random((100, 3))
    fitted = ensemble.RandomForestClassifier(count, max_depth=3, random_state=0)
    fitted.fit(rows, np.digitize(rows.sum(axis=1), [1.2, 1.8]))
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), bounds=lambda _, i: (rows[7, i], rows[7, i]))
    inside = milp_verix.embed(model, fitted, model.x)
    model.goal = pyo.Objective(expr=inside.outputs[0])
    inside.solve("highs")
    found, shares = inside.check().outputs, fitted.predict_proba(rows[7:8])[0]
    note = inside.notes[0]
    if count == 1:
        assert note == "outputs are ranks of the classes, 0 for the smallest share, and no shares"
        np.testing.assert_allclose(found, [sum(share > shares) for share in shares], atol=1e-9)
    else:
        told = "outputs are sums of leaves: divided by 5 they are the model's own scores"
        assert note == told
        np.testing.assert_allclose(found / 5, shares, atol=1e-9)


def test_trees_behind_encoders_are_compared_at_whole_words() -> None:
    pytest.importorskip("sklearn")
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(1)
    words = rng.choice(["Rome", "Oslo", "Bern", "Kyiv"], 200)
    frame = pd.DataFrame({"town": words, "size": rng.random(200)})
    encoder = ColumnTransformer([("w", OneHotEncoder(), ["town"])], remainder="passthrough")
    fitted = make_pipeline(encoder, RandomForestRegressor(5, max_depth=4, random_state=0))
    fitted.fit(frame, (words == "Oslo") + 2 * (words == "Bern") + frame["size"])
    names = [*(f"town={word}" for word in sorted({*words})), "size"]
    model = pyo.ConcreteModel()
    model.x = pyo.Var(names, bounds=(0, 1))
    for name in names[:-1]:
        model.x[name].domain = pyo.Binary
    model.one = pyo.Constraint(expr=sum(model.x[name] for name in names[:-1]) == 1)
    inside = milp_verix.embed(model, fitted, model.x)
    model.goal = pyo.Objective(expr=inside.outputs[0], sense=pyo.maximize)
    inside.solve("highs")
    (town,) = (name.removeprefix("town=") for name in names[:-1] if model.x[name].value > 0.5)
    told = inside.check(repair=True)  # optima over trees lie on thresholds
    best = pd.DataFrame({"town": [town], "size": [told.inputs[-1]]})
    assert town == "Bern"
    assert told.outputs[0] == pytest.approx(fitted.predict(best)[0], abs=1e-6)


def test_numbers_that_are_names_of_other_entries_are_no_places() -> None:
    frame = table().set_axis([2, 0, 1], axis=1)
    fitted = linear_model.LinearRegression().fit(frame.rename(columns=str), table().merit)
    model, v = fixed(ROW)
    given = dict(zip((1, 2, 3), v.values(), strict=True))
    with pytest.raises(InputError, match=r"missing: 0; extra: 3"):
        milp_verix.embed(model, fitted, given)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms", "tree"])
def test_scores_before_a_link_are_the_library_s_own(kind: str) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, made = table().to_numpy(), {"n_estimators": 5, "n_jobs": 1}
    several = np.digitize(X[:, 1], [900, 1100])
    for y in (several, several > 0):
        if kind == "xgboost":
            fitted = pytest.importorskip("xgboost").XGBClassifier(**made).fit(X, y)
            wanted = fitted.predict(X, output_margin=True)
        elif kind == "lightgbm":
            fitted = pytest.importorskip("lightgbm").LGBMClassifier(**made, verbose=-1).fit(X, y)
            wanted = fitted.predict(X, raw_score=True)
        elif kind == "histograms":
            fitted = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
            wanted = fitted.decision_function(X)
        else:
            fitted = DecisionTreeClassifier(max_depth=3).fit(X, y)
            wanted = None
        network = milp_verix.load_network(fitted)
        found = np.array([network.scores_at(x) for x in X])
        exact = np.array([network.ir.evaluate(network.as_input(x)) for x in X])
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
        if wanted is not None:
            np.testing.assert_array_equal(found, wanted.reshape(found.shape))
