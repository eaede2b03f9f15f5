"""One decision tree, and the values of all leaves of many: a row for each node.

The rows are sparse where they would be large and are mostly zeros, as those of boosted trees and of
fully grown forests of many classes. What is computed of both kinds of rows is the same, to the bit.

A sum of decision trees ``v = b + Σ_t w_t(ℓ_t(x))`` with ``x ∈ [l, u]``.

Let ``θ_{f,0} < … < θ_{f,k−1}`` be the thresholds of feature ``f`` inside its box that some split
tests, ``θ_{f,−1} = l_f`` and ``θ_{f,k} = u_f``. There is a binary for each of them, and a weight
for each leaf:

    y_{f,j} ∈ {0, 1},   y_{f,j} ≤ y_{f,j+1}                               y_{f,j} = [x_f ≤ θ_{f,j}]
    p_{t,ℓ} ≥ 0,   Σ_ℓ p_{t,ℓ} = 1                                        for each tree t
    Σ_{ℓ left of s} p_{t,ℓ} ≤ y_s,   Σ_{ℓ right of s} p_{t,ℓ} ≤ 1 − y_s     for each split s
    x_f ≤ u_f − Σ_j (θ_{f,j+1} − θ_{f,j}) y_{f,j}
    x_f ≥ l_f + Σ_j (θ_{f,j} − θ_{f,j−1}) (1 − y_{f,j})
    v   = b + Σ_{t,ℓ} w_{t,ℓ} p_{t,ℓ}

(Mišić, *Optimization of tree ensembles*, Operations Research 68, 2020.) With whole ``y`` all ``p``
are whole: one leaf of each tree has the weight 1. A split that the box decides has no binary, and a
leaf that it cuts off has no weight. Cells are closed in a program, ``θ_{j−1} ≤ x ≤ θ_j``: the side
of a threshold that an input is on is in ``y`` alone. The rows of ``x`` are divided by a power of
two, so that no entry of a binary is above 1; they matter for norms and rules, and in a box they cut
nothing off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    dense,
    placed,
    relative_error,
)
from verix_encodings.kinds.node import EncodingContext
from verix_encodings.program import Expressions

MOST_DENSE = 2**22
"""Entries, 32 MB, up to which rows are dense."""
_SEVERAL = 64
"""Trees of a size at which rows may be sparse that are large together."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A decision tree with ``n`` nodes; node 0 is the root.

    ``feature``, shape (n,), is -1 for a leaf. An inner node ``i`` sends ``x`` to the node
    ``left[i]`` where ``x[feature[i]] <= threshold[i]``, else to ``right[i]``. ``value``, (n, k), is
    what a leaf adds to each of the ``scores``, all or one; that of inner nodes does not count.
    Every node but the root has one parent.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: Matrix
    scores: slice = field(default_factory=lambda: slice(None))


def _is_thin(stored: int, entries: int) -> bool:
    """Return whether rows of ``entries``, of which ``stored`` are not zero, are kept sparse."""
    return entries > MOST_DENSE and 8 * stored <= entries


def entries_of(rows: Matrix) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the rows, columns and numbers of all entries but zeros, row by row; -0.0 is kept."""
    if not isinstance(rows, np.ndarray):
        return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.indices, rows.data
    flat = np.ascontiguousarray(rows).reshape(-1)
    at = np.flatnonzero(flat.view(np.int64))
    return at // rows.shape[1], at % rows.shape[1], flat[at]


def numbers_in(rows: Matrix) -> FloatArray:
    """Return the numbers that are stored, one after the other."""
    return np.asarray(rows.reshape(-1) if isinstance(rows, np.ndarray) else rows.data)


def thinned(value: FloatArray, leaf: BoolArray) -> Matrix:
    """Return the ``value`` of a tree, that of its leaves alone if it is large and mostly zeros."""
    if not _is_thin(0, _SEVERAL * value.size):
        return value
    leaves = np.flatnonzero(leaf)
    at, columns, numbers = entries_of(value[leaves])
    thin = _is_thin(_SEVERAL * numbers.size, _SEVERAL * value.size)
    return placed(numbers, leaves[at], columns, value.shape) if thin else value


def joined(trees: Sequence[Tree], scores: int) -> Matrix:
    """Return rows of all trees, zero at inner nodes; ``ValueError`` unless ``scores`` fit."""
    starts = np.cumsum([0, *(tree.feature.size for tree in trees)]).tolist()
    shape = starts.pop(), scores
    for tree in trees:
        if tree.value.shape != (tree.feature.size, len(range(scores)[tree.scores])):
            raise ValueError(f"the values of leaves have shape {tree.value.shape}")
    large = _is_thin(0, shape[0] * scores)
    stored = sum(int(np.count_nonzero(numbers_in(tree.value))) for tree in trees if large)
    if not large or not _is_thin(stored, shape[0] * scores):
        value = np.zeros(shape)
        for tree, start in zip(trees, starts, strict=True):
            value[start : start + tree.feature.size, tree.scores] = dense(tree.value)
        return value
    found = []
    for tree, start in zip(trees, starts, strict=True):
        at, columns, numbers = entries_of(tree.value)
        leaf = tree.feature[at] < 0
        found.append((at[leaf] + start, columns[leaf] + (tree.scores.start or 0), numbers[leaf]))
    rows, places, values = (np.concatenate(part) for part in zip(*found, strict=True))
    return placed(values, rows, places, shape)


def product(rows: Matrix, matrix: Matrix) -> Matrix:
    """Return ``W r`` for each row ``r``."""
    if isinstance(rows, np.ndarray):
        return np.asarray((matrix @ rows.T).T)
    found = rows @ sp.csr_array(matrix.T)
    found.eliminate_zeros()
    return found if _is_thin(found.nnz, found.shape[0] * found.shape[1]) else dense(found)


def sums_of_ends(rows: Matrix, starts: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums over trees of the least, the largest, and the largest magnitude of a row's entry.

    ``starts``, (T,), are the first rows of the trees; sums have shape (m,).
    """
    if isinstance(rows, np.ndarray):
        least = np.minimum.reduceat(rows, starts, axis=0)
        most = np.maximum.reduceat(rows, starts, axis=0)
        return least.sum(axis=0), most.sum(axis=0), np.maximum(most, -least).sum(axis=0)
    sizes, width = np.diff(starts, append=rows.shape[0]), rows.shape[1]
    at, columns, numbers = entries_of(rows)
    key = np.repeat(np.arange(starts.size), sizes)[at] * width + columns
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    tree, column = np.divmod(key[order[first]], width)
    # rows of a tree that store nothing there are zero
    zero = np.where(np.diff(first, append=key.size) < sizes[tree], 0.0, np.inf)
    least = np.minimum(np.minimum.reduceat(numbers[order], first), zero)
    most = np.maximum(np.maximum.reduceat(numbers[order], first), -zero)
    # added one tree after the other, as dense rows are
    low, high, reach = (
        np.asarray(np.bincount(column, end, width), dtype=np.float64)
        for end in (least, most, np.maximum(most, -least))
    )
    return low, high, reach


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """The ``L`` leaves of all trees that a box reaches, and the ``S`` splits that it leaves open.

    Leaves stand tree by tree, those under a node side by side: ``tree`` is the tree of each, (L,),
    ``value`` its scores, (L, m). Split ``s`` sends ``x[feature] <= threshold`` to the leaves from
    ``first`` to ``middle``, and other inputs to those from ``middle`` to ``last``; all (S,).
    """

    tree: IntArray
    value: Matrix
    feature: IntArray
    threshold: FloatArray
    first: IntArray
    middle: IntArray
    last: IntArray


