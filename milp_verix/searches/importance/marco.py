"""Enumeration of minimal explanations, abductive and contrastive, in the manner of MARCO.

    repeat   A ← a smallest set that is not decided yet            none left: complete
             while check(all but A) is violated:
                 shrink it to a minimal contrastive set C           a set that misses C is decided
                 A ← A ∪ C
             grow all but A; what is outside is a minimal explanation, and what holds it is decided

(Liffiton, Previti, Malik, Marques-Silva, *Fast, flexible MUS enumeration*, Constraints 2016; for
explanations Ignatiev, Narodytska, Asher, Marques-Silva, AI*IA 2020.) Both kinds come at once, and
the size of ``A`` is a lower bound on that of every explanation that is still to come.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from milp_verix.base.arguments import integer_of
from milp_verix.base.clock import OutOfTimeError
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import Verdict
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.base import Counterfactual
from milp_verix.results.build import counterfactual_of
from milp_verix.results.contrast import Contrast, Enumeration
from milp_verix.searches.lower_bounds.hitting_set import LISTED, ListedSets, Proposal, propose
from milp_verix.searches.runner import AnytimeSearch, fields_of
from milp_verix.solvers import Session
from verix_encodings.scenario import Clause

LIMIT = "limit"
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class EnumerationProgress:
    """Numbers of minimal explanations found so far, of each kind."""

    abductive: int
    contrastive: int


def enumerate_problem(
    problem: PosedProblem,
    *,
    limit: int | None = None,
    search: Search = USUAL,
    progress: Callable[[EnumerationProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Enumeration]], None] | None = None,
) -> Enumeration:
    """Find the minimal abductive and contrastive explanations of the prediction at ``x``.

    There may be exponentially many: ``limit`` stops once so many were found, of both kinds
    together; the time limit and Ctrl-C return those found so far. A set whose check is UNKNOWN
    is listed on neither side, and the enumeration is then not complete.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    most = np.inf if limit is None else integer_of(limit, "limit")
    search.require_only("enumerate", "the enumeration")
    request = Request.now(problem, search)
    with Oracle(problem, search) as oracle:
        subsets = SubsetOracle(oracle, request.deadline, request.check_limit)
        with closing(request.open_session(oracle.solver)) as session:
            return _Enumeration(subsets, session, request, most).run(progress, snapshots)


@dataclass(eq=False)
class Marco(AnytimeSearch[EnumerationProgress, Found]):
    """The explanations found, and the clauses that exclude decided sets; ``most`` are wanted.

    A subclass makes a result of them.
    """

    subsets: SubsetOracle
    session: Session
    request: Request
    most: float

    def __post_init__(self) -> None:
        self._abductive: list[FeatureSet] = []
        self._contrastive: dict[FeatureSet, Counterfactual] = {}
        self._complete = False
        self._unknown_reason: str | None = None
        self._costs = np.ones(len(self.subsets.everything))
        self._lower_bound = 0
        count = self._costs.size
        self._listed = ListedSets(self._costs) if count <= LISTED else None
        self._clauses: list[Clause] = []
        self._explaining: list[frozenset[int]] = []
        # a set was put aside that may hold an explanation: the bound rises no more
        self._gave_up = False

    @property
    def _enough(self) -> bool:
        """True once as many explanations were found as are wanted."""
        return len(self._abductive) + len(self._contrastive) >= self.most

    def _state(self) -> EnumerationProgress:
        return EnumerationProgress(len(self._abductive), len(self._contrastive))

    def _search(self) -> None:
        """Decide one set after the other until all are decided, or enough were found."""
        while not self._enough:
            proposal = self._proposal()
            if not self._gave_up:
                bound = int(min(proposal.bound, self._costs.size))
                self._lower_bound = max(self._lower_bound, bound)
            if proposal.exhausted:
                self._complete = self._unknown_reason is None
                return
            if proposal.late or self.subsets.late():
                raise OutOfTimeError
            if proposal.chosen is None:
                self._doubt(f"{self.session.name} proposes no further set")
                return
            self._decide(proposal.chosen)
        self.stopped = LIMIT

    def _proposal(self) -> Proposal:
        """Return a smallest set that is not decided yet."""
        if self._listed is not None:
            return self._listed.propose(self._clauses)
        return propose(self.session, self._costs, self._clauses, self.subsets.deadline)

    def _decide(self, explained: frozenset[int]) -> None:
        subsets = self.subsets
        free = subsets.everything - explained
        verdict = subsets.check(free)
        if not (verdict.holds or verdict.violated):
            # this set alone: those around it may well be decided
            self._clauses.append(Clause(any_of=free, not_all_of=explained))
            self._gave_up = True
            self._doubt(verdict.reason or "unknown")
        while verdict.violated:
            smallest, minimal = subsets.shrink(verdict)
            contrast = self._exclude(smallest)
            if minimal:
                self._contrastive[tuple(sorted(contrast))] = counterfactual_of(smallest)
                self.tell()
            else:
                self._doubt("a set that changes the prediction was not proven minimal")
            if self._enough:
                return
            free -= contrast
            verdict = subsets.check(free)
        left = subsets.everything - free
        if verdict.holds and not any(set(known) <= left for known in self._explaining):
            self._explain(free)

    def _exclude(self, found: Verdict) -> frozenset[int]:
        """Return the features that a counterfactual changes, and exclude sets without any."""
        contrast = self.subsets.changed(found)
        self._clauses.append(Clause(any_of=contrast))
        return contrast

    def _exclude_around(self, explanation: frozenset[int]) -> None:
        """Exclude the sets that hold one that explains: they are decided, minimal or not."""
        self._explaining.append(explanation)
        self._clauses.append(Clause(not_all_of=explanation))

    def _explain(self, free: frozenset[int]) -> None:
        """Grow a robust set until the features outside of it are a minimal explanation."""
        subsets = self.subsets
        robust, maximal = subsets.grow(free, sorted(subsets.everything - free))
        explanation = subsets.everything - robust
        self._exclude_around(explanation)
        if maximal:
            self._abductive.append(tuple(sorted(explanation)))
            self.tell()
        else:
            self._gave_up = True
            self._doubt("a set that explains the prediction was not proven minimal")

    def _doubt(self, reason: str) -> None:
        self._unknown_reason = self._unknown_reason or reason


class _Enumeration(Marco[Enumeration]):
    """The enumeration as a result."""

    def _snapshot(self) -> Callable[[], Enumeration]:
        oracle = self.subsets.oracle
        return partial(
            _enumeration,
            [*self._abductive],
            [*self._contrastive.items()],
            complete=self._complete,
            lower_bound=min(self._lower_bound, oracle.problem.features.count),
            unknown_reason=self._unknown_reason,
            **fields_of(oracle, self.request.elapsed, self.stopped),
        )


def _enumeration(
    abductive: list[FeatureSet],
    contrastive: list[tuple[FeatureSet, Counterfactual]],
    **rest: Any,
) -> Enumeration:
    """Return the result, with abductive and contrastive explanations sorted, smallest first."""
    contrasts = sorted(contrastive, key=lambda item: (len(item[0]), item[0]))
    explanations = sorted(abductive, key=lambda one: (len(one), one))
    found = tuple(Contrast(features, point) for features, point in contrasts)
    return Enumeration(abductive=tuple(explanations), contrasts=found, **rest)
