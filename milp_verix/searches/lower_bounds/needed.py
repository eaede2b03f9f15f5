"""A lower bound on the size of every explanation, where checks leave features undecided.

The better of two bounds counts. Together with the explanation found they bracket the smallest one.

- :mod:`~milp_verix.searches.lower_bounds.budget_bound`: one perturbation changes the prediction in
  spite of any ``K`` features that are fixed. It is strong where many features add up, as pixels do.
  Whole numbers and rules exclude it.
- :mod:`~milp_verix.searches.lower_bounds.needed`: a counterfactual that changes the
  features ``C`` is a contrast, and every explanation has a feature of ``C``. So a cheapest cover of
  all contrasts known is no larger than the smallest explanation. It is strong where a few features
  change much.

A lower bound from known counterfactuals: an explanation intersects every contrastive set.

    candidate ← the features that must be in
    repeat   add contrastive sets, disjoint from the candidate and from each other,
                 until gradients find no further one
             candidate ← a cheapest set that intersects all: no explanation costs less

(Ignatiev, Previti, Liffiton, Marques-Silva, *Smallest MUS extraction with minimal hitting set
dualization*, CP 2015.) Forward passes and gradients alone find the contrastive sets, so that the
size of the network matters little. The bound is strong where few features change the prediction,
as in tables, and weak where hundreds of pixels must change together.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline, elapsed_work
from milp_verix.base.errors import SolverError
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.perturbation_set import PerturbationSet, perturbation_set
from milp_verix.oracle.verdict import Verdict, replayed
from milp_verix.problem.objective import Objective, make_objective
from milp_verix.problem.problem import PosedProblem
from milp_verix.searches.lower_bounds.budget_bound import budget_bound
from milp_verix.searches.lower_bounds.hitting_set import propose
from milp_verix.searches.lower_bounds.smaller_contrast import smaller_contrast
from milp_verix.solvers import Session
from verix_encodings import Interval, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.proofs import evaluation_error
from verix_encodings.scenario import Clause
from verix_encodings.work import worked

_RIVALS = 3  # margins tried for a contrastive set; not measured
_CLEAR = 1e-6
"""The least margin, in logits, of a counterfactual: it counts in real arithmetic, too."""


class Attacker(Protocol):
    """A search by gradients for perturbations that a selection does not survive."""

    def attack(self, selection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the worst perturbation found for each margin, shape (d, m), and its value."""

    def remember(self, deltas: FloatArray) -> None:
        """Begin later searches at these perturbations, shape (d,) or (d, N)."""


