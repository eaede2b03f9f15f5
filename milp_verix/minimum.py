"""The smallest explanation there is, with a proof: scenario generation.

A relaxation that knows some perturbations only (:mod:`verix_encodings.scenario`) gives a lower
bound on the cost of every explanation, and the cheapest set of features that survives them. If
that set survives all perturbations it is a minimum explanation; if not, a perturbation that it does
not survive is the next scenario. This is column-and-constraint generation for the two-stage
problem "the fewest features, such that for all perturbations …".

Implicit hitting sets (:mod:`~milp_verix.hitting_sets`) are a second method, to check the first one
by: the two share checks of sets and the explanation to start from, and no bound.

At any time the best explanation found and the bound are both sound.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Protocol

from numpy.typing import ArrayLike

from milp_verix.arguments import seconds_of
from milp_verix.ball import Domain
from milp_verix.errors import InputError, SolverError
from milp_verix.explanation import Explanation
from milp_verix.features import FeaturesLike
from milp_verix.hitting_sets import HittingSets
from milp_verix.incumbent import Incumbent
from milp_verix.interchangeable import interchangeable
from milp_verix.onnx_network import OnnxNetwork
from milp_verix.oracle import Oracle
from milp_verix.perturbations import Perturbations, perturbations_of
from milp_verix.problem import Problem, make_problem
from milp_verix.program_master import ProgramMaster
from milp_verix.scenario_choice import ScenarioChoice
from milp_verix.scenario_relaxation import Relaxation
from milp_verix.scenario_tree import ScenarioTree
from milp_verix.solvers import Session, highs, open_session
from milp_verix.solvers.live_lp import LiveLp
from milp_verix.subsets import SubsetOracle
from milp_verix.tolerances import Tolerances
from milp_verix.traversal import INTERRUPTED, TIME_LIMIT
from milp_verix.wishes import Wishes, make_wishes
from verix_encodings.scenario import Part

METHODS = ("scenarios", "hitting_sets")
MASTERS = ("auto", "tree", "program")
_RESERVED = 0.05
_LEAST_RESERVED = 1.0
_MOST_RESERVED = 5.0
_MOST_SHARE = 0.25
_PATIENCE = 1.0
_ON_HIGHS = ("auto", "highs", "phase")


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

    def step(self, deadline: float) -> None:
        """Go on, until ``deadline`` at most."""

    def close(self) -> None:
        """Release the solver."""


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
    costs: ArrayLike | None = None,
    must: Sequence[int] = (),
    must_not: Sequence[int] = (),
    gap: float = 0.0,
    solver: str = "auto",
    method: str = "scenarios",
    master: str = "auto",
    time_limit: float | None = None,
    check_time_limit: float | None = 300.0,
    threads: int = 1,
    tolerances: Tolerances | None = None,
    progress: Callable[[MinimumProgress], None] | None = None,
) -> Explanation:
    """Find an explanation with the fewest features, and prove that none has fewer.

    There is always an answer: Ctrl-C and the time limit return the best explanation so far with its
    proven ``lower_bound``; ``proven`` says whether the two meet. It is locally minimal too, with a
    counterfactual for each feature, as far as time allowed.

    Arguments and errors are those of :func:`milp_verix.explain`, and

    Args:
        costs: a finite number of at least zero for each feature, 1 each by default: the explanation
            with the least sum is found. Proofs are faster where all are whole.
        must: features that the explanation shall hold. One that could be left out is listed in
            ``unknown``.
        must_not: features that it shall not hold; ``InputError`` where the prediction can change by
            these alone.
        gap: stop once ``(cost − lower bound) / cost`` is at most this.
        method: ``"scenarios"``, or ``"hitting_sets"``, which checks it by other means: far slower
            on networks with more than a dozen features.
        master: for scenarios, ``"tree"`` searches the relaxation by branch and bound over phases
            and features on one live linear program of HiGHS, ``"program"`` gives it to ``solver``
            as a mixed-integer program; ``"auto"`` takes the tree for the solvers that are HiGHS.
        progress: called when the best explanation or the bound changes.
    """
    started = time.monotonic()
    deadline = started + seconds_of(time_limit, "time_limit")
    check_seconds = seconds_of(check_time_limit, "check_time_limit")
    tolerances = tolerances or Tolerances()
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
    wishes = make_wishes(problem.features.count, costs, must, must_not)
    gap = _gap(gap)
    way = _way(method, master, solver)
    # the checks are the same kind of program as the tree's nodes
    checker = "phase" if solver == "auto" and highs.unavailable() is None else solver
    with Oracle(problem, checker, threads=threads, tolerances=tolerances) as oracle:

        def session() -> Session:
            name = "highs" if oracle.solver == "phase" else oracle.solver
            return open_session(name, threads=threads, tolerances=tolerances)

        search = _Search(
            problem, oracle, wishes, gap=gap, deadline=deadline, check_seconds=check_seconds
        )
        search.allow_must_not()
        try:
            search.start()
            if way == "hitting_sets":
                search.run(search.hitting_sets(session()), progress)
            elif search.find_scenario():
                tree = way == "tree"
                search.run(
                    search.tree(LiveLp(threads, tolerances)) if tree else search.program(session()),
                    progress,
                )
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
        return search.result(started)


class _Search:
    """The best explanation, the bound, and the scenarios that they rest on."""

    def __init__(
        self,
        problem: Problem,
        oracle: Oracle,
        wishes: Wishes,
        *,
        gap: float,
        deadline: float,
        check_seconds: float,
    ) -> None:
        self._problem = problem
        self._oracle = oracle
        self._wishes = wishes
        self._gap = gap
        self._deadline = deadline
        self._check_seconds = check_seconds
        self._perturbations: Perturbations = perturbations_of(problem)
        self._incumbent = Incumbent(oracle, self._perturbations, wishes, check_seconds)
        # the counterfactuals of what is found want some time as well
        left = deadline - time.monotonic()
        wanted = min(max(_RESERVED * left, _LEAST_RESERVED), _MOST_RESERVED)
        self._search_until = deadline - min(wanted, _MOST_SHARE * left)
        self._choice = ScenarioChoice(self._perturbations, self._incumbent, self._search_until)
        self._lower_bound = 0.0
        self._parts: list[Part] = []
        self._same = interchangeable(problem, wishes)
        # what never matters adds to the cost at most
        useless = self._same.inert & ~wishes.must
        self._needed = replace(wishes, must_not=wishes.must_not | useless)
        self._notes: tuple[str, ...] = ()
        self.stopped: str | None = None

    def allow_must_not(self) -> None:
        """Prove that the features that must not be explained change nothing by themselves.

        Until that is proven there is no explanation at all, not even one to stop with.
        """
        wishes = self._wishes
        if not wishes.must_not.any():
            return
        alone = self._oracle.check(
            self._perturbations.free(~wishes.must_not), min(self._seconds(), self._check_seconds)
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
        """Find a first explanation and a first bound."""
        self._incumbent.explain(self._search_until)
        self._lower_bound = self._wishes.cost(self._wishes.must)

    def find_scenario(self) -> bool:
        """Return whether there is a first scenario: without, what must be explained does."""
        self._parts = self._choice.separate(self._wishes.least, self._lower_bound, 0)
        return bool(self._parts)

    def tree(self, lp: LiveLp) -> Master:
        """Return the master that searches the relaxation itself."""
        relaxation = Relaxation(lp, self._perturbations, self._needed)
        # solvers find symmetries themselves, and rows would hide them
        relaxation.extend([*self._same.precedence, *self._parts])
        return ScenarioTree(relaxation, self._choice.separate, self._wishes.rounded, self._enough)

    def program(self, session: Session) -> Master:
        """Return the master that gives the relaxation to a solver."""
        master = ProgramMaster(
            session, self._perturbations, self._needed, self._choice.separate, self._enough
        )
        master.extend(self._parts)
        return master

    def hitting_sets(self, session: Session) -> Master:
        """Return the master that covers contrastive sets."""
        subsets = SubsetOracle(self._oracle, self._search_until, self._check_seconds)
        return HittingSets(session, subsets, self._wishes, self._incumbent, self._enough)

    def run(self, master: Master, progress: Callable[[MinimumProgress], None] | None) -> None:
        """Let ``master`` raise the bound until it meets the explanation."""
        shown, rounds = None, 0
        try:
            while not master.done and self._seconds() > 0:
                master.step(self._search_until)
                rounds += 1
                self._raise(master.bound)
                state = (self._incumbent.cost, self._lower_bound)
                if progress is not None and state != shown:
                    shown = state
                    size, bound = map(_plain, state)
                    progress(MinimumProgress(size, bound, rounds))
        finally:
            self._raise(master.bound)
            if isinstance(master, ProgramMaster):
                self._notes = master.notes
            master.close()
        if self._lower_bound < self._enough() and self._seconds() <= 0:
            self.stopped = TIME_LIMIT

    def result(self, started: float) -> Explanation:
        """Return the best explanation with the bound."""
        deadline = self._deadline
        if self.stopped == INTERRUPTED:
            deadline = min(deadline, time.monotonic() + _PATIENCE)
        best = self._incumbent.explanation(deadline)
        seconds = time.monotonic() - started
        statistics = replace(
            best.statistics, seconds=seconds, stopped=self.stopped or best.statistics.stopped
        )
        wishes = self._wishes
        costs = None if wishes.equal else tuple(map(_plain, wishes.costs.tolist()))
        # the checks may have met the same trouble
        notes = tuple(dict.fromkeys(best.notes + self._notes))
        best = replace(best, costs=costs, statistics=statistics, notes=notes)
        return replace(best, lower_bound=_plain(min(self._lower_bound, best.cost)))

    def _raise(self, bound: float) -> None:
        self._lower_bound = max(self._lower_bound, min(bound, self._incumbent.cost))

    def _enough(self) -> float:
        return self._wishes.enough(self._incumbent.cost, self._gap)

    def _seconds(self) -> float:
        return self._search_until - time.monotonic()


def _plain(cost: float) -> float:
    """Return a whole number as an int."""
    return int(cost) if cost == int(cost) else cost


def _gap(given: float) -> float:
    try:
        gap = float(given)
    except (TypeError, ValueError) as error:
        raise InputError(f"gap must be a number, got {given!r}") from error
    if not 0 <= gap < 1:
        raise InputError(f"gap is a share of the cost, at least 0 and below 1, got {given}")
    return gap


def _way(method: str, master: str, solver: str) -> str:
    """Return what raises the bound: ``"hitting_sets"``, ``"tree"`` or ``"program"``."""
    for kind, name, names in (("method", method, METHODS), ("master", master, MASTERS)):
        if name not in names:
            raise InputError(f"unknown {kind} {name!r}; choose one of {', '.join(names)}")
    if method == "hitting_sets":
        if master != "auto":
            raise InputError(f"master {master!r} solves scenarios: leave it out for hitting sets")
        return method
    if master == "auto":
        return "tree" if solver in _ON_HIGHS and highs.unavailable() is None else "program"
    return master
