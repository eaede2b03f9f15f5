"""Compare embedded networks with those of OMLT and gurobi-machinelearning, on the same problems.

    python benchmarks/embedding.py --cases "peak 2D,max-pool" --time-limit 60

Each problem maximises an output over a box. HiGHS solves the models of Pyomo, Gurobi all of them,
one thread each, with their defaults. Seconds are those of the CPU; a solve beyond the limit, of the
wall clock, shows its gap. The gap of a relaxation is its distance to the optimum. Where ReLUs are
general constraints, as for gurobi-machinelearning and ``general``, it is that of the model after
Gurobi's presolve, and each general constraint counts as a row and as a binary. Each solution is
replayed in onnxruntime or scikit-learn; that of trees is moved off thresholds first, as by
``Embedded.check``. Exits with 1 where replayed optima of ours differ from the best.
"""

import logging
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gurobipy as gp
import numpy as np
import pyomo.environ as pyo
from arguments import names, parser
from embedding_networks import Case, cases
from tables import Table, write

import milp_verix
from milp_verix.embedding.embedded_check import replayed
from verix_encodings import Interval

Pose = Callable[[Case], Any]


class Size(NamedTuple):
    """Rows, columns and binaries that a network adds to a model."""

    rows: int
    columns: int
    binaries: int


class Built(NamedTuple):
    """A problem as a model, the size of its network, and the variables of its inputs."""

    model: Any
    size: Size
    inputs: list[Any]


def main() -> int:
    """Run the comparison; return the exit code."""
    options = parser(__doc__)
    options.add_argument("--cases", type=names, default=[], help="some of the cases, by name")
    options.add_argument("--time-limit", type=float, default=60.0)
    arguments = options.parse_args()
    logging.getLogger("pyomo").setLevel(logging.ERROR)
    head = "network | read by | rows | columns | binaries | relaxation's gap"
    table = Table(f"{head} | HiGHS s | Gurobi s | optimum | replayed", words=2)
    apart = False
    for case in cases(arguments.cases):
        apart |= _compared(case, table, arguments.time_limit)
    if arguments.write:
        import gurobi_ml
        import highspy
        import omlt

        versions = (
            f"HiGHS {highspy.Highs().version()}",
            f"Gurobi {'.'.join(map(str, gp.gurobi.version()))}",
            f"OMLT {omlt.__version__}",
            f"gurobi-machinelearning {gurobi_ml.__version__}",
        )
        write(arguments.write, [table], versions)
    return int(apart)


def _compared(case: Case, table: Table, limit: float) -> bool:
    """Add the rows of a case; return whether proven optima differ."""
    readers: dict[str, tuple[Pose | None, Pose | None]] = {
        "ours": (lambda one: ours_pyomo(one, "crown"), lambda one: ours_gurobi(one, "crown")),
        "ours, lp": (lambda one: ours_pyomo(one, "lp"), lambda one: ours_gurobi(one, "lp")),
        "ours, lp, general": (None, lambda one: ours_gurobi(one, "lp", "general")),
        "OMLT": (omlt_pyomo, None),
        "gurobi-ml": (None, gurobi_ml_model),
    }
    network = milp_verix.load_network(case.model)
    optima, lines = [], []
    for name, (in_pyomo, in_gurobi) in readers.items():
        cells: dict[str, Any] = {}
        for pose, solver in ((in_pyomo, "HiGHS"), (in_gurobi or in_pyomo, "Gurobi")):
            if pose is None:
                continue
            try:
                built = pose(case)
            except Exception as error:  # whatever the reader raises
                cells["refused"] = _reason(error)
                break
            found = solve(built, solver, limit)
            cells["size"], cells[solver] = built.size, found
            if found.optimal:
                optima.append(float(case.direction @ _outputs(network, case, found)))
                cells["told"], cells["replayed"] = found.value, optima[-1]
            if "relaxation" not in cells:
                cells["relaxation"] = relaxation(built.model)
        lines.append((name, cells))
    best = max(optima, default=np.nan)
    for name, cells in lines:
        if "refused" in cells:
            table.add(case.name, name, *["–"] * 6, cells["refused"], "–")
            continue
        shown = [cells[s].cell if s in cells else "–" for s in ("HiGHS", "Gurobi")]
        values = [f"{cells[k]:.4f}" if k in cells else "–" for k in ("told", "replayed")]
        gap = f"{max(cells['relaxation'] - best, 0.0):.4f}"
        table.add(case.name, name, *cells["size"], gap, *shown, *values)
    ours = [cells["replayed"] for name, cells in lines if "ours" in name and "replayed" in cells]
    return bool(ours) and best - min(ours) > 1e-3 * max(1.0, abs(best))


