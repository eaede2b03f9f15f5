"""The nearest counterfactual: a contrast search that minimises the distance of a change.

A program for each margin has the least distance at which the margin reaches zero; its dual bound is
proven. There the prediction is about to change, and onnxruntime may not see it yet: a point on the
ray from the input, a little beyond, shows the change. So bound and distance differ by roundings.

The cheapest contrast of trees: a search over leaves, bounded by the cost of a change.

A set of leaves that meet, one of each tree, holds a box of inputs, and the input of the box that is
nearest to the one explained is nearest in every coordinate at once. So it is the cheapest by any
measure that grows with the moves, and a set of leaves is possible only if the box that they have in
common so far costs no more than the limit. Whole costs are tried from the least upwards; else the
limit is the best cost so far. A search that ends proves that no contrast within the limit is left.
"""

import numpy as np

from milp_verix.oracle.attacks import climb
from milp_verix.oracle.engines.leaf_search import Clique, LeafSearch
from milp_verix.oracle.engines.leaves import Reach, cells_for, cut_of, trees_of
from milp_verix.oracle.verdict import Answer, Effort, Verdict, replayed
from milp_verix.searches.change_measure import EQUAL, halved
from milp_verix.searches.contrast_search import ContrastSearch
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense
from verix_encodings.bounds.norm_ball import length

_BEYOND = (0.0, *(10.0**k for k in range(-8, 0)))
"""Steps beyond a point along its ray that are tried, as shares of its distance."""
_HALVINGS = 20  # to a millionth of the way
_STILL = 1e-6
"""A coordinate of a program's point that moves by less, as a share of its scale, stays."""
_OUTSIDE = 1e-6
"""A tangent to an L2 ball is worth a program where a point is that far outside, as a share."""


class NearestSearch(ContrastSearch):
    """The nearest counterfactual so far, and the bound proven for each rival."""

    def _improve(self, best: Verdict) -> None:
        """Leave the contrast as it is: fewer features may be farther away."""

    def offer(self, verdict: Verdict) -> None:
        """Take a contrast, and the first one on the way to it, if it is cheaper."""
        super().offer(verdict)
        if self.best is verdict:
            centre = self.subsets.centre
            super().offer(self._first_change(centre, verdict.point))

    def _judge(self, chosen: frozenset[int], point: FloatArray) -> bool:
        """Offer changes on the ray through ``point`` and above; return if a tangent cuts."""
        subsets, centre = self.subsets, self.subsets.centre
        # a solver's zero is one up to its tolerance
        still = np.abs(point - centre) <= _STILL * self.measure.scales
        point = np.where(still, centre, point)
        for beyond in _BEYOND:
            found = self._first_change(centre, centre + (1 + beyond) * (point - centre))
            self.offer(found)
            if found.violated:
                self.offer(subsets.learn(found))
                break
        ball, margin = subsets.problem.ball, int(np.argmax(subsets.margins.evaluate(point)))
        # features that move already, before all of them
        for free in (np.flatnonzero(~still), self._everything):
            if not self.proven:
                top = climb(subsets.margins, ball.region(free), point, margin, subsets.late)
                self.offer(self._first_change(point, top))
        if ball.norm == "l2" and not self.proven:
            excess = length(point - centre, 2) / ball.epsilon - 1
            if excess > _OUTSIDE:
                self._points.append(point)
                return True
        if not self.proven:
            text = "the solver's point does not change the prediction in onnxruntime"
            self._doubt(text + self._rounded)
        return False

    def _first_change(self, start: FloatArray, end: FloatArray) -> Verdict:
        """Return the first change by bisection from ``start`` to ``end``, or UNKNOWN."""
        problem, free = self.subsets.problem, np.arange(start.size)
        found = replayed(problem, end, free)
        if found is None:
            return Verdict(Answer.UNKNOWN)
        late = self.subsets.late
        return halved(problem, found, (start, end), free, halvings=_HALVINGS, late=late)


_UNDECIDED = "no input was found that satisfies the rules where a cheaper change may be"
_MOST_LIMITS = 12
"""Whole costs tried from the least upwards, before the limit is the best cost."""


