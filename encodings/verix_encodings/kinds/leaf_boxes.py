"""Leaves of trees as boxes of cells: what a set of inputs reaches, and which leaves meet.

The thresholds ``θ_0 < … < θ_{k−1}`` of a feature, those of all trees together, cut its axis into
cells: ``x`` is in cell ``j`` if ``j`` thresholds are below it, so

    x ≤ θ_j   ⇔   cell(x) ≤ j            cell j  =  (θ_{j−1}, θ_j]

and a leaf is a box of cells, ``lo ≤ cell(x) ≤ hi``. Boxes that meet pairwise meet jointly (in each
feature by itself, intervals do). A threshold of a whole number is rounded down, so that no cell is
without a whole number.
"""

from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.work import spend_entries

_MOST_ENTRIES = 2**24
"""Leaves times features of a table of all leaves: 64 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells of each feature of ``ensemble``; ``d`` is the number of input coordinates.

    ``rank`` is the number of the threshold of each inner node among those of its feature, (n,).
    The thresholds of feature ``f`` are ``thresholds[starts[f]:starts[f + 1]]``, ascending.
    """

    ensemble: TreeEnsemble
    rank: IntArray
    thresholds: FloatArray
    starts: IntArray

    @classmethod
    def of(cls, ensemble: TreeEnsemble, size: int, integral: BoolArray | None = None) -> "Cells":
        """Return the cells of inputs with ``size`` coordinates, whole where ``integral``, (d,)."""
        inner = np.flatnonzero(ensemble.feature >= 0)
        feature, threshold = ensemble.feature[inner], ensemble.threshold[inner]
        if integral is not None:
            threshold = np.where(integral[feature], np.floor(threshold), threshold)
        spend_entries(inner.size, 24)
        order = np.lexsort((threshold, feature))
        f, t = feature[order], threshold[order]
        new = np.ones(order.size, dtype=bool)
        new[1:] = (f[1:] != f[:-1]) | (t[1:] != t[:-1])
        starts = np.searchsorted(f[new], np.arange(size + 1))
        rank = np.zeros(ensemble.feature.size, dtype=np.intp)
        rank[inner[order]] = np.cumsum(new) - 1 - starts[f]
        return cls(ensemble, rank, t[new], starts.astype(np.intp))

    def of_feature(self, feature: int) -> FloatArray:
        """Return the thresholds of a feature, ascending."""
        return self.thresholds[self.starts[feature] : self.starts[feature + 1]]

    def cell(self, x: FloatArray) -> IntArray:
        """Return the cell of each coordinate of ``x``, shape (d,)."""
        found = np.zeros(x.size, dtype=np.intp)
        for f in np.flatnonzero(np.diff(self.starts)).tolist():
            found[f] = np.searchsorted(self.of_feature(f), x[f], side="left")
        return found

    def reached(self, lower: FloatArray, upper: FloatArray) -> "LeafBoxes":
        """Return the leaves that the inputs between ``lower`` and ``upper``, (d,), reach."""
        low = self.cell(lower)
        high = low.copy()
        for f in np.flatnonzero((lower < upper) & self.used).tolist():
            high[f] = np.searchsorted(self.of_feature(f), upper[f], side="left")
        # a check is asked by bounds first, and then by leaves
        key, place = ("last", id(self.thresholds)), (low.tobytes(), high.tobytes())
        last = self.ensemble.memo.get(key)
        if last is not None and last[0] == place:
            known: LeafBoxes = last[1]
            return known
        everything = self._everything()
        found = self._descended(low, high) if everything is None else everything.within(low, high)
        self.ensemble.memo[key] = place, found
        return found

    @property
    def used(self) -> BoolArray:
        """The features that some node tests, (d,)."""
        return np.asarray(np.diff(self.starts) > 0)

    def _everything(self) -> "LeafBoxes | None":
        """Return all leaves, in a table that is made once; None where it would be large."""
        leaves = int(np.count_nonzero(self.ensemble.feature < 0))
        if leaves * np.count_nonzero(self.used) > _MOST_ENTRIES:
            return None
        key = "every leaf", id(self.thresholds)
        if key not in self.ensemble.memo:
            none = np.zeros(self.starts.size - 1, dtype=np.intp)
            self.ensemble.memo[key] = self._descended(none, np.diff(self.starts))
        found: LeafBoxes = self.ensemble.memo[key]
        return found

    def _descended(self, low: IntArray, high: IntArray) -> "LeafBoxes":
        """Walk down the trees with the cells from ``low`` to ``high``, (d,)."""
        moving = np.flatnonzero(high > low)
        place = np.full(low.size, -1, dtype=np.intp)
        place[moving] = np.arange(moving.size)
        ensemble, rank = self.ensemble, self.rank
        at, tree = ensemble.roots, np.arange(ensemble.tree_count)
        # narrow numbers are compared several times as fast
        narrow = np.int16 if np.max(high, initial=0) < np.iinfo(np.int16).max else np.int32
        lo = np.repeat(low[moving][None, :].astype(narrow), at.size, axis=0)
        hi = np.repeat(high[moving][None, :].astype(narrow), at.size, axis=0)
        found: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
        while True:
            spend_entries(at.size * (4 + moving.size), 4)
            feature = ensemble.feature[at]
            leaf = feature < 0
            if leaf.any():
                found.append((tree[leaf], at[leaf], lo[leaf], hi[leaf]))
                inner = np.flatnonzero(~leaf)
                at, tree, lo, hi, feature = (a[inner] for a in (at, tree, lo, hi, feature))
            if not at.size:
                break
            column, cut = place[feature], rank[at]
            free = column >= 0
            rows, columns = np.arange(at.size), np.maximum(column, 0)
            if moving.size:
                low_here = np.where(free, lo[rows, columns], low[feature])
                high_here = np.where(free, hi[rows, columns], low[feature])
            else:
                low_here = high_here = low[feature]
            left, right = np.flatnonzero(low_here <= cut), np.flatnonzero(high_here > cut)
            left_hi, right_lo = hi[left], lo[right]
            if moving.size:
                cutting = np.flatnonzero(free[left])
                kept = columns[left[cutting]]
                left_hi[cutting, kept] = np.minimum(left_hi[cutting, kept], cut[left[cutting]])
                cutting = np.flatnonzero(free[right])
                kept = columns[right[cutting]]
                right_lo[cutting, kept] = np.maximum(
                    right_lo[cutting, kept], cut[right[cutting]] + 1
                )
            lo, hi = np.concatenate([lo[left], right_lo]), np.concatenate([left_hi, hi[right]])
            tree = np.concatenate([tree[left], tree[right]])
            at = np.concatenate([ensemble.left[at[left]], ensemble.right[at[right]]])
        joined = [np.concatenate(part) for part in zip(*found, strict=True)]
        by_tree = np.argsort(joined[0], kind="stable")
        return LeafBoxes(moving, low[moving], high[moving], *(part[by_tree] for part in joined))

    def ends(self, feature: int, lo: int, hi: int, *, whole: bool) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest float64 of each cell from ``lo`` to ``hi``.

        The least and the greatest whole number if ``whole``; infinite at the ends of the axis.
        """
        own = np.concatenate([[-np.inf], self.of_feature(feature), [np.inf]])[lo : hi + 2]
        return (own[:-1] + 1.0 if whole else np.nextafter(own[:-1], np.inf)), own[1:]


@dataclass(frozen=True, slots=True, eq=False)
class LeafBoxes:
    """The ``N`` leaves that a box of inputs reaches, tree by tree.

    ``features`` are the ``F`` features whose cell differs in the box, with the cells from ``low``
    to ``high``, (F,). ``tree`` and ``leaf`` are the numbers of trees, ascending, and of leaves;
    leaf ``i`` has the cells from ``lo[i]`` to ``hi[i]``, both (N, F), inside of the box.
    """

    features: IntArray
    low: IntArray
    high: IntArray
    tree: IntArray
    leaf: IntArray
    lo: IntArray
    hi: IntArray

    def within(self, low: IntArray, high: IntArray) -> "LeafBoxes":
        """Return the leaves of all that meet the cells from ``low`` to ``high``, (d,)."""
        least, most = low[self.features], high[self.features]
        spend_entries(self.lo.size, 2)
        meets = ((self.lo <= most) & (self.hi >= least)).all(axis=1)
        rows, columns = np.flatnonzero(meets), np.flatnonzero(most > least)
        least, most = least[columns], most[columns]
        kept = np.ix_(rows, columns)
        lo = np.maximum(self.lo[kept], least).astype(self.lo.dtype)
        hi = np.minimum(self.hi[kept], most).astype(self.hi.dtype)
        found = self.features[columns], least, most, self.tree[rows], self.leaf[rows]
        return LeafBoxes(*found, lo, hi)

    def only(self, rows: IntArray) -> "LeafBoxes":
        """Return the leaves at these ascending places."""
        parts = (self.tree, self.leaf, self.lo, self.hi)
        return LeafBoxes(self.features, self.low, self.high, *(part[rows] for part in parts))

    def without(self, coordinates: IntArray) -> "LeafBoxes":
        """Return the leaves with features among ``coordinates`` left out of their boxes."""
        kept = np.flatnonzero(~np.isin(self.features, coordinates))
        features, low, high = self.features[kept], self.low[kept], self.high[kept]
        return LeafBoxes(
            features, low, high, self.tree, self.leaf, self.lo[:, kept], self.hi[:, kept]
        )


def cells_of(trees: TreeEnsemble, size: int, integral: BoolArray | None = None) -> Cells:
    """Return the cells of ``trees``, :meth:`Cells.of`, computed once for each ``integral``."""
    key = None if integral is None else integral.tobytes()
    if key not in trees.memo:
        trees.memo[key] = Cells.of(trees, size, integral)
    found: Cells = trees.memo[key]
    return found
