"""The state of a search for a minimum: the best explanation, the bound, and what raises it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.errors import InputError, SolverError
from milp_verix.global_search.branch_and_cut import ScenarioTree
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.hitting_set_master import HittingSets
from milp_verix.global_search.mip_master import ProgramMaster
from milp_verix.global_search.pricing.perturbation_set import Perturbations, perturbations_of
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.relaxation.symmetry import interchangeable
from milp_verix.global_search.separation import Separator
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.problem.objective import Objective
from milp_verix.problem.request import Request
from milp_verix.records.statistics import INTERRUPTED, TIME_LIMIT, SearchEffort, Statistics
from milp_verix.results.public import Explanation
from milp_verix.solvers import Session
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.traversal.explain import explanation_of
from verix_encodings.models.constraints import Constraint

_RESERVED = 0.025
_LEAST_RESERVED = 1.0
_MOST_RESERVED = 5.0
_MOST_SHARE = 0.25
_PATIENCE = 1.0
_MOST_DESCENT = 4.0
_SHARE_OF_DESCENT = 0.1

_FIRST, _NEAR, _BOUND = "first explanation", "local search", "lower bound"
_BETTER, _POINTS = "better explanations", "counterfactuals"


@dataclass(frozen=True, slots=True)
class MinimumProgress:
    """The size of the best explanation so far, and the size that none can be below.

    With costs these are costs. ``rounds`` counts the sets of features looked at.
    """

    size: float
    lower_bound: float
    rounds: int


class Master(Protocol):
    """What raises the bound, step by step: it solves a relaxation of all explanations."""

    @property
    def bound(self) -> float:
        """A lower bound on every cost below the incumbent's; infinite where there is none."""

    @property
    def done(self) -> bool:
        """Whether no step can raise the bound, or none needs to."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about how the bound came about."""

    @property
    def effort(self) -> SearchEffort:
        """The effort that the bound took so far."""

    def step(self, deadline: float) -> None:
        """Go on, until ``deadline`` at most."""

    def close(self) -> None:
        """Release the solver."""


