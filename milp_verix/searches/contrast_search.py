"""The cheapest contrastive explanation, with a proof: one program for each rival.

A greedy search gives an answer at once: climb a margin over the whole ball, rank the features by
what they add, bisect for the fewest that suffice, put back those not needed. Over an L∞ ball,
checks with a budget (:func:`.budgeted`) bisect for a first lower bound. Then a program for each
margin (``contrast_program``) looks for a cheaper one, and its dual bound proves that there is none.
A set that the program proposes counts only with a counterfactual that onnxruntime confirms. Where
the exact check refutes it instead (the program is a relaxation for smooth activations and for L2 by
tangents), the robust set found excludes it; where that check is UNKNOWN, the lower bound stays.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import SolverError
from milp_verix.oracle.attacks import climb
from milp_verix.oracle.ball_bounds import SmallerBalls, whole_ball
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import Effort, Verdict, replayed
from milp_verix.problem.objective import attainable
from milp_verix.problem.search import Request
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.searches.change_measure import EQUAL, ChangeMeasure, budgeted
from milp_verix.searches.runner import AnytimeSearch
from milp_verix.solvers import Session, SolveStatus, Targets
from verix_encodings import Bounds, crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.contrast_program import ContrastQuestion, contrast_program
from verix_encodings.safe_bounds import evaluation_error

_WIDE = 1e8
"""From about this range on, the rounding of float64 is beyond tolerances."""
_STEP = 1e-3  # above a whole cost: the bound that excludes it, whatever the rounding


@dataclass(frozen=True, slots=True)
class ContrastiveProgress:
    """The cost of the best contrast so far, None before the first, and the proven lower bound."""

    cost: float | None
    lower_bound: float
    rounds: int


def greedy_contrasts(subsets: SubsetOracle, rival: int, costs: FloatArray) -> Iterator[Verdict]:
    """Yield counterfactuals that raise margin ``rival`` by fewer and fewer features.

    A climb over the whole ball finds a point with a high margin. There the features are ranked by
    their share in the margin for their cost; bisection looks for the shortest beginning of that
    ranking with which a climb still changes the prediction. It ends at the deadline of ``subsets``.
    """
    problem, start = subsets.problem, subsets.centre
    region = problem.ball.region(problem.features.coordinates(sorted(subsets.everything)))
    top = climb(subsets.margins, region, start, rival, subsets.late)
    ranked = subsets.ranked(top, rival, costs)[::-1]
    low, high = 1, len(ranked)
    while low <= high and not subsets.late():
        middle = (low + high) // 2
        free = problem.features.coordinates(ranked[:middle])
        point = climb(subsets.margins, problem.ball.region(free), start, rival, subsets.late)
        found = replayed(problem, point, free)
        if found is None:
            low = middle + 1
        else:
            yield subsets.learn(found)
            high = middle - 1


@dataclass(eq=False)
class ContrastSearch(AnytimeSearch[ContrastiveProgress, ContrastiveExplanation]):
    """The best contrast, the bound proven for each rival, and the reasons why a proof is missing.

    ``measure`` is minimised; ``costs`` are those of the features, by which greedy contrasts rank
    them, and count in ``unit``. ``result_of`` makes a result of the search as it is.
    """

    subsets: SubsetOracle
    session: Session
    request: Request
    measure: ChangeMeasure
    costs: FloatArray
    unit: float
    result_of: Callable[["ContrastSearch"], ContrastiveExplanation]

    def __post_init__(self) -> None:
        subsets, measure = self.subsets, self.measure
        self.best: Verdict | None = None
        self.robust = False
        self.unknown_reason: str | None = None
        self.effort = Effort()
        self._whole = measure.whole
        self._bounds: dict[int, float] = {}
        self._bounded: tuple[float, Bounds] | None = None
        self._needed = np.full(subsets.margins.output_size, np.inf)
        # without amounts, the units of the measure are the features
        self._explanations = [subsets.everything] if measure.choice.all() else []
        self._rounds = 0
        self._everything = np.arange(subsets.centre.size)
        self._region = subsets.problem.ball.region(self._everything)
        self._points: list[FloatArray] = []
        # deeper bounds over a larger budget serve smaller ones
        self._budgets = SmallerBalls.of(subsets.problem, self.request.search)

    @property
    def lower_bound(self) -> float:
        """A proven lower bound: no contrast costs less."""
        # the input itself is no counterfactual, so that something must change
        least = self.measure.least
        proven = min(self._bounds.values(), default=least)
        most = self.measure.total if self.best is None else self._cost(self.best)
        return min(max(least, proven), most)

    @property
    def proven(self) -> bool:
        """True if it is proven that no contrast is cheaper than the best, or that there is none."""
        if self.robust or self.best is None:
            return self.robust
        return self.lower_bound >= self._cost(self.best) * (1 - self.measure.gap)

    def _state(self) -> ContrastiveProgress:
        cost = None if self.best is None else self._cost(self.best) * self.unit
        return ContrastiveProgress(cost, self.lower_bound * self.unit, self._rounds)

    def _snapshot(self) -> Callable[[], ContrastiveExplanation]:
        found = self.result_of(self)
        return lambda: found

    def _search(self) -> None:
        """Search until every rival's bound meets the best contrast, or there is nothing to find."""
        subsets = self.subsets
        rivals = self._rivals()
        for rival in rivals:
            if subsets.late():
                break
            for verdict in greedy_contrasts(subsets, rival, self.costs):
                self.offer(verdict)
        if self.best is None and not self._exists():
            return
        # first: where checks are hard, the improvement takes all the time
        self._bisect()
        if self.best is not None:
            self._improve(self.best)
        share = subsets.deadline.left / 2 / max(len(rivals), 1)
        # all rivals for a while, then the time that is left for those that are not settled
        for most in (share, np.inf):
            for rival in sorted(rivals, key=self._bounds.__getitem__):
                more, until = True, subsets.deadline.within(most)
                while more and self._open(rival) and not until.passed():
                    more = self._round(rival, until)
                    self._report()
        if self.best is None:
            # each program has proven that it must give up
            self.robust = min(self._bounds.values(), default=0.0) > self.measure.total
        if not self.proven:
            subsets.deadline.require_time()

    def _report(self) -> None:
        self._rounds += 1
        self.tell()

    def _cost(self, verdict: Verdict) -> float:
        return self.measure.cost(verdict.point)

    def _rivals(self) -> list[int]:
        """Return the margins that bounds over the ball do not keep below zero, all without any."""
        subsets = self.subsets
        rivals = [*range(subsets.margins.output_size)]
        try:
            whole = subsets.oracle.prepare(subsets.deadline)
            bounds = (whole or whole_ball(subsets.problem, subsets.deadline)).bounds
            self._needed = self._decisive(bounds)
            rivals = np.flatnonzero(bounds[-1].upper >= -self._needed).tolist()
        except OverflowError as error:
            self._doubt(str(error))
        self._bounds = dict.fromkeys(rivals, self.measure.least)
        return rivals

    def _decisive(self, bounds: Bounds) -> FloatArray:
        """Return the least distances from zero that count: solvers compute in float64, too."""
        error = evaluation_error(self.subsets.margins, bounds)
        return np.maximum(error, self.request.search.tolerances.needed(bounds[-1].magnitude))

    def _bisect(self) -> None:
        """Raise the lower bound by bisecting the cost, with checks over knapsack balls."""
        subsets = self.subsets
        if self.best is None or subsets.problem.ball.norm != "linf":
            return
        low, high = self.lower_bound, self._cost(self.best)
        step = 1.0 if self._whole else high * 1e-2
        while high - low >= step and not subsets.late():
            middle = (low + high) / 2
            middle = float(np.floor(middle)) if self._whole else middle
            # what bisection does not decide is left to the programs
            until = subsets.deadline.limited(self.request.check_limit).share(1 / 4)
            verdict = self._within(middle, until)
            if verdict.violated:
                self.offer(subsets.learn(verdict))
            if verdict.holds:
                low = middle + 1.0 if self._whole else middle
                for rival, bound in self._bounds.items():
                    self._bounds[rival] = max(bound, low)
            else:
                high = middle
            high = min(high, self._cost(self.best))
            self._report()

    def _improve(self, best: Verdict) -> None:
        """Look for a cheaper contrast near the ``best`` that greedy search found."""
        self.offer(self.subsets.shrink(best)[0])

    def _exists(self) -> bool:
        """Return whether a change of all features may change the prediction; keep it."""
        verdict = self.subsets.check(self.subsets.everything)
        if verdict.violated:
            self.offer(verdict)
        elif verdict.holds:
            self.robust = True
        else:
            self._doubt(verdict.reason or "unknown")
        return not verdict.holds

    def _open(self, rival: int) -> bool:
        if self.subsets.late() or self.proven:
            return False
        enough = 1 - self.measure.gap
        return self.best is None or self._bounds[rival] < self._cost(self.best) * enough

    def _round(self, rival: int, deadline: Deadline) -> bool:
        """Solve the program of a rival and judge its set; return whether to solve it again."""
        # a little more than everything costs, so that a proof says that there is no contrast
        limit, target = self.measure.total * (1.0 if self._whole else 1 + EQUAL), np.inf
        if self.best is not None:
            limit = self._cost(self.best) - (1.0 if self._whole else 0.0)
            target = limit + _STEP if self._whole else limit * (1 - self.measure.gap / 2)
        # what costs more than the limit is not looked at
        beyond = limit + 1.0 if self._whole else limit
        contrast = self._contrast(rival, limit)
        if contrast is None:
            self._bounds[rival] = beyond
            return False
        ball = self.subsets.problem.ball.encoding(self._region, points=self._points)
        program, session = contrast_program(contrast, ball, self._explanations), self.session
        if deadline.passed():
            return False
        targets = Targets(holds_above=target, whole=self._whole).until(deadline)
        try:
            session.load(program.program)
            result = session.minimise(program.cost, targets)
        except SolverError as error:
            self._doubt(f"{session.name} failed: {error}")
            return False
        self.effort += Effort(solves=1, nodes=result.nodes or 0, iterations=result.iterations or 0)
        broken = result.status in (SolveStatus.FAILED, SolveStatus.INFEASIBLE)
        if broken or not np.isfinite(result.bound):
            detail = result.detail or result.status.value
            if result.status is SolveStatus.INFEASIBLE:
                detail = "it calls a program infeasible that has a solution, for numerical trouble"
            self._doubt(f"{session.name}: {detail}{self._rounded}")
        elif program.program.largest_big_m > session.largest_big_m:
            self._doubt(f"a big-M is beyond what proofs by {session.name} are trusted with")
        else:
            loose = result.bound if self._whole else result.bound * (1 - 1e-9) - 1e-9
            proven = min(attainable(loose, whole=self._whole), beyond)
            self._bounds[rival] = max(self._bounds[rival], proven)
        if result.point is None or result.point[program.surrendered] > 0.5:
            return False
        chosen = frozenset(np.flatnonzero(result.point[program.moved] > 0.5).tolist())
        return not broken and self._judge(chosen, program.input.at(result.point))

    def _contrast(self, rival: int, limit: float) -> ContrastQuestion | None:
        """Return the question about a rival and sets within ``limit``; None if bounds decide it."""
        subsets = self.subsets
        if self._bounded is None or self._bounded[0] != limit:
            region = self._region
            if subsets.problem.ball.norm == "linf":
                within = budgeted(subsets.problem, self.measure, limit)
                region = within.ball.region(self._everything)
            bounds = crown_bounds(subsets.margins, region, late=subsets.late)
            self._bounded, self._needed = (limit, bounds), self._decisive(bounds)
        bounds, needed = self._bounded[1], float(self._needed[rival])
        if bounds[-1].upper[rival] < -needed:
            return None
        return ContrastQuestion(subsets.margins, bounds, self.measure, limit, rival, needed)

    def _within(self, cost: float, deadline: Deadline) -> Verdict:
        """Return the verdict on all changes of that cost: a check over their knapsack ball."""
        within = budgeted(self.subsets.problem, self.measure, cost)
        with Oracle(within, replace(self.request.search, reuse=False), self._budgets) as oracle:
            verdict = oracle.check(self._everything, deadline)
        self.effort += verdict.effort
        return verdict

    def _judge(self, chosen: frozenset[int], point: FloatArray) -> bool:
        """Make a counterfactual of a proposal; return whether the program has changed."""
        subsets = self.subsets
        free = subsets.problem.features.coordinates(sorted(chosen))
        found = replayed(subsets.problem, point, free)
        verdict = subsets.check(chosen) if found is None else subsets.learn(found)
        if verdict.violated:
            self.offer(verdict)
            return False
        if not verdict.holds:
            self._doubt(verdict.reason or "unknown")
            return False
        if subsets.problem.ball.norm == "l2":
            self._points.append(point)
        # as large a robust set as there is excludes the most
        robust, _ = subsets.grow(chosen, sorted(subsets.everything - chosen))
        self._explanations.append(subsets.everything - robust)
        return True

    @property
    def _rounded(self) -> str:
        """What may be rounded over the ranges of the features, and what to do; "" if too little."""
        box = self._region.box
        if not (self._bounded and np.max(box.upper - box.lower) > _WIDE):
            return ""
        return (
            f"; over ranges as wide as {np.max(box.upper - box.lower):.3g} a margin may be rounded "
            f"by {np.max(self._needed):.2g}: give wide features in larger units, or narrower ranges"
        )

    def _doubt(self, reason: str) -> None:
        self.unknown_reason = self.unknown_reason or reason

    def offer(self, verdict: Verdict) -> None:
        """Take the contrast of a violated claim if it is cheaper than the best one."""
        if verdict.violated and (self.best is None or self._cost(verdict) < self._cost(self.best)):
            self.best = verdict
            self.tell()
