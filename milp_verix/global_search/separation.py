"""Which scenario to add: the perturbation that hurts a proposed set of features the most.

A set that survives every scenario known is attacked: by a search, by programs that look for worse,
and, if it is whole, by the check, whose counterfactual is made worse, too. Where the check finds
one, but the scenario does not rule the set out (an enclosure is wider than the network), a cover
does.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.global_search.enumeration.candidates import candidates, count_of_ways
from milp_verix.global_search.enumeration.completions import Completions, refuting_margins
from milp_verix.global_search.enumeration.set_products import CandidateSets
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from milp_verix.global_search.relaxation.enclosing import unstable
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, Cover, Scenario
from verix_encodings.models.restricted import Restriction
from verix_encodings.models.scenario import make_scenario
from verix_encodings.network.network import Affine

_WORTH = 1e-3
_MOST_FIRST = 12
_MOST_UNSTABLE = 2 / 3
_MOST_ASKED = 2
_PERIOD = 4
_SHARE_OF_IMPROVEMENT = 0.15
_MANY_FAILURES = 50
_LEAST_HARM = 1e-6
_MOST_FREE = 200
_MOST_WAYS = 3e6
_MOST_SETS = 200_000
_MOST_WORK = 2e8
_MOST_BEGINNINGS = 30_000
_WAYS_PER_SET = 20


class SeparationOracle(Protocol):
    """What a search asks about sets of its features; see :class:`Separator`."""

    @property
    def rounds(self) -> int:
        """Number of sets asked about that survive all scenarios known."""

    def try_heuristics(self, selection: FloatArray, bound: float) -> None:
        """Look for a better explanation near ``selection``."""

    def separate(self, selection: FloatArray, asked: int) -> list[Constraint]:
        """Return what the features in ``selection`` does not survive."""

    def enumerate_node(self, remainder: "NodeRemainder") -> list[Constraint] | None:
        """Refute all sets that are left; return what is new in that, None where some are not."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeRemainder:
    """The sets that are left in a node: those with the features inside and some of the free ones.

    They cost ``budget`` at most, and ``bound`` at least; by as much as ``reduced_costs`` say, more
    than that where a feature is in, if positive, or out, if negative. ``selection`` are near them.
    ``surviving`` returns those that each scenario leaves, if that can be found out by looking at
    not more beginnings at a time than given.
    """

    restriction: Restriction
    selection: FloatArray
    reduced_costs: FloatArray
    bound: float
    budget: float
    surviving: Callable[[int], CandidateSets | None]

    def within(self, outer: Restriction, spent: float) -> "NodeRemainder":
        """Return the same among all features, where these are the free ones of ``outer``."""
        reduced_costs = np.zeros(outer.fixed_in.size)
        reduced_costs[outer.free] = self.reduced_costs
        return NodeRemainder(
            self.restriction.within(outer),
            outer.full_selection(self.selection),
            reduced_costs,
            self.bound + spent,
            self.budget + spent,
            # the free features are the same, in the same order
            self.surviving,
        )


