"""The tables of solvers in the documentation are the code's, and the code's are the solvers'."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from milp_verix.solvers import SOLVERS
from milp_verix.solvers.own_solver import OwnSolver
from tests.support.repository import ROOT

sys.path.append(str(ROOT / "docs"))

from solver_tables import FACTS, PAGE, tables, written


def test_the_page_is_as_written_from_the_code() -> None:
    """``python docs/solver_tables.py`` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)


def test_each_solver_stands_in_each_table() -> None:
    names = {name for name in SOLVERS if isinstance(SOLVERS[name], OwnSolver)}
    for table in tables().values():
        assert {name for name in names if f"`{name}`" not in table} <= {"phase"}


def _highs(package: Any) -> Callable[[str], Any]:
    return lambda name: package.Highs().getOptionValue(name)[1]


def _gurobi(package: Any) -> Callable[[str], Any]:
    model = package.Model(env=package.Env(params={"OutputFlag": 0}))
    return lambda name: model.getParamInfo(name)[5]


# the packages of the other solvers do not bear these beside them
SHIPPED = {
    "highs": _highs,
    "gurobi": _gurobi,
    "scip": lambda package: package.Model().getParam,
}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_parameter_is_shipped_as_its_package_says(name: str) -> None:
    solver = SOLVERS[name]
    assert isinstance(solver, OwnSolver)
    told = SHIPPED[name](pytest.importorskip(solver.kind.package))
    for option, (_, shipped) in (FACTS[name].ours | FACTS[name].always).items():
        assert told(option) == shipped, option
