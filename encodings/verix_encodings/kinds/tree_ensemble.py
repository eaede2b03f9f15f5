"""Sums of decision trees.

    v = base + Σ_t w_t(ℓ_t(x))          ℓ_t(x): the leaf of tree t that x reaches

An inner node sends ``x`` to the left where ``x_f ≤ θ``, in float64 exactly, else to the right.
Libraries that compare other numbers (``float32(x) ≤ θ``, ``float32(x) < θ``) are read in this
normal form with another ``θ``: the greatest float64 that goes to the left.

    enclosure   Σ_t min { w_t(ℓ) : ℓ reachable }  ≤  v − base  ≤  Σ_t max { w_t(ℓ) : ℓ reachable }

over a box: a leaf is reachable if the box meets each condition on its path. Sums are rounded
outward, and ``error`` is added: the model that runs may be that far from the sum. Where the trees
read computed numbers, the model that runs may compute others, ``blur`` apart at most: boxes are
wider by it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray, Matrix, dense, frozen, relative_error
from verix_encodings.bounds.interval import Bounds, Interval, Late, Range, never
from verix_encodings.kinds import node as kind
from verix_encodings.kinds.tree import (
    Splits,
    Tree,
    joined,
    numbers_in,
    product,
    sums_of_ends,
    tree_ensemble_rows,
)
from verix_encodings.program import Expressions
from verix_encodings.work import spend_entries

_MOST_ENTRIES = 2**23
"""Values of leaves, 64 MB, up to which those of all boxes or points are taken at once."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeEnsemble(kind.OneSource):
    """``v = base + Σ_t w_t(ℓ_t(v_source))``: a sum of ``T`` trees with ``n`` nodes in all.

    ``feature``, ``threshold``, ``left``, ``right``, ``value`` are those of the trees one after the
    other, with the numbers of nodes counted through; ``roots``, shape (T,), are the trees' first
    nodes. ``value_of``, (n, m), may be sparse, see :mod:`verix_encodings.kinds.tree`. ``base`` has
    shape (m,), and the model that runs computes within ``error``, (m,), of the sum in real
    arithmetic, of sources that are within ``blur``. Built by :meth:`of`.
    """

    plural: ClassVar[str] = "trees' scores"
    exact: ClassVar[bool] = True
    stepped: ClassVar[bool] = True

    source: int
    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value_of: Matrix
    base: FloatArray
    error: FloatArray
    blur: float = field(default=0.0, kw_only=True)
    depth: int = field(default=0, kw_only=True)
    memo: dict[Any, Any] = field(default_factory=dict, kw_only=True)
    """Facts of the trees' structure, computed once; copies with other values share them."""
    _reach: list[FloatArray] = field(default_factory=list, init=False)
    """The magnitude, once it is known; a copy with other values has its own."""

    @classmethod
    def of(
        cls,
        source: int,
        trees: Sequence[Tree],
        base: FloatArray,
        error: FloatArray | float = 0.0,
        blur: float = 0.0,
    ) -> "TreeEnsemble":
        """Return the sum of ``trees`` and ``base``, known up to ``error``, of a source to ``blur``.

        Raises ``ValueError`` for arrays that are no trees with ``m`` scores.
        """
        base = frozen(base)
        sizes = [tree.feature.size for tree in trees]
        starts = np.cumsum([0, *sizes])
        none = np.zeros(0, dtype=np.intp)

        def counted(parts: Sequence[IntArray]) -> IntArray:
            return np.concatenate([none, *parts]).astype(np.int32)

        feature = counted([tree.feature for tree in trees])
        inner = feature >= 0
        places = np.arange(starts[-1], dtype=np.int32)
        left = counted([t.left + s for t, s in zip(trees, starts, strict=False)])
        right = counted([t.right + s for t, s in zip(trees, starts, strict=False)])
        left, right = np.where(inner, left, places), np.where(inner, right, places)
        threshold = np.concatenate([np.zeros(0), *(tree.threshold for tree in trees)])
        value = joined(trees, base.size)
        # a child stands in its parent's tree
        ends = np.repeat(starts[1:], sizes)
        for child in (left, right):
            if np.any(child < np.repeat(starts[:-1], sizes)) or np.any(child >= ends):
                raise ValueError("a node of a tree has a child outside of it")
        if not np.isfinite(numbers_in(value)).all() or np.isnan(threshold).any():
            raise ValueError("a tree has a value that is no finite number")
        if isinstance(value, np.ndarray):
            value[inner] = 0.0
        roots, threshold = starts[:-1].astype(np.intp), np.where(inner, threshold, np.inf)
        off = frozen(np.broadcast_to(error, base.shape))
        node = cls(source, roots, feature, threshold, left, right, value, base, off, blur=blur)
        return replace(node, depth=node._measured())

    def _measured(self) -> int:
        """Return the number of conditions on the longest path."""
        depth, level = 0, self.roots
        seen = 0
        while level.size:
            seen += level.size
            if seen > self.feature.size:
                raise ValueError("a node of a tree has two parents")
            inner = level[self.feature[level] >= 0]
            level = np.concatenate([self.left[inner], self.right[inner]])
            depth += bool(level.size)
        return depth

    @property
    def tree_count(self) -> int:
        """Number of trees ``T``."""
        return self.roots.size

    @property
    def inside(self) -> int:
        return self.tree_count

    def size(self, sizes: Sequence[int], nodes: Sequence[kind.Node]) -> int:
        """Return the number of scores; ``ValueError`` if a tree reads an entry beyond them."""
        if np.any(self.feature >= sizes[self.source]):
            raise ValueError(
                f"reads entry {self.feature.max()} of value {self.source}, "
                f"of size {sizes[self.source]}"
            )
        return self.base.size

    def leaves_at(self, x: FloatArray) -> IntArray:
        """Return the leaf that each tree reaches at the columns of ``x``, (d, N): (T, N)."""
        columns = np.arange(x.shape[1])[None, :]
        at = np.repeat(self.roots[:, None], x.shape[1], axis=1)
        spend_entries(at.size, 1 + self.depth)
        flat, count = np.ascontiguousarray(x).reshape(-1), x.shape[1]
        for _ in range(self.depth):
            # a leaf has the feature -1, the threshold ∞, and is its own child
            there = flat.take(self.feature.take(at) * count + columns, mode="wrap")
            at = np.where(there <= self.threshold.take(at), self.left.take(at), self.right.take(at))
        return at

    def value(self, values: Sequence[FloatArray]) -> FloatArray:
        x = values[self.source]
        flat = x.ndim == 1
        at = self.leaves_at(x[:, None] if flat else x)
        if self._is_large(at.size):
            sums = np.stack([self.value_of[leaves].sum(axis=0) for leaves in at.T])
        else:
            sums = dense(self.value_of)[at].sum(axis=0)
        total = self.base[:, None] + sums.T
        return np.asarray(total[:, 0] if flat else total)

    def enclosure(self, of: kind.Ranges) -> Range:
        lower, upper = of(self.source)
        boxes = np.atleast_2d(lower), np.atleast_2d(upper)
        count, trees = boxes[0].shape[0], self.tree_count
        if self._is_large(count * trees):
            ends = np.array([self._ends(*box) for box in zip(*boxes, strict=True)])
            low, high, reach = np.swapaxes(ends, 0, 1)
        else:
            shape = (count, trees, self.base.size)
            least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
            box, tree, leaf = self.reachable(*boxes)
            if trees and leaf.size:
                by_tree = np.argsort(key := box * trees + tree, kind="stable")
                starts = np.flatnonzero(np.diff(key[by_tree], prepend=-1))
                found, values = key[by_tree[starts]], dense(self.value_of[leaf[by_tree]])
                flat = -1, self.base.size
                least.reshape(flat)[found] = np.minimum.reduceat(values, starts, axis=0)
                most.reshape(flat)[found] = np.maximum.reduceat(values, starts, axis=0)
            reach = np.maximum(np.abs(least), np.abs(most)).sum(axis=1)
            low, high = least.sum(axis=1), most.sum(axis=1)
        off = self.error + relative_error(trees + 2) * (reach + np.abs(self.base) + self.error)
        low, high = self.base + low - off, self.base + high + off
        return low.reshape(*lower.shape[:-1], -1), high.reshape(*lower.shape[:-1], -1)

    def _ends(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, ...]:
        """Return the sums of the ends of each tree's values in one box, :func:`.sums_of_ends`."""
        _, tree, leaf = self.reachable(lower[None, :], upper[None, :])
        by_tree = np.argsort(tree, kind="stable")
        starts = np.flatnonzero(np.diff(tree[by_tree], prepend=-1))
        return sums_of_ends(self.value_of[leaf[by_tree]], starts)

    def _is_large(self, leaves: int) -> bool:
        """Return whether values of so many leaves are taken some at a time; never one score."""
        dense_ones = isinstance(self.value_of, np.ndarray)
        return not dense_ones or leaves * (self.base.size - 1) > _MOST_ENTRIES

    def reachable(
        self, lower: FloatArray, upper: FloatArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return the leaves that boxes, (N, d), reach: numbers of boxes, trees and leaves."""
        lower, upper = lower - self.blur, upper + self.blur
        box = np.repeat(np.arange(lower.shape[0]), self.tree_count)
        tree = np.tile(np.arange(self.tree_count), lower.shape[0])
        at = self.roots[tree]
        found: list[tuple[IntArray, IntArray, IntArray]] = []
        while True:
            spend_entries(at.size, 8)
            inner = self.feature[at] >= 0
            found.append((box[~inner], tree[~inner], at[~inner]))
            box, tree, at = box[inner], tree[inner], at[inner]
            if not at.size:
                break
            feature, threshold = self.feature[at], self.threshold[at]
            goes_left = lower[box, feature] <= threshold
            goes_right = upper[box, feature] > threshold
            at = np.concatenate([self.left[at[goes_left]], self.right[at[goes_right]]])
            box = np.concatenate([box[goes_left], box[goes_right]])
            tree = np.concatenate([tree[goes_left], tree[goes_right]])
        boxes, trees, leaves = (np.concatenate(part) for part in zip(*found, strict=True))
        return boxes, trees, leaves

    @property
    def magnitude(self) -> FloatArray:
        """A bound on ``|base| + Σ_t |w_t(ℓ_t(x))|`` for any ``x``, shape (m,)."""
        if not self.tree_count:
            return np.abs(self.base)
        if not self._reach:  # values of leaves may be gigabytes
            _, _, largest = sums_of_ends(self.value_of, self.roots)
            self._reach.append(frozen((np.abs(self.base) + largest) * (1 + 1e-9)))
        return self._reach[0]

    def followed(self, matrix: Matrix, bias: FloatArray, error: FloatArray) -> "TreeEnsemble":
        """Return the trees of ``W v + c``: each leaf adds ``W w_t(ℓ)``; rounding is counted."""
        weight = abs(matrix)
        gamma = relative_error(self.base.size + 2)
        off = weight @ (self.error + gamma * self.magnitude) + gamma * np.abs(bias) + error
        value, base = product(self.value_of, matrix), frozen(matrix @ self.base + bias)
        return replace(self, value_of=value, base=base, error=frozen(off))

    def slopes(
        self, bounds: Bounds, lower: FloatArray, upper: FloatArray
    ) -> Iterator[tuple[int, Range]]:
        """Yield the source with slopes of zero where each tree reaches one leaf, else infinite."""
        of = bounds[self.source]
        _, _, leaf = self.reachable(of.lower[None, :], of.upper[None, :])
        steep = 0.0 if leaf.size == self.tree_count else np.inf
        ends = np.full((lower.shape[0], of.lower.size), steep)
        yield self.source, (-ends, ends)

    def splits(self, lower: FloatArray, upper: FloatArray, late: Late = never) -> Splits:
        """Return the leaves that the box reaches, and open splits; or ``TimeoutError``."""
        lower, upper = lower - self.blur, upper + self.blur
        feature, threshold = self.feature.tolist(), self.threshold.tolist()
        left, right, low, high = (a.tolist() for a in (self.left, self.right, lower, upper))
        leaves: list[int] = []
        owners: list[int] = []
        found: list[list[int]] = []

        def visit(root: int) -> None:
            # from the left to the right, so that leaves under a node stand side by side; a step is
            # a node, or an end of the box that changes behind one, where leaves are counted
            steps: list[int | tuple[list[float], int, float, list[int], int]] = [root]
            while steps:
                step = steps.pop()
                if isinstance(step, tuple):
                    ends, f, end, split, place = step
                    ends[f], split[place] = end, len(leaves)
                    continue
                node, f = step, feature[step]
                if f < 0:
                    leaves.append(node)
                    continue
                cut = threshold[node]
                if high[f] <= cut or low[f] > cut:
                    steps.append(left[node] if high[f] <= cut else right[node])
                    continue
                split = [node, len(leaves), 0, 0]
                found.append(split)
                steps += [(low, f, low[f], split, 3), right[node]]
                steps += [(low, f, math.nextafter(cut, math.inf), split, 2)]
                steps += [(high, f, high[f], split, 2), left[node]]
                high[f] = cut

        for tree, root in enumerate(self.roots.tolist()):
            if late():
                raise TimeoutError("time is up before the trees are encoded")
            before = len(leaves)
            visit(root)
            owners += [tree] * (len(leaves) - before)
        spend_entries(len(leaves), 64)
        data = np.array(found, dtype=np.intp).reshape(-1, 4)
        node = data[:, 0]
        owner, feature = np.array(owners, dtype=np.intp), self.feature[node].astype(np.intp)
        return Splits(owner, self.value_of[leaves], feature, self.threshold[node], *data[:, 1:].T)

    def open_thresholds(self, lower: FloatArray, upper: FloatArray) -> dict[int, FloatArray]:
        """Return the thresholds that a program over the box has binaries for, by feature."""
        splits = self.splits(lower, upper)
        features = np.unique(splits.feature).tolist()
        return {f: np.unique(splits.threshold[splits.feature == f]) for f in features}

    def rows(self, context: kind.EncodingContext) -> Expressions:
        box = context.bounds[self.source]
        splits = self.splits(box.lower, box.upper, context.late)
        return tree_ensemble_rows(context, splits, self.base, self.source, self.blur)

    def encoding_error(self, before: Sequence[kind.Rounded], interval: Interval) -> kind.Rounded:
        """Bound how far the model may be from its expressions, and the magnitude of its value."""
        # of expressions that are further off, the model may be on the other side of a threshold
        jump = 2 * self.magnitude if np.any(before[self.source][0] > self.blur) else 0.0
        return self.error + jump, np.maximum(self.magnitude, interval.magnitude)

    def evaluation_error(
        self, errors: Sequence[FloatArray], bounds: Sequence[Interval]
    ) -> FloatArray:
        """Bound the error: the rounding of a sum, and ``error``; a source that is off may jump."""
        off = np.asarray(relative_error(self.tree_count + 2) * self.magnitude + self.error)
        if np.all(errors[self.source] <= self.blur):
            return off
        low, high = self.enclosure_off(errors, bounds)
        return off + (high - low)
