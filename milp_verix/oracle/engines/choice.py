"""The engines for a solver's name: one, or for ``"auto"`` a portfolio of the solvers installed."""

from functools import partial
from importlib import import_module

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.oracle.engines.engine import Engine, NotInstalledError
from milp_verix.oracle.engines.portfolio import Candidate, Portfolio
from milp_verix.oracle.engines.programs import Programs
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search, resolve_formulation
from milp_verix.solvers import (
    OWN_ENGINES,
    Solver,
    first_of_auto,
    resolve_solver,
    solver_named,
    why_auto,
)

_MOST_FREE = 32
"""Free coordinates beyond which ``auto`` does not branch on them."""

MOST_OPEN = 250
"""Undecided neurons behind the first layer beyond which ``auto`` asks no solver of programs.

There ``beta`` takes their place. On a 4×256 network with 390 of them, SCIP and ``phase`` spent two
thirds of the time and decided nothing.
"""

_PATIENCE = 4
"""The first slice of ``split`` where functions are smooth and inputs few: four seconds of work.

Of eight rows of Adult, two for each of four smooth networks, with 8 s each, 8 features stayed
undecided, in place of 12 with the slices of all engines.
"""
_FEW_INPUTS = 5
"""Free coordinates up to which it has this first slice in networks of ReLUs, too.

Eight questions about ACAS Xu took 1.2 s of the processor in place of 3.2 s, and a lattice of 16
planes, over two inputs, 5 s, where all engines in turns had not decided it in 13 s.
"""

_MOST_ENCLOSED = 30
"""The same for networks of smooth functions, which programs only enclose, and ``beta`` splits.

Of a 50×2 tanh network on MNIST 30 and 0 features stayed undecided, in place of 62 and 0 with them.
"""

_PROGRAM_SOLVERS = ("gurobi", "scip", "highs")
"""Solvers of mixed-integer programs, the fastest first: one of them takes part in ``auto``."""

_NO_TREES = ("phase", "split", "beta")
"""Solvers that branch on neurons or inputs of networks, and take no trees."""

_OTHERS = ("phase", "split", "beta", *_PROGRAM_SOLVERS)


_CHECKERS = {
    "split": ("input_split", "InputSplit"),
    "beta": ("beta", "PhaseSplit"),
    "leaves": ("leaves", "LeavesEngine"),
}
"""The module and the class of each of ``OWN_ENGINES``, loaded when it is asked for."""


def portfolio_for(problem: ProblemData, search: Search) -> Portfolio:
    """Return the portfolio that decides the checks of ``problem`` by the solver of ``search``.

    For ``"auto"``, the first solver that takes the programs opens at once, for L1 and L2 balls
    ``beta``, for networks of smooth functions ``split``; the others open once it does not decide a
    check in a short time. Linear relaxations are left to the first: their optimum is the same,
    whoever finds it. Raises as :func:`~milp_verix.solvers.open_session` does.
    """
    solver = search.solver
    chosen = solver if isinstance(solver, str) else getattr(solver, "name", None)
    if unfit := misfit(chosen, problem):
        raise InputError(unfit)
    if solver == "auto":
        if problem.margins.stepped and search.exactness != "relaxation":
            return _of_trees(problem, search)
        needed = resolve_formulation(search.formulation).needs
        return first_of_auto(needed, partial(_led_by, problem, search))
    if not isinstance(chosen, str):
        raise InputError(f"a solver is named by a text, got {solver!r}")
    return Portfolio(Candidate(chosen, partial(engine_of, problem, search, solver, deepens=True)))


def engine_of(
    problem: ProblemData, search: Search, solver: str | Solver, *, deepens: bool
) -> Engine:
    """Return the engine of a solver; ``NotInstalledError`` where it is not to be had."""
    # asked when it is needed: to look for a solver imports it
    if not isinstance(solver, str) and (reason := solver.unavailable()):
        raise NotInstalledError(reason)
    name = solver if isinstance(solver, str) else solver.name
    if name in OWN_ENGINES:
        resolve_solver(solver, resolve_formulation(search.formulation).needs)
        module, kind = _CHECKERS[name]
        checker: Engine = getattr(import_module(f"{__package__}.{module}"), kind)(problem)
        return checker
    return Programs(problem, search, solver, deepens=deepens)


def _member(problem: ProblemData, search: Search, solver: Solver | str) -> Candidate:
    """Return a solver as a member of the portfolio of ``"auto"``, where ``beta`` deepens bounds."""
    name = solver if isinstance(solver, str) else solver.name
    exact, few = problem.margins.exact, name == "split"
    mixed = problem.ball.mixed is not None
    dear = not (name in OWN_ENGINES or mixed or search.exactness == "relaxation")
    return Candidate(
        name,
        partial(engine_of, problem, search, solver, deepens=False),
        most_free=_MOST_FREE if few else np.inf,
        most_open=(MOST_OPEN if exact else _MOST_ENCLOSED) if dear else np.inf,
        group="programs" if name in _PROGRAM_SOLVERS else None,
        patience=_PATIENCE if few else 0,
        patient_free=_FEW_INPUTS if exact else np.inf,
    )


def _of_trees(problem: ProblemData, search: Search) -> Portfolio:
    """Return the portfolio for trees: leaves decide all but rules, far sooner than programs."""
    mixed, needed = problem.ball.mixed, resolve_formulation(search.formulation).needs
    programs = map(solver_named, _PROGRAM_SOLVERS if mixed is not None and mixed.rules else ())
    others = [_member(problem, search, one) for one in programs if needed <= one.capabilities]
    return Portfolio(_member(problem, search, "leaves"), others)


def _led_by(problem: ProblemData, search: Search, first: Solver) -> Portfolio:
    """Return the portfolio for networks; ``first`` is the first that takes the programs."""
    mixed, needed = problem.ball.mixed, resolve_formulation(search.formulation).needs
    others = [
        # the solver itself: beyond its licence others take over, not its stand-in
        _member(problem, search, other)
        for other in map(solver_named, () if search.exactness == "relaxation" else _OTHERS)
        if other.name != first.name
        and needed <= other.capabilities
        and not (mixed is not None and other.name == "beta")
    ]
    members = [_member(problem, search, first.name), *others]
    # programs only enclose smooth functions: a normalised GELU network on Adult left 1 of 9
    # features undecided in place of 10 of 11
    sooner = None if problem.margins.exact else "split"
    if problem.ball.norm != "linf":
        # of 20 MNIST images, `mnist-10x2`, L1 ε = 5, the slowest took 8.0 s, not 12.2 s
        sooner = "beta"
    members.sort(key=lambda member: member.name != sooner)
    return Portfolio(members[0], members[1:], why_auto(first.name, needed))


def misfit(solver: str | None, problem: ProblemData) -> str | None:
    """Return why a solver takes no trees, no networks or no whole numbers; None if it fits."""
    trees = problem.margins.stepped
    if problem.ball.mixed is not None and solver == "beta":
        return (
            f"the solver {solver!r} branches on phases alone, and cannot decide whole numbers or "
            "rules: choose another, such as 'split' or 'highs', or 'auto'"
        )
    if trees and solver in _NO_TREES:
        return (
            f"the solver {solver!r} branches on neurons and inputs of networks, and takes no "
            "trees: choose another, such as 'leaves' or 'highs', or 'auto'"
        )
    if not trees and solver == "leaves":
        return "the solver 'leaves' decides trees alone: choose another, or 'auto'"
    return None
