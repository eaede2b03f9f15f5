"""The largest sum of leaves that one input reaches: a heaviest clique in a graph of ``T`` parts.

Leaves ``l_1 … l_T``, one of each tree, are reached by one input if each pair of them meets
(:mod:`verix_encodings.kinds.leaf_boxes`). A node of the search is a set of leaves that are still
possible. Its bound is the sum of each tree's best possible leaf:

    max_x Σ_t w_t(ℓ_t(x))  ≤  Σ_t max { w_t(ℓ) : ℓ possible }

If these leaves meet, the bound is reached. Otherwise the node branches on the leaves of one tree:
choosing one makes impossible all leaves that it does not meet. Depth first, the best child first;
a node whose bound is below the cut is closed for good.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.kinds.leaf_boxes import LeafBoxes
from verix_encodings.work import spend_entries

_FAR = np.iinfo(np.int32).max
_MOST_ROWS = 2**26
"""Entries of the matrix of leaves that meet that are kept, one byte each."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """One-hot blocks: the words that each leaf allows, (N, words), and where blocks start there."""

    allowed: BoolArray
    starts: IntArray

    def possible(self, words: BoolArray) -> BoolArray:
        """Return whether rows of ``words``, (n, words), leave a word in each block, (n,)."""
        some = np.logical_or.reduceat(words, self.starts, axis=-1)
        return np.asarray(some.all(axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Clique:
    """Leaves that meet, one of each tree: their sum, and the cells that they have in common.

    ``words`` marks the words of one-hot blocks that all of them allow, None without blocks.
    """

    total: float
    lo: IntArray
    hi: IntArray
    words: BoolArray | None


@dataclass(slots=True, eq=False)
class LeafSearch:
    """A search for leaves of ``boxes`` whose ``values``, (N,), sum up to ``cut`` or more.

    ``take`` is asked about each such clique, the best of its node: it returns True to stop the
    search, False if the clique has no input, and None if it has one and the search goes on.
    ``near`` tells which boxes of cells, ``lo`` to ``hi``, both (n, F), with such words, hold an
    input at all; it may say True wrongly.
    ``closed`` is the highest bound of a node closed, ``nodes`` counts nodes.
    """

    boxes: LeafBoxes
    values: FloatArray
    cut: float
    take: Callable[[Clique], bool | None]
    near: Callable[[IntArray, IntArray, BoolArray | None], BoolArray] | None = None
    blocks: Blocks | None = None
    closed: float = -np.inf
    nodes: int = 0
    _starts: IntArray = field(init=False)
    _rows: dict[int, BoolArray] = field(default_factory=dict)
    _kept: int = 0

    def __post_init__(self) -> None:
        # the best leaf of each tree stands first
        order = np.lexsort((-self.values, self.boxes.tree))
        b = self.boxes
        self.boxes = LeafBoxes(
            b.features, b.low, b.high, b.tree[order], b.leaf[order], b.lo[order], b.hi[order]
        )
        self.values = self.values[order]
        if self.blocks is not None:
            self.blocks = Blocks(self.blocks.allowed[order], self.blocks.starts)
        self._starts = np.flatnonzero(np.diff(self.boxes.tree, prepend=-1))

    def run(self, late: Callable[[], bool]) -> bool | None:
        """Search; True if ``take`` stopped it, False once all nodes are closed, None if late."""
        everything = np.arange(self.values.size)
        stack = [(float(self.values[self._starts].sum()), everything)]
        while stack:
            bound, alive = stack.pop()
            if bound < self.cut:
                self.closed = max(self.closed, bound)
                continue
            if late():
                self.closed = max(self.closed, bound, *(b for b, _ in stack), -np.inf)
                return None
            self.nodes += 1
            children = self._opened(alive)
            if children is None:
                return True
            stack.extend(children)
        return False

    def _opened(self, alive: IntArray) -> list[tuple[float, IntArray]] | None:
        """Return the children of a node, the best last; None if the search is to stop."""
        boxes = self.boxes
        tree = boxes.tree[alive]
        starts = np.flatnonzero(np.diff(tree, prepend=-1))
        sizes = np.diff(starts, append=alive.size)
        spend_entries(alive.size, 8)
        alive, starts, sizes = self._fitting(alive, starts, sizes)
        if not alive.size:
            return []
        best = alive[starts]
        total = float(self.values[best].sum())
        if total < self.cut:
            self.closed = max(self.closed, total)
            return []
        lo, hi = boxes.lo[best], boxes.hi[best]
        low, high = lo.max(axis=0, initial=0), hi.min(axis=0, initial=_FAR)
        words, meet = None, bool(np.all(low <= high))
        if self.blocks is not None:
            words = np.asarray(self.blocks.allowed[best].all(axis=0))
            meet = meet and bool(self.blocks.possible(words))
        if meet:
            answer = self.take(Clique(total, low, high, words))
            if answer:
                return None
            if answer is None:
                self.closed = max(self.closed, total)
                return []
        several = sizes > 1
        if not several.any():
            return []
        conflict = (lo > high).any(axis=1) | (hi < low).any(axis=1)
        chosen = several & conflict
        chosen = chosen if chosen.any() else several
        last = alive[starts + sizes - 1]
        spread = np.where(chosen, self.values[best] - self.values[last], -1.0)
        return self._children(alive, starts, sizes, int(np.argmax(spread)))

    def _fitting(
        self, alive: IntArray, starts: IntArray, sizes: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Remove leaves that do not meet the leaves of trees that have one left."""
        boxes = self.boxes
        if self.near is None and self.blocks is None:
            return alive, starts, sizes
        lone = alive[starts[sizes == 1]]
        fits, words = np.ones(alive.size, dtype=bool), None
        if self.blocks is not None:
            words = self.blocks.allowed[alive] & self.blocks.allowed[lone].all(axis=0)
            fits &= self.blocks.possible(words)
        if self.near is not None:
            spend_entries(alive.size * boxes.features.size, 8)
            lo = np.maximum(boxes.lo[alive], boxes.lo[lone].max(axis=0, initial=0))
            hi = np.minimum(boxes.hi[alive], boxes.hi[lone].min(axis=0, initial=_FAR))
            fits &= (lo <= hi).all(axis=1)
            fits[fits] = self.near(lo[fits], hi[fits], None if words is None else words[fits])
        alive = alive[fits]
        tree = boxes.tree[alive]
        starts = np.flatnonzero(np.diff(tree, prepend=-1))
        if starts.size < sizes.size:
            return alive[:0], starts[:0], sizes[:0]
        return alive, starts, np.diff(starts, append=alive.size)

    def _children(
        self, alive: IntArray, starts: IntArray, sizes: IntArray, branch: int
    ) -> list[tuple[float, IntArray]]:
        """Return a child for each leaf of the tree at place ``branch`` that can reach the cut."""
        own = alive[starts[branch] : starts[branch] + sizes[branch]]
        meets = self._meeting(own, alive)
        spend_entries(meets.size, 4)
        found = np.where(meets, self.values[alive], -np.inf)
        bounds = np.maximum.reduceat(found, starts, axis=1).sum(axis=1)
        open_ = bounds >= self.cut
        if not open_.all():
            self.closed = max(self.closed, float(bounds[~open_].max()))
        order = np.flatnonzero(open_)
        order = order[np.argsort(bounds[order], kind="stable")]
        return [(float(bounds[i]), alive[meets[i]]) for i in order.tolist()]

    def _meeting(self, own: IntArray, alive: IntArray) -> BoolArray:
        """Return which of the leaves ``alive`` each of ``own``, leaves of one tree, meets."""
        tree = int(self.boxes.tree[own[0]])
        first = int(np.searchsorted(self.boxes.tree, tree))
        if tree not in self._rows:
            past = int(np.searchsorted(self.boxes.tree, tree, side="right"))
            entries = (past - first) * self.values.size
            if self._kept + entries > _MOST_ROWS:
                return self._met(own, alive)
            self._kept += entries
            self._rows[tree] = self._met(np.arange(first, past), np.arange(self.values.size))
        rows = self._rows[tree][own - first]
        return rows if alive.size == self.values.size else np.take(rows, alive, axis=1)

    def _met(self, own: IntArray, others: IntArray) -> BoolArray:
        boxes = self.boxes
        met = np.ones((own.size, others.size), dtype=bool)
        lo, hi = boxes.lo[own], boxes.hi[own]
        for f in range(boxes.features.size):
            if np.any(hi[:, f] < boxes.high[f]):
                met &= boxes.lo[others, f] <= hi[:, f, None]
            if np.any(lo[:, f] > boxes.low[f]):
                met &= boxes.hi[others, f] >= lo[:, f, None]
            spend_entries(met.size, 4)
        if self.blocks is not None:
            for i, leaf in enumerate(own.tolist()):
                both = self.blocks.allowed[others] & self.blocks.allowed[leaf]
                met[i] &= self.blocks.possible(both)
        return met
