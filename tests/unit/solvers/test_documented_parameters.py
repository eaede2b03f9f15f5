"""The table of the parameters that we set holds all of them."""

import re

import pytest

from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import solver_named
from tests.support.repository import ROOT

PAGE = (ROOT / "docs/solvers.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("these are all parameters")[2].partition("What they change")[0]
ROWS = {row.split(" ")[1].strip(","): row for row in TABLE.splitlines() if row.startswith("| ")}
OTHERS = re.compile(r"threads|tol|^numerics/|small_matrix|(primal|dual|integer)T", re.IGNORECASE)


@pytest.mark.parametrize("solver", ["HiGHS", "Gurobi", "SCIP", "Xpress", "COPT", "CPLEX", "CBC"])
def test_each_parameter_stands_in_the_table(solver: str) -> None:
    options = solver_named(solver.lower()).kind.facts.usual(1, Tolerances())  # type: ignore[attr-defined]
    named = re.findall(r"`([^`]+)`", ROWS[solver].partition("| ")[2].partition("|")[2])
    told = {one if one[0] != "_" else f"mip_heuristic_run{one}" for one in named}
    gaps = {one for one in options if "gap" in one.lower()}
    assert {one for one in options if not OTHERS.search(one)} | gaps <= told
    assert told <= {*options}
