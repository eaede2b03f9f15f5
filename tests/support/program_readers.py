"""Optima of programs in files, by those who read them."""

import subprocess
from pathlib import Path

import highspy
import pytest

from milp_verix.solvers.backends import cbc


def by_cbc(path: Path) -> float:
    """Return the least cost that CBC's own program finds."""
    solution = path.with_suffix(".sol")
    command = [str(cbc.binary()), str(path), "-solve", "-solu", str(solution)]
    subprocess.run(command, check=True, capture_output=True)
    status, objective = solution.read_text().splitlines()[0].split(" - objective value ")
    assert status == "Optimal"
    return float(objective)


def by_highs(path: Path) -> float:
    """Return the least cost that HiGHS finds."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    return float(highs.getInfo().objective_function_value)


def by_gurobi(path: Path) -> float:
    """Return the least cost that Gurobi finds."""
    gurobipy = pytest.importorskip("gurobipy")
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(str(path), env) as model:
        model.Params.MIPGap = 0.0
        model.optimize()
        return float(model.ObjVal)