class LeafContrasts(ContrastSearch):
    """The cheapest contrast of trees so far, and the bound proven for each rival.

    A search for leaves within a limit of the cost ends with the first contrast; ``_unsure`` is the
    least cost of leaves in which rules may allow a cheaper input than the one found.
    """

    _reach: Reach
    _limit: float | None
    _unsure: float

    def _search(self) -> None:
        """Search the leaves of each rival within limits of the cost."""
        if not self._exists():
            return
        rivals, subsets = self._rivals(), self.subsets
        if self.best is not None and self.measure.choice.all():
            self._improve(self.best)
        free = subsets.problem.features.coordinates(sorted(subsets.everything))
        self._reach = Reach.of(subsets.problem, cells_for(subsets.problem), free)
        for limit in self._limits():
            self._limit = limit
            for rival in rivals:
                if self.proven:
                    return
                if subsets.late():
                    break
                bound = self._within_limit(rival)
                self._bounds[rival] = max(self._bounds[rival], bound)
                self._report()
            if subsets.late():
                break
        if self.best is None and self.unknown_reason is None:
            self.robust = min(self._bounds.values(), default=0.0) > self.measure.total
        if not self.proven:
            subsets.deadline.require_time()

    def _limits(self) -> list[float | None]:
        """Return limits of the cost, the least first; None is the best cost at the time."""
        if not self._whole:
            return [None]
        most = self.measure.total if self.best is None else self._cost(self.best) - 1.0
        first = self.lower_bound
        return [*np.arange(first, min(most, first + _MOST_LIMITS)).tolist(), None]

    def _most(self) -> float:
        if self._limit is not None:
            return self._limit * (1 + EQUAL)
        if self.best is None:
            return np.inf
        best = self._cost(self.best)
        return best - 1.0 + EQUAL if self._whole else best * (1 - self.measure.gap / 2)

    def _within_limit(self, rival: int) -> float:
        """Search for contrasts of margin ``rival`` within the limit; return the bound proven."""
        trees, reach, self._unsure = trees_of(self.subsets.margins), self._reach, np.inf
        assert trees is not None
        cut, _ = cut_of(reach, trees, rival, self._needed[rival])
        values = dense(trees.value_of[reach.boxes.leaf, rival])
        search = LeafSearch(
            reach.boxes, values, cut, self._take, self._near, reach.blocks, keep_constant=True
        )
        ended = search.run(self.subsets.late)
        self.effort += Effort(solves=1, nodes=search.nodes)
        if np.isfinite(self._unsure):
            self._doubt(_UNDECIDED)
        if ended is not False:
            return self.measure.least
        if self._limit is not None:
            beyond = self._limit + 1.0
        elif self.best is None:
            beyond = self.measure.total * (1 + EQUAL) + 1.0
        else:
            best = self._cost(self.best)
            beyond = best if self._whole else best * (1 - self.measure.gap / 2)
        return float(min(beyond, self._unsure))

    def _near(self, lo: IntArray, hi: IntArray, words: BoolArray | None) -> BoolArray:
        """Return which boxes of cells, (n, F), hold an input within the limit, (n,)."""
        kept = self._leaf_costs(lo, hi, words) <= self._most()
        if self._reach.limit is not None:
            some = None if words is None else words[kept]
            kept[kept] = self._reach.limit(lo[kept], hi[kept], some)
        return kept

    def _take(self, clique: Clique) -> bool:
        """Offer the input of a set of leaves; True to stop the search."""
        words = None if clique.words is None else clique.words[None, :]
        cost = float(self._leaf_costs(clique.lo[None, :], clique.hi[None, :], words)[0])
        if cost > self._most():
            return False
        point, excluded = self._reach.point(clique)
        if point is None:
            self._unsure = self._unsure if excluded else min(self._unsure, cost)
            return False
        found = replayed(self.subsets.problem, point, self._reach.free)
        if found is None:
            return False
        self.offer(found)
        if self.measure.cost(point) > cost * (1 + EQUAL):
            least = cost + self._further(clique)
            if self.measure.cost(point) > least * (1 + EQUAL):
                self._unsure = min(self._unsure, least)
        return self._limit is not None

    def _further(self, clique: Clique) -> float:
        """Return what rules add to the least cost of leaves: that of one more unit, or nothing."""
        measure, mixed = self.measure, self.subsets.problem.ball.mixed
        if mixed is None or clique.words is not None or not measure.choice.all():
            return 0.0
        ends = self._reach.whole(clique.lo[None, :], clique.hi[None, :])
        lower, upper, centre = ends[0][0], ends[1][0], self._reach.centre
        moved = np.zeros(measure.costs.size, dtype=bool)
        moved[measure.unit_of[(centre < lower) | (centre > upper)]] = True
        stays = ~moved[measure.unit_of]
        lower, upper = np.where(stays, centre, lower), np.where(stays, centre, upper)
        if mixed.cut(lower[None, :], upper[None, :])[2][0]:
            return 0.0
        return float(np.min(measure.costs[~moved], initial=np.inf))

    def _leaf_costs(self, lo: IntArray, hi: IntArray, words: BoolArray | None) -> FloatArray:
        """Return the least cost of a change into each box of cells, (n, F), with such words."""
        measure, features = self.measure, self._reach.boxes.features
        units, places = np.unique(measure.unit_of[features], return_inverse=True)
        amounts = np.zeros((lo.shape[0], units.size))
        moved = self._reach.moves(lo, hi) / measure.scales[features]
        moved[(self._reach.ends(lo, hi)[0] > measure.last[features]) & (moved > 0)] = 1.0
        for column, place in enumerate(places.tolist()):
            amounts[:, place] += moved[:, column]
        amounts = np.where(measure.choice[units], amounts > 0, amounts)
        cost = np.asarray(amounts @ measure.costs[units])
        if words is None:
            return cost
        own = self._reach.centre[self._reach.words] >= 1
        changed = ~words[:, own]
        return np.asarray(cost + changed @ measure.costs[measure.unit_of[self._reach.words[own]]])