class MinimumSearch:
    """The best explanation, the bound, and the scenarios that they rest on."""

    def __init__(
        self,
        oracle: Oracle,
        request: Request,
        objective: Objective,
        *,
        gap: float,
        progress: Callable[[MinimumProgress], None] | None = None,
        snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    ) -> None:
        self._request = request
        self._snapshots = snapshots
        self._oracle = oracle
        self._objective = objective
        self._gap = gap
        self._check_seconds = request.check_seconds
        self._progress = progress
        self._shown: tuple[float, float] | None = None
        self._perturbations: Perturbations = perturbations_of(oracle.problem)
        # the counterfactuals of what is found want some time as well
        left = request.deadline.seconds
        wanted = min(max(_RESERVED * left, _LEAST_RESERVED), _MOST_RESERVED)
        self._search_until = request.deadline.at - min(wanted, _MOST_SHARE * left)
        until = Deadline(self._search_until)
        self._incumbent = Incumbent(
            oracle, self._perturbations, objective, self._check_seconds, until
        )
        self._incumbent.on_change = self._tell
        self._separator = Separator(self._perturbations, self._incumbent, self._search_until)
        self._lower_bound = 0.0
        self._constraints: list[Constraint] = []
        self._same = interchangeable(oracle.problem, objective)
        # what never matters adds to the cost at most
        useless = self._same.inert & ~objective.must
        self._needed = replace(objective, must_not=objective.must_not | useless)
        self._notes: tuple[str, ...] = ()
        self._effort = SearchEffort()
        self._spent: dict[str, float] = {}
        self.stopped: str | None = None

    def allow_must_not(self) -> None:
        """Prove that the features that must not be explained change nothing by themselves.

        Until that is proven there is no explanation at all, not even one to stop with.
        """
        objective = self._objective
        if not objective.must_not.any():
            return
        alone = self._oracle.check(
            self._perturbations.free(~objective.must_not), min(self._seconds(), self._check_seconds)
        )
        if alone.violated:
            raise InputError(
                "no explanation leaves out all of must_not: the prediction can change by "
                "these features alone; allow some of them"
            )
        if not alone.holds:
            raise SolverError(
                "the features in must_not may change the prediction by themselves, which "
                f"could not be decided: {alone.reason}"
            )

    def start(self) -> None:
        """Find a first explanation, a better one near it, and a first bound."""
        self._tell()
        with self._stage(_FIRST):
            self._incumbent.explain(self._search_until)
        self._show(0)
        seconds = min(_MOST_DESCENT, _SHARE_OF_DESCENT * self._seconds())
        with self._stage(_NEAR):
            self._incumbent.descend(time.monotonic() + seconds)
        self._lower_bound = self._objective.cost(self._objective.must)
        self._show(0)

    def find_scenario(self) -> bool:
        """Return whether there is a first scenario: without, what must be explained does.

        False, too, once there is no time to make use of it.
        """
        if self._lower_bound < self._cutoff() and self._seconds() > 0:
            with self._stage(_BOUND):
                self._constraints = self._separator.separate(self._objective.least, 0)
        self._mark_late()
        return bool(self._constraints) and self.stopped is None

    def tree(self, lp: WarmLp) -> Master:
        """Return the master that searches the relaxation itself."""
        relaxation = Relaxation(lp, ConstraintPool(self._perturbations), self._needed)
        # solvers find symmetries themselves, and rows would hide them
        relaxation.extend([*self._same.precedence, *self._constraints, *self._separator.deciding()])
        return ScenarioTree(relaxation, self._separator, self._objective.attainable, self._cutoff)

    def program(self, session: Session) -> Master:
        """Return the master that gives the relaxation to a solver."""
        master = ProgramMaster(session, self._needed, self._separator, self._cutoff)
        master.extend(self._constraints)
        return master

    def hitting_sets(self, session: Session) -> Master:
        """Return the master that covers contrastive sets."""
        subsets = SubsetOracle(self._oracle, self._search_until, self._check_seconds)
        return HittingSets(session, subsets, self._objective, self._incumbent, self._cutoff)

    def run(self, master: Master) -> None:
        """Let ``master`` raise the bound until it meets the explanation."""
        rounds = 0
        try:
            while not master.done and self._seconds() > 0:
                with self._stage(_BOUND):
                    master.step(self._search_until)
                rounds += 1
                self._raise(master.bound)
                self._show(rounds)
        finally:
            self._raise(master.bound)
            self._notes, self._effort = master.notes, master.effort
            master.close()
        self._mark_late()

    def _mark_late(self) -> None:
        if self._lower_bound < self._cutoff() and self._seconds() <= 0:
            self.stopped = TIME_LIMIT

    def _tell(self) -> None:
        """Hand on what makes an explanation of all that is known now."""
        if self._snapshots is None:
            return
        order, traversal = self._incumbent.snapshot()
        seconds, bound = self._request.elapsed, self._lower_bound

        def snapshot() -> Explanation:
            found = explanation_of(self._oracle.problem, order, traversal, self._oracle, seconds)
            return self._completed(found, bound)

        self._snapshots(snapshot)

    def result(self) -> Explanation:
        """Return the best explanation with the bound."""
        deadline = self._request.deadline.at
        if self.stopped == INTERRUPTED:
            deadline = min(deadline, time.monotonic() + _PATIENCE)
        with self._stage(_POINTS):
            best = self._incumbent.explanation(deadline)
        statistics = self._statistics(best.statistics, self._request.elapsed)
        return self._completed(replace(best, statistics=statistics), self._lower_bound)

    def _completed(self, best: Explanation, bound: float) -> Explanation:
        """Return an explanation with its costs, the notes, and a proven lower bound."""
        objective = self._objective
        costs = None if objective.equal else tuple(map(_plain, objective.costs.tolist()))
        # the checks may have met the same trouble
        notes = tuple(dict.fromkeys(best.notes + self._notes))
        best = replace(
            best,
            costs=costs,
            notes=notes,
            must=tuple(np.flatnonzero(objective.must).tolist()),
            must_not=tuple(np.flatnonzero(objective.must_not).tolist()),
        )
        return replace(best, lower_bound=_plain(min(bound, best.cost)))

    def _statistics(self, last: Statistics, seconds: float) -> Statistics:
        """Return what the whole search took, where ``last`` is about the explanation's checks."""
        effort, better = self._oracle.effort, self._incumbent.seconds
        spent = {_FIRST: 0.0, _NEAR: 0.0, _BOUND: 0.0, **self._spent}
        # better explanations are looked for while the bound is raised
        spent |= {_BOUND: max(spent[_BOUND] - better, 0.0), _BETTER: better}
        spent[_POINTS] = spent.pop(_POINTS)
        return replace(
            last,
            checks=self._oracle.checks,
            solves=effort.solves,
            bounded=effort.bounded,
            nodes=effort.nodes,
            iterations=effort.iterations,
            seconds=seconds,
            check_seconds=effort.seconds,
            stopped=self.stopped or last.stopped,
            stages=tuple(
                replace(stage, seconds=took)
                for stage, took in zip(last.stages, effort.stages, strict=True)
            ),
            search=replace(
                self._effort,
                rounds=max(self._effort.rounds, self._separator.rounds),
                stages=tuple(spent.items()),
            ),
        )

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Count the seconds of a stage."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._spent[name] = self._spent.get(name, 0.0) + time.monotonic() - started

    def _show(self, rounds: int) -> None:
        """Tell the progress where the search stands, if that has changed."""
        state = (self._incumbent.cost, self._lower_bound)
        if state == self._shown:
            return
        self._shown = state
        self._tell()
        if self._progress is not None:
            size, bound = map(_plain, state)
            self._progress(MinimumProgress(size, bound, rounds))

    def _raise(self, bound: float) -> None:
        self._lower_bound = max(self._lower_bound, min(bound, self._incumbent.cost))

    def _cutoff(self) -> float:
        return self._objective.cutoff(self._incumbent.cost, self._gap)

    def _seconds(self) -> float:
        return self._search_until - time.monotonic()


def _plain(cost: float) -> float:
    """Return a whole number as an int."""
    return int(cost) if cost == int(cost) else cost
