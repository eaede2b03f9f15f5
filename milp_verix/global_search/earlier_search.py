"""The part of an earlier result that a search for a minimum goes on from.

The earlier explanation is the first incumbent, once its claim is proven again or may be taken over
(:mod:`milp_verix.traversal.resume`). Its scenarios are points of the ball, so that they hold for
all costs and need no trust. A lower bound has no short proof: the earlier one counts if the same
version proved it for the same objective, by the same kind of method.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milp_verix.clock import Deadline
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.problem.objective import Objective
from milp_verix.problem.problem import Problem
from milp_verix.records.statistics import SearchEffort
from milp_verix.results.earlier import Earlier
from milp_verix.traversal.resume import resumption
from milp_verix.traversal.traversal import Traversal
from verix_encodings.arrays import FloatArray

_REMEMBERED = 10


@dataclass(frozen=True, slots=True, eq=False)
class EarlierSearch:
    """A ``traversal`` to go on with or None, a lower ``bound``, and ``notes`` for the result.

    ``scenarios`` are perturbations, shape (d, N).
    """

    traversal: Traversal | None
    bound: float
    scenarios: FloatArray
    notes: tuple[str, ...]

    @property
    def advanced(self) -> bool:
        """True if the earlier search had a first explanation, and had come to its scenarios."""
        return self.traversal is not None and self.scenarios.size > 0

    def notes_on(self, bound: float, *, own: bool) -> tuple[str, ...]:
        """Return the notes for a result with this lower ``bound``, proven by its ``own`` run."""
        return self.notes if own else (*self.notes, f"the lower bound {bound} rests on that run")


def take_over(
    earlier: Earlier, incumbent: Incumbent, deadline: Deadline, *, hitting_sets: bool
) -> EarlierSearch:
    """Make the ``earlier`` explanation the incumbent, if it stands, and return the rest.

    The adversary remembers the scenarios and the last counterfactuals. ``hitting_sets`` names the
    method that goes on: no bound goes from one method to another. After Ctrl-C the traversal is
    there, and stopped.
    """
    objective, result = incumbent.objective, earlier.result
    must = np.flatnonzero(objective.must).tolist()
    begun = None
    if result.must == tuple(must) and result.must_not == _features(objective.must_not):
        begun = resumption(
            earlier, incumbent.oracle, deadline, incumbent.check_seconds, result.must
        )
    traversal = None if begun is None else begun.traversal
    if traversal is not None:
        chosen = np.ones(objective.costs.size, dtype=bool)
        chosen[traversal.irrelevant] = False
        if not chosen[objective.must_not].any():
            incumbent.take(chosen, None if traversal.remaining else traversal)
    centre = incumbent.perturbations.centre
    scenarios = (earlier.scenarios - centre).T
    points = [v.witness for v in earlier.counterfactuals.values() if v.witness is not None]
    for point in points[-_REMEMBERED:]:
        incumbent.adversary.remember(point.reshape(-1) - centre)
    incumbent.adversary.remember(scenarios)
    refuted = begun is not None and begun.traversal is None and bool(result.irrelevant)
    bound = 0.0
    if begun is not None and not refuted and _bound_counts(earlier, objective, hitting_sets):
        bound = float(result.lower_bound or 0.0)
    notes = () if begun is None else begun.order.notes
    return EarlierSearch(traversal, bound, scenarios, notes)


def points_of(problem: Problem, deltas: Iterable[FloatArray]) -> tuple[NDArray[np.floating], ...]:
    """Return perturbations as inputs of the network, which lie in the ball by definition."""
    everything, centre = np.arange(problem.x.size), problem.x.astype(np.float64)
    shape = problem.network.input_shape
    return tuple(
        problem.ball.nearest_witness(centre + delta, everything).reshape(shape) for delta in deltas
    )


def _bound_counts(earlier: Earlier, objective: Objective, hitting_sets: bool) -> bool:
    costs = earlier.result.costs
    before = np.ones(objective.costs.size) if costs is None else np.array(costs)
    effort = earlier.result.statistics.search or SearchEffort()
    same_method = (effort.master == "hitting sets") == hitting_sets
    return earlier.trusted and same_method and np.array_equal(before, objective.costs)


def _features(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())
