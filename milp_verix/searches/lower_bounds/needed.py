"""A lower bound on the size of every explanation, where checks leave features undecided.

The better of two bounds counts. Together with the explanation found they bracket the smallest one.

- :mod:`~milp_verix.searches.lower_bounds.budget_bound`: one perturbation changes the prediction in
  spite of any ``K`` features that are fixed. It is strong where many features add up, as pixels do.
  Whole numbers and rules exclude it.
- :mod:`~milp_verix.searches.lower_bounds.contrast_cover`: a counterfactual that changes the
  features ``C`` is a contrast, and every explanation has a feature of ``C``. So a cheapest cover of
  all contrasts known is no larger than the smallest explanation. It is strong where a few features
  change much.
"""

from collections.abc import Callable, Iterable

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.errors import SolverError
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.perturbation_set import PerturbationSet, perturbation_set
from milp_verix.oracle.verdict import Verdict
from milp_verix.problem.objective import make_objective
from milp_verix.problem.problem import PosedProblem
from milp_verix.searches.lower_bounds.budget_bound import budget_bound
from milp_verix.searches.lower_bounds.contrast_cover import ContrastCover
from milp_verix.solvers import Session
from verix_encodings import Interval, interval_bounds
from verix_encodings.arrays import FloatArray

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
