"""One model with a network inside, written in each modelling library, and its solvers."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import milp_verix
from milp_verix import Embedded, OnnxNetwork
from tests.support.brute_force import least_cost
from tests.support.installed_solvers import needs
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import Layer, dense_model, random_layers

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Minimise ``c·v + d·y`` where ``P v + Q y ≤ r`` and ``y = f(v_0, v_2 − v_1, v_1, 1/4)``.

    ``v`` has the bounds 0 and 1, 0 and 1, 1/2 and 3/2.
    """

    layers: Sequence[Layer]
    network: OnnxNetwork
    c: Array
    d: Array
    P: Array
    Q: Array
    r: Array

    low = np.array([0.0, 0.0, 0.5])
    high = np.array([1.0, 1.0, 1.5])

    @cached_property
    def least(self) -> float:
        """The minimum, by brute force over activation patterns."""
        matrix = np.array([[1.0, 0, 0], [0, -1, 1], [0, 1, 0], [0, 0, 0]])
        (A, a), *further = self.layers
        first = A @ matrix, a + A[:, 3] * 0.25
        box = self.low, self.high
        return least_cost([first, *further], box, (self.c, self.d), (self.P, self.Q, self.r))


@cache
def drawn(seed: int, hidden: tuple[int, ...] = (5, 4)) -> Task:
    """Return a random task that has a solution."""
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, (4, *hidden, 2), DOUBLE)
    network = milp_verix.load_network(dense_model(layers, DOUBLE))
    P, Q = rng.normal(size=(2, 3)), rng.normal(size=(2, 2))
    v = rng.uniform(Task.low, Task.high)
    y = network.ir.evaluate([v[0], v[2] - v[1], v[1], 0.25])
    slack = 0.05 * rng.random(2)
    return Task(
        layers, network, rng.normal(size=3), rng.normal(size=2), P, Q, P @ v + Q @ y + slack
    )


def _sums(task: Task, v: Sequence[Any], y: Sequence[Any]) -> tuple[Any, list[Any]]:
    def linear(left: Array, right: Array) -> Any:
        pairs = [*zip(left.tolist(), v, strict=True), *zip(right.tolist(), y, strict=True)]
        return sum(factor * variable for factor, variable in pairs)

    rows = [linear(p, q) for p, q in zip(task.P, task.Q, strict=True)]
    return linear(task.c, task.d), rows


def inputs_of(v: Sequence[Any]) -> list[Any]:
    """Return the network's inputs: a variable, an expression, a variable, a number."""
    return [v[0], v[2] - v[1], v[1], 0.25]


def in_pyomo(task: Task, **options: Any) -> tuple[Any, Embedded]:
    """Return the task as a model of Pyomo."""
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    ends = list(zip(task.low.tolist(), task.high.tolist(), strict=True))
    model.v = pyo.Var(range(3), bounds=lambda _, i: ends[i])
    inside = milp_verix.embed(model, task.network, inputs_of(model.v), **options)
    cost, rows = _sums(task, [model.v[i] for i in range(3)], inside.outputs)
    model.cost = pyo.Objective(expr=cost)
    model.rows = pyo.ConstraintList()
    for row, most in zip(rows, task.r.tolist(), strict=True):
        model.rows.add(row <= most)
    return model, inside


def in_gurobi(task: Task, **options: Any) -> tuple[Any, Embedded]:
    """Return the task as a model of gurobipy."""
    gp = pytest.importorskip("gurobipy")
    model = gp.Model(env=gp.Env(params={"OutputFlag": 0, "Threads": 1, "MIPGap": 0}))
    v = model.addVars(3, lb=task.low.tolist(), ub=task.high.tolist())
    inside = milp_verix.embed(model, task.network, inputs_of(v), **options)
    cost, rows = _sums(task, v.values(), inside.outputs)
    model.setObjective(cost)
    for row, most in zip(rows, task.r.tolist(), strict=True):
        model.addConstr(row <= most)
    return model, inside


def in_pulp(task: Task, **options: Any) -> tuple[Any, Embedded]:
    """Return the task as a problem of PuLP."""
    import pulp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pulp.LpProblem("task")
        v = [pulp.LpVariable(f"v{i}", task.low[i], task.high[i]) for i in range(3)]
        inside = milp_verix.embed(model, task.network, inputs_of(v), **options)
        cost, rows = _sums(task, v, inside.outputs)
        model.setObjective(cost)
        for number, (row, most) in enumerate(zip(rows, task.r.tolist(), strict=True)):
            model.addConstraint(row <= most, f"own_{number}")
    return model, inside


def solved_pyomo(model: Any, solver: str) -> float:
    """Solve a model of Pyomo, and return its cost."""
    import pyomo.environ as pyo

    options = {"executable": cbc_of_pulp()} if solver == "cbc" else {}
    pyo.SolverFactory(solver, **options).solve(model)
    return float(pyo.value(model.cost))


def cbc_of_pulp() -> str:
    """Return the path of the CBC that PuLP brings."""
    import pulp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return str(pulp.PULP_CBC_CMD().path)


def solved_gurobi(model: Any, _solver: str) -> float:
    """Solve a model of gurobipy, and return its cost."""
    model.optimize()
    return float(model.ObjVal)


def solved_pulp(model: Any, solver: str) -> float:
    """Solve a problem of PuLP, and return its cost."""
    import pulp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.solve(pulp.getSolver(solver, msg=False))
    assert pulp.LpStatus[model.status] == "Optimal"
    return float(model.objective.value())


WAYS: list[tuple[Callable[..., Any], Callable[..., float], str, str, str]] = [
    *(
        (in_pyomo, solved_pyomo, solver, formulation, need)
        for solver, need in (
            ("appsi_highs", "pyomo"),
            ("cbc", "pyomo"),
            ("scip_direct", "scip"),
            ("gurobi_direct", "gurobi"),
        )
        for formulation in ("big_m", "partition:2")
    ),
    (in_pyomo, solved_pyomo, "gurobi_direct", "sos1", "gurobi"),
    *(
        (in_gurobi, solved_gurobi, "gurobi", formulation, "gurobi")
        for formulation in ("big_m", "indicator", "sos1", "general", "partition:2")
    ),
    *(
        (in_pulp, solved_pulp, solver, "big_m", need)
        for solver, need in (
            ("PULP_CBC_CMD", "pulp"),
            ("HiGHS", "highs"),
            ("SCIP_PY", "scip"),
            ("GUROBI", "gurobi"),
        )
    ),
]

each_way = pytest.mark.parametrize(
    ("build", "solve", "solver", "formulation"),
    [
        pytest.param(*way[:4], marks=needs(way[4]), id=f"{way[0].__name__}-{way[2]}-{way[3]}")
        for way in WAYS
    ],
)
