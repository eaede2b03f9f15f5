"""What ``embed`` adds to a model, takes away again, and refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import InputError, OnnxNetwork
from milp_verix.problem.agreement import require_agreement_at
from tests.support import embedding
from tests.support.embedding import drawn, in_gurobi, in_pulp, in_pyomo, solved_gurobi
from tests.support.installed_solvers import hide, needs
from tests.support.onnx_models import DOUBLE, build, node
from tests.support.random_networks import convolutional, dense_model, pooled, random_layers

pyo = pytest.importorskip("pyomo.environ")

HOSTS = [
    pytest.param(in_pyomo, id="pyomo"),
    pytest.param(in_gurobi, id="gurobi", marks=needs("gurobi")),
    pytest.param(in_pulp, id="pulp"),
]
each_host = pytest.mark.parametrize("build_task", HOSTS)
TANH = build(
    [node("Gemm", ["x", "A"], ["h"]), node("Tanh", ["h"], ["y"])],
    inputs={"x": (1, 1)},
    constants={"A": np.array([[2.0]])},
)


def size_of(model: Any) -> tuple[int, int]:
    """Return the numbers of a model's variables and rows."""
    if hasattr(model, "NumVars"):
        model.update()
        return model.NumVars, model.NumConstrs
    if hasattr(model, "component_data_objects"):
        kinds = pyo.Var, pyo.Constraint
        return tuple(len(list(model.component_data_objects(kind))) for kind in kinds)
    return len(model.variables()), len(model._constraints)


def boxed(network: OnnxNetwork, low: float = 0.0, high: float = 1.0) -> tuple[Any, list[Any]]:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(network.input_size), bounds=(low, high))
    return model, [model.x[i] for i in range(network.input_size)]


def optimum(model: Any, expression: Any, sense: int = 1) -> float:
    model.goal = pyo.Objective(expr=expression, sense=sense)
    pyo.SolverFactory("appsi_highs").solve(model)
    found = float(pyo.value(model.goal))
    model.del_component(model.goal)
    return found


@each_host
def test_the_network_twice_and_removed(build_task: Callable[..., Any]) -> None:
    task = drawn(1)
    model, first = build_task(task)
    once = size_of(model)
    entries = embedding.inputs_of(variables_of(model))
    second = milp_verix.embed(model, task.network, entries)
    assert (first.name, second.name) == ("network", "network_2")
    twice = size_of(model)
    assert twice[0] - once[0] == second.columns
    # PuLP and Gurobi have a row more for the input that is an expression
    assert twice[1] - once[1] >= second.rows
    second.remove()
    assert size_of(model) == once
    third = milp_verix.embed(model, task.network, entries, name="plant")
    assert third.name == "plant"


def variables_of(model: Any) -> list[Any]:
    if hasattr(model, "NumVars"):
        return model.getVars()[:3]
    if hasattr(model, "v"):
        return [model.v[i] for i in range(3)]
    return [v for v in model.variables() if v.name in ("v0", "v1", "v2")]


@each_host
def test_parts_by_name_and_their_numbers(build_task: Callable[..., Any]) -> None:
    _, inside = build_task(drawn(2))
    assert inside.binaries == len(inside.phases) > 0
    assert inside.columns == len(inside.phases) + len(inside.neurons)
    assert {name[0] for name in inside.phases} == {"d"}
    assert {"y_0", "y_1", "x_1", "x_3"} <= {*inside.neurons}
    assert "x_0" not in inside.neurons
    assert 0 < inside.largest_big_m < 20
    assert 0 < inside.rounding < 1e-12
    assert inside.notes == ()
    assert "binary" in repr(inside)


