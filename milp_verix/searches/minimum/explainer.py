"""The traversals before and after the search: a first explanation, and the last counterfactuals.

The first explanation is locally minimal, by the loop of :mod:`~milp_verix.searches.explain_search`
in the order ``adaptive``. It is the incumbent until the search finds a cheaper set. At the end a
last traversal frees further features of that set, if possible, and finds a counterfactual for each
feature that stays.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline, OutOfTimeError
from milp_verix.oracle.verdict import Verdict
from milp_verix.problem.problem import ProblemData
from milp_verix.searches.influence import adaptive
from milp_verix.searches.minimum.incumbent import Incumbent
from milp_verix.searches.order import Order
from milp_verix.searches.runner import stopping
from milp_verix.searches.strategies import Traversal, Walk, galloping, traverse
from verix_encodings.arrays import FloatArray


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
    for feature, verdict in walk.flipped().items():
        walk.settle([feature], verdict)
    galloping(walk)
