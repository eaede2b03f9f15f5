"""The part of an earlier result that a search for a minimum goes on from.

The earlier explanation is the first incumbent, once its claim is proven again
(:mod:`milp_verix.searches.explain.resume`). Its scenarios are points of the ball, so that they hold
for all costs and need no trust. A lower bound has no short proof: the search proves its own, and a
note tells the earlier one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.earlier import Earlier, note_on_bound
from milp_verix.searches.explain.resume import resumption
from milp_verix.searches.explain.traversal import Traversal
from milp_verix.searches.minimum.heuristics.incumbent import Incumbent
from verix_encodings.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class EarlierSearch:
    """The state of an earlier search: a ``traversal`` to go on with, or None, and ``notes``.

    ``told`` is the lower bound that ``author`` tells, and no proof. ``scenarios`` are
    perturbations, shape (d, N).
    """

    traversal: Traversal | None
    told: float
    author: str
    scenarios: FloatArray
    notes: tuple[str, ...]

    @property
    def advanced(self) -> bool:
        """True if the earlier search had found a first explanation and scenarios."""
        return self.traversal is not None and self.scenarios.size > 0

    def notes_on(self, bound: float, cost: float) -> tuple[str, ...]:
        """Return the notes for a result with this ``cost`` and this proven lower ``bound``."""
        note = note_on_bound(self.told, bound, cost, self.author)
        return self.notes if note is None else (*self.notes, note)


def take_over(earlier: Earlier, incumbent: Incumbent, deadline: Deadline) -> EarlierSearch:
    """Make the ``earlier`` explanation the incumbent, if it stands, and return the rest.

    The adversary remembers the scenarios and the last counterfactuals. Ctrl-C is raised.
    """
    objective, result = incumbent.objective, earlier.result
    must, must_not = _features(objective.must), _features(objective.must_not)
    begun = None
    if (result.must, result.must_not) == (must, must_not):
        begun = resumption(earlier, incumbent.oracle, deadline, incumbent.check_limit, result.must)
    traversal = None if begun is None else begun.traversal
    if traversal is not None:
        incumbent.take_walked(traversal)
    centre = incumbent.perturbations.centre
    scenarios = (earlier.scenarios - centre).T
    incumbent.adversary.remember_last(earlier.counterfactuals.values())
    incumbent.adversary.remember(scenarios)
    told = earlier.bound_for(objective.prices, must, must_not)
    notes = () if begun is None else begun.order.notes
    return EarlierSearch(traversal, told, earlier.author, scenarios, notes)


def points_of(
    problem: PosedProblem, deltas: Iterable[FloatArray]
) -> tuple[NDArray[np.floating], ...]:
    """Return the inputs of the network that perturbations lead to, rounded into the ball."""
    everything, centre = np.arange(problem.x.size), problem.x.astype(np.float64)
    shape = problem.network.input_shape
    return tuple(
        problem.ball.nearest_witness(centre + delta, everything).reshape(shape) for delta in deltas
    )


def _features(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())
