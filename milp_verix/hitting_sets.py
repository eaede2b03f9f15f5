"""The smallest explanation by implicit hitting sets: a second method beside scenarios.

    C ← ∅
    repeat   A ← a minimum hitting set of C       its size is a lower bound on every explanation
             if check(all but A) holds:           A is a minimum explanation
             C ← C ∪ {a minimal contrastive set without A}

(Ignatiev, Previti, Liffiton, Marques-Silva, *Smallest MUS extraction with minimal hitting set
dualization*, CP 2015.) Each round takes as many disjoint contrastive sets as there are: what they
leave over is an explanation, so that there is an incumbent at any time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.arguments import seconds_of
from milp_verix.ball import Domain
from milp_verix.errors import SolverError
from milp_verix.explain import explanation_of
from milp_verix.explanation import Explanation
from milp_verix.features import FeaturesLike
from milp_verix.minimum import MinimumProgress
from milp_verix.onnx_network import OnnxNetwork
from milp_verix.oracle import Oracle
from milp_verix.order import Order, make_order
from milp_verix.problem import make_problem
from milp_verix.solvers import Session, SolveStatus, Targets, open_session
from milp_verix.strategies import galloping
from milp_verix.subsets import SubsetOracle
from milp_verix.tolerances import Tolerances
from milp_verix.traversal import INTERRUPTED, TIME_LIMIT, Traversal, Walk, traverse
from verix_encodings.arrays import FloatArray
from verix_encodings.cover import Clause, cover_program

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a cover says: a cheapest set, None if none was found, and what none can be below.

    ``exhausted`` is the proof that no set is left; ``optimal`` says that none is cheaper.
    """

    chosen: frozenset[int] | None
    bound: float
    exhausted: bool
    optimal: bool


def propose(session: Session, costs: FloatArray, clauses: list[Clause], seconds: float) -> Proposal:
    """Return a set of features that satisfies ``clauses`` at the least cost, whole numbers."""
    cover = cover_program(costs, clauses)
    try:
        session.load(cover.program)
        result = session.minimise(cover.cost, Targets(seconds=seconds, whole=True))
    except SolverError:
        return Proposal(None, 0.0, exhausted=False, optimal=False)
    broken = result.status in (SolveStatus.FAILED, SolveStatus.INFEASIBLE)
    bound = 0.0 if broken else float(np.ceil(max(result.bound, 0.0) - _ROUNDING))
    if bound > float(np.sum(costs)):
        return Proposal(None, bound, exhausted=True, optimal=True)
    if broken or result.point is None or result.point[cover.surrendered] > 0.5:
        return Proposal(None, bound, exhausted=False, optimal=False)
    chosen = frozenset(np.flatnonzero(result.point[cover.chosen] > 0.5).tolist())
    optimal = float(np.sum(costs[sorted(chosen)])) <= bound
    return Proposal(chosen, bound, exhausted=False, optimal=optimal)


def minimum_by_hitting_sets(
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
    """Find an explanation with the fewest features by implicit hitting sets, with a proof.

    As :func:`milp_verix.minimum`, with its arguments, errors and result, and by other means: the
    two share the check alone, so each can refute the other. Scenarios are far faster on networks
    with more than a dozen features.
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
        search = _Search(oracle, deadline, check_seconds, started)
        search.start()
        name = "highs" if oracle.solver == "phase" else oracle.solver
        session = open_session(name, threads=threads, tolerances=tolerances)
        try:
            search.run(session, progress)
        finally:
            session.close()
        return search.result()


class _Search:
    """The best explanation, the bound, and the contrastive sets that they rest on."""

    def __init__(
        self, oracle: Oracle, deadline: float, check_seconds: float, started: float
    ) -> None:
        self._oracle = oracle
        self._subsets = SubsetOracle(oracle, deadline, check_seconds)
        self._check_seconds = check_seconds
        self._started = started
        self._costs = np.ones(oracle.problem.features.count)
        self._clauses: list[Clause] = []
        self._lower_bound = 0
        self._stopped: str | None = None
        self._best: Explanation

    def start(self) -> None:
        """Find a local explanation."""
        self._best = self._explained(make_order(self._oracle.problem, "influence"), [])
        self._stopped = self._best.statistics.stopped

    def run(self, session: Session, progress: Callable[[MinimumProgress], None] | None) -> None:
        """Alternate between cover and check until the bound meets the explanation."""
        rounds = 0
        try:
            while self._open() and self._round(session):
                rounds += 1
                if progress is not None:
                    progress(MinimumProgress(self._best.size, self._lower_bound, rounds))
        except KeyboardInterrupt:
            self._stopped = INTERRUPTED
        unproven = self._lower_bound < self._best.size
        if unproven and self._stopped is None and self._subsets.seconds <= 0:
            self._stopped = TIME_LIMIT

    def result(self) -> Explanation:
        """Return the best explanation with the bound."""
        seconds = time.monotonic() - self._started
        statistics = replace(self._best.statistics, seconds=seconds, stopped=self._stopped)
        lower_bound = min(self._lower_bound, self._best.size)
        return replace(self._best, lower_bound=lower_bound, statistics=statistics)

    def _open(self) -> bool:
        unproven = self._lower_bound < self._best.size
        return self._stopped is None and unproven and self._subsets.seconds > 0

    def _round(self, session: Session) -> bool:
        """Solve the cover and check its set; return whether there is more to do."""
        subsets = self._subsets
        proposal = propose(session, self._costs, self._clauses, subsets.seconds)
        if not proposal.exhausted:
            self._lower_bound = max(self._lower_bound, int(proposal.bound))
        if self._lower_bound >= self._best.size or proposal.chosen is None:
            return False
        free, learnt = subsets.everything - proposal.chosen, False
        verdict = subsets.check(free)
        while verdict.violated:
            smallest, _ = subsets.shrink(verdict)
            contrast = subsets.changed(smallest)
            self._clauses.append(Clause(any_of=contrast))
            learnt, free = True, free - contrast
            verdict = subsets.check(free)
        if verdict.holds and len(subsets.everything) - len(free) < self._best.size:
            irrelevant = sorted(free)
            order = (*irrelevant, *sorted(subsets.everything - free))
            smaller = self._explained(Order("hitting sets", order), irrelevant)
            # a traversal ends at Ctrl-C with what it has, and so does the search
            self._stopped = smaller.statistics.stopped
            if smaller.size < self._best.size:
                self._best = smaller
        return learnt

    def _explained(self, order: Order, irrelevant: list[int]) -> Explanation:
        """Return the explanation that Algorithm 1 finds in ``order``, with some proven freed."""
        traversal = Traversal(order.permutation, irrelevant=list(irrelevant))
        started = time.monotonic()
        seconds = self._check_seconds
        walk = Walk(self._oracle, traversal, self._subsets.deadline, seconds, lambda _: None)
        traverse(walk, galloping)
        seconds = time.monotonic() - started
        return explanation_of(self._oracle.problem, order, traversal, self._oracle, seconds)
