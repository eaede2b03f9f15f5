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
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np

from milp_verix.argument_kinds import checked
from milp_verix.arguments import integer_of
from milp_verix.duality.hitting_set import propose
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.problem.one_liner import one_liner, parted
from milp_verix.problem.options import Asked, InputLike, SolverOptions
from milp_verix.problem.problem import Problem
from milp_verix.problem.request import Request
from milp_verix.problem.search import USUAL, Search
from milp_verix.records.base import Counterfactual
from milp_verix.records.enumeration import FeatureSet
from milp_verix.records.statistics import INTERRUPTED, TIME_LIMIT
from milp_verix.results.build import counterfactual_of, shared_fields, statistics_of
from milp_verix.results.public import Enumeration
from milp_verix.solvers import Session
from verix_encodings.models.cover import Clause

LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class EnumerationProgress:
    """Numbers of minimal explanations found so far, of each kind."""

    abductive: int
    contrastive: int


class Enumerating(TypedDict, total=False):
    """The options of :func:`enumerate_problem`."""

    limit: int | None
    progress: Callable[[EnumerationProgress], None] | None
    snapshots: Callable[[Callable[[], Enumeration]], None] | None


class EnumerateAsked(Asked, SolverOptions, Enumerating, total=False):
    """The options of :func:`enumerate_explanations`."""


@checked()
def enumerate_problem(
    problem: Problem,
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

    Args:
        limit: the most explanations, of both kinds together; None for all.
        progress: called after each round.
        snapshots: called with a function that returns the result so far: at the start, and after
            each explanation that is found.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    most = np.inf if limit is None else integer_of(limit, "limit")
    search.require_only(SolverOptions, "the enumeration")
    request = Request.now(problem, search)
    with Oracle(problem, search) as oracle:
        subsets = SubsetOracle(oracle, request.deadline, request.check_limit)
        session = request.open_session(oracle.solver)
        state = _Search(subsets, session)

        def snapshot() -> Callable[[], Enumeration]:
            """Return a function that makes a result of the explanations found by now."""
            abductive, contrastive = [*state.abductive], [*state.contrastive.items()]
            statistics = statistics_of(
                subsets.effort, subsets.checks, request.elapsed, state.stopped, oracle.solvers
            )
            return partial(
                _enumeration,
                abductive,
                contrastive,
                complete=state.complete,
                lower_bound=min(state.lower_bound, problem.features.count),
                unknown_reason=state.unknown_reason,
                statistics=statistics,
                **shared_fields(problem, oracle.solver, oracle.versions, oracle.notes),
            )

        def tell() -> None:
            if snapshots is not None:
                snapshots(snapshot())

        state.on_change = tell
        try:
            tell()
            state.run(most, progress)
        except KeyboardInterrupt:
            state.stopped = INTERRUPTED
        finally:
            session.close()
        return snapshot()()


@one_liner(enumerate_problem)
def enumerate_explanations(
    network: NetworkLike, x: InputLike, **asked: Unpack[EnumerateAsked]
) -> Enumeration:
    """Enumerate explanations: :meth:`milp_verix.Problem.enumerate` in one call."""
    problem, search, own = parted(network, x, asked, Enumerating)
    return enumerate_problem(problem, search=search, **own)


def _enumeration(
    abductive: list[FeatureSet],
    contrastive: list[tuple[FeatureSet, Counterfactual]],
    **rest: Any,
) -> Enumeration:
    """Return the result, with abductive and contrastive explanations sorted, smallest first."""
    contrasts = sorted(contrastive, key=lambda item: (len(item[0]), item[0]))
    explanations = sorted(abductive, key=lambda one: (len(one), one))
    return Enumeration(abductive=tuple(explanations), contrastive=dict(contrasts), **rest)


class _Search:
    """The explanations found, and the clauses that exclude decided sets.

    ``on_change`` is called when there is one more.
    """

    def __init__(self, subsets: SubsetOracle, session: Session) -> None:
        self.abductive: list[tuple[int, ...]] = []
        self.contrastive: dict[tuple[int, ...], Counterfactual] = {}
        self.complete = False
        self.stopped: str | None = None
        self.unknown_reason: str | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._subsets = subsets
        self._session = session
        self._costs = np.ones(len(subsets.everything))
        self.lower_bound = 0
        self._clauses: list[Clause] = []
        self._explaining: list[frozenset[int]] = []
        # a set was put aside that may hold an explanation: the bound rises no more
        self._gave_up = False

    @property
    def count(self) -> int:
        """Number of explanations found, of both kinds."""
        return len(self.abductive) + len(self.contrastive)

    def run(self, most: float, progress: Callable[[EnumerationProgress], None] | None) -> None:
        """Decide one set after the other until all are decided, or enough were found."""
        while self.count < most:
            deadline = self._subsets.deadline
            proposal = propose(self._session, self._costs, self._clauses, deadline)
            if not self._gave_up:
                self.lower_bound = max(self.lower_bound, int(proposal.bound))
            if proposal.exhausted:
                self.complete = self.unknown_reason is None
                return
            if proposal.late or self._subsets.late():
                self.stopped = TIME_LIMIT
                return
            if proposal.chosen is None:
                self.unknown_reason = f"{self._session.name} proposes no further set"
                return
            before = self.count
            self._decide(proposal.chosen, most)
            if progress is not None and self.count > before:
                progress(EnumerationProgress(len(self.abductive), len(self.contrastive)))
        self.stopped = LIMIT

    def _decide(self, explained: frozenset[int], most: float) -> None:
        subsets = self._subsets
        free = subsets.everything - explained
        verdict = subsets.check(free)
        if not (verdict.holds or verdict.violated):
            # this set alone: those around it may well be decided
            self._clauses.append(Clause(any_of=free, not_all_of=explained))
            self._gave_up = True
            self._doubt(verdict.reason or "unknown")
        while verdict.violated:
            smallest, minimal = subsets.shrink(verdict)
            contrast = subsets.changed(smallest)
            self._clauses.append(Clause(any_of=contrast))
            if minimal:
                self.contrastive[tuple(sorted(contrast))] = counterfactual_of(smallest)
                self.on_change()
            else:
                self._doubt("a set that changes the prediction was not proven minimal")
            if self.count >= most:
                return
            free -= contrast
            verdict = subsets.check(free)
        left = subsets.everything - free
        if verdict.holds and not any(set(known) <= left for known in self._explaining):
            self._explain(free)

    def _explain(self, free: frozenset[int]) -> None:
        """Grow a robust set until the features outside of it are a minimal explanation."""
        subsets = self._subsets
        robust, maximal = subsets.grow(free, sorted(subsets.everything - free))
        explanation = subsets.everything - robust
        # what holds a set that explains is decided, whether that set is minimal or not
        self._explaining.append(explanation)
        self._clauses.append(Clause(not_all_of=explanation))
        if maximal:
            self.abductive.append(tuple(sorted(explanation)))
            self.on_change()
        else:
            self._gave_up = True
            self._doubt("a set that explains the prediction was not proven minimal")

    def _doubt(self, reason: str) -> None:
        self.unknown_reason = self.unknown_reason or reason
