"""Close a node by listing the sets that are left in it and refuting each by a perturbation.

Each perturbation is evaluated for all sets at once, in float64, and refutes a set where a margin is
above zero by more than the error that the evaluation can have.
"""

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milp_verix.global_search.enumeration.reduced_cost_sets import (
    estimated_count,
    reduced_cost_sets,
)
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.pricing.perturbation_set import PerturbationSet
from milp_verix.global_search.search_limits import SearchLimits
from verix_encodings import Interval, Network, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray, dense
from verix_encodings.models.restricted import Restriction
from verix_encodings.models.scenario import SLACK, network_of_selection
from verix_encodings.network.batch import batch_values
from verix_encodings.network.nodes import Affine
from verix_encodings.proofs.safe_bound import evaluation_error

# so much is evaluated at once that it stays in the cache
_CHUNK = 100_000
_FEWEST = 64


@dataclass(frozen=True, slots=True, eq=False)
class NodeRemainder:
    """The sets of a node: the features fixed in by ``restriction``, and some of its free ones.

    They cost ``bound`` at least, and are of interest up to ``cutoff``. ``reduced_costs`` are those
    of the free features; ``selection`` is the optimum of the relaxation, shape (features,).
    """

    restriction: Restriction
    selection: FloatArray
    reduced_costs: FloatArray
    bound: float
    cutoff: float


class NodeEnumeration:
    """Refutes the sets of a node one perturbation after the other, where these sets are few."""

    def __init__(self, incumbent: Incumbent, limits: SearchLimits, deadline: float) -> None:
        self._incumbent, self._perturbations = incumbent, incumbent.perturbations
        self._limits, self._deadline = limits, deadline
        self._off = not limits.uses("enumeration")
        # the work of one set: the first affine maps are folded to as many columns as are free
        nodes = [node for node in incumbent.perturbations.margins.nodes if isinstance(node, Affine)]
        terms = [term for node in nodes for term in node.terms]
        self._entries = sum(matrix.size for source, matrix in terms if source != 0)
        self._folded = sum(matrix.shape[0] for source, matrix in terms if source == 0)

    def refute(self, remainder: NodeRemainder) -> list[FloatArray] | None:
        """Refute all sets of a node; return the perturbations that were not known, (d,) each.

        None where the sets are too many, one is an explanation, or one cannot be refuted in time.
        """
        if remainder.restriction.free.size > self._limits.most_free or self._off:
            return None
        sets = self._sets(remainder)
        if sets is None:
            return None
        try:
            left = Unrefuted(
                self._perturbations, remainder.restriction, sets, self._refuting_margins
            )
        except OverflowError:
            self._off = True
            return None
        adversary = self._incumbent.adversary
        worst_first = np.argsort(-adversary.harm(remainder.selection), kind="stable")
        for delta in adversary.newest[:, worst_first].T:
            if not left.count or time.monotonic() >= self._deadline:
                break
            left.refute(delta)
        found: list[FloatArray] = []
        while left.count:
            delta = self._against(left) if time.monotonic() < self._deadline else None
            if delta is None:
                return None
            found.append(delta)
        return found

    def _sets(self, remainder: NodeRemainder) -> FloatArray | None:
        """Return the sets that the reduced costs leave, where these are few."""
        limits, restriction = self._limits, remainder.restriction
        slack = remainder.cutoff - remainder.bound
        work = self._entries + self._folded * restriction.free.size
        most = int(min(limits.most_sets, limits.most_work / max(work, 1)))
        if estimated_count(remainder.reduced_costs, slack) > limits.estimate_per_set * most:
            return None
        costs = self._incumbent.objective.costs
        fixed_cost = float(costs[restriction.fixed_in].sum())
        ends = remainder.bound - fixed_cost, remainder.cutoff - fixed_cost
        return reduced_cost_sets(costs[restriction.free], remainder.reduced_costs, *ends, most)

    @cached_property
    def _refuting_margins(self) -> FloatArray:
        margins: FloatArray = refuting_margins(self._perturbations)
        return margins

    def _against(self, left: "Unrefuted") -> FloatArray | None:
        """Return a perturbation that refutes one more of the sets that are left, if there is."""
        chosen, adversary = left.first, self._incumbent.adversary
        deltas, values = adversary.attack(chosen.astype(np.float64))
        delta = deltas[:, int(np.argmax(values))]
        if left.refute(delta):
            adversary.remember(delta)
            return delta
        decision = self._incumbent.decide(chosen, self._deadline)
        if decision.holds:
            return None
        if decision.delta is not None and left.refute(decision.delta):
            return decision.delta
        # a set that cannot be decided once is not asked for again and again
        self._off = True
        return None


