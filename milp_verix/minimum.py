"""The smallest explanation there is, with a proof: scenario generation.

A relaxation that knows some perturbations only (:mod:`verix_encodings.scenario`) gives a lower
bound on the size of every explanation, and the smallest set of features that survives them. If
that set survives all perturbations it is a minimum explanation; if not, the counterfactual that
the check finds is the next scenario. This is column-and-constraint generation for the two-stage
problem "the fewest features, such that for all perturbations …".

At any time the best explanation found and the bound are both sound.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.arguments import seconds_of
from milp_verix.ball import Domain
from milp_verix.explain import explanation_of
from milp_verix.explanation import Explanation
from milp_verix.features import FeaturesLike
from milp_verix.onnx_network import OnnxNetwork
from milp_verix.oracle import Oracle
from milp_verix.order import Order, make_order
from milp_verix.problem import Problem, make_problem
from milp_verix.solvers import Session, SolveStatus, Targets, open_session
from milp_verix.tolerances import Tolerances
from milp_verix.traversal import INTERRUPTED, TIME_LIMIT, Traversal, traverse
from verix_encodings import Interval, crown_bounds, interval_bounds, slope_bounds
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.scenario import scenario_program

_ROUNDING = 1e-6
_STEP = 1e-3


@dataclass(frozen=True, slots=True)
class MinimumProgress:
    """The size of the best explanation so far, and the size that none can be below."""

    size: int
    lower_bound: int
    rounds: int


def minimum(
    network: OnnxNetwork | str | PathLike[str],
    x: ArrayLike,
    *,
    epsilon: float,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = (0.0, 1.0),
    features: FeaturesLike = None,
    label: int | None = None,
    output: int | None = None,
    solver: str = "auto",
    time_limit: float | None = None,
    check_time_limit: float | None = 300.0,
    threads: int = 1,
    tolerances: Tolerances | None = None,
    progress: Callable[[MinimumProgress], None] | None = None,
) -> Explanation:
    """Find an explanation with the fewest features, and prove that none has fewer.

    Starts from the local explanation in the order ``"influence"``, so there is always an answer:
    Ctrl-C and the time limit return the best explanation so far with its proven ``lower_bound``;
    ``proven`` says whether the two meet. It is locally minimal too, with a counterfactual for each
    feature, as far as time allowed.

    Arguments and errors are those of :func:`milp_verix.explain`; ``progress`` is called after each
    round.
    """
    started = time.monotonic()
    deadline = started + seconds_of(time_limit, "time_limit")
    check_seconds = seconds_of(check_time_limit, "check_time_limit")
    problem = make_problem(
        network,
        x,
        epsilon=epsilon,
        norm=norm,
        delta=delta,
        domain=domain,
        features=features,
        label=label,
        output=output,
    )
    tolerances = tolerances or Tolerances()
    with Oracle(problem, solver, threads=threads, tolerances=tolerances) as oracle:
        search = _Search(problem, oracle, deadline, check_seconds, started)
        search.start()
        name = "highs" if oracle.solver == "phase" else oracle.solver
        session = open_session(name, threads=threads, tolerances=tolerances)
        try:
            search.run(session, progress)
        finally:
            session.close()
    return search.result()


class _Search:
    """The best explanation, the bound, and the scenarios that they rest on."""

    def __init__(
        self,
        problem: Problem,
        oracle: Oracle,
        deadline: float,
        check_seconds: float,
        started: float,
    ) -> None:
        self._problem = problem
        self._oracle = oracle
        self._deadline = deadline
        self._check_seconds = check_seconds
        self._started = started
        self._margins = problem.question.margins(problem.network.ir)
        self._centre = problem.x.astype(np.float64)
        self._feature_of = np.zeros(self._centre.size, dtype=np.intp)
        for feature, group in enumerate(problem.features.groups):
            self._feature_of[group] = feature
        self._scenarios: list[FloatArray] = []
        self._lower_bound = 0
        self._stopped: str | None = None
        self._best: Explanation

    def start(self) -> None:
        """Find a local explanation, and a scenario in each of its last counterfactuals."""
        self._best = self._explained(make_order(self._problem, "influence"), [])
        self._stopped = self._best.statistics.stopped
        whole = np.ones(self._centre.size, dtype=bool)
        verdict = self._oracle.check(np.flatnonzero(whole), self._seconds())
        if verdict.witness is not None:
            self._add(verdict.witness.reshape(-1).astype(np.float64), whole)

    def run(self, session: Session, progress: Callable[[MinimumProgress], None] | None) -> None:
        """Alternate between relaxation and check until the bound meets the explanation."""
        rounds = 0
        try:
            while self._open() and self._round(session):
                rounds += 1
                if progress is not None:
                    progress(MinimumProgress(self._best.size, self._lower_bound, rounds))
        except KeyboardInterrupt:
            self._stopped = INTERRUPTED
        unproven = self._lower_bound < self._best.size
        if unproven and self._stopped is None and self._seconds() <= 0:
            self._stopped = TIME_LIMIT

    def result(self) -> Explanation:
        """Return the best explanation with the bound."""
        seconds = time.monotonic() - self._started
        statistics = replace(self._best.statistics, seconds=seconds, stopped=self._stopped)
        lower_bound = min(self._lower_bound, self._best.size)
        return replace(self._best, lower_bound=lower_bound, statistics=statistics)

    def _open(self) -> bool:
        return bool(
            self._stopped is None
            and self._scenarios
            and self._lower_bound < self._best.size
            and self._seconds() > 0
        )

    def _round(self, session: Session) -> bool:
        """Solve the relaxation and check its set; return whether there is more to do."""
        chosen, finished = self._relaxed(session)
        if self._lower_bound >= self._best.size or chosen is None:
            return False
        free = ~chosen[self._feature_of]
        verdict = self._oracle.check(
            np.flatnonzero(free), min(self._seconds(), self._check_seconds)
        )
        if verdict.holds:
            irrelevant = np.flatnonzero(~chosen).tolist()
            order = Order("minimum", (*irrelevant, *np.flatnonzero(chosen).tolist()))
            smaller = self._explained(order, irrelevant)
            if smaller.size < self._best.size:
                self._best = smaller
            return finished
        if verdict.witness is None:
            return False
        self._add(verdict.witness.reshape(-1).astype(np.float64), free)
        return True

    def _relaxed(self, session: Session) -> tuple[BoolArray | None, bool]:
        """Raise the bound by the relaxation; return its set of features, and whether it is done."""
        program, columns = scenario_program(
            self._margins, self._centre, self._feature_of, self._scenarios, crown_bounds
        )
        session.load(program)
        cost = np.zeros(program.columns)
        cost[columns] = 1.0
        # sizes are whole, so a bound anywhere above the next smaller one will do
        enough = self._best.size - 1 + _STEP
        targets = Targets(seconds=self._seconds(), holds_above=enough, whole=True)
        result = session.minimise(cost, targets)
        broken = result.status in (SolveStatus.FAILED, SolveStatus.INFEASIBLE)
        trusted = program.largest_big_m <= session.largest_big_m
        if np.isfinite(result.bound) and not broken and trusted:
            proven = int(np.ceil(result.bound - _ROUNDING))
            self._lower_bound = max(self._lower_bound, proven)
        if result.point is None:
            return None, False
        return result.point[columns] > 0.5, result.status is SolveStatus.OPTIMAL

    def _explained(self, order: Order, irrelevant: list[int]) -> Explanation:
        """Return the explanation that Algorithm 1 finds in ``order``, with some proven freed."""
        traversal = Traversal(order.permutation, irrelevant=list(irrelevant))
        started = time.monotonic()
        traverse(
            self._oracle,
            traversal,
            deadline=self._deadline,
            check_seconds=self._check_seconds,
            on_step=lambda _: None,
        )
        seconds = time.monotonic() - started
        return explanation_of(self._problem, order, traversal, self._oracle, seconds)

    def _add(self, point: FloatArray, free: BoolArray) -> None:
        """Add the scenario of a counterfactual on the coordinates ``free``, made worse elsewhere.

        Over L∞ the other coordinates go to the corner that raises the worst margin the most at the
        point: every point of the ball is a scenario, and a bad one cuts off more sets.
        """
        scenario = point.copy()
        if self._problem.ball.norm == "linf":
            worst = int(np.argmax(self._margins.evaluate(point)))
            at_point = interval_bounds(self._margins, Interval(point, point))
            lower, upper = slope_bounds(self._margins, at_point)
            outer = self._problem.ball.outer
            corner = np.where(lower[worst] + upper[worst] > 0, outer.upper, outer.lower)
            scenario[~free] = corner[~free]
        self._scenarios.append(scenario - self._centre)

    def _seconds(self) -> float:
        return self._deadline - time.monotonic()