@each_host
def test_a_start_is_the_network_at_an_input(build_task: Callable[..., Any]) -> None:
    task = drawn(3)
    _, inside = build_task(task)
    x = [0.25, 0.75, 0.5, 0.25]
    outputs = inside.start(x)
    assert outputs == pytest.approx(task.network.ir.evaluate(x))
    if build_task is in_gurobi:
        inside.model.update()
        assert [v.Start for v in inside.outputs] == pytest.approx(outputs.tolist(), abs=1e-7)
    else:
        told = inside.check()
        assert told.inputs == pytest.approx(x)
        assert told.solver_difference < 1e-7
        assert {
            round(v.value() if callable(v.value) else v.value, 9) for v in inside.phases.values()
        } <= {0.0, 1.0}
    with pytest.raises(InputError, match=r"input 1 is 9, outside its bounds"):
        inside.start([0.25, 9, 0.5, 0.25])
    with pytest.raises(InputError, match="shape"):
        inside.start([0.25])


@needs("gurobi")
@pytest.mark.parametrize("formulation", ["big_m", "indicator", "sos1", "general", "partition:2"])
def test_a_start_is_feasible(formulation: str) -> None:
    model, inside = in_gurobi(drawn(4), formulation=formulation)
    model.update()
    for row in model.getConstrs():
        if not row.ConstrName.startswith("network"):
            model.remove(row)  # the task's own rows need not hold there
    inside.start([0.5, 0.5, 0.5, 0.25])
    model.update()
    started = [v for v in model.getVars() if v.Start < 1e100]
    assert len(started) == inside.columns + 2
    for variable in started:
        variable.LB, variable.UB = variable.Start - 1e-7, variable.Start + 1e-7
    model.optimize()
    assert model.SolCount > 0


@each_host
def test_a_solution_by_variables(build_task: Callable[..., Any]) -> None:
    task = drawn(5)
    _, inside = build_task(task)
    x = np.array([0.25, 0.75, 0.5, 0.25])
    y = task.network.ir.evaluate(x)
    make = pyo.ComponentMap if build_task is in_pyomo else dict
    values = make(zip([*inside.inputs, *inside.outputs], [*x, *y], strict=True))
    told = inside.check(values)
    assert told.difference < 1e-12
    values[inside.outputs[1]] += 0.5
    values[inside.inputs[0]] = 0.25
    told = inside.check(values)
    assert told.difference == pytest.approx(0.5)
    values[inside.inputs[3]] = 2.0
    assert inside.check(values).outside == pytest.approx(1.75)
    assert "outside the embedded box" in str(inside.check(values))
    with pytest.raises(InputError, match="the solution lacks"):
        inside.check(make())
    if build_task is in_pyomo:
        with pytest.raises(InputError, match="ComponentMap"):
            inside.check({})


@each_host
def test_a_check_before_a_solve(build_task: Callable[..., Any]) -> None:
    _, inside = build_task(drawn(6))
    with pytest.raises(InputError, match="input 0 has no value: solve the model first"):
        inside.check()


def test_given_outputs_are_the_networks_own_columns() -> None:
    network = drawn(0).network
    model, x = boxed(network)
    model.y, model.z = pyo.Var(), pyo.Var(bounds=(-10, 10))
    inside = milp_verix.embed(model, network, x, [model.y, 2 * model.z + 1])
    assert inside.outputs[0] is model.y
    assert "y_0" not in inside.neurons
    free, others = boxed(network)
    outputs = milp_verix.embed(free, network, others).outputs
    least = optimum(free, outputs[0])
    assert optimum(model, model.y) == pytest.approx(least, abs=1e-6)
    assert inside.check().difference < 1e-6
    least = optimum(free, outputs[1])
    assert 2 * optimum(model, model.z) + 1 == pytest.approx(least, abs=1e-6)


def test_an_output_may_be_an_input() -> None:
    """A fixed point of the network: ``x = f(x)`` for ``f(x) = max(1 − 2 x, 0)``, at ⅓."""
    nodes = [node("Gemm", ["x", "A", "a"], ["h"]), node("Relu", ["h"], ["y"])]
    constants = {"A": np.array([[-2.0]]), "a": np.array([1.0])}
    network = milp_verix.load_network(build(nodes, inputs={"x": (1, 1)}, constants=constants))
    model, x = boxed(network)
    milp_verix.embed(model, network, x, x)
    assert optimum(model, x[0]) == pytest.approx(1 / 3, abs=1e-7)
    assert optimum(model, x[0], -1) == pytest.approx(1 / 3, abs=1e-7)


