"""One decision tree, and the values of all leaves of many: a row for each node.

The rows are sparse where they would be large and are mostly zeros, as those of boosted trees and of
fully grown forests of many classes. What is computed of both kinds of rows is the same, to the bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, dense, placed

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
    """Return the rows of all trees, zero at inner nodes, one tree after the other.

    Raises ``ValueError`` for other shapes than those of so many ``scores``.
    """
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