def tree_ensemble_rows(
    context: EncodingContext, splits: Splits, base: FloatArray, source: int, blur: float
) -> Expressions:
    """Add trees that read ``source``, up to ``blur``, to a program; return their scores.

    Columns are named ``y_label_f_j`` for threshold ``j`` of feature ``f``, ``p_label_l`` for leaf
    ``l``.
    """
    builder, label, leaves = context.builder, context.label, splits.tree.size
    x, box = context.values[source], context.bounds[source]
    p = builder.add_columns(f"p_{label}", np.arange(leaves), 0.0, 1.0)
    binary = np.zeros(splits.feature.size, dtype=np.intp)
    for f in np.unique(splits.feature).tolist():
        own = np.flatnonzero(splits.feature == f)
        thresholds, places = np.unique(splits.threshold[own], return_inverse=True)
        numbers = np.arange(thresholds.size)
        y = builder.add_columns(f"y_{label}_{f}", numbers, 0.0, 1.0, integer=True)
        binary[own] = y[places]
        if y.size > 1:
            terms = [(1.0, y[:-1]), (-1.0, y[1:])]
            builder.add_rows(f"order_{label}_{f}", numbers[:-1], terms, -np.inf, 0.0)
        # tie x_f, up to blur, to the cell that y says
        low, high = float(box.lower[f] - blur), float(box.upper[f] + blur)
        scale = 2.0 ** -np.ceil(np.log2(max(high - low, np.finfo(np.float64).tiny)))
        gaps = scale * np.diff(np.concatenate([[low], thresholds, [high]]))
        # gaps are rounded, and so is their sum
        error = scale * (relative_error(thresholds.size + 2) * (abs(low) + abs(high)) + blur)
        x_f, constant = (scale * x.matrix[[f], :], x.columns), scale * x.constant[f]
        most = scale * high - constant + error
        builder.add_row(f"below_{label}_{f}", 0, [x_f, (gaps[1:], y)], -np.inf, most)
        least = scale * low + gaps[:-1].sum() - constant - error
        builder.add_row(f"above_{label}_{f}", 0, [x_f, (gaps[:-1], y)], least, np.inf)
    trees, starts = np.unique(splits.tree, return_index=True)
    one_each = _ranges(starts, np.append(starts[1:], leaves), leaves)
    builder.add_rows(f"tree_{label}", trees, [(one_each, p)], 1.0, 1.0)
    numbers = np.arange(splits.feature.size)
    left = _ranges(splits.first, splits.middle, leaves)
    right = _ranges(splits.middle, splits.last, leaves)
    builder.add_rows(f"left_{label}", numbers, [(left, p), (-1.0, binary)], -np.inf, 0.0)
    builder.add_rows(f"right_{label}", numbers, [(right, p), (1.0, binary)], -np.inf, 1.0)
    return Expressions(p, sp.csr_array(splits.value.T), np.array(base, dtype=np.float64))


def _ranges(first: IntArray, last: IntArray, size: int) -> sp.csr_array:
    """Return a matrix whose row ``s`` has ones from ``first[s]`` to ``last[s]``."""
    lengths = last - first
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.arange(starts[-1]) - np.repeat(starts[:-1] - first, lengths)
    return sp.csr_array((np.ones(starts[-1]), columns, starts), shape=(first.size, size))