def _outputs(network: Any, case: Case, found: "Found") -> Any:
    """Return the outputs at a solution; of trees, which jump, beside thresholds."""
    if not network.ir.stepped:
        return network.evaluate(found.x)
    box = Interval(case.low, case.high)
    names = [f"input {i}" for i in range(len(found.x))]
    point, value = np.array(found.x), np.array([found.value])
    told = replayed(network, box, point, value, repair=True, tolerance=2e-6, names=names)
    return told.replayed


def _reason(error: Exception) -> str:
    text = " ".join(str(error).replace("|", "/").split())
    text = re.sub(r"^Cannot create optimization model for \w+: ", "", text)
    return f"refused: {type(error).__name__}: {text[:60]}"


def ours_pyomo(case: Case, bounds: str) -> Built:
    """Return the problem as a model of Pyomo, by ``embed``."""
    model = pyo.ConcreteModel()
    ends = list(zip(case.low.tolist(), case.high.tolist(), strict=True))
    model.x = pyo.Var(range(len(ends)), bounds=lambda _, i: ends[i])
    inside = milp_verix.embed(model, case.model, model.x, bounds=bounds)
    goal = sum(c * y for c, y in zip(case.direction, inside.outputs, strict=True))
    model.goal = pyo.Objective(expr=goal, sense=pyo.maximize)
    return Built(model, Size(inside.rows, inside.columns, inside.binaries), [*model.x.values()])


def ours_gurobi(case: Case, bounds: str, formulation: str = "big_m") -> Built:
    """Return the problem as a model of gurobipy, by ``embed``."""
    model = gp.Model(env=_environment())
    x = model.addMVar(case.low.size, lb=case.low, ub=case.high)
    inside = milp_verix.embed(model, case.model, x, None, formulation, bounds)
    goal = gp.quicksum(c * y for c, y in zip(case.direction, inside.outputs, strict=True))
    model.setObjective(goal, gp.GRB.MAXIMIZE)
    model.update()
    binaries = inside.binaries + model.NumGenConstrs
    return Built(model, Size(inside.rows, inside.columns, binaries), x.tolist())


def omlt_pyomo(case: Case) -> Built:
    """Return the problem as a model of Pyomo, by OMLT."""
    from omlt.io import load_onnx_neural_network
    from omlt.neuralnet import FullSpaceNNFormulation

    if not hasattr(case.model, "graph"):
        return _omlt_trees(case)
    shape = [d.dim_value for d in case.model.graph.input[0].type.tensor_type.shape.dim[1:]]
    keys = list(np.ndindex(*shape)) if len(shape) > 1 else list(range(shape[0]))
    bounds = dict(zip(keys, zip(case.low.tolist(), case.high.tolist(), strict=True), strict=True))
    network = load_onnx_neural_network(case.model, input_bounds=bounds)
    return _filled(case, FullSpaceNNFormulation(network), keys)


def _omlt_trees(case: Case) -> Built:
    from omlt.gbt import GBTBigMFormulation, GradientBoostedTreeModel
    from skl2onnx import to_onnx

    trees = to_onnx(case.model, case.low[None].astype(np.float32))
    keys = list(range(case.low.size))
    bounds = dict(zip(keys, zip(case.low.tolist(), case.high.tolist(), strict=True), strict=True))
    read = GradientBoostedTreeModel(trees, scaled_input_bounds=bounds)
    return _filled(case, GBTBigMFormulation(read), keys)


