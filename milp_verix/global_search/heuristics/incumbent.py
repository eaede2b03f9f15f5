"""The incumbent: the cheapest explanation known, and the sets that were decided."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from milp_verix.global_search.pricing.adversary import Adversary
from milp_verix.global_search.pricing.perturbation_set import PerturbationSet
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import Objective
from milp_verix.traversal.traversal import Traversal
from verix_encodings.arrays import BoolArray, FloatArray


class Decision(NamedTuple):
    """The answer of a check: the set ``holds``, or ``delta``, shape (d,), is against it.

    Neither, where the check could not decide it in time.
    """

    holds: bool
    delta: FloatArray | None


class Incumbent:
    """The explanation of least ``cost`` known; at first all features but those that must not be in.

    ``chosen`` are its features, shape (features,). ``traversal`` is the one that found it, if it
    came with a counterfactual for each feature. ``adversary`` knows perturbations that other sets
    do not survive. ``gap`` is the relative gap at which a proof is enough. ``on_change`` is called
    when a cheaper explanation is known.
    """

    def __init__(
        self,
        oracle: Oracle,
        perturbations: PerturbationSet,
        objective: Objective,
        adversary: Adversary,
        *,
        gap: float = 0.0,
        check_seconds: float = np.inf,
    ) -> None:
        self.oracle, self.perturbations, self.objective = oracle, perturbations, objective
        self.adversary, self.check_seconds = adversary, check_seconds
        self._gap = gap
        self.chosen: BoolArray = ~objective.must_not
        self.cost = objective.cost(self.chosen)
        self.traversal: Traversal | None = None
        self.on_change: Callable[[], None] = lambda: None

    @property
    def cutoff(self) -> float:
        """The bound from which on no set is of interest; it sinks with the cost."""
        return self.objective.cutoff(self.cost, self._gap)

    @property
    def selection(self) -> FloatArray:
        """The set as numbers, shape (features,)."""
        return self.chosen.astype(np.float64)

    def take(self, chosen: BoolArray, traversal: Traversal | None = None) -> bool:
        """Keep a set that is proven, if it is cheaper; return whether it is."""
        cost = self.objective.cost(chosen)
        cheaper = cost < self.cost
        # counterfactuals for as cheap a set are welcome, too
        if cheaper or (cost == self.cost and traversal is not None and self.traversal is None):
            self.chosen, self.cost, self.traversal = chosen.copy(), cost, traversal
            self.on_change()
        return cheaper

    def decide(self, chosen: BoolArray, deadline: float) -> Decision:
        """Check a set; keep it where it holds, and remember the worst perturbation if it fails."""
        seconds = min(deadline - time.monotonic(), self.check_seconds)
        verdict = self.oracle.check(self.perturbations.free(chosen), seconds)
        if verdict.holds:
            self.take(chosen)
        if verdict.witness is None:
            return Decision(verdict.holds, None)
        return Decision(False, self.adversary.worsened(chosen, verdict.witness, deadline))
