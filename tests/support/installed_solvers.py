"""The solvers installed here, as a parameter of tests; the others are skipped by name."""

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from milp_verix.base.errors import SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import OWN_ENGINES, SOLVERS, open_session

SLOW = frozenset({"cbc", "scip", "pulp", "pyomo", "xpress", "copt", "cplex", "ortools"})
"""Solvers in processes of their own, or that start one for each solve: asked less often."""


OF_NETWORKS = tuple(name for name in (*SOLVERS, *OWN_ENGINES) if name != "leaves")
"""The solvers that decide checks of networks."""


@cache
def why_not(name: str) -> str | None:
    """Return why a solver cannot be used here, or None; looks for a licence too."""
    try:
        open_session(name).close()
    except SolverUnavailableError as error:
        return str(error)
    return None


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs the solver called ``name``: ``conftest`` skips it.

    Only then, since to look for all solvers takes seconds.
    """
    return pytest.mark.solver(name)


def each_solver_with(
    parameter: str, values: Iterable[object], few: Iterable[object]
) -> pytest.MarkDecorator:
    """Return the mark of a test of each solver with ``values``, of a slow one with ``few``."""
    cases = [(name, value) for name in SOLVERS for value in (few if name in SLOW else values)]
    return pytest.mark.parametrize(
        ("solver", parameter), [pytest.param(*case, marks=needs(case[0])) for case in cases]
    )


def solvers_with(capability: str) -> list[Any]:
    """Return the solvers with a capability, each as a parameter of a test."""
    return [
        pytest.param(name, marks=needs(name))
        for name in SOLVERS
        if capability in SOLVERS[name].capabilities
    ]


each_solver = pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=needs(name)) for name in SOLVERS]
)


def in_this_process(name: str) -> Any:
    """Open a session of the solver called ``name``, without the process around it if it has one."""
    kind: Any = SOLVERS[name].kind  # type: ignore[attr-defined]
    return kind(1, Tolerances())


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Make the import of ``modules`` fail, as where they are not installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
