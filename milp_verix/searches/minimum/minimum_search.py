"""The search for a minimum explanation: one state, and the steps that a master takes on it.

Contrastive sets take turns with the master as long as they lead the bound.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline, Limit, elapsed_work
from milp_verix.base.errors import InputError, SolverError
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.perturbation_set import perturbation_set
from milp_verix.oracle.verdict import INTERRUPTED, SearchEffort, Statistics
from milp_verix.problem.objective import Objective
from milp_verix.problem.search import Request
from milp_verix.results.earlier import Earlier, note_on_bound
from milp_verix.results.explanation import Explanation
from milp_verix.searches.budget_bound import budget_bound
from milp_verix.searches.contrast_cover import ContrastCover
from milp_verix.searches.explain_search import explanation_of, resumption
from milp_verix.searches.minimum.bound_cases import read_cases
from milp_verix.searches.minimum.explainer import Explainer, features_in
from milp_verix.searches.minimum.incumbent import Adversary, Incumbent
from milp_verix.searches.minimum.proposals import Proposals
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.searches.minimum.separation import Separator
from milp_verix.searches.runner import AnytimeSearch
from verix_encodings.encoding import Constraint
from verix_encodings.work import worked

_QUICK = "first lower bound"
_FIRST, _BOUND = "first explanation", "lower bound"
_BETTER, _POINTS = "better explanations", "counterfactuals"
_ROUNDING = 1e-6  # of a lower bound, before it is rounded up to whole features


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What a lower bound rests on: inputs of the ball, and cases (:mod:`.bound_cases`).

    ``bound`` is the bound that an earlier search tells, infinite if it tells none.
    """

    scenarios: tuple[NDArray[np.floating], ...] = ()
    cases: tuple[str, ...] = ()
    bound: float = np.inf


class Master(Protocol):
    """A method that raises the lower bound step by step."""

    @property
    def bound(self) -> float:
        """A bound on the cost of explanations cheaper than the incumbent, infinite if none is."""

    @property
    def done(self) -> bool:
        """True if no further step can raise the bound, or none is needed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the reader of the result on how the bound came about."""

    @property
    def effort(self) -> SearchEffort:
        """The programs, nodes and iterations spent on the bound so far."""

    def kept(self) -> Callable[[], Ground]:
        """Return what tells what the bound so far rests on, at any later time."""

    def step(self, deadline: Deadline) -> None:
        """Do one step, which ends at ``deadline`` at the latest."""

    def close(self) -> None:
        """Release the solver."""


@dataclass(frozen=True, slots=True)
class MinimumProgress:
    """The size of the best explanation so far, and a proven lower bound on any explanation's size.

    Both are costs where features have costs. ``rounds`` counts the steps of the master.
    """

    size: float
    lower_bound: float
    rounds: int


