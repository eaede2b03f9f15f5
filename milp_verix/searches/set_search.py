"""Searches over sets of features: propose a cheapest set, check it, learn a clause.

A solver proposes it, or a list of all sets where these are few: a set that a clause excludes stays
excluded, so the list is walked once, from the cheapest sets to the dearest.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from milp_verix.base.clock import Deadline, OutOfTimeError
from milp_verix.base.errors import SolverError
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import Verdict
from milp_verix.problem.objective import Objective, attainable, make_objective
from milp_verix.problem.search import Request
from milp_verix.searches.runner import AnytimeSearch, Found, State
from milp_verix.solvers import Session, SolveStatus, Targets
from verix_encodings.arrays import FloatArray
from verix_encodings.scenario import Clause, cover_program

LISTED = 20
"""Number of features whose sets are listed: 2^20 sets take 5 MB, and 1 ms for a clause."""
_ROUNDING = 1e-6  # of a bound, compared with the sum of all costs


@dataclass(frozen=True, slots=True)
class Proposal:
    """A cheapest set that satisfies clauses, None if none was found, and a proven lower bound.

    ``exhausted`` is the proof that no such set exists; ``late`` says that the solver ran out of
    time.
    """

    chosen: frozenset[int] | None
    bound: float
    exhausted: bool
    late: bool = False


class ListedSets:
    """The sets of features as bit masks, the cheapest first; ``costs`` are whole, (features,)."""

    def __init__(self, costs: FloatArray) -> None:
        self._count = costs.size
        masks = np.arange(1 << costs.size, dtype=np.uint32)
        total = np.zeros(1)
        for cost in costs:  # the sets of the features so far, then each of them with the next one
            total = np.concatenate([total, total + cost])
        order = np.argsort(total, kind="stable")
        self._masks, self._costs = masks[order], total[order]
        self._excluded = np.zeros(masks.size, dtype=bool)
        self._seen = 0  # clauses

    def propose(self, clauses: list[Clause]) -> Proposal:
        """Return a cheapest set that satisfies ``clauses``, which only grow; its cost bounds."""
        for clause in clauses[self._seen :]:
            whole, none = _mask(clause.not_all_of), _mask(clause.any_of)
            # excluded: all of the first part in the set, and nothing of the second one
            self._excluded |= (self._masks & (whole | none)) == whole
        self._seen = len(clauses)
        place = int(np.argmin(self._excluded))
        if self._excluded[place]:
            return Proposal(None, np.inf, exhausted=True)
        mask = int(self._masks[place])
        chosen = frozenset(feature for feature in range(self._count) if mask >> feature & 1)
        return Proposal(chosen, float(self._costs[place]), exhausted=False)


def _mask(features: frozenset[int]) -> int:
    return sum(1 << feature for feature in features)


class Candidates:
    """Proposes cheapest sets of an ``objective`` that satisfy ``clauses``.

    They are listed if they are few and costs are whole, unless not ``listed``; else a solver, which
    opens once it is asked, finds them.
    """

    def __init__(
        self, objective: Objective, open_session: Callable[[], Session], *, listed: bool = True
    ) -> None:
        always, never = map(np.flatnonzero, (objective.must, objective.must_not))
        self.clauses = [Clause(any_of=frozenset([one])) for one in always.tolist()]
        self.clauses += [Clause(not_all_of=frozenset([one])) for one in never.tolist()]
        self._objective, self._open_session = objective, open_session
        few = listed and objective.whole and objective.costs.size <= LISTED
        self._listed = ListedSets(objective.costs) if few else None
        self.session: Session | None = None

    def propose(self, deadline: Deadline) -> Proposal:
        """Return a cheapest set by the ``deadline``, and a bound on its cost."""
        if self._listed is not None:
            return self._listed.propose(self.clauses)
        self.session = session = self.session or self._open_session()
        costs, whole = self._objective.costs, self._objective.whole
        cover = cover_program(costs, self.clauses)
        try:
            session.load(cover.program)
            result = session.minimise(cover.cost, Targets(whole=whole).until(deadline))
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

    def close(self) -> None:
        """Close the solver's session."""
        if self.session is not None:
            self.session.close()


@contextmanager
def opened(
    request: Request, held: Collection[int] = ()
) -> Iterator[tuple[SubsetOracle, Session, Request]]:
    """Open the oracle and the session of a search over sets without the features ``held``."""
    with Oracle(request.problem, request.search) as oracle:
        subsets = SubsetOracle(oracle, request.deadline, request.check_limit, held)
        with closing(request.open_session(oracle.solver)) as session:
            yield subsets, session, request


@dataclass(eq=False)
class SetSearch(AnytimeSearch[State, Found]):
    """A search that decides one set of features after the other, the smallest first."""

    listed: ClassVar[bool] = True

    subsets: SubsetOracle
    session: Session
    request: Request

    def __post_init__(self) -> None:
        objective = make_objective(len(self.subsets.everything), None, (), ())
        self._candidates = Candidates(objective, lambda: self.session, listed=self.listed)
        self._clauses = self._candidates.clauses
        self._doubted: str | None = None
        self._lower_bound = 0
        # a set was put aside that may hold an explanation: the bound rises no more
        self._gave_up = False

    def _undecided(self) -> Iterator[frozenset[int]]:
        """Yield smallest sets that no clause excludes; a doubt if the last is not proven."""
        while True:
            proposal = self._candidates.propose(self.subsets.deadline)
            if not self._gave_up:
                bound = int(min(proposal.bound, len(self.subsets.everything)))
                self._lower_bound = max(self._lower_bound, bound)
            if proposal.exhausted:
                return
            if proposal.late or self.subsets.late():
                raise OutOfTimeError
            if proposal.chosen is None:
                self._doubt(f"{self.session.name} proposes no further set")
                return
            yield proposal.chosen

    def _exclude(self, found: Verdict) -> frozenset[int]:
        """Return the features that a counterfactual changes, and exclude sets without any."""
        contrast = self.subsets.changed(found)
        self._clauses.append(Clause(any_of=contrast))
        return contrast

    def _doubt(self, reason: str) -> None:
        self._doubted = self._doubted or reason