def _filled(case: Case, formulation: Any, keys: list[Any]) -> Built:
    """Return the problem over a block of OMLT."""
    import omlt

    model = pyo.ConcreteModel()
    model.net = omlt.OmltBlock()
    model.net.build_formulation(formulation)
    outputs = list(model.net.outputs.values())
    goal = sum(c * y for c, y in zip(case.direction, outputs, strict=True))
    model.goal = pyo.Objective(expr=goal, sense=pyo.maximize)
    variables = list(model.component_data_objects(pyo.Var))
    rows = list(model.component_data_objects(pyo.Constraint, active=True))
    binaries = sum(variable.is_binary() for variable in variables)
    size = Size(len(rows), len(variables) - len(keys), binaries)
    return Built(model, size, [model.net.inputs[key] for key in keys])


def gurobi_ml_model(case: Case) -> Built:
    """Return the problem as a model of gurobipy, by gurobi-machinelearning."""
    from gurobi_ml import add_predictor_constr
    from gurobi_ml.onnx import add_onnx_constr

    model = gp.Model(env=_environment())
    x = model.addMVar((1, case.low.size), lb=case.low, ub=case.high)
    y = model.addMVar((1, case.direction.size), lb=-gp.GRB.INFINITY)
    if hasattr(case.model, "graph"):
        add_onnx_constr(model, case.model, x, y)
    else:
        add_predictor_constr(model, case.model, x, y)
    model.setObjective(case.direction @ y.reshape(-1), gp.GRB.MAXIMIZE)
    model.update()
    general = model.NumGenConstrs
    columns = model.NumVars - case.low.size
    size = Size(model.NumConstrs + general, columns, model.NumBinVars + general)
    return Built(model, size, x.reshape(-1).tolist())


def _environment() -> Any:
    return gp.Env(params={"OutputFlag": 0, "Threads": 1})


class Found(NamedTuple):
    """The value of a solution, whether it is called optimal, its input, and CPU seconds."""

    value: float
    optimal: bool
    x: Any
    seconds: float

    @property
    def cell(self) -> str:
        """The seconds, or those until the limit."""
        return f"{self.seconds:.2f}" if self.optimal else f"> {self.seconds:.0f}"


def solve(built: Built, solver: str, limit: float) -> Found:
    """Solve a model of either library; one that reaches the limit has no value."""
    model, started = built.model, time.process_time()
    if isinstance(model, gp.Model):
        model.Params.TimeLimit = limit
        model.optimize()
        seconds = time.process_time() - started
        if model.Status != gp.GRB.OPTIMAL:
            return Found(np.nan, False, None, seconds)
        return Found(model.ObjVal, True, [v.X for v in built.inputs], seconds)
    factory = pyo.SolverFactory("appsi_highs" if solver == "HiGHS" else "gurobi_direct")
    options = {"threads": 1} if solver == "HiGHS" else {"Threads": 1}
    results = factory.solve(model, timelimit=limit, options=options, load_solutions=False)
    seconds = time.process_time() - started
    if results.solver.termination_condition != pyo.TerminationCondition.optimal:
        return Found(np.nan, False, None, seconds)
    if hasattr(factory, "load_vars"):
        factory.load_vars()
    else:
        model.solutions.load_from(results)
    x = [0.0 if v.value is None else v.value for v in built.inputs]
    return Found(float(pyo.value(model.goal)), True, x, seconds)


def relaxation(model: Any) -> float:
    """Return the optimum of the linear relaxation."""
    if isinstance(model, gp.Model):
        if model.NumGenConstrs:
            # the constants that presolve takes out of the objective stay in its model
            model = model.presolve()
        relaxed = model.relax()
        relaxed.Params.OutputFlag = 0
        relaxed.optimize()
        return float(relaxed.ObjVal)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    results = pyo.SolverFactory("appsi_highs").solve(model, load_solutions=False)
    return float(results.problem.upper_bound)


if __name__ == "__main__":
    raise SystemExit(main())
