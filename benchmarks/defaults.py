"""Solvers as they are installed: their own parameters, one thread, to optimality.

For a loop of cold solves that knows nothing of the programs. Each function minimises ``cost·v``
over a program and returns the solver's word.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from milp_verix.solvers import SolveResult, SolveStatus
from milp_verix.solvers.backends.cbc import binary
from verix_encodings import Program
from verix_encodings.arrays import FloatArray


def highs(program: Program, cost: FloatArray, seconds: float) -> SolveResult:
    """HiGHS through highspy."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("time_limit", seconds)
    matrix = program.matrix
    solver.passModel(
        *(program.columns, program.rows, matrix.nnz),
        *(int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize), 0.0),
        *(cost, program.column_lower, program.column_upper),
        *(program.row_lower, program.row_upper),
        *(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data),
        program.integer.astype(np.int32),
    )
    solver.run()
    info = solver.getInfo()
    return SolveResult(
        SolveStatus.OPTIMAL,
        info.mip_dual_bound if program.binaries else info.objective_function_value,
        nodes=max(int(info.mip_node_count), 0),
        iterations=int(info.simplex_iteration_count),
    )


def gurobi(program: Program, cost: FloatArray, seconds: float) -> SolveResult:
    """Gurobi through gurobipy."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0, "LogToConsole": 0}) as env:
        model = gurobipy.Model(env=env)
        model.Params.Threads, model.Params.TimeLimit = 1, seconds
        v = model.addMVar(
            program.columns,
            lb=program.column_lower,
            ub=program.column_upper,
            obj=cost,
            vtype=np.where(program.integer, "B", "C"),
        )
        low, high = program.row_lower, program.row_upper
        for sense, chosen, rhs in (("<", np.isfinite(high), high), (">", np.isfinite(low), low)):
            if chosen.any():
                model.addMConstr(program.matrix[np.flatnonzero(chosen)], v, sense, rhs[chosen])
        model.optimize()
        bound = model.ObjBound if program.binaries else model.ObjVal
        nodes, iterations = int(model.NodeCount), int(model.IterCount)
        model.dispose()
    return SolveResult(SolveStatus.OPTIMAL, bound, nodes=nodes, iterations=iterations)


def cbc(program: Program, cost: FloatArray, seconds: float) -> SolveResult:
    """CBC on an MPS file; the time of a check holds writing it."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "check.mps"
        program.write(model, cost)
        command = [str(binary()), str(model), "-sec", str(seconds), "-solve"]
        log = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    value = re.search(r"Objective value:\s+(\S+)", log) or re.search(
        r"Optimal objective\s+(\S+)", log
    )
    nodes = re.search(r"Enumerated nodes:\s+(\d+)", log)
    iterations = re.search(r"Total iterations:\s+(\d+)", log)
    return SolveResult(
        SolveStatus.OPTIMAL,
        float(value.group(1)) if value else -np.inf,
        nodes=int(nodes.group(1)) if nodes else 0,
        iterations=int(iterations.group(1)) if iterations else 0,
    )


def scip(program: Program, cost: FloatArray, seconds: float) -> SolveResult:
    """SCIP through PySCIPOpt, on an MPS file; the time of a check holds writing it."""
    from pyscipopt import Model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "check.mps"
        program.write(path, cost)
        model = Model()
        model.hideOutput()
        model.readProblem(str(path))
    model.setParam("limits/time", seconds)
    model.optimize()
    return SolveResult(
        SolveStatus.OPTIMAL,
        model.getDualbound(),
        nodes=int(model.getNTotalNodes()),
        iterations=int(model.getNLPIterations()),
    )


def pulp(program: Program, cost: FloatArray, seconds: float) -> SolveResult:
    """PuLP's own CBC on a model made by PuLP; it tells neither nodes nor iterations."""
    import pulp as package

    names = program.column_names
    variables = [
        package.LpVariable(name, low, high, "Integer" if whole else "Continuous")
        for name, low, high, whole in zip(
            names, program.column_lower, program.column_upper, program.integer, strict=True
        )
    ]
    problem = package.LpProblem("check", package.LpMinimize)
    problem += package.LpAffineExpression(list(zip(variables, cost.tolist(), strict=True)))
    matrix = program.matrix
    for i, (low, high) in enumerate(zip(program.row_lower, program.row_upper, strict=True)):
        entries = range(matrix.indptr[i], matrix.indptr[i + 1])
        row = package.LpAffineExpression(
            [(variables[matrix.indices[k]], float(matrix.data[k])) for k in entries]
        )
        if np.isfinite(low):
            problem += row >= float(low)
        if np.isfinite(high):
            problem += row <= float(high)
    problem.solve(package.PULP_CBC_CMD(msg=False, threads=1, timeLimit=seconds))
    return SolveResult(SolveStatus.OPTIMAL, float(package.value(problem.objective)))


def pyomo(program: Program, cost: FloatArray, seconds: float) -> SolveResult:
    """HiGHS through Pyomo on a model made by Pyomo; it tells neither nodes nor iterations."""
    import pyomo.environ as pyo

    from milp_verix.solvers.backends.pyomo_solvers import program_block

    model = pyo.ConcreteModel()
    model.check, variables = program_block(pyo, program)
    model.cost = pyo.Objective(
        expr=pyo.quicksum(c * v for c, v in zip(cost.tolist(), variables, strict=True) if c)
    )
    solver = pyo.SolverFactory("highs")
    result = solver.solve(model, load_solutions=False, timelimit=seconds)
    return SolveResult(SolveStatus.OPTIMAL, float(result.problem.lower_bound))


DEFAULTS = {solver.__name__: solver for solver in (highs, gurobi, cbc, scip, pulp, pyomo)}
