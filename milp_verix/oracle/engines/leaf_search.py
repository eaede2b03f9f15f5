"""The largest sum of leaves that one input reaches: a heaviest clique in a graph of ``T`` parts.

Leaves ``l_1 … l_T``, one of each tree, are reached by one input if each pair of them meets
(:mod:`verix_encodings.kinds.leaf_boxes`). A node of the search is a set of leaves that are still
possible. Its bound is the sum of each tree's best possible leaf:

    max_x Σ_t w_t(ℓ_t(x))  ≤  Σ_t max { w_t(ℓ) : ℓ possible }

If these leaves meet, the bound is reached. Otherwise the node branches on the leaves of one tree:
choosing one makes impossible all leaves that it does not meet. Where there are too many leaves for
that, as in grown forests, it branches on the threshold that leaves the fewest on its two sides.
Depth first, the best child first; a node whose bound is below the cut is closed for good.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.kinds.leaf_boxes import LeafBoxes
from verix_encodings.work import spend_entries

_ROUNDED = 1e-15
"""By how much a cut is lowered for the sum of constant trees, relative to it."""
_MOST_MET = 2**23
"""Pairs of leaves beyond which a node branches on a threshold, which shrinks every tree at once."""
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
class _LeafNode:
    """The leaves ``alive`` that are still possible in the cells from ``low`` to ``high``, (F,)."""

    bound: float
    alive: IntArray
    low: IntArray
    high: IntArray


@dataclass(slots=True, eq=False)
class LeafSearch:
    """A search for leaves of ``boxes`` whose ``values``, (N,), sum up to ``cut`` or more.

    ``take`` is asked about each such clique, the best of its node: it returns True to stop the
    search, False if the clique has no input, and None if it has one and the search goes on.
    ``near`` tells which boxes of cells, ``lo`` to ``hi``, both (n, F), with such words, hold an
    input at all; it may say True wrongly. Trees whose leaves all have one value here add a
    ``constant``, unless ``keep_constant``; they stand in nobody's way, since some leaf of theirs
    meets any box. ``closed`` is the highest bound of a node closed, ``nodes`` counts nodes.
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
        boxes = self.boxes
        if not self.values.size:
            # no trees: a constant
            words = None if self.blocks is None else np.ones(self.blocks.allowed.shape[1], bool)
            self.closed = 0.0
            everywhere = Clique(self.constant, boxes.low, boxes.high, words)
            return self.cut <= 0 and bool(self.take(everywhere))
        every = float(self.values[_starts(boxes.tree)].sum())
        stack = [_LeafNode(every, np.arange(self.values.size), boxes.low, boxes.high)]
        while stack:
            node = stack.pop()
            if node.bound < self.cut:
                self.closed = max(self.closed, node.bound)
                continue
            if late():
                self.closed = max(self.closed, node.bound, *(one.bound for one in stack), -np.inf)
                return None
            self.nodes += 1
            children = self._opened(node)
            if children is None:
                return True
            stack.extend(children)
        return False

    def _opened(self, node: _LeafNode) -> list[_LeafNode] | None:
        """Return the children of a node, the best last; None if the search is to stop."""
        boxes, alive = self.boxes, node.alive
        starts = _starts(boxes.tree[alive])
        spend_entries(alive.size, 8)
        if self.near is not None or self.blocks is not None:
            fitting = self._fitting(node, starts)
            if fitting is None:
                return []
            alive, starts = fitting
        best = alive[starts]
        total = float(self.values[best].sum())
        if total < self.cut:
            self.closed = max(self.closed, total)
            return []
        lo, hi = boxes.lo[best], boxes.hi[best]
        low, high = np.maximum(lo.max(axis=0), node.low), np.minimum(hi.min(axis=0), node.high)
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
        smaller = _LeafNode(node.bound, alive, node.low, node.high)
        return self._branched(smaller, starts, branch) if spread[branch] >= 0 else []

    def _branched(self, node: _LeafNode, starts: IntArray, branch: int) -> list[_LeafNode]:
        """Return the children of a node by the tree at place ``branch``, or by a threshold."""
        alive = node.alive
        past = starts[branch + 1] if branch + 1 < starts.size else alive.size
        if (past - starts[branch]) * alive.size > _MOST_MET:
            halves = self._halves(node)
            if halves is not None:
                return halves
        return self._children(node, starts, alive[starts[branch] : past])

    def _halves(self, node: _LeafNode) -> list[_LeafNode] | None:
        """Return the two sides of a threshold that leaves the fewest leaves on both together.

        None if no threshold separates leaves.
        """
        alive, best = node.alive, None
        spend_entries(alive.size * node.low.size, 8)
        for f in range(node.low.size):
            lo, hi = self._lo[f].take(alive), self._hi[f].take(alive)
            inside = lo[lo > node.low[f]]
            if not inside.size:
                continue
            cut = int(np.partition(inside, inside.size // 2)[inside.size // 2]) - 1
            left, right = lo <= cut, hi > cut
            count = int(np.count_nonzero(left)) ** 2 + int(np.count_nonzero(right)) ** 2
            if best is None or count < best[0]:
                best = count, f, cut, left, right
        if best is None:
            return None
        _, f, cut, left, right = best
        found, trees = [], _starts(self.boxes.tree[alive]).size
        for kept, low, high in ((left, node.low[f], cut), (right, cut + 1, node.high[f])):
            side = _LeafNode(0.0, alive[kept], node.low.copy(), node.high.copy())
            side.low[f], side.high[f] = low, high
            first = _starts(self.boxes.tree[side.alive])
            side.bound = float(self.values[side.alive[first]].sum())
            if first.size == trees:  # else some tree has no leaf there that an input reaches
                found.append(side)
        return sorted(found, key=lambda side: side.bound)

    def _fitting(self, node: _LeafNode, starts: IntArray) -> tuple[IntArray, IntArray] | None:
        """Remove leaves that no input reaches with the leaves of trees that have one left.

        None if a tree has no leaf left.
        """
        boxes, alive = self.boxes, node.alive
        sizes = np.diff(starts, append=alive.size)
        lone = alive[starts[sizes == 1]]
        fits, words = np.ones(alive.size, dtype=bool), None
        if self.blocks is not None:
            words = self.blocks.allowed[alive] & self.blocks.allowed[lone].all(axis=0)
            fits &= self.blocks.possible(words)
        if self.near is not None:
            spend_entries(alive.size * boxes.features.size, 8)
            lo = np.maximum(boxes.lo[alive], node.low)
            hi = np.minimum(boxes.hi[alive], node.high)
            if lone.size:
                lo = np.maximum(lo, boxes.lo[lone].max(axis=0))
                hi = np.minimum(hi, boxes.hi[lone].min(axis=0))
            fits &= (lo <= hi).all(axis=1)
            fits[fits] = self.near(lo[fits], hi[fits], None if words is None else words[fits])
        alive = alive[fits]
        fewer = _starts(boxes.tree[alive])
        return None if fewer.size < starts.size else (alive, fewer)

    def _children(self, node: _LeafNode, starts: IntArray, own: IntArray) -> list[_LeafNode]:
        """Return a child for each of the leaves ``own`` of one tree that can reach the cut."""
        alive = node.alive
        meets = self._meeting(own, alive)
        spend_entries(meets.size, 4)
        found = np.where(meets, self.values[alive], -np.inf)
        bounds = np.maximum.reduceat(found, starts, axis=1).sum(axis=1)
        open_ = bounds >= self.cut
        if not open_.all():
            self.closed = max(self.closed, float(bounds[~open_].max()))
        order = np.flatnonzero(open_)
        order = order[np.argsort(bounds[order], kind="stable")]
        return [
            _LeafNode(float(bounds[i]), alive[meets[i]], node.low, node.high)
            for i in order.tolist()
        ]

    def _meeting(self, own: IntArray, alive: IntArray) -> BoolArray:
        """Return which of the leaves ``alive`` each of ``own``, leaves of one tree, meets."""
        tree = int(self.boxes.tree[own[0]])
        first = int(np.searchsorted(self.boxes.tree, tree))
        if tree not in self._rows:
            past = int(np.searchsorted(self.boxes.tree, tree, side="right"))
            entries = (past - first) * self.values.size
            if self._kept + entries > _MOST_ROWS or entries > _MOST_MET:
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
    return np.flatnonzero(np.diff(tree, prepend=-1))