def test_one_variable_at_several_inputs() -> None:
    network = drawn(0).network
    model, x = boxed(network)
    inside = milp_verix.embed(model, network, [x[0]] * 4)
    found = optimum(model, inside.outputs[0])
    seen = [network.ir.evaluate([t] * 4)[0] for t in np.linspace(0, 1, 2001)]
    assert found == pytest.approx(min(seen), abs=5e-3)
    assert found <= min(seen) + 1e-7


def test_two_networks_one_behind_the_other() -> None:
    first = drawn(0).network
    second = milp_verix.load_network(
        dense_model(random_layers(np.random.default_rng(9), (2, 4, 1), DOUBLE), DOUBLE)
    )
    model, x = boxed(first)
    inner = milp_verix.embed(model, first, x)
    model.free = pyo.Var(range(2))
    with pytest.raises(InputError, match="has no finite lower bound"):
        milp_verix.embed(model, second, [model.free[0], model.free[1]])
    outer = milp_verix.embed(model, second, inner.outputs)
    value = optimum(model, outer.outputs[0])
    point = inner.check().inputs
    both = second.ir.evaluate(first.ir.evaluate(point))
    assert value == pytest.approx(both[0], abs=1e-6)


@pytest.mark.parametrize("make", [convolutional, pooled])
def test_convolutions_and_pools(make: Callable[..., OnnxNetwork], tmp_path: Path) -> None:
    network = make(tmp_path)
    model, x = boxed(network, 0.4, 0.6)
    inside = milp_verix.embed(model, network, x)
    best = optimum(model, inside.outputs[1] - inside.outputs[0], -1)
    told = inside.check()
    assert told.solver_difference < 1e-6
    assert told.difference < 1e-5
    rng = np.random.default_rng(0)
    seen = [network.ir.evaluate(rng.uniform(0.4, 0.6, len(x))) for _ in range(200)]
    assert max(y[1] - y[0] for y in seen) <= best + 1e-6


def test_smooth_functions_are_enclosed() -> None:
    model, x = boxed(milp_verix.load_network(TANH), -1.0, 1.0)
    few = milp_verix.embed(model, TANH, x, segments=2)
    many = milp_verix.embed(model, TANH, x, segments=12)
    assert "Tanh" in few.notes[0] or "tanh" in few.notes[0]
    model.at = pyo.Constraint(expr=x[0] == 0.3)
    gaps = [optimum(model, one.outputs[0], -1) - np.tanh(0.6) for one in (few, many)]
    assert 0 <= gaps[1] < gaps[0]
    assert gaps[1] < 0.01


@needs("gurobi")
def test_containers_of_gurobi() -> None:
    import gurobipy as gp

    network = drawn(0).network
    model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x = model.addMVar(4, lb=0, ub=1)
    shifted = x * 0.5 + 0.25
    for given in (x, shifted, x.tolist(), model.addVars(4, ub=1), np.array(x.tolist())):
        inside = milp_verix.embed(model, network, given)
        model.setObjective(inside.outputs[0])
        assert solved_gurobi(model, "") == pytest.approx(inside.check().exact[0], abs=1e-6)
    with pytest.raises(InputError, match="expected variables or linear expressions"):
        milp_verix.embed(model, network, [v * v for v in x.tolist()])
    other = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    stranger = other.addVars(400, ub=1)
    other.update()
    with pytest.raises(InputError, match="not one of the model"):
        milp_verix.embed(model, network, [stranger[399]] * 4)


def test_an_input_without_weight_needs_no_value() -> None:
    nodes = [node("Gemm", ["x", "A"], ["h"]), node("Relu", ["h"], ["y"])]
    constants = {"A": np.array([[1.0], [0.0]])}
    network = milp_verix.load_network(build(nodes, inputs={"x": (1, 2)}, constants=constants))
    model, x = boxed(network)
    inside = milp_verix.embed(model, network, x)
    optimum(model, inside.outputs[0])
    assert x[1].value is None
    assert inside.check().difference < 1e-9


