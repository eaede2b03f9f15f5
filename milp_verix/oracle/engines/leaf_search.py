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

_ROUNDED = 1e-15
"""By how much a cut is lowered for the sum of constant trees, relative to it."""
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
    Trees whose leaves all have one value here add a ``constant``, unless ``keep_constant``; they
    stand in nobody's way, since some leaf of theirs meets any box. ``closed`` is the highest bound
    of a node closed, ``nodes`` counts nodes.
    """

    boxes: LeafBoxes
    values: FloatArray
    cut: float
    take: Callable[[Clique], bool | None]
    near: Callable[[IntArray, IntArray, BoolArray | None], BoolArray] | None = None
    blocks: Blocks | None = None
    keep_constant: bool = False
    constant: float = field(init=False, default=0.0)
    closed: float = -np.inf
    nodes: int = 0
    _lo: IntArray = field(init=False)
    _hi: IntArray = field(init=False)
    _rows: dict[int, BoolArray] = field(default_factory=dict)
    _kept: int = 0

    def __post_init__(self) -> None:
        # the best leaf of each tree stands first
        order = np.lexsort((-self.values, self.boxes.tree))
        if order.size and not self.keep_constant:
            first = _starts(self.boxes.tree[order])
            sizes = np.diff(first, append=order.size)
            best = self.values[order[first]]
            same = best == self.values[order[first + sizes - 1]]
            self.constant = float(best[same].sum())
            order = order[~np.repeat(same, sizes)]
        self.boxes, self.values = self.boxes.only(order), self.values[order]
        self.cut -= self.constant + abs(self.constant) * _ROUNDED
        if self.blocks is not None:
            self.blocks = Blocks(self.blocks.allowed[order], self.blocks.starts)
        # by feature, side by side in memory
        self._lo = np.ascontiguousarray(self.boxes.lo.T)
        self._hi = np.ascontiguousarray(self.boxes.hi.T)

    def run(self, late: Callable[[], bool]) -> bool | None:
        """Search; True if ``take`` stopped it, False once all nodes are closed, None if late."""
        if not self.values.size:
            # no trees: a constant
            words = None if self.blocks is None else np.ones(self.blocks.allowed.shape[1], bool)
            self.closed = 0.0
            everywhere = Clique(self.constant, self.boxes.low, self.boxes.high, words)
            return self.cut <= 0 and bool(self.take(everywhere))
        everything = np.arange(self.values.size)
        first = _starts(self.boxes.tree)
        stack = [(float(self.values[first].sum()), everything)]
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
        starts = _starts(boxes.tree[alive])
        spend_entries(alive.size, 8)
        if self.near is not None or self.blocks is not None:
            fitting = self._fitting(alive, starts)
            if fitting is None:
                return []
            alive, starts = fitting
        best = alive[starts]
        total = float(self.values[best].sum())
        if total < self.cut:
            self.closed = max(self.closed, total)
            return []
        lo, hi = boxes.lo[best], boxes.hi[best]
        low, high = lo.max(axis=0), hi.min(axis=0)
        words, meet = None, bool((low <= high).all())
        if self.blocks is not None:
            words = np.asarray(self.blocks.allowed[best].all(axis=0))
            meet = meet and bool(self.blocks.possible(words))
        if meet:
            answer = self.take(Clique(total + self.constant, low, high, words))
            if answer:
                return None
            if answer is None:
                self.closed = max(self.closed, total)
                return []
        last = alive[np.append(starts[1:], alive.size) - 1]
        spread = np.where(last > best, self.values[best] - self.values[last], -1.0)
        if not meet:
            conflict = ((lo > high) | (hi < low)).any(axis=1)
            in_conflict = np.where(conflict, spread, -1.0)
            spread = in_conflict if in_conflict.max() >= 0 else spread
        branch = int(np.argmax(spread))
        return self._children(alive, starts, branch) if spread[branch] >= 0 else []

    def _fitting(self, alive: IntArray, starts: IntArray) -> tuple[IntArray, IntArray] | None:
        """Remove leaves that no input reaches with the leaves of trees that have one left.

        None if a tree has no leaf left.
        """
        boxes = self.boxes
        sizes = np.diff(starts, append=alive.size)
        lone = alive[starts[sizes == 1]]
        fits, words = np.ones(alive.size, dtype=bool), None
        if self.blocks is not None:
            words = self.blocks.allowed[alive] & self.blocks.allowed[lone].all(axis=0)
            fits &= self.blocks.possible(words)
        if self.near is not None:
            spend_entries(alive.size * boxes.features.size, 8)
            lo, hi = boxes.lo[alive], boxes.hi[alive]
            if lone.size:
                lo = np.maximum(lo, boxes.lo[lone].max(axis=0))
                hi = np.minimum(hi, boxes.hi[lone].min(axis=0))
            fits &= (lo <= hi).all(axis=1)
            fits[fits] = self.near(lo[fits], hi[fits], None if words is None else words[fits])
        alive = alive[fits]
        fewer = _starts(boxes.tree[alive])
        return None if fewer.size < starts.size else (alive, fewer)

    def _children(
        self, alive: IntArray, starts: IntArray, branch: int
    ) -> list[tuple[float, IntArray]]:
        """Return a child for each leaf of the tree at place ``branch`` that can reach the cut."""
        past = starts[branch + 1] if branch + 1 < starts.size else alive.size
        own = alive[starts[branch] : past]
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
        every = others.size == self.values.size
        below = np.flatnonzero((hi < boxes.high).any(axis=0)).tolist()
        above = np.flatnonzero((lo > boxes.low).any(axis=0)).tolist()
        spend_entries(met.size * (len(below) + len(above)), 4)
        for f in below:
            theirs = self._lo[f] if every else self._lo[f].take(others)
            met &= theirs <= hi[:, f, None]
        for f in above:
            theirs = self._hi[f] if every else self._hi[f].take(others)
            met &= theirs >= lo[:, f, None]
        if self.blocks is not None:
            for i, leaf in enumerate(own.tolist()):
                both = self.blocks.allowed[others] & self.blocks.allowed[leaf]
                met[i] &= self.blocks.possible(both)
        return met


def _starts(tree: IntArray) -> IntArray:
    """Return the place of the first leaf of each tree, given the ascending trees of leaves."""
    return np.concatenate([[0], np.flatnonzero(tree[1:] != tree[:-1]) + 1])
