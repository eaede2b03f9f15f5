"""Boxes with one-hot blocks, and the largest value of a linear form over them.

    X = { x : l ≤ x ≤ u,  for each block K:  x_j ≥ 0 for j in K,  Σ_{j ∈ K} x_j = 1 }

    max c·x  ≤  Σ_{i in no block} max(c_i l_i, c_i u_i)  +  Σ_K max { c_j : j ∈ K, u_j ≥ 1 }

``X`` is a box times a simplex for each block. A block moves between its unit vectors, so a linear
form over it is at most its largest coefficient, where the box gives the sum of all that are
positive. Unit vectors outside of the box do not count: the inputs of ``X`` that matter have whole
numbers in blocks, and bounds hold for the convex hull of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, dense, relative_error
from verix_encodings.bounds.interval import Interval


@dataclass(frozen=True, slots=True, eq=False)
class OneHotBox(Interval):
    """The convex hull of the points of a box whose ``blocks`` are unit vectors.

    Blocks are disjoint, and the box holds some unit vector of each. As an interval it is the box
    around the set; see :func:`one_hot_box`.
    """

    blocks: tuple[IntArray, ...]

    @property
    def box(self) -> Interval:
        """The box around the set."""
        return Interval(self.lower, self.upper)

    def extremes(self, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        """Bound ``M x`` over the set, rounded outward: (lower, upper), one for each row of M."""
        return -self.greatest(-matrix), self.greatest(matrix)

    def greatest(self, matrix: Matrix) -> FloatArray:
        """Return the upper bounds of :meth:`extremes` alone."""
        lower, upper = self.lower.copy(), self.upper.copy()
        within, starts = joined(self.blocks)
        lower[within] = upper[within] = 0.0
        others = Interval(lower, upper).greatest(matrix)
        best = block_maxima(dense(matrix[:, within]), self.upper[within] >= 1, starts)
        error = relative_error(len(self.blocks) + 1) * (np.abs(others) + np.abs(best).sum(axis=1))
        return np.asarray(others + best.sum(axis=1) + error)

    def farthest(self, way: FloatArray) -> FloatArray:
        """Return the point of the set where ``way·x`` is largest, (d,); or (d, N) of columns."""
        ways = np.atleast_2d(way.T)
        points = np.where(ways > 0, self.upper, self.lower)
        put_best(points, ways, self.upper, self.blocks)
        return points.T.reshape(way.shape)


def one_hot_box(box: Interval, blocks: Sequence[IntArray]) -> Interval:
    """Return ``box`` with those of ``blocks`` that may be one of several unit vectors in it."""
    several = tuple(block for block in blocks if np.count_nonzero(box.upper[block] >= 1) > 1)
    return OneHotBox(box.lower, box.upper, several) if several else box


def joined(blocks: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the coordinates of one block after the other, and where each block starts there."""
    return np.concatenate(blocks), np.cumsum([0, *(block.size for block in blocks[:-1])])


def block_maxima(coefficients: FloatArray, possible: BoolArray, starts: IntArray) -> FloatArray:
    """Return the largest coefficient of each block that is ``possible``, (R, blocks).

    ``coefficients``, (R, n), are those of one block after the other; ``starts`` are their first
    columns. 0 where a block has none: no point is in such a set.
    """
    best = np.maximum.reduceat(np.where(possible, coefficients, -np.inf), starts, axis=1)
    return np.where(np.isneginf(best), 0.0, best)


def put_best(
    points: FloatArray, ways: FloatArray, upper: FloatArray, blocks: Sequence[IntArray]
) -> None:
    """Put into each block of ``points``, (N, d), the unit vector that its way, (N, d), likes best.

    ``upper``, (d,) or (N, d), are upper ends: unit vectors beyond them do not count.
    """
    rows = np.arange(points.shape[0])
    for block in blocks:
        liked = np.where(upper[..., block] >= 1, ways[:, block], -np.inf)
        points[:, block] = 0.0
        points[rows, block[np.argmax(liked, axis=1)]] = 1.0