def test_integer_inputs_have_whole_bounds() -> None:
    network = drawn(0).network
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(4), bounds=(0.2, 1.7), domain=pyo.Integers)
    inside = milp_verix.embed(model, network, model.x)
    assert inside.bounds[0].lower.tolist() == [1.0] * 4
    assert inside.bounds[0].upper.tolist() == [1.0] * 4
    assert inside.binaries == 0


def test_a_nonlinear_expression_of_pyomo_is_an_input() -> None:
    model, x = boxed(milp_verix.load_network(TANH))
    inside = milp_verix.embed(model, TANH, [x[0] ** 2 - 0.5])
    assert inside.bounds[0].lower[0] == pytest.approx(-0.5)
    assert inside.bounds[0].upper[0] == pytest.approx(0.5)


def test_big_ms_that_leak_are_told() -> None:
    network = drawn(0).network
    model, x = boxed(network, -1e6, 1e6)
    assert "integrality tolerance" in milp_verix.embed(model, network, x).notes[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": object()}, "model must be a concrete model or block of Pyomo"),
        ({"inputs": [0.5] * 3}, "inputs has 3 entries, but the network has 4"),
        ({"inputs": ["x"] * 4}, "entry 0 of inputs is a builtins.str"),
        ({"inputs": None}, "entry 0 of inputs is a builtins.NoneType"),
        ({"outputs": [1.0]}, "outputs has 1 entries, but the network has 2"),
        ({"formulation": "x"}, "unknown formulation"),
        ({"formulation": "indicator"}, "Pyomo has no indicator constraints"),
        ({"formulation": "general"}, "Pyomo has no general constraints"),
        ({"bounds": "x"}, "unknown bounds"),
        ({"segments": 0}, "segments"),
        ({"name": 1}, "name must be a text"),
        ({"inputs": [float("nan")] * 4}, "no finite lower bound"),
        ({"outputs": [1.0, float("inf")]}, "output 1 shall equal inf: give a finite number"),
    ],
)
def test_refusals(change: dict[str, Any], told: str) -> None:
    network = drawn(0).network
    model, x = boxed(network)
    before = size_of(model)
    with pytest.raises(InputError, match=told):
        milp_verix.embed(**{"model": model, "network": network, "inputs": x, **change})
    assert size_of(model) == before


def test_refusals_of_bounds_and_abstract_models() -> None:
    network = drawn(0).network
    model, x = boxed(network)
    x[2].setlb(None)
    with pytest.raises(InputError, match=r"input 2 \(x\[2\]\) has no finite lower bound.*setlb"):
        milp_verix.embed(model, network, x)
    with pytest.raises(InputError, match="as its variables have none"):
        milp_verix.embed(model, network, [x[0], x[1], x[2] + 1, x[3]])
    x[2].setlb(2)
    with pytest.raises(InputError, match="bounds 2 to 1, which no number keeps"):
        milp_verix.embed(model, network, x)
    with pytest.raises(InputError, match="abstract"):
        milp_verix.embed(pyo.AbstractModel(), network, x)


def test_pulp_refuses_sets_by_name() -> None:
    for formulation in ("sos1", "indicator", "general"):
        with pytest.raises(InputError, match=r"PuLP takes no .*choose the formulation big_m"):
            in_pulp(drawn(0), formulation=formulation)


def test_a_reader_that_disagrees_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network = drawn(0).network
    seen = []
    monkeypatch.setattr(
        "milp_verix.embedding.embed.require_agreement_at",
        lambda net, points: seen.append(require_agreement_at(net, points) or points),
    )
    model, x = boxed(network)
    milp_verix.embed(model, network, x)
    assert seen[0].shape == (4, 4)
    assert np.all((seen[0] >= 0) & (seen[0] <= 1))


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "gurobipy")
    model, x = boxed(drawn(0).network)
    assert milp_verix.embed(model, drawn(0).network, x).binaries > 0