class ContrastCover:
    """The contrastive ``sets`` found so far, and a proven lower ``bound`` on explanations' costs.

    Each of ``sets``, of shape (features,), has a counterfactual that was replayed. ``candidate`` is
    a cheapest set that intersects all. ``exhausted`` says that gradients find no set that it
    misses, ``ended`` that no step can raise the bound. ``work`` is in seconds of the clock of work.
    ``open_session`` opens a solver for the covering programs. Raises ``OverflowError`` where values
    leave the range of float64.
    """

    def __init__(
        self,
        problem: PosedProblem,
        objective: Objective,
        p: PerturbationSet,
        attacker: Attacker,
        open_session: Callable[[], Session],
    ) -> None:
        self._problem, self._objective, self._p = problem, objective, p
        self._attacker, self._open_session = attacker, open_session
        self._session: Session | None = None
        self.candidate: BoolArray = objective.must.copy()
        self.bound = objective.cost(objective.must)
        self.sets: list[BoolArray] = []
        self.exhausted = self.ended = False
        self.work = 0.0
        everywhere = interval_bounds(p.margins, p.box)
        self._clear = np.maximum(_CLEAR, evaluation_error(p.margins, everywhere))

    def hopeless(self, bound: float) -> bool:
        """Return whether disjoint sets as small as the smallest known prove less than ``bound``."""
        smallest = min((int(one.sum()) for one in self.sets), default=1)
        return self._objective.equal and self.candidate.size / smallest < bound

    def step(self, deadline: Deadline, enough: Callable[[], bool] = lambda: False) -> None:
        """Add contrastive sets that the candidate misses, and find the next candidate.

        No further set is added at the ``deadline``, or once there are ``enough``.
        """
        started, before, free = worked(), len(self.sets), ~self.candidate
        while (found := self._contrast(free, deadline)) is not None:
            free &= ~found
            if deadline.passed() or enough():
                break
        if len(self.sets) > before:
            self._cover(deadline)
        else:
            self.exhausted = not deadline.passed()
        self.work += elapsed_work(started)

    def refute(self, delta: FloatArray, deadline: Deadline) -> None:
        """Learn from a perturbation, shape (d,), that the candidate does not survive."""
        self.exhausted = False
        if self._learnt(~self.candidate, delta, deadline) is None:
            self.ended = True
        else:
            self._cover(deadline)

    def close(self) -> None:
        """Close the solver's session."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _cover(self, deadline: Deadline) -> None:
        """Find a cheapest set that intersects all sets known, and raise the bound to its cost."""
        if self._session is None:
            self._session = self._open_session()
        objective = self._objective
        sets = [*self.sets, *np.eye(objective.costs.size, dtype=bool)[objective.must]]
        clauses = [Clause(any_of=frozenset(np.flatnonzero(one).tolist())) for one in sets]
        never = np.flatnonzero(objective.must_not).tolist()
        clauses += [Clause(not_all_of=frozenset([feature])) for feature in never]
        found = propose(self._session, objective.costs, clauses, deadline, whole=objective.whole)
        if not found.exhausted:
            self.bound = max(self.bound, found.bound)
        if found.chosen is None:
            self.ended = not found.late
        else:
            self.candidate = np.isin(np.arange(objective.costs.size), list(found.chosen))

    def _contrast(self, free: BoolArray, deadline: Deadline) -> BoolArray | None:
        """Return a new contrastive set among the features ``free``; None if none is found."""
        deltas, values = self._attacker.attack((~free).astype(np.float64))
        for margin in np.argsort(-values, kind="stable")[:_RIVALS]:
            if values[margin] <= self._clear[margin]:
                break
            if (found := self._learnt(free, deltas[:, margin], deadline)) is not None:
                return found
        return None

    def _learnt(self, free: BoolArray, delta: FloatArray, deadline: Deadline) -> BoolArray | None:
        """Keep a small contrastive set of ``delta`` if onnxruntime confirms it; return the set."""
        p, problem = self._p, self._problem
        free, delta = smaller_contrast(p, self._clear, free, delta, deadline.passed)
        weight = p.weight(~free)
        verdict = replayed(problem, p.centre + weight * delta, np.flatnonzero(weight))
        if verdict is None or verdict.witness is None:
            return None
        witness = verdict.witness.reshape(-1)
        if np.all(p.margins.evaluate(witness.astype(np.float64)) <= self._clear):
            return None
        changed = np.zeros(free.size, dtype=bool)
        changed[p.feature_of[witness != problem.x]] = True
        changed &= ~self._objective.must_not
        if not changed.any():
            return None
        self.sets.append(changed)
        self._attacker.remember(delta)
        return changed


_BUDGET = 0.7  # of the work, for the first of the bounds; not measured
_DISJOINT = 8  # contrasts that are compared; not measured
_CLIMBS = 2  # of each margin, from the highest starts; not measured
_NEWEST = 8  # perturbations that a climb may begin at; not measured
_KNOWN = 4  # counterfactuals of the traversal that attacks begin at; not measured


def needed_features(
    problem: PosedProblem,
    known: Iterable[Verdict],
    open_session: Callable[[], Session],
    *,
    most: int,
    tolerances: Tolerances,
    deadline: Deadline = NO_LIMIT,
) -> int:
    """Return a proven lower bound on the number of features of each explanation of ``problem``.

    ``known`` are violated claims, and ``most`` is the size of an explanation. Contrasts are sought
    until the ``deadline``, or until attacks find none that the cover misses. ``open_session`` opens
    a solver for the covers. Returns 0 where values leave the range of float64, and if it is late.
    """
    if problem.margins.stepped:
        # nothing climbs, and there are no lines around jumps
        return disjoint_contrasts(problem, known)
    if deadline.passed():
        return 0
    perturbations = perturbation_set(problem)
    attacker = _Attacker(perturbations, deadline)
    objective = make_objective(problem.features.count, None, (), ())
    points = [verdict.witness for verdict in known if verdict.witness is not None]
    for point in points[-_KNOWN:]:
        attacker.remember(point.reshape(-1) - perturbations.centre)
    try:
        cover = ContrastCover(problem, objective, perturbations, attacker, open_session)
        budget = 0.0
        # gradients find perturbations that are no whole numbers, or break rules
        if problem.ball.mixed is None:
            budget = budget_bound(
                perturbations,
                objective,
                attacker.attack(np.zeros(problem.features.count))[0],
                least=0.0,
                most=most,
                tolerances=tolerances,
                late=deadline.share(_BUDGET).passed,
            )
    except OverflowError:
        return 0
    try:
        while not (deadline.passed() or cover.exhausted or cover.ended or cover.hopeless(budget)):
            cover.step(deadline, lambda: cover.hopeless(budget))
    except SolverError:
        pass  # the bound that was proven until then stays
    finally:
        cover.close()
    return int(max(cover.bound, budget))


def disjoint_contrasts(problem: PosedProblem, known: Iterable[Verdict]) -> int:
    """Return how many disjoint contrasts some violated claims have, as a lower bound.

    Each explanation has a feature of every contrast. Only a few small ones are looked at. A
    counterfactual counts where a margin is above zero in real arithmetic.
    """
    points = [v.witness.reshape(-1) for v in known if v.witness is not None]
    sets = [np.unique(problem.features.of_coordinate[point != problem.x]) for point in points]
    covered: set[int] = set()
    found = 0
    for place in sorted(range(len(sets)), key=lambda place: sets[place].size)[:_DISJOINT]:
        if covered.isdisjoint(sets[place].tolist()) and _clear(problem, points[place]):
            covered.update(sets[place].tolist())
            found += 1
    return found


def _clear(problem: PosedProblem, point: FloatArray) -> bool:
    """Return whether a margin is above zero at ``point``, shape (d,), in real arithmetic."""
    there = point.astype(np.float64)
    try:
        values = interval_bounds(problem.margins, Interval(there, there))
    except OverflowError:
        return False
    return bool(np.any(values[-1].lower > 0))


class _Attacker:
    """Climbs from the input, and from the perturbations found last; ``known``, shape (d, N)."""

    def __init__(self, perturbations: PerturbationSet, deadline: Deadline) -> None:
        self._perturbations, self._late = perturbations, deadline.passed
        self._known = np.zeros((perturbations.centre.size, 1))

    def attack(self, selection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the worst perturbation found for each margin, shape (d, m), and its value."""
        starts = np.concatenate([self._known[:, :1], self._known[:, 1:][:, -_NEWEST:]], axis=1)
        p = self._perturbations
        return p.worst(p.weight(selection), starts, _CLIMBS, self._late)

    def remember(self, deltas: FloatArray) -> None:
        """Begin later searches at these perturbations, shape (d,) or (d, N)."""
        new = deltas.reshape(self._known.shape[0], -1)
        self._known = np.concatenate([self._known, new], axis=1)