def refuting_margins(perturbations: PerturbationSet) -> FloatArray:
    """Return the value from which on each margin, evaluated in float64, refutes a set.

    Raises ``OverflowError`` where no error of an evaluation can be told.
    """
    p = perturbations
    box = Interval(p.centre + p.lower, p.centre + p.upper)
    error = evaluation_error(p.margins, interval_bounds(p.margins, box))
    # The error holds for sums in any order, and allows 4(d + 5)u (|W||x| + |b|) in the first layer.
    # A set is evaluated by 2d + 1 terms there, W(x + δ) + b less W_i δ_i for what is taken; with
    # |δ_i| ≤ 2 max|x_i| these are 3|W||x| + |b| in all, and the error is below 6(d + 2)u of
    # |W||x| + |b|: four times what is allowed is more than twice that. All that follows is
    # evaluated as in the network.
    return SLACK + 4.0 * error


class Unrefuted:
    """Sets of the free features of ``restriction`` that are left to be refuted: ``sets``.

    They are columns of 0 and 1, shape (free features, sets). ``least`` are the margins that refute
    a set (:func:`refuting_margins`).
    """

    def __init__(
        self,
        perturbations: PerturbationSet,
        restriction: Restriction,
        sets: FloatArray,
        least: FloatArray,
    ) -> None:
        self._layer = FirstLayer(perturbations, restriction)
        self._restriction = restriction
        self.sets = sets
        self._least = least[:, None]

    @property
    def count(self) -> int:
        """The number of sets left."""
        return int(self.sets.shape[1])

    @property
    def first(self) -> BoolArray:
        """One of the sets left, among all features."""
        chosen = self._restriction.fixed_in.copy()
        chosen[self._restriction.free[self.sets[:, 0] > 0]] = True
        return chosen

    def refute(self, delta: FloatArray) -> bool:
        """Leave only the sets that survive ``delta``, shape (d,); return whether some do not."""
        matrix, bias, network = self._layer.at(delta)
        size = max(_CHUNK // sum(network.sizes), _FEWEST)
        survive = np.zeros(self.count, dtype=bool)
        for first in range(0, self.count, size):
            some = slice(first, first + size)
            reached = batch_values(network, matrix @ self.sets[:, some] + bias[:, None])[-1]
            survive[some] = ~np.any(reached > self._least, axis=0)
        if np.all(survive):
            return False
        self.sets = self.sets[:, survive]
        return True


class FirstLayer:
    """``A ↦ m(x + (1 − A) ∘ δ)`` for the free features ``A`` of ``restriction``.

    It is ``g(M A + b)`` with ``M = −W diag(δ)``, summed over the coordinates of each feature, and
    ``b = W (x + δ) + c``, where ``W`` and ``c`` are the first layer of the margins and alone read
    the input. ``δ`` is zero here where a feature is fixed in.
    """

    def __init__(self, perturbations: PerturbationSet, restriction: Restriction) -> None:
        self._p, self._count = perturbations, restriction.free.size
        self._position = restriction.position[perturbations.feature_of]
        self._weight = perturbations.weight(restriction.fixed_in)
        behind = perturbations.margins.behind_first()
        first = perturbations.margins.nodes[0] if behind is not None else None
        self._behind = behind if isinstance(first, Affine) else None
        if not isinstance(first, Affine):
            return
        self._first = first
        coordinates = np.flatnonzero(self._position >= 0)
        self._taken = coordinates[np.argsort(self._position[coordinates], kind="stable")]
        self._held, self._starts = np.unique(self._position[self._taken], return_index=True)
        self._columns = np.zeros((first.bias.size, self._taken.size))
        for _, matrix in first.terms:
            self._columns += dense(matrix[:, self._taken])

    def at(self, delta: FloatArray) -> tuple[FloatArray, FloatArray, Network]:
        """Return ``M``, ``b`` and ``g`` for ``delta``, shape (d,).

        Where more than one node reads the input, or an activation does, ``M A + b`` is ``A``.
        """
        moved = self._weight * delta
        start = self._p.centre + moved
        if self._behind is None:
            margins, count = self._p.margins, self._count
            network = network_of_selection(margins, start, moved, self._position, count)
            return np.eye(count), np.zeros(count), network
        bias = self._first.bias.copy()
        for _, matrix in self._first.terms:
            bias += matrix @ start
        summed = np.zeros((bias.size, self._count))
        if self._held.size:
            terms = self._columns * -moved[self._taken]
            summed[:, self._held] = np.add.reduceat(terms, self._starts, axis=1)
        return summed, bias, self._behind
