"""The search for a minimum explanation: one state, and the steps that a master takes on it.

Contrastive sets take turns with the master as long as they lead the bound. There is a traversal
before the search, and one after it.

The first explanation is locally minimal, by the loop of :mod:`~milp_verix.searches.explain_search`
in the order ``adaptive``. It is the incumbent until the search finds a cheaper set. At the end a
last traversal frees further features of that set, if possible, and finds a counterfactual for each
feature that stays.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline, Limit, OutOfTimeError, elapsed_work
from milp_verix.base.errors import InputError, SolverError
from milp_verix.oracle.attacks import perturbation_set
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import INTERRUPTED, SearchEffort, Statistics, Verdict
from milp_verix.problem.objective import Objective
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Request
from milp_verix.results.earlier import Earlier, note_on_bound
from milp_verix.results.explanation import Explanation
from milp_verix.searches.budget_bound import ContrastCover, budget_bound
from milp_verix.searches.explain_search import explanation_of, resumption
from milp_verix.searches.minimum.bound_cases import read_cases
from milp_verix.searches.minimum.incumbent import Adversary, Incumbent, Separator
from milp_verix.searches.minimum.proposals import Proposals
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.searches.order import Order, adaptive
from milp_verix.searches.runner import AnytimeSearch, stopping
from milp_verix.searches.strategies import Traversal, Walk, galloping, traverse
from verix_encodings.arrays import FloatArray
from verix_encodings.encoding import Constraint
from verix_encodings.work import worked


def points_of(
    problem: ProblemData, deltas: Iterable[FloatArray]
) -> tuple[NDArray[np.floating], ...]:
    """Return the inputs of the network that perturbations lead to, rounded into the ball."""
    everything, centre = np.arange(problem.x.size), problem.x.astype(np.float64)
    shape = problem.network.input_shape
    return tuple(
        problem.ball.nearest_witness(centre + delta, everything).reshape(shape) for delta in deltas
    )


def features_in(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the features that a mask marks, ascending."""
    return tuple(np.flatnonzero(mask).tolist())


_FREE = 1e-9  # the cost by which a feature that costs nothing is ranked
_REQUIRED = "it must be in the explanation, as asked"


class Explainer:
    """Turns the incumbent into an explanation with counterfactuals, at any time of a search."""

    def __init__(self, incumbent: Incumbent) -> None:
        self._incumbent = incumbent
        # the first traversal while it runs, and its counterfactuals once it has ended
        self._traversal: Traversal | None = None
        self._known: list[Verdict] = []

    def go_on(self, traversal: Traversal, *, first: bool) -> None:
        """Know the counterfactuals of an earlier traversal; the ``first`` one goes on."""
        self._known = [*traversal.violated.values()]
        self._traversal = traversal if first else None

    def first(self, deadline: Deadline, on_check: Callable[[], None] = lambda: None) -> None:
        """Make a locally minimal explanation in the order ``adaptive`` the incumbent."""
        incumbent, until = self._incumbent, deadline
        oracle, adversary = incumbent.oracle, incumbent.adversary
        self._traversal = traversal = self._traversal or self._ranked(until)
        limit, changed = incumbent.check_limit, incumbent.on_change
        walk = Walk(oracle, traversal, until, limit, changed, on_activity=on_check)
        try:
            with suppress(OutOfTimeError):
                traverse(walk, galloping)
        finally:  # at Ctrl-C, too
            self._traversal, self._known = None, [*traversal.violated.values()]
            incumbent.take_traversal(traversal)
        if until.passed():
            return
        adversary.remember_last(traversal.violated.values())
        adversary.remember(adversary.attack(incumbent.selection)[0])

    def _ranked(self, until: Deadline) -> Traversal:
        """Return a traversal that has decided nothing, in the order ``adaptive``."""
        oracle, objective = self._incumbent.oracle, self._incumbent.objective
        # if the empty set is an explanation, every order finds it: no need to rank
        rank = np.ones(objective.costs.size)
        whole = oracle.prepare(until)
        if not oracle.proven:
            with suppress(OverflowError, OutOfTimeError):
                rank = adaptive(oracle.problem, until, whole)
        rank = rank / np.maximum(objective.costs, _FREE)
        rank[objective.must_not] = -np.inf
        order = np.argsort(rank, kind="stable")
        oracle.forget(until)
        return Traversal(tuple(order[~objective.must[order]].tolist()))

    def final(self, deadline: Deadline) -> tuple[Order, Traversal]:
        """Free further features of the incumbent; find a counterfactual for each feature left."""
        incumbent = self._incumbent
        dearest_first = np.argsort(-incumbent.objective.costs, kind="stable")
        traversal = incumbent.traversal or self._started(dearest_first)
        with stopping(traversal):
            try:
                if incumbent.traversal is None:
                    self._free(traversal, deadline)
            finally:
                traversal.undecided |= dict.fromkeys(self._must, _REQUIRED)
            self._require(traversal, deadline)
        return self._order(traversal), traversal

    def snapshot(self) -> tuple[Order, Traversal]:
        """Return the incumbent without any check; features without a counterfactual are unknown."""
        must_not = self._incumbent.objective.must_not
        traversal = self._incumbent.traversal or self._traversal or self._untried()
        if must_not[list({*traversal.order} - {*traversal.irrelevant})].any():
            # the traversal has not yet freed all features in must_not
            traversal = self._untried()
        now = traversal.copy()
        now.undecided |= dict.fromkeys(self._must, _REQUIRED)
        return self._order(now), now

    @property
    def _must(self) -> tuple[int, ...]:
        return features_in(self._incumbent.objective.must)

    def _order(self, traversal: Traversal) -> Order:
        return Order("minimum", traversal.order + self._must)

    def _untried(self) -> Traversal:
        """Return the incumbent with known counterfactuals that move one of its features only."""
        incumbent = self._incumbent
        traversal = self._started(np.arange(incumbent.chosen.size))
        for verdict in self._known:
            changed = verdict.point != incumbent.oracle.problem.x
            moved = np.unique(incumbent.perturbations.feature_of[changed])
            needed = moved[incumbent.chosen[moved]]
            if needed.size == 1 and not incumbent.objective.must[needed[0]]:
                traversal.violated[int(needed[0])] = verdict
        return traversal

    def _started(self, order: np.ndarray) -> Traversal:
        """Return a traversal of the incumbent's features, in ``order``, all others freed."""
        chosen, must = self._incumbent.chosen, self._incumbent.objective.must
        irrelevant = np.flatnonzero(~chosen).tolist()
        return Traversal((*irrelevant, *order[(chosen & ~must)[order]].tolist()), list(irrelevant))

    def _free(self, traversal: Traversal, deadline: Deadline) -> None:
        """Try to free the features that the ``traversal`` has left."""
        deadline.require_time()
        incumbent = self._incumbent
        oracle, p, adversary = incumbent.oracle, incumbent.perturbations, incumbent.adversary
        walk = Walk(oracle, traversal, deadline, incumbent.check_limit)
        # for most features, a known worst point is a counterfactual once that feature moves too
        weight = p.weight(incumbent.chosen)
        attacks = adversary.attack(incumbent.selection)[0]
        deltas = np.concatenate([adversary.known, attacks], axis=1)
        inputs = p.centre[:, None] + weight[:, None] * deltas
        oracle.suppose(p.free(incumbent.chosen), inputs, deadline)
        traverse(walk, _points_first)

    def _require(self, traversal: Traversal, deadline: Deadline) -> None:
        """Find counterfactuals for the features in ``must``, if these exist."""
        oracle = self._incumbent.oracle
        for feature in self._must:
            deadline.require_time()
            free = oracle.problem.features.coordinates([*traversal.irrelevant, feature])
            verdict = oracle.check(free, deadline.limited(self._incumbent.check_limit))
            if verdict.violated:
                del traversal.undecided[feature]
                traversal.violated[feature] = verdict