class MinimumSearch(AnytimeSearch[MinimumProgress, Explanation]):
    """The state of a search: the incumbent, the lower bound, and the time that is left.

    A master works with ``incumbent``, ``separator`` and ``proposals``; ``master`` makes it once it
    is needed, and returns None if no bound is left to raise. ``lower_bound`` is proven, and
    ``ground`` is that of an earlier search, whose ``scenarios`` are moves, (d, N). The search
    ends at the deadline ``until``; the last seconds before the request's are for counterfactuals.
    """

    def __init__(
        self,
        oracle: Oracle,
        request: Request,
        objective: Objective,
        limits: SearchLimits,
        *,
        gap: float,
        at_most: float | None = None,
        name: str = "tree",
        master: Callable[["MinimumSearch"], Master | None],
    ) -> None:
        self._oracle, self._objective, self.limits = oracle, objective, limits
        self._request, self._master, self._at_most = request, master, at_most
        self.warm = request.search.warm
        self._began, left = worked(), max(request.deadline.seconds, 0.0)
        least, most = limits.final_seconds
        kept = min(max(limits.final_share * left, least), most)
        self.until = request.deadline
        if left < np.inf:
            self.until = self.until.sooner(min(kept, limits.most_final_share * left))
        self.perturbations = perturbation_set(oracle.problem)
        adversary = Adversary(self.perturbations, limits, self.until)
        self.incumbent = Incumbent(
            oracle,
            self.perturbations,
            objective,
            adversary,
            gap=gap,
            at_most=np.inf if at_most is None else at_most / objective.unit,
            check_limit=request.check_limit,
        )
        self.incumbent.on_change = self._improved
        self._trace: list[tuple[float, float, float]] = []
        self.proposals = Proposals(self.incumbent, limits, self.until)
        self.separator = Separator(self.incumbent, limits, self.until)
        self._explainer = Explainer(self.incumbent)
        self.lower_bound = 0.0
        self.ground = Ground()
        self._raising: Master | None = None
        self.scenarios = np.zeros((self.perturbations.centre.size, 0))
        self._earlier: Earlier | None = None
        self._of_earlier: tuple[str, ...] = ()
        self._advanced = False
        self._cover: ContrastCover | None = None
        self._shown: tuple[float, float] | None = None
        self._saved = self._rounds = 0
        self._notes: tuple[str, ...] = ()
        self._effort, self._by_scenarios = SearchEffort(name), name != "hitting sets"
        self._spent: dict[str, float] = {}

    @property
    def open(self) -> bool:
        """True while the bound is below the cutoff and there is time to raise it."""
        return self.lower_bound < self.incumbent.cutoff and not self.until.passed()

    def allow_must_not(self) -> None:
        """Prove that the features in ``must_not`` cannot change the prediction by themselves.

        Without this proof no explanation is known, not even a first incumbent. Raises
        ``InputError`` where they can change it, ``SolverError`` where the check is undecided.
        """
        must_not = self._objective.must_not
        if not must_not.any():
            return
        until = self.until.limited(self.incumbent.check_limit)
        alone = self._oracle.check(self.perturbations.free(~must_not), until)
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

    def go_on(self, earlier: Earlier) -> None:
        """Begin with what ``earlier`` found.

        Its explanation is the first incumbent once its claim is proven again
        (:func:`.resumption`). Its scenarios are points of the ball, and its cases cover all sets:
        they hold for all costs, and need no trust. The search bounds each case again before it
        splits another; a note tells a bound that it has not reached.
        """
        objective, incumbent, result = self._objective, self.incumbent, earlier.result
        read_cases(result.bound_cases, {})  # refused before any work
        sets = features_in(objective.must), features_in(objective.must_not)
        same = earlier if (result.must, result.must_not) == sets else None
        with self._stage(_FIRST):
            limit = incumbent.check_limit
            resumed = resumption(same, self._oracle, self.until, limit, result.must)
            if resumed.traversal is not None:
                incumbent.take_traversal(resumed.traversal)
            told = earlier.bound_for(objective.prices, *sets) / objective.unit
            self.ground = Ground(earlier.scenarios, result.bound_cases, told or np.inf)
            incumbent.adversary.remember_last(earlier.counterfactuals.values())
            if self._by_scenarios and earlier.scenarios:
                inputs = np.array([point.reshape(-1) for point in earlier.scenarios], np.float64)
                self.scenarios = (inputs - self.perturbations.centre).T
                incumbent.adversary.remember(self.scenarios)
        self._earlier, self._of_earlier = earlier, resumed.order.notes
        if resumed.traversal is not None:
            # a search that had scenarios had found a first explanation
            self._advanced = bool(earlier.scenarios)
            self._explainer.go_on(resumed.traversal, first=not self._advanced)

    def _search(self) -> None:
        """Find a first bound and a first explanation, and raise the bound until both meet."""
        self._raise(self._objective.cost(self._objective.must))
        try:
            with self._stage(_QUICK), suppress(OverflowError):
                self._bound_at_once()
            self._show(0)
            if self.open and not self._advanced:
                with self._stage(_FIRST):
                    until = self.until.share(self.limits.most_explanation_share)
                    self._explainer.first(until, self._between_checks)
                self._show(0)
            self.raise_bound()
        finally:
            if self._cover is not None:
                self._cover.close()

    def _bound_at_once(self) -> None:
        """Raise the bound by backward bounds, then by contrastive sets while these do better."""
        limits, incumbent = self.limits, self.incumbent
        until = self.until.share(limits.quick_share)
        deltas = incumbent.adversary.attack(self._objective.least)[0]
        if limits.uses("budget bound"):
            self._raise(
                budget_bound(
                    self.perturbations,
                    self._objective,
                    deltas,
                    least=self.lower_bound,
                    most=incumbent.cost,
                    tolerances=self._request.tolerances,
                    late=until.passed,
                )
            )
        if limits.uses("contrast cover") and self.open:
            self._cover = cover = ContrastCover(
                self._oracle.problem,
                self._objective,
                self.perturbations,
                incumbent.adversary,
                lambda: self._request.open_session(self._oracle.solver),
            )
            while self._cover_leads(limits.first_cover_seconds) and not cover.exhausted:
                self._raise(cover.step(until, self.lower_bound))
            if self._cover_leads() and cover.exhausted:
                self._check_candidate(cover, until)

    def _between_checks(self) -> None:
        """Add contrastive sets for a share of the work so far."""
        most = self.limits.cover_share * elapsed_work(self._began)
        while (cover := self._cover) and self._cover_leads(most) and not cover.exhausted:
            self._raise(cover.step(self.until.within(most), self.lower_bound))
        self._show(0)

    def _turn_of_cover(self) -> bool:
        """Take a turn beside a master, for a share of the work; False if it is the master's."""
        elapsed, cover = elapsed_work(self._began), self._cover
        if cover is None or not self._cover_leads(self.limits.master_cover_share * elapsed):
            return False
        deadline = self.until.within(elapsed)
        if cover.exhausted:
            self._check_candidate(cover, deadline)
        else:
            self._raise(cover.step(deadline, self.lower_bound))
        return True

    def _cover_leads(self, most: float = np.inf) -> bool:
        """Return whether contrastive sets lead the bound, and have done less work than ``most``."""
        cover = self._cover
        if cover is None or cover.ended or cover.work >= most or not self.open:
            return False
        return cover.bound >= self.lower_bound or not (cover.sets or cover.exhausted)

    def _check_candidate(self, cover: ContrastCover, deadline: Deadline) -> None:
        """Check the cheapest cover: a minimum explanation, or one more contrastive set."""
        started = worked()
        decision = self.incumbent.decide(cover.candidate, deadline)
        cover.work += elapsed_work(started)
        if decision.delta is not None:
            cover.refute(decision.delta, deadline)
        elif not decision.holds:
            cover.ended = deadline.work_at >= self.until.work_at
        self._raise(cover.bound)

    def first_scenarios(self) -> list[Constraint]:
        """Return scenarios to begin with; none if the features in ``must`` are an explanation."""
        return self.separator.separate(self._objective.least, 0)

    def raise_bound(self) -> None:
        """Let a master raise the bound until it reaches the cutoff, or time is up."""
        with self._stage(_BOUND):
            self._raising = raising = self._master(self) if self.open else None
            if raising is not None:
                try:
                    rounds = 0
                    while self.open and not raising.done:
                        if not self._turn_of_cover():
                            raising.step(self.until)
                        rounds += 1
                        self._raise(raising.bound)
                        self._show(rounds)
                finally:
                    self._raise(raising.bound)
                    self._notes, self._effort = raising.notes, raising.effort
                    self.ground, self._raising = raising.kept()(), None
                    raising.close()
        if self.lower_bound < self.incumbent.cutoff:
            self.until.require_time()

    def _raise(self, bound: float) -> None:
        self.lower_bound = max(self.lower_bound, min(bound, self.incumbent.cost))
        self._note()

    def _note(self) -> None:
        if not self._trace or self._trace[-1][1:] != self._costs:
            self._trace.append((self._request.elapsed, *self._costs))

    def _improved(self) -> None:
        self._note()
        self.save()

    def _state(self) -> MinimumProgress:
        return MinimumProgress(*self._costs, self._rounds)

    def _snapshot(self) -> Callable[[], Explanation]:
        order, traversal = self._explainer.snapshot()
        seconds, bound, kept = self._request.elapsed, self.lower_bound, self._kept()

        def build() -> Explanation:
            found = explanation_of(order, traversal, self._oracle, seconds)
            return self._completed(found, bound, kept())

        return build

    def _kept(self) -> Callable[[], Ground]:
        if self._raising is not None:
            return self._raising.kept()
        ground = self.ground
        return lambda: ground

    def result(self) -> Explanation:
        """Return the best explanation with its counterfactuals and the lower bound."""
        deadline = self._request.deadline
        if self.stopped == INTERRUPTED:
            deadline = deadline.limited(Limit(seconds=self.limits.interrupt_seconds))
        with self._stage(_POINTS):
            order, traversal = self._explainer.final(deadline)
        best = explanation_of(order, traversal, self._oracle, self._request.elapsed)
        best = replace(best, statistics=self._statistics(best.statistics))
        return self._completed(best, self.lower_bound, self.ground)

    def _completed(self, best: Explanation, bound: float, ground: Ground) -> Explanation:
        """Return an explanation with costs, notes, lower bound and what that rests on."""
        objective = self._objective
        bound *= objective.unit
        costs = None if objective.equal else tuple(map(_plain, objective.prices.tolist()))
        must, must_not = features_in(objective.must), features_in(objective.must_not)
        best = replace(best, costs=costs, must=must, must_not=must_not, at_most=self._at_most)
        bound = min(bound, best.cost)
        everything = objective.equal and not (objective.must.any() or objective.must_not.any())
        needed = max(best.needed, ceil(bound - _ROUNDING)) if everything else best.needed
        best = replace(best, lower_bound=_plain(bound), needed=needed)
        notes = best.notes + self._notes + self._of_earlier
        if (earlier := self._earlier) is not None:
            stored_bound = earlier.bound_for(objective.prices, must, must_not)
            note = note_on_bound(stored_bound, bound, best.cost, earlier.author)
            notes += () if note is None else (note,)
        # the checks may have left the same note
        notes = tuple(dict.fromkeys(notes))
        return replace(best, notes=notes, scenarios=ground.scenarios, bound_cases=ground.cases)

    def _statistics(self, checks: Statistics) -> Statistics:
        spent = {_QUICK: 0.0, _FIRST: 0.0, _BOUND: 0.0, **self._spent}
        # proposals run within the stage that raises the bound
        better = self.proposals.seconds
        spent |= {_BOUND: max(spent[_BOUND] - better, 0.0), _BETTER: better}
        spent[_POINTS] = spent.pop(_POINTS)
        rounds = max(self._effort.rounds, self.separator.rounds)
        search = replace(
            self._effort, rounds=rounds, stages=tuple(spent.items()), trace=tuple(self._trace)
        )
        return replace(checks, stopped=self.stopped or checks.stopped, search=search)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Add the seconds spent inside to the stage ``name``."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._spent[name] = self._spent.get(name, 0.0) + time.monotonic() - started

    @property
    def _costs(self) -> tuple[float, float]:
        """The best cost and the lower bound, as costs were given."""
        unit = self._objective.unit
        return _plain(self.incumbent.cost * unit), _plain(self.lower_bound * unit)

    def _show(self, rounds: int) -> None:
        """Report cost and bound if either has changed; save them, and new scenarios."""
        costs, scenarios = self._costs, self.separator.made
        if (costs, scenarios) != (self._shown, self._saved):
            self.save()
        if costs != self._shown:
            self._rounds = rounds
            self.show()
        self._shown, self._saved = costs, scenarios


def _plain(cost: float) -> float:
    """Return ``cost`` as an int if it is whole."""
    return int(cost) if cost == int(cost) else cost