class Separator:
    """Answers for a master what a set does not survive, and shows the set to the incumbent."""

    def __init__(self, perturbations: Perturbations, incumbent: Incumbent, deadline: float) -> None:
        self._perturbations = perturbations
        self._incumbent = incumbent
        self._adversary = incumbent.adversary
        self._deadline = deadline
        self._started = time.monotonic()
        self._harm = 0.0
        self._made = 0
        self.rounds = 0
        self._refuted: set[bytes] = set()
        self._undecided = False
        # what evaluates a set: the first affine maps are folded to as many columns as are free
        terms = [
            t
            for node in perturbations.margins.nodes
            if isinstance(node, Affine)
            for t in node.terms
        ]
        self._entries = sum(matrix.size for source, matrix in terms if source != 0)
        self._folded = sum(matrix.shape[0] for source, matrix in terms if source == 0)

    def try_heuristics(self, selection: FloatArray, bound: float) -> None:
        """Look for a better explanation near ``selection`` if that has had less than its time.

        ``bound`` is proven for the cost of all. The more often there was none, the less time.
        """
        spent = time.monotonic() - self._started
        share = _SHARE_OF_IMPROVEMENT / (1.0 + self._incumbent.failures / _MANY_FAILURES)
        if self._incumbent.seconds <= share * spent:
            self._incumbent.improve(selection, bound, self._deadline)

    def separate(self, selection: FloatArray, asked: int) -> list[Constraint]:
        """Return what the features in ``selection`` does not survive: nothing if they survive all.

        ``asked`` says how often the same node of a search came here before.
        """
        self.rounds += 1
        whole = bool(np.all((selection == 0) | (selection == 1)))
        if whole or asked < _MOST_ASKED or asked % _PERIOD == 0:
            delta, harm = self._adversary.worst(selection, self._deadline)
            self._harm = max(self._harm, harm)
            least = _LEAST_HARM if whole else max(self._worth * self._harm, _LEAST_HARM)
            if harm > least:
                self._made += 1
                return self._constraints(selection, delta, whole=whole)
        return self._decided(selection) if whole else []

    @property
    def _worth(self) -> float:
        """How much a perturbation must hurt, by the one that hurt most.

        Worst cases are ever nearer to one another, and each brings phases to split: where there are
        more than features, it is sooner done to split these.
        """
        return _WORTH * max(1.0, (self._made / self._incumbent.costs.size) ** 2)

    def deciding(self) -> list[Scenario]:
        """Return the scenarios that a local minimum rests on, where they are a good beginning.

        Many of them, or such as leave the signs of most neurons open, bring more phases at once
        than the worst case by itself and what it is found to lack.
        """
        deciding = self._incumbent.deciding
        if deciding.shape[1] > _MOST_FIRST:
            return []
        scenarios = [self._scenario(delta) for delta in deciding.T]
        signs = [unstable(s.bounds[value]) for s in scenarios for value in s.arguments]
        open_ = np.concatenate([np.zeros(1, dtype=bool), *signs])
        return scenarios if open_.mean() <= _MOST_UNSTABLE else []

    def enumerate_node(self, remainder: NodeRemainder) -> list[Constraint] | None:
        """Refute all sets that are left, where these are few.

        Returns the scenarios that were not known; None where the sets are too many, one is an
        explanation, or one cannot be refuted.
        """
        if remainder.restriction.free.size > _MOST_FREE or self._undecided:
            return None
        sets = self._left(remainder)
        if sets is None:
            return None
        return self._refute(remainder, sets) if len(sets) else []

    def _left(self, remainder: NodeRemainder) -> CandidateSets | None:
        """Return the sets that are left, if these are few: by the bound alone, or by all rows."""
        free, costs = remainder.restriction.free, self._incumbent.costs
        spent = float(costs[remainder.restriction.fixed_in].sum())
        reduced_costs = remainder.reduced_costs[free]
        ways = count_of_ways(reduced_costs, remainder.budget - remainder.bound)
        if ways > _MOST_WAYS:
            return None
        work = self._entries + self._folded * free.size
        most = int(min(_MOST_SETS, _MOST_WORK / max(work, 1)))
        # rows tell nothing of a set but that it is in another node, if any: the network may tell
        # that it is an explanation, and does so where that costs little
        sets = None
        if ways <= _WAYS_PER_SET * most:
            bounds = remainder.bound - spent, remainder.budget - spent
            sets = candidates(costs[free], reduced_costs, *bounds, most)
        return remainder.surviving(_MOST_BEGINNINGS) if sets is None else sets

    def _refute(self, remainder: NodeRemainder, sets: CandidateSets) -> list[Constraint] | None:
        """Return what is new in refuting all of ``sets``; None where some are not refuted."""
        try:
            left = Completions(
                self._perturbations, remainder.restriction, sets, self._refuting_margins
            )
        except OverflowError:
            self._undecided = True
            return None
        worst_first = np.argsort(-self._adversary.harm(remainder.selection), kind="stable")
        left.refute_all(self._adversary.newest[:, worst_first], self._deadline)
        found: list[Constraint] = []
        while len(left.sets):
            if time.monotonic() >= self._deadline:
                return None
            delta = self._against(left)
            if delta is None:
                return None
            found.append(self._scenario(delta))
        return found

    @cached_property
    def _refuting_margins(self) -> FloatArray:
        return refuting_margins(self._perturbations)

    def _against(self, left: Completions) -> FloatArray | None:
        """Return a perturbation that refutes one more of the sets that are left, if there is."""
        chosen = left.first
        deltas, values = self._adversary.attacked(chosen.astype(np.float64))
        delta = deltas[:, int(np.argmax(values))]
        if left.refute(delta):
            self._adversary.know(delta)
            return delta
        verdict = self._incumbent.decide(chosen, self._deadline)
        if verdict.holds:
            return None
        if verdict.witness is not None:
            delta = self._adversary.pool[:, -1]
            if left.refute(delta):
                return delta
        # what cannot be decided once is not asked for again and again
        self._undecided = True
        return None

    def _scenario(self, delta: FloatArray) -> Scenario:
        p, features = self._perturbations, self._incumbent.chosen.size
        until = Deadline(self._deadline)
        return make_scenario(
            p.margins,
            p.centre,
            delta,
            p.feature_of,
            features=features,
            method=partial(crown_bounds, late=until.passed),
        )

    def _decided(self, selection: FloatArray) -> list[Constraint]:
        """Check a whole set: it is an explanation, or there is a scenario against it."""
        verdict = self._incumbent.decide(selection > 0.5, self._deadline)
        if verdict.witness is None:
            return []
        deltas, values = self._adversary.attacked(selection)
        return self._constraints(selection, deltas[:, int(np.argmax(values))], whole=True)

    def _constraints(
        self, selection: FloatArray, delta: FloatArray, *, whole: bool
    ) -> list[Constraint]:
        """Return the scenario of ``delta``, and a cover against a whole set that comes again."""
        self._adversary.know(delta)
        if whole:
            chosen = selection > 0.5
            key = np.packbits(chosen).tobytes()
            if key in self._refuted:
                return [Cover(np.flatnonzero(~chosen))]
            self._refuted.add(key)
        return [self._scenario(delta)]


class RestrictedSeparator:
    """The same for a search in which only some features are free.

    ``bound`` is one that holds for all explanations.
    """

    def __init__(
        self,
        outer: SeparationOracle,
        restriction: Restriction,
        spent: float,
        bound: Callable[[], float],
    ) -> None:
        self._outer = outer
        self._restriction = restriction
        self._spent = spent
        self._bound = bound

    @property
    def rounds(self) -> int:
        """Number of sets asked about in the whole search."""
        return self._outer.rounds

    def try_heuristics(self, selection: FloatArray, bound: float) -> None:
        """Look for a better explanation near ``selection``; ``bound`` holds for some only."""
        self._outer.try_heuristics(self._restriction.full_selection(selection), self._bound())

    def separate(self, selection: FloatArray, asked: int) -> list[Constraint]:
        """Return what the features in ``selection`` does not survive."""
        return self._outer.separate(self._restriction.full_selection(selection), asked)

    def enumerate_node(self, remainder: NodeRemainder) -> list[Constraint] | None:
        """Refute all sets that are left, where these are few."""
        return self._outer.enumerate_node(remainder.within(self._restriction, self._spent))