def _points_first(walk: Walk) -> None:
    """Take the counterfactuals among known points, which cost no check; then gallop."""
    walk.settle_flips()
    galloping(walk)


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
    ``scenarios``, (d, N), are those of an earlier search, whose ``ground`` they are. The search
    ends at the deadline
    ``until``; the last seconds before the request's are for counterfactuals.
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

        Its explanation is the first incumbent once its claim is proven again (:func:`.resumption`).
        Its scenarios are points of the ball, and its cases cover all sets: they hold for all costs,
        and need no trust. The search bounds each case again before it splits another; a note tells
        a bound that it has not reached.
        """
        objective, incumbent, result = self._objective, self.incumbent, earlier.result
        read_cases(result.bound_cases, {})  # refused before any work
        sets = features_in(objective.must), features_in(objective.must_not)
        same = earlier if (result.must, result.must_not) == sets else None
        with self._stage(_FIRST):
            limit = incumbent.check_limit
            traversal, order = resumption(same, self._oracle, self.until, limit, result.must)
            if traversal is not None:
                incumbent.take_traversal(traversal)
            told = earlier.bound_for(objective.prices, *sets) / objective.unit
            self.ground = Ground(earlier.scenarios, result.bound_cases, told or np.inf)
            incumbent.adversary.remember_last(earlier.counterfactuals.values())
            if self._by_scenarios and earlier.scenarios:
                inputs = np.array([point.reshape(-1) for point in earlier.scenarios], np.float64)
                self.scenarios = (inputs - self.perturbations.centre).T
                incumbent.adversary.remember(self.scenarios)
        self._earlier, self._of_earlier = earlier, order.notes
        if traversal is not None:
            # a search that had scenarios had found a first explanation
            self._advanced = bool(earlier.scenarios)
            self._explainer.go_on(traversal, first=not self._advanced)

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
                    tolerances=self._request.search.tolerances,
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
        costs, scenarios = self._costs, len(self.separator.known)
        if (costs, scenarios) != (self._shown, self._saved):
            self.save()
        if costs != self._shown:
            self._rounds = rounds
            self.show()
        self._shown, self._saved = costs, scenarios


def _plain(cost: float) -> float:
    """Return ``cost`` as an int if it is whole."""
    return int(cost) if cost == int(cost) else cost
