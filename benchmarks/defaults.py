"""Solvers as they are installed: their own parameters, one thread, to optimality.

What a loop of cold solves would use that knows nothing of the programs. Each function minimises
``cost·v`` over a program and returns what the solver says.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from milp_verix.solvers import SolveResult, SolveStatus
from milp_verix.solvers.cbc import binary
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


DEFAULTS = {"highs": highs, "gurobi": gurobi, "cbc": cbc}
