"""Primal heuristics: cheaper sets near the incumbent, or a relaxation's optimum.

A proposal is a whole set of a given cost that survives every perturbation known
(:mod:`.incumbent`). The adversary attacks it and remembers the perturbations that it does not
survive, so that the next proposal survives them. A proposal becomes the incumbent once the check
proves it. Its cost is chosen by bisection between the bound and the incumbent's cost.
"""

import time

import numpy as np

from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.searches.minimum.incumbent import Incumbent, RoundAndSwap
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings.arrays import FloatArray
from verix_encodings.work import worked


class Proposals:
    """Looks for cheaper explanations until ``deadline``; ``seconds`` were spent so far."""

    def __init__(self, incumbent: Incumbent, limits: SearchLimits, deadline: Deadline) -> None:
        self._incumbent, self._limits, self._deadline = incumbent, limits, deadline
        self._started, self._work = worked(), 0.0
        self._failures = 0
        # the largest cost at which all proposals failed, and the incumbent's cost then
        self._failed, self._cost = -np.inf, incumbent.cost
        self.seconds = 0.0

    def improve(self, selection: FloatArray, bound: float) -> None:
        """Look for a cheaper explanation near ``selection``, if proposals have work left.

        ``bound`` is a proven lower bound on the cost of every explanation. Failed proposals reduce
        the share of time that proposals get.
        """
        limits, now, reading = self._limits, time.monotonic(), worked()
        share = limits.proposal_share / (1.0 + self._failures / limits.many_failures)
        if not limits.uses("proposals") or self._work > share * elapsed_work(self._started):
            return
        try:
            while bound < self._incumbent.cost and self._bisect(selection, bound):
                pass
        finally:
            self.seconds += time.monotonic() - now
            self._work += elapsed_work(reading)

    def _bisect(self, selection: FloatArray, bound: float) -> bool:
        """Propose sets at a cost halfway between the incumbent's and the largest that failed.

        If no cost failed above ``bound``, the bound takes its place. If no cost is left in between,
        the largest one below the incumbent's is tried again: new perturbations may lead to another
        set. Returns whether there is a new incumbent.
        """
        incumbent = self._incumbent
        if incumbent.cost < self._cost:
            self._failures = 0
        self._cost = incumbent.cost
        least = 1.0 if incumbent.objective.whole else 0.01 * max(incumbent.cost - bound, 0.0)
        dearest = incumbent.cost - least
        if dearest < bound:
            return False
        low = max(self._failed, bound - least)
        again = dearest - low < least / 2.0
        half = np.floor((incumbent.cost - low) / 2.0 / least) * least
        cost = dearest if again else min(low + half, dearest)
        for start in (incumbent.selection, selection):
            if self._propose(start, cost):
                if again:
                    self._failed = -np.inf
                return True
        self._failed = max(self._failed, cost)
        self._failures += 1
        return False

    def _propose(self, selection: FloatArray, cost: float) -> bool:
        """Propose sets of at most ``cost`` until one is proven; return whether one is."""
        incumbent, adversary = self._incumbent, self._incumbent.adversary
        for _ in range(self._limits.proposals):
            if self._deadline.passed():
                return False
            chosen = RoundAndSwap(
                incumbent.perturbations, incumbent.objective, adversary.newest, cost, self._limits
            ).propose(selection)
            if chosen is None:
                return False
            selection = chosen.astype(np.float64)
            deltas, values = adversary.attack(selection)
            if np.any(values > 0):
                adversary.remember(deltas[:, values > 0])
                continue
            decision = incumbent.decide(chosen, self._deadline)
            if decision.delta is None:
                return decision.holds
        return False
