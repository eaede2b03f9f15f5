"""The best explanation known so far, and how shares of features become a better one.

The first one is locally minimal, by the loop of :mod:`~milp_verix.traversal.explain` in the order
``adaptive``, and is the answer, counterfactuals and all, until there is a cheaper one. Where time
ends it early, *repair* goes on: shares are rounded up, and while a perturbation is found that
changes the prediction, the features that it rests on most join the set. Later ones are proposals of
``heuristics.round_and_swap`` at a cost that is near the bound: sets near the best explanation, near
the local minimum that it leads to (``heuristics.continuous_descent``), or near the shares that the
relaxation gives to features, which survive the perturbations known. What such a set does not
survive is added to these, with the worst case there is, and the next proposal survives it. A set
counts once the check proves it; what else can be freed of it, and the counterfactuals of the rest,
are found at the end.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from milp_verix.clock import NO_LIMIT, Deadline, OutOfTimeError
from milp_verix.global_search.heuristics.continuous_descent import local_minimum
from milp_verix.global_search.heuristics.round_and_swap import polished
from milp_verix.global_search.pricing.adversary import Adversary
from milp_verix.global_search.pricing.exact_pricing import WorstCase
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import Objective
from milp_verix.records.statistics import INTERRUPTED, TIME_LIMIT
from milp_verix.records.verdict import Verdict
from milp_verix.results.public import Explanation
from milp_verix.traversal.explain import explanation_of
from milp_verix.traversal.influence import adaptive
from milp_verix.traversal.order import Order
from milp_verix.traversal.strategies import galloping
from milp_verix.traversal.traversal import Traversal, Walk, traverse
from verix_encodings.arrays import BoolArray, FloatArray

_REPAIRS = 200
_PROPOSALS = 20
_FREE = 1e-9
_KEPT = 10
_REQUIRED = "it must be in the explanation, as asked"


class Incumbent:
    """The explanation of least ``cost`` known; at first all features but those that must not be in.

    ``adversary`` knows what other sets do not survive; ``deciding`` is the part of that which the
    local minimum found last rests on, shape (d, k). ``failures`` counts the proposals that came to
    nothing since the explanation was found. ``on_change`` is called when more is known.
    """

    def __init__(
        self,
        oracle: Oracle,
        perturbations: Perturbations,
        objective: Objective,
        check_seconds: float,
        deadline: Deadline = NO_LIMIT,
    ) -> None:
        self._oracle = oracle
        self._perturbations = perturbations
        self._objective = objective
        self._check_seconds = check_seconds
        self.adversary = Adversary(perturbations, WorstCase(perturbations), deadline)
        self._failed = -np.inf
        self.chosen: BoolArray = ~objective.must_not
        self.cost = objective.cost(self.chosen)
        self.found = False
        self.seconds = 0.0
        self.failures = 0
        self.deciding = np.zeros((perturbations.centre.size, 0))
        self.on_change: Callable[[], None] = lambda: None
        self._answer: Traversal | None = None
        # the first search as far as it is, and the counterfactuals that it found
        self._walked: Traversal | None = None
        self._known: list[Verdict] = []

    @property
    def costs(self) -> FloatArray:
        """The cost of each feature."""
        return self._objective.costs

    def explain(self, deadline: float) -> None:
        """Find a locally minimal explanation by the order that measures best, and its points."""
        objective, oracle, until = self._objective, self._oracle, Deadline(deadline)
        # any order gives an explanation, and the same where nothing need be explained
        rank = np.ones(objective.costs.size)
        whole = oracle.prepare(until)
        if not oracle.proven:
            with suppress(OverflowError, OutOfTimeError):
                rank = adaptive(oracle.problem, until, whole)
        rank = rank / np.maximum(objective.costs, _FREE)
        rank[objective.must_not] = -np.inf
        order = np.argsort(rank, kind="stable")
        traversal = Traversal(tuple(order[~objective.must[order]].tolist()))
        self._walked = traversal
        walk = Walk(oracle, traversal, until, self._check_seconds, lambda _: self.on_change())
        oracle.forget(until)
        traverse(walk, galloping)
        self._walked, self._known = None, [*traversal.violated.values()]
        chosen = np.ones(objective.costs.size, dtype=bool)
        chosen[traversal.irrelevant] = False
        if not chosen[objective.must_not].any() and self.take(chosen):
            self._answer = None if traversal.stopped else traversal
            self.on_change()
        if traversal.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        if until.passed():
            return
        points = [v.witness for v in traversal.violated.values() if v.witness is not None]
        for point in points[-_KEPT:]:
            self.adversary.know(point.reshape(-1) - self._perturbations.centre)
        self.adversary.know(self.adversary.attacked(self.chosen.astype(np.float64))[0])

    def improve(self, selection: FloatArray, bound: float, deadline: float) -> None:
        """Look for a cheaper explanation, of a cost from ``bound`` on."""
        started = time.monotonic()
        try:
            if not self.found:
                self._repair(selection, deadline)
            else:
                while bound < self.cost and self._propose(selection, bound, deadline):
                    pass
        finally:
            self.seconds += time.monotonic() - started

    def descend(self, deadline: float) -> None:
        """Look for cheaper explanations near the local minimum that is near the best one."""
        while self.found and time.monotonic() < deadline:
            least = local_minimum(
                self._perturbations,
                self._objective,
                self.chosen.astype(np.float64),
                lambda: self.adversary.newest,
                lambda selection: self.adversary.learn(selection, deadline),
            )
            if least is None:
                return
            self.deciding = self.adversary.just_survived(least)
            bound = self._objective.attainable(float(self._objective.costs @ least))
            before = self.cost, self._failed
            while bound < self.cost and self._propose(least, bound, deadline):
                pass
            if (self.cost, self._failed) == before:
                return

    def take(self, chosen: BoolArray) -> bool:
        """Keep a set that is proven, if it is cheaper; return whether it is."""
        cost = self._objective.cost(chosen)
        cheaper = not self.found or cost < self.cost
        if cheaper:
            self.found, self.chosen, self.cost, self._answer = True, chosen.copy(), cost, None
            self.failures = 0
            self.on_change()
        return cheaper

    def decide(self, chosen: BoolArray, deadline: float) -> Verdict:
        """Check a set; keep it where it holds, and its counterfactual where it does not."""
        seconds = min(deadline - time.monotonic(), self._check_seconds)
        verdict = self._oracle.check(self._perturbations.free(chosen), seconds)
        if verdict.holds:
            self.take(chosen)
        elif verdict.witness is not None:
            self.adversary.know_worse(chosen, verdict.witness, deadline)
        return verdict

    def _propose(self, selection: FloatArray, bound: float, deadline: float) -> bool:
        """Propose sets that cost half of what lies between the best and what failed, or the bound.

        Where nothing is left between, the dearest is tried again: more is known by then. Returns
        whether one of the sets proposed is the best now.
        """
        least = 1.0 if self._objective.whole else 0.01 * max(self.cost - bound, 0.0)
        dearest = self.cost - least
        if dearest < bound:
            return False
        low = max(self._failed, bound - least)
        again = dearest - low < least / 2.0
        half = np.floor((self.cost - low) / 2.0 / least) * least
        budget = dearest if again else min(low + half, dearest)
        for start in (self.chosen.astype(np.float64), selection):
            if self._chase(start, budget, deadline):
                if again:
                    self._failed = -np.inf
                return True
        self._failed = max(self._failed, budget)
        self.failures += 1
        return False

    def _chase(self, selection: FloatArray, budget: float, deadline: float) -> bool:
        """Propose sets that cost ``budget`` until one is proven; return whether one was."""
        for _ in range(_PROPOSALS):
            if time.monotonic() >= deadline:
                return False
            chosen = polished(
                self._perturbations, self._objective, self.adversary.newest, selection, budget
            )
            if chosen is None:
                return False
            selection = chosen.astype(np.float64)
            deltas, values = self.adversary.attacked(selection)
            if np.any(values > 0):
                self.adversary.know(deltas[:, values > 0])
                continue
            verdict = self.decide(chosen, deadline)
            if verdict.witness is None:
                return verdict.holds
        return False

    def _repair(self, selection: FloatArray, deadline: float) -> None:
        """Round ``selection`` up, and add features until the check proves the set."""
        chosen = ((selection > 0) | self._objective.must) & ~self._objective.must_not
        for _ in range(_REPAIRS):
            if time.monotonic() >= deadline:
                return
            deltas, values = self.adversary.attacked(chosen.astype(np.float64))
            margin = int(np.argmax(values))
            delta = deltas[:, margin]
            if values[margin] <= 0:
                verdict = self.decide(chosen, deadline)
                if verdict.witness is None:
                    return
                delta = self.adversary.pool[:, -1]
                margin = int(np.argmax(self._reached(chosen, delta)))
            else:
                self.adversary.know(delta)
            self._join(chosen, delta, margin)

    def _join(self, chosen: BoolArray, delta: FloatArray, margin: int) -> None:
        """Add the features whose part in ``delta`` raises the margin most, as far as needed."""
        weight = self._perturbations.weight(chosen)
        value = max(float(self._reached(chosen, delta)[margin]), 0.0)
        slope = self._perturbations.gradient(weight, delta, margin)
        moved = slope * weight * delta
        parts = np.bincount(self._perturbations.feature_of, weights=moved, minlength=chosen.size)
        usable = ~chosen & ~self._objective.must_not
        worth = np.where(usable, parts / np.maximum(self._objective.costs, _FREE), -np.inf)
        ranked = np.argsort(-worth, kind="stable")[: int(np.count_nonzero(usable))]
        needed = int(np.searchsorted(np.cumsum(np.maximum(parts[ranked], 0.0)), value)) + 1
        chosen[ranked[:needed]] = True

    def _reached(self, chosen: BoolArray, delta: FloatArray) -> FloatArray:
        weight = self._perturbations.weight(chosen)
        return self._perturbations.reached(weight, delta[:, None])[:, 0]

    def explanation(self, deadline: float) -> Explanation:
        """Free what else can be freed, and find counterfactuals for the rest, by ``deadline``."""
        started = time.monotonic()
        must = np.flatnonzero(self._objective.must).tolist()
        traversal = self._answer or self._traversed(deadline)
        self._require(traversal, must, deadline)
        order = Order("minimum", (*traversal.order, *must))
        spent = time.monotonic() - started
        return explanation_of(self._oracle.problem, order, traversal, self._oracle, spent)

    def snapshot(self) -> tuple[Order, Traversal]:
        """Return what is known now, at no cost: the features not known to be needed are unknown."""
        must = np.flatnonzero(self._objective.must).tolist()
        traversal = self._answer or self._walked or self._untried()
        if self._objective.must_not[list({*traversal.order} - {*traversal.irrelevant})].any():
            # the search has not come as far as what is allowed
            traversal = self._untried()
        now = traversal.copy()
        now.undecided |= dict.fromkeys(must, _REQUIRED)
        return Order("minimum", (*now.order, *must)), now

    def _untried(self) -> Traversal:
        """Return the best explanation, with the counterfactuals known that fit it."""
        irrelevant = np.flatnonzero(~self.chosen).tolist()
        rest = np.flatnonzero(self.chosen & ~self._objective.must).tolist()
        traversal = Traversal((*irrelevant, *rest), list(irrelevant))
        for verdict in self._known:
            assert verdict.witness is not None
            changed = verdict.witness.reshape(-1) != self._oracle.problem.x
            moved = np.unique(self._perturbations.feature_of[changed])
            needed = moved[self.chosen[moved]]
            if needed.size == 1 and not self._objective.must[needed[0]]:
                traversal.violated[int(needed[0])] = verdict
        return traversal

    def _traversed(self, deadline: float) -> Traversal:
        """Try to free the features of the best explanation, the dear ones first."""
        chosen = self.chosen
        irrelevant = np.flatnonzero(~chosen).tolist()
        dear = [int(f) for f in np.argsort(-self._objective.costs, kind="stable")]
        rest = [f for f in dear if chosen[f] and not self._objective.must[f]]
        traversal = Traversal((*irrelevant, *rest), list(irrelevant))
        until = Deadline(deadline)
        if until.passed():
            traversal.stopped = TIME_LIMIT
            return traversal
        walk = Walk(self._oracle, traversal, until, self._check_seconds, lambda _: None)
        # the worst points known, moved by one more feature, are counterfactuals of most
        weight = self._perturbations.weight(chosen)
        deltas = np.concatenate(
            [self.adversary.pool, self.adversary.attacked(chosen.astype(np.float64))[0]], axis=1
        )
        inputs = self._perturbations.centre[:, None] + weight[:, None] * deltas
        self._oracle.suppose(self._perturbations.free(chosen), inputs, until)
        traverse(walk, _points_first)
        return traversal

    def _require(self, traversal: Traversal, features: Sequence[int], deadline: float) -> None:
        """Put features that must be explained in, each with a counterfactual if there is one."""
        for feature in features:
            traversal.undecided[feature] = _REQUIRED
            left = min(deadline - time.monotonic(), self._check_seconds)
            if left <= 0 or traversal.stopped is not None:
                continue
            free = self._oracle.problem.features.coordinates([*traversal.irrelevant, feature])
            verdict = self._oracle.check(free, left)
            traversal.effort += verdict.effort
            if verdict.violated:
                del traversal.undecided[feature]
                traversal.violated[feature] = verdict


def _points_first(walk: Walk) -> None:
    """Take the counterfactuals that known points give, as they cost least; then gallop."""
    for feature, verdict in walk.flipped().items():
        walk.settle([feature], verdict)
    galloping(walk)
