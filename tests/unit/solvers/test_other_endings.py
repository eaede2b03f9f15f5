"""Solvers called directly that end by a limit, a cutoff or without bounds: no false proof."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milp_verix.solvers import Targets, open_session
from tests.support.installed_solvers import in_this_process, needs
from verix_encodings import Program, ProgramBuilder

DIRECT = ("highs", "phase", "gurobi", "scip", "cbc", "xpress", "copt", "cplex", "ortools")
RNG = np.random.default_rng(3)
WEIGHTS, COST = RNG.integers(5, 30, (4, 12)).astype(float), RNG.integers(1, 20, 12).astype(float)
LEAST = min(
    float(COST @ point)
    for point in map(np.array, itertools.product((0, 1), repeat=12))
    if np.all(WEIGHTS @ point >= 90)
)


def covering() -> Program:
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(12), 0.0, 1.0, integer=True)
    builder.add_rows("row", np.arange(4), [(WEIGHTS, x)], 90.0, np.inf)
    return builder.build()


def _highs(session: Any, ending: str) -> None:
    options = {"nodes": ("mip_max_nodes", 0), "solutions": ("mip_max_improving_sols", 1)}
    session._model.setOptionValue(*options[ending])


def _gurobi(session: Any, ending: str) -> None:
    name = {"nodes": "NodeLimit", "solutions": "SolutionLimit", "cutoff": "Cutoff"}[ending]
    session._model.setParam(name, {"nodes": 0, "solutions": 1, "cutoff": LEAST - 3}[ending])


def _scip(session: Any, ending: str) -> None:
    if ending == "cutoff":
        session._model.setObjlimit(LEAST - 3)
    else:
        session._model.setParam(f"limits/{ending}", 1)


def _xpress(session: Any, ending: str) -> None:
    name = {"nodes": "MAXNODE", "solutions": "MAXMIPSOL", "cutoff": "MIPABSCUTOFF"}[ending]
    session._model.setControl(name, LEAST - 3 if ending == "cutoff" else 1)


def _copt(session: Any, ending: str) -> None:
    assert ending == "nodes"
    session._model.setParam("NodeLimit", 1)


def _cplex(session: Any, ending: str) -> None:
    mip = session._model.parameters.mip
    if ending == "cutoff":
        mip.tolerances.uppercutoff.set(LEAST - 3)
    else:
        getattr(mip.limits, ending).set({"nodes": 0, "solutions": 1}[ending])


SPOILT: dict[str, Callable[[Any, str], None]] = {
    "highs": _highs,
    "gurobi": _gurobi,
    "scip": _scip,
    "xpress": _xpress,
    "copt": _copt,
    "cplex": _cplex,
}


ENDINGS = [
    pytest.param(name, ending, marks=needs(name))
    for name in SPOILT
    for ending in ("nodes", "solutions", "cutoff")
    # its objective_bound makes the bound wrong that it reports: nothing sets it
    if (name, ending) != ("highs", "cutoff")
    # it has no such limits
    if (name, ending) not in (("copt", "solutions"), ("copt", "cutoff"))
]


@pytest.mark.parametrize(("solver", "ending"), ENDINGS)
def test_a_solve_that_a_limit_ends_proves_nothing_false(solver: str, ending: str) -> None:
    session = in_this_process(solver)  # to reach the model
    for targets in (Targets(), Targets(holds_above=LEAST + 5)):
        session.load(covering())
        SPOILT[solver](session, ending)
        result = session.minimise(COST, targets)
        assert result.bound <= LEAST + 1e-6, result
    session.close()


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("solver", [pytest.param(name, marks=needs(name)) for name in DIRECT])
def test_a_cost_without_bounds_has_no_bound(solver: str, integer: bool) -> None:
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(2), -np.inf, np.inf)
    b = builder.add_columns("b", np.arange(1), 0.0, 1.0, integer=integer)
    rows = [(np.ones((1, 2)), x), (np.ones((1, 1)), b)]
    builder.add_rows("row", np.arange(1), rows, 0.0, np.inf)
    session = open_session(solver)
    session.load(builder.build())
    for targets in (Targets(), Targets(holds_above=-5.0)):
        result = session.minimise(np.array([1.0, -1.0, 0.0]), targets)
        assert result.bound == -np.inf, result
    session.close()
