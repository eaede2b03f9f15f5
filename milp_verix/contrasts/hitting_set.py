"""A cheapest set of features that hits all known sets, by a solver: the next candidate."""

from dataclasses import dataclass

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.errors import SolverError
from milp_verix.problem.objective import attainable
from milp_verix.solvers import Session, SolveStatus, Targets
from verix_encodings.arrays import FloatArray
from verix_encodings.models.cover import Clause, cover_program

_ROUNDING = 1e-6  # of a bound, compared with the sum of all costs


@dataclass(frozen=True, slots=True)
class Proposal:
    """The result of a cover: a cheapest set, None if none was found, and a proven lower bound.

    ``exhausted`` is the proof that no such set exists; ``late`` says that the solver ran out of
    time.
    """

    chosen: frozenset[int] | None
    bound: float
    exhausted: bool
    late: bool = False


def propose(
    session: Session,
    costs: FloatArray,
    clauses: list[Clause],
    deadline: Deadline,
    *,
    whole: bool = True,
) -> Proposal:
    """Return a set of features that satisfies ``clauses`` at the least cost, by the ``deadline``.

    ``whole`` says that all costs are whole numbers.
    """
    cover = cover_program(costs, clauses)
    try:
        session.load(cover.program)
        result = session.minimise(cover.cost, Targets(whole=whole).by(deadline))
    except SolverError:
        return Proposal(None, 0.0, exhausted=False)
    broken = result.status in (SolveStatus.FAILED, SolveStatus.INFEASIBLE)
    bound = attainable(0.0 if broken else max(result.bound, 0.0), whole=whole)
    if bound > float(np.sum(costs)) + _ROUNDING:
        return Proposal(None, bound, exhausted=True)
    if broken or result.point is None or result.point[cover.surrendered] > 0.5:
        late = result.status is SolveStatus.TIME_LIMIT
        return Proposal(None, bound, exhausted=False, late=late)
    chosen = frozenset(np.flatnonzero(result.point[cover.chosen] > 0.5).tolist())
    return Proposal(chosen, bound, exhausted=False)
