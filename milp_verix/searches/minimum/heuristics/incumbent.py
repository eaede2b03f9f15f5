"""The incumbent: the cheapest explanation known, and the checks that may replace it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from milp_verix.base.clock import NO_CHECK_LIMIT, Deadline, Limit
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.perturbation_set import PerturbationSet
from milp_verix.problem.objective import Objective
from milp_verix.searches.explain.traversal import Traversal
from milp_verix.searches.minimum.pricing.adversary import Adversary
from verix_encodings.arrays import BoolArray, FloatArray


class Decision(NamedTuple):
    """The answer of a check: the set ``holds``, or the perturbation ``delta``, (d,), refutes it.

    ``holds`` is False and ``delta`` None if the check could not decide the set in time.
    """

    holds: bool
    delta: FloatArray | None


class Incumbent:
    """The cheapest explanation known; at first all features outside ``must_not``.

    ``chosen`` marks its features, shape (features,), and ``cost`` is their sum. ``traversal`` is
    the traversal that found it with a counterfactual for each feature, None if none did.
    ``adversary`` knows perturbations that other sets do not survive. ``gap`` is the relative gap
    that the search may leave. ``on_change`` is called with each new incumbent.
    """

    def __init__(
        self,
        oracle: Oracle,
        perturbations: PerturbationSet,
        objective: Objective,
        adversary: Adversary,
        *,
        gap: float = 0.0,
        check_limit: Limit = NO_CHECK_LIMIT,
    ) -> None:
        self.oracle, self.perturbations, self.objective = oracle, perturbations, objective
        self.adversary, self.check_limit = adversary, check_limit
        self._gap = gap
        self.chosen: BoolArray = ~objective.must_not
        self.cost = objective.cost(self.chosen)
        self.traversal: Traversal | None = None
        self.on_change: Callable[[], None] = lambda: None

    @property
    def cutoff(self) -> float:
        """The lower bound that ends the search, given ``gap``; it falls with ``cost``."""
        return self.objective.cutoff(self.cost, self._gap)

    @property
    def selection(self) -> FloatArray:
        """The incumbent as 0 and 1, shape (features,)."""
        return self.chosen.astype(np.float64)

    def take(self, chosen: BoolArray, traversal: Traversal | None = None) -> bool:
        """Make a proven set the incumbent if it is cheaper; return whether it is."""
        cost = self.objective.cost(chosen)
        cheaper = cost < self.cost
        # at equal cost, a set with counterfactuals replaces one without
        if cheaper or (cost == self.cost and traversal is not None and self.traversal is None):
            self.chosen, self.cost, self.traversal = chosen.copy(), cost, traversal
            self.on_change()
        return cheaper

    def take_walked(self, traversal: Traversal) -> None:
        """Take the features that a traversal keeps; its counterfactuals, too, once it has ended."""
        chosen = np.ones(self.chosen.size, dtype=bool)
        chosen[traversal.irrelevant] = False
        if not chosen[self.objective.must_not].any():
            self.take(chosen, None if traversal.remaining else traversal)

    def decide(self, chosen: BoolArray, deadline: Deadline) -> Decision:
        """Check a set: take it if it holds, and remember the worst perturbation if it fails."""
        until = deadline.limited(self.check_limit)
        verdict = self.oracle.check(self.perturbations.free(chosen), until)
        if verdict.holds:
            self.take(chosen)
        if verdict.witness is None:
            return Decision(verdict.holds, None)
        return Decision(False, self.adversary.worsened(chosen, verdict.witness, deadline))
