"""Close a node by listing the sets that are left in it and refuting each by a perturbation.

Moving a feature off its LP value raises the bound by its reduced cost. So few sets are left if the
bound is near the cutoff, however many features are free. They are built feature by feature,
beginning with the largest reduced costs. Each perturbation is evaluated for all sets at once, in
float64. It refutes a set if a margin exceeds zero by more than the error bound of the evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.oracle.attacks import PerturbationSet
from milp_verix.searches.minimum.incumbent import Incumbent
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings import Affine, Network, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, count_of_entries, dense
from verix_encodings.network import batch_outputs
from verix_encodings.safe_bounds import evaluation_error
from verix_encodings.scenario import SLACK, network_of_selection

_ROUNDING = 1e-9  # of sums of costs, relative
_PROVEN = 1e-6  # the error of a loss that duals prove, relative
_STEPS = 100  # into which the slack is divided to estimate the number of sets; not measured


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """The mask of features ``fixed_in``, shape (features,), and the numbers of ``free`` ones."""

    fixed_in: BoolArray
    free: IntArray


def reduced_cost_sets(
    costs: FloatArray, reduced_costs: FloatArray, bound: float, cutoff: float, most: int
) -> FloatArray | None:
    """Return the sets ``A`` with ``bound + Σ_f p_f(A) ≤ c·A ≤ cutoff``, as columns of 0 and 1.

    ``p_f`` is ``reduced_costs[f]`` if that is positive and ``f`` is in ``A``, its absolute value if
    it is negative and ``f`` is not in ``A``, and zero otherwise. Sets are left out that could gain
    a feature free of charge. The result has shape (features, sets); it is None if more than
    ``most`` sets are met on the way, or a reduced cost is not finite.
    """
    if not np.isfinite(reduced_costs).all():
        return None
    order = np.argsort(-np.abs(reduced_costs), kind="stable")
    # costs are compared up to rounding, proven losses up to the error of a proof
    limit, tolerance = cutoff + _ROUNDING * max(1.0, abs(cutoff)), _PROVEN * (1.0 + abs(cutoff))
    # the sum of all costs may be far above the cutoff: its rounding error is relative to it
    to_all = costs.sum() * (1.0 + _ROUNDING) + tolerance - bound
    # three budgets: the cost; the loss if a set costs the cutoff; the loss if it takes
    # all features to come
    sets = PartialSets(np.array([[limit], [cutoff + tolerance - bound], [to_all]]))
    for feature in order:
        cost, reduced_cost = costs[feature], reduced_costs[feature]
        sides = []
        # a feature free of charge that does not raise the bound is always in
        for inside in (True,) if cost == 0 and reduced_cost <= 0 else (True, False):
            loss = max(reduced_cost if inside else -reduced_cost, 0.0)
            spends = [cost, loss, loss] if inside else [0.0, loss, cost + loss]
            sides.append((inside, np.array(spends)))
        sets.choose(sides)
        if sets.count > most:
            return None
    result = np.empty((order.size, sets.count))
    result[order] = sets.members()
    # without features no budget was checked
    return result[:, np.all(sets.left >= 0.0, axis=0)]


def estimated_count(reduced_costs: FloatArray, slack: float) -> float:
    """Return an upper estimate of the number of sets that raise the bound by ``slack`` at most.

    The sets' own costs are ignored, and losses are rounded down to hundredths of ``slack``. The
    estimate is infinite if a reduced cost is not finite, or ``slack`` is not positive.
    """
    if not (np.isfinite(reduced_costs).all() and slack > 0.0):
        return np.inf
    sizes = np.abs(reduced_costs)
    lost = (sizes[sizes <= slack] / slack * _STEPS).astype(np.intp)
    # ways[k]: the number of sets, over the features so far, that lose k steps
    ways = np.zeros(_STEPS + 1)
    ways[0] = 1.0
    for steps in lost.tolist():
        ways[steps:] += ways[: _STEPS + 1 - steps]
    return float(ways.sum())


class PartialSets:
    """Partial feature sets that respect several budgets, stored as columns.

    ``left`` is the amount of each budget that each set may still spend, shape (budgets, sets). No
    entry is negative after the first :meth:`choose`. At first there is only the empty set.
    """

    def __init__(self, left: FloatArray) -> None:
        self.left = left
        # for each feature: the parent of each set, and the number of sets that have the feature,
        # which come first
        self._steps: list[tuple[IntArray, int]] = []

    @property
    def count(self) -> int:
        """The number of sets."""
        return int(self.left.shape[1])

    def choose(self, sides: Sequence[tuple[bool, FloatArray]]) -> None:
        """Extend sets by ``sides`` of the next feature, inside first, and what each spends."""
        parents, left, inside = [], [], 0
        for is_in, spends in sides:
            # one budget first: if it rules out most sets, few need be copied
            may = np.flatnonzero(self.left[0] >= spends[0])
            remaining = self.left.take(may, axis=1) - spends[:, None]
            lasting = np.all(remaining >= 0.0, axis=0)
            if not lasting.all():
                may, remaining = may[lasting], remaining[:, lasting]
            parents.append(may)
            left.append(remaining)
            inside += may.size * is_in
        self.left = np.concatenate(left, axis=1)
        self._steps.append((np.concatenate(parents), inside))

    def members(self) -> FloatArray:
        """Return the sets as columns: 1 for each feature that is in, in the order of choice."""
        numbers = np.arange(self.count)
        result = np.empty((len(self._steps), numbers.size))
        for row, (parents, inside) in zip(result[::-1], self._steps[::-1], strict=True):
            row[:] = numbers < inside
            numbers = parents[numbers]
        return result


_CHUNK = 100_000  # numbers evaluated at once: they fit in the cache
_FEWEST = 64  # sets evaluated at once, however large the network; not measured


class NodeEnumeration:
    """Refutes all sets of a node, one perturbation after the other, if the sets are few."""

    def __init__(self, incumbent: Incumbent, limits: SearchLimits, deadline: Deadline) -> None:
        self._incumbent, self._perturbations = incumbent, incumbent.perturbations
        self._limits, self._deadline = limits, deadline
        self._off = not limits.uses("enumeration")
        # multiplications for one set: maps of the input are folded to one column a free feature
        nodes = incumbent.perturbations.margins.nodes
        terms = [term for node in nodes for term in node.matrices]
        self._entries = sum(count_of_entries(matrix) for source, matrix in terms if source != 0)
        self._folded = sum(matrix.shape[0] for source, matrix in terms if source == 0)

    def refute(
        self,
        restriction: Restriction,
        selection: FloatArray,
        reduced_costs: FloatArray,
        ends: tuple[float, float],
    ) -> list[FloatArray] | None:
        """Refute all sets of a node; return new perturbations, (d,) each, None if one is left.

        They cost the first of ``ends`` at least; what costs more than the second need not be
        refuted. ``selection`` is the optimum; ``reduced_costs`` has shape (free features,).
        """
        if restriction.free.size > self._limits.most_free or self._off:
            return None
        sets = self._sets(restriction, reduced_costs, *ends)
        if sets is None:
            return None
        try:
            left = Unrefuted(self._perturbations, restriction, sets, self._refuting_margins)
        except OverflowError:
            self._off = True
            return None
        p, newest = self._perturbations, self._incumbent.adversary.newest
        harm = np.max(p.margins_at(p.weight(selection), newest), axis=0)
        for delta in newest[:, np.argsort(-harm, kind="stable")].T:
            if not left.count or self._deadline.passed():
                break
            left.refute(delta)
        found: list[FloatArray] = []
        while left.count:
            delta = None if self._deadline.passed() else self._against(left)
            if delta is None:
                return None
            found.append(delta)
        return found

    def _sets(
        self, restriction: Restriction, reduced_costs: FloatArray, bound: float, cutoff: float
    ) -> FloatArray | None:
        """Return the sets that the reduced costs do not rule out, as columns; None if too many."""
        limits = self._limits
        work = self._entries + self._folded * restriction.free.size
        most = int(min(limits.most_sets, limits.most_work / max(work, 1)))
        if estimated_count(reduced_costs, cutoff - bound) > limits.estimate_per_set * most:
            return None
        costs = self._incumbent.objective.costs
        fixed_cost = float(costs[restriction.fixed_in].sum())
        ends = bound - fixed_cost, cutoff - fixed_cost
        return reduced_cost_sets(costs[restriction.free], reduced_costs, *ends, most)

    @cached_property
    def _refuting_margins(self) -> FloatArray:
        return refuting_margins(self._perturbations)

    def _against(self, left: "Unrefuted") -> FloatArray | None:
        """Return a new perturbation that refutes the first set left, None if it may hold."""
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
        # an undecided set would come again in later nodes: stop enumerating
        self._off = True
        return None


def refuting_margins(perturbations: PerturbationSet) -> FloatArray:
    """Return the least margins that refute a set in float64, (m,); or ``OverflowError``."""
    p = perturbations
    error = evaluation_error(p.margins, interval_bounds(p.margins, p.region.box))
    # The error holds for sums in any order, and allows 4(d + 5)u (|W||x| + |b|) in the first layer.
    # A set is evaluated by 2d + 1 terms there: W(x + δ) + b minus W_i δ_i for coordinates i in the
    # set. With |δ_i| ≤ 2 max|x_i| their sizes sum up to 3|W||x| + |b|, so the error is below
    # 6(d + 2)u (|W||x| + |b|): four times the allowed error is more than twice that. Later layers
    # are evaluated as in the network.
    return SLACK + 4.0 * error


class Unrefuted:
    """The ``sets`` of free features of ``restriction`` that are not refuted yet.

    ``sets`` has a column of 0 and 1 for each, shape (free features, sets). ``least`` is the value
    of each margin that refutes a set (:func:`refuting_margins`).
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
        """The first set left, as a mask over all features, shape (features,)."""
        chosen = self._restriction.fixed_in.copy()
        chosen[self._restriction.free[self.sets[:, 0] > 0]] = True
        return chosen

    def refute(self, delta: FloatArray) -> bool:
        """Drop the sets that ``delta``, shape (d,), refutes; return whether there were any."""
        matrix, bias, network = self._layer.at(delta)
        size = max(_CHUNK // sum(network.sizes), _FEWEST)
        survive = np.zeros(self.count, dtype=bool)
        for first in range(0, self.count, size):
            some = slice(first, first + size)
            reached = batch_outputs(network, matrix @ self.sets[:, some] + bias[:, None])
            survive[some] = ~np.any(reached > self._least, axis=0)
        if np.all(survive):
            return False
        self.sets = self.sets[:, survive]
        return True


class FirstLayer:
    """The margins as a function of the set: ``A ↦ m(x + (1 − A) ∘ δ)``, with a folded first layer.

    ``A`` marks the free features of ``restriction``; ``δ`` is set to zero where a feature is fixed
    in. With the first layer ``W``, ``c`` of the margins, if no other layer reads the input, this is
    ``g(M A + b)``. There ``b = W (x + δ) + c``, and ``M`` is ``−W diag(δ)`` summed over the
    coordinates of each feature.
    """

    def __init__(self, perturbations: PerturbationSet, restriction: Restriction) -> None:
        self._p, self._count = perturbations, restriction.free.size
        position = np.full(restriction.fixed_in.size, -1)
        position[restriction.free] = np.arange(restriction.free.size)
        self._position = position[perturbations.feature_of]
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

        If another layer than one affine map reads the input, ``M`` is the identity and ``b`` zero.
        """
        moved = self._weight * delta
        start = self._p.centre + moved
        if self._behind is None:
            p, place, count = self._p, self._position, self._count
            box = p.region.box
            network = network_of_selection(p.margins, start, moved, place, count, within=box)
            return np.eye(count), np.zeros(count), network
        bias = self._first.bias.copy()
        for _, matrix in self._first.terms:
            bias += matrix @ start
        summed = np.zeros((bias.size, self._count))
        if self._held.size:
            terms = self._columns * -moved[self._taken]
            summed[:, self._held] = np.add.reduceat(terms, self._starts, axis=1)
        return summed, bias, self._behind
