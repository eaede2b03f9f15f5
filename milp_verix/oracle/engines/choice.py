"""The engines for a solver's name: one, or for ``"auto"`` a portfolio of the solvers installed."""

from typing import Any

from milp_verix.oracle.engines.claim import Candidate, Engine
from milp_verix.oracle.engines.portfolio import Portfolio
from milp_verix.oracle.engines.programs import Programs
from milp_verix.problem.problem import Problem
from milp_verix.solvers import AUTO_ORDER, SOLVERS, Solver, first_of_auto, why_auto
from verix_encodings import Formulation

_LAST_RESORT = "cbc"


def portfolio_for(
    problem: Problem, solver: str | Solver, *, formulation: Formulation, **options: Any
) -> Portfolio:
    """Return the portfolio that decides the checks of ``problem`` by ``solver``.

    ``options`` are those of :class:`~milp_verix.oracle.engines.programs.Programs`. For ``"auto"``,
    the first solver that takes the programs opens at once; the others are opened once it does not
    decide a check in a short time. Raises as :func:`~milp_verix.solvers.open_session` does.
    """

    def programs(chosen: str | Solver) -> Engine:
        return Programs(problem, chosen, formulation=formulation, **options)

    def candidate(name: str) -> Candidate:
        # the solver itself: beyond its licence others take over, not its stand-in
        return Candidate(name, lambda: programs(SOLVERS[name]))

    if solver != "auto":
        return Portfolio(programs(solver))
    needed = formulation.needs
    first = first_of_auto(needed, lambda found: programs(found.name))
    # a linear relaxation has one optimum, whoever finds it; CBC is the slowest of all
    names = () if options["lp_only"] else AUTO_ORDER
    others = [
        candidate(name)
        for name in names
        if name not in (first.name, _LAST_RESORT)
        and needed <= SOLVERS[name].capabilities
        and SOLVERS[name].unavailable() is None
    ]
    return Portfolio(first, others, why_auto(first.name, needed))
