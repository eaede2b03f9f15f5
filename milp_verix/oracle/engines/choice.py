"""The engines for a solver's name: one, or for ``"auto"`` a portfolio of the solvers installed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.oracle.engines.claim import Candidate, Engine, NotInstalledError
from milp_verix.oracle.engines.input_split import InputSplit
from milp_verix.oracle.engines.leaves import Leaves, trees_of
from milp_verix.oracle.engines.phase_split import PhaseSplit
from milp_verix.oracle.engines.portfolio import Portfolio
from milp_verix.oracle.engines.programs import Programs
from milp_verix.problem.problem import PosedProblem
from milp_verix.solvers import (
    CHECKERS,
    Solver,
    first_of_auto,
    resolve_solver,
    solver_named,
    why_auto,
)
from verix_encodings import Formulation

CHECKING: dict[str, Callable[[PosedProblem], Engine]] = {
    engine.name: engine for engine in (InputSplit, PhaseSplit, Leaves)
}
"""The engines of the solvers that solve no programs, ``CHECKERS``."""

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
_MOST_ENCLOSED = 30
"""The same for networks of smooth functions, which programs only enclose, and ``beta`` splits.

Of a 50×2 tanh network on MNIST 30 and 0 features stayed undecided, in place of 62 and 0 with them.
"""

_PROGRAM_SOLVERS = ("gurobi", "scip", "highs")
"""Solvers of mixed-integer programs, the fastest first: one of them takes part in ``auto``."""

_NO_TREES = ("phase", InputSplit.name, PhaseSplit.name)
"""Solvers that branch on neurons or inputs of networks, and take no trees."""

_OTHERS = tuple(solver_named(name) for name in ("phase", "split", "beta", *_PROGRAM_SOLVERS))


def portfolio_for(
    problem: PosedProblem,
    solver: str | Solver,
    *,
    formulation: Formulation,
    threads: int,
    lp_only: bool,
    **options: Any,
) -> Portfolio:
    """Return the portfolio that decides the checks of ``problem`` by ``solver``.

    The options are those of :class:`~milp_verix.oracle.engines.programs.Programs`. For ``"auto"``,
    the first solver that takes the programs opens at once, for L1 and L2 balls ``beta``, for
    networks of smooth functions ``split``; the others open once it does not decide a check in a
    short time. Linear relaxations are left to the first: their optimum is the same, whoever finds
    it. Raises as :func:`~milp_verix.solvers.open_session` does.
    """
    needed = formulation.needs
    mixed = problem.ball.mixed is not None
    most_open = MOST_OPEN if problem.margins.exact else _MOST_ENCLOSED

    def candidate(name: str, chosen: str | Solver) -> Candidate:
        def opened() -> Engine:
            # asked when it is needed: to look for a solver imports it
            if not isinstance(chosen, str) and (reason := chosen.unavailable()):
                raise NotInstalledError(reason)
            if name in CHECKERS:
                resolve_solver(chosen, formulation.needs)
                return CHECKING[name](problem)
            return Programs(
                problem,
                chosen,
                formulation=formulation,
                threads=threads,
                lp_only=lp_only,
                # in the portfolio, `beta` deepens them
                deepens=solver != "auto",
                **options,
            )

        few = solver == "auto" and name == InputSplit.name
        dear = name not in CHECKERS and not mixed and not lp_only
        return Candidate(
            name,
            opened,
            most_free=_MOST_FREE if few else np.inf,
            most_open=most_open if solver == "auto" and dear else np.inf,
            group="programs" if name in _PROGRAM_SOLVERS else None,
            patience=0 if not few or problem.margins.exact else _PATIENCE,
        )

    chosen = solver if isinstance(solver, str) else getattr(solver, "name", None)
    if mixed and chosen == PhaseSplit.name:
        raise InputError(
            f"the solver {chosen!r} branches on phases alone, and cannot decide whole numbers or "
            "rules: choose another, such as 'split' or 'highs', or 'auto'"
        )

    if unfit := misfit(chosen, problem):
        raise InputError(unfit)
    if trees_of(problem.margins) is not None and solver == "auto" and not lp_only:
        # leaves decide all but rules exactly, and far sooner than programs
        ruled = problem.ball.mixed is not None and bool(problem.ball.mixed.rules)
        programs = [
            candidate(other.name, other)
            for other in map(solver_named, _PROGRAM_SOLVERS)
            if ruled and needed <= other.capabilities
        ]
        return Portfolio(candidate(Leaves.name, Leaves.name), programs)

    def portfolio(first: Solver) -> Portfolio:
        others = [
            # the solver itself: beyond its licence others take over, not its stand-in
            candidate(other.name, other)
            for other in _OTHERS
            if other.name != first.name
            and not lp_only
            and needed <= other.capabilities
            and not (mixed and other.name == PhaseSplit.name)
        ]
        why = why_auto(first.name, needed)
        members = [candidate(first.name, first.name), *others]
        sooner = _sooner(problem)
        members.sort(key=lambda member: member.name not in sooner)
        return Portfolio(members[0], members[1:], why)

    if solver == "auto":
        return first_of_auto(needed, portfolio)
    if not isinstance(chosen, str):
        raise InputError(f"a solver is named by a text, got {solver!r}")
    return Portfolio(candidate(chosen, solver))


def _sooner(problem: PosedProblem) -> tuple[str, ...]:
    """Return the solvers that ``auto`` asks before the first that takes the programs."""
    if problem.ball.norm != "linf":
        # of 20 MNIST images, `mnist-10x2`, L1 ε = 5, the slowest took 8.0 s in place of 12.2 s
        return (PhaseSplit.name,)
    # programs only enclose smooth functions: a normalised GELU network on Adult left 1 of 9
    # features undecided in place of 10 of 11
    return () if problem.margins.exact else (InputSplit.name,)


def misfit(solver: str | None, problem: PosedProblem) -> str | None:
    """Return why a solver of networks takes no trees, or the reverse; None if it fits."""
    trees = trees_of(problem.margins) is not None
    if trees and solver in _NO_TREES:
        return (
            f"the solver {solver!r} branches on neurons and inputs of networks, and takes no "
            "trees: choose another, such as 'leaves' or 'highs', or 'auto'"
        )
    if not trees and solver == Leaves.name:
        return "the solver 'leaves' decides trees alone: choose another, or 'auto'"
    return None
