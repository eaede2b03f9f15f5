"""Many boxes of inputs inside one root, and the largest value of a linear form over each.

Over a box, ``max c·x = c·m + |c|·r`` with the middle ``m`` and the half widths ``r``. If the root
is a norm ball ``‖x − x₀‖_p ≤ ε``, the set is its intersection with the box ``[l, u]``. Let ``a`` be
the point of the box next to ``x₀``, coordinate by coordinate, and ``d = a − x₀``. A move ``t`` from
``a`` inside the box leads away from ``x₀`` wherever ``d ≠ 0``, so ``d_i t_i ≥ 0`` and

    p = 1:  ‖d + t‖₁ = ‖d‖₁ + ‖t‖₁         p = 2:  ‖d + t‖₂² ≥ ‖d‖₂² + ‖t‖₂²

The intersection thus lies in the box and in the ball around ``a`` with the radius ``ε − ‖d‖₁`` or
``√(ε² − ‖d‖₂²)``. It is empty if this is proven negative. Over the ball around ``a``, which lies
in the box, the largest ``c·x`` is that of :mod:`~verix_encodings.bounds.norm_ball`.

Boxes with one-hot blocks, and the largest value of a linear form over them.

    X = { x : l ≤ x ≤ u,  for each block K:  x_j ≥ 0 for j in K,  Σ_{j ∈ K} x_j = 1 }

    max c·x  ≤  Σ_{i in no block} max(c_i l_i, c_i u_i)  +  Σ_K max { c_j : j ∈ K, u_j ≥ 1 }

``X`` is a box times a simplex for each block. A block moves between its unit vectors, so a linear
form over it is at most its largest coefficient, where the box gives the sum of all that are
positive. Unit vectors outside of the box do not count: the inputs of ``X`` that matter have whole
numbers in blocks, and bounds hold for the convex hull of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, dense, relative_error
from verix_encodings.bounds.interval import Interval
from verix_encodings.bounds.norm_ball import Moves, NormBall


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Boxes ``lower ≤ x ≤ upper``, (N, d), cut by ``ball``, or with one-hot ``blocks``."""

    lower: FloatArray
    upper: FloatArray
    ball: NormBall | None = None
    blocks: tuple[IntArray, ...] = ()

    def __len__(self) -> int:
        return int(self.lower.shape[0])

    def __getitem__(self, chosen: "IntArray | BoolArray | slice") -> "Boxes":
        return self.at(self.lower[chosen], self.upper[chosen])

    def at(self, lower: FloatArray, upper: FloatArray) -> "Boxes":
        """Return other boxes of the same root."""
        return replace(self, lower=lower, upper=upper)

    @property
    def plain(self) -> bool:
        """True if forms are bounded over the boxes themselves."""
        return self.ball is None and not self.blocks

    @property
    def middle(self) -> FloatArray:
        """The middle of each box, shape (N, d), up to rounding."""
        return self.lower / 2 + self.upper / 2

    @property
    def keys(self) -> list[bytes]:
        """The ends of each box as bytes, a key for mappings."""
        return [row.tobytes() for row in np.concatenate([self.lower, self.upper], axis=1)]

    def greatest(self, coefficients: FloatArray, owner: IntArray) -> FloatArray:
        """Bound ``c·x`` from above for each row ``c``, (R, d), over its box ``owner[r]``; (R,)."""
        lower, upper = self.lower[owner], self.upper[owner]
        if self.blocks:
            return self._over_blocks(coefficients, lower, upper)
        weight = np.abs(coefficients)
        error = relative_error(lower.shape[1])
        if self.ball is None:
            middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
            total = np.einsum("rd,rd->r", coefficients, middle)
            total += np.einsum("rd,rd->r", weight, half)
            reach = np.einsum("rd,rd->r", weight, np.abs(middle) + half)
            return np.asarray(total + error * reach)
        near, radius = self._around(lower, upper)
        headroom = np.where(coefficients > 0, upper - near, near - lower)
        reach = Moves.of(weight, headroom, np.maximum(radius, 0.0), self.ball.norm).reach()
        total = np.einsum("rd,rd->r", coefficients, near) + reach
        size = np.einsum("rd,rd->r", weight, np.abs(near)) + reach
        return np.asarray(total + error * size)

    def farthest(self, ways: FloatArray) -> FloatArray:
        """Return a point of each set where ``way·x`` is largest, or close to it; both (N, d)."""
        if self.ball is None:
            points = np.where(ways > 0, self.upper, self.lower)
            put_best(points, ways, self.upper, self.blocks)
            return points
        near, radius = self._around(self.lower, self.upper)
        headroom = np.where(ways > 0, self.upper - near, near - self.lower)
        moves = Moves.of(np.abs(ways), headroom, np.maximum(radius, 0.0), self.ball.norm)
        return np.clip(near + np.sign(ways) * moves.largest(), self.lower, self.upper)

    def cut(self, integral: BoolArray | None = None) -> "tuple[Boxes, BoolArray]":
        """Cut the boxes at the ball and at integers; return those not proven empty, and which.

        ``integral`` marks inputs that are integers, (d,); the marks of boxes have the shape (N,).
        """
        lower, upper = self.lower, self.upper
        left = np.ones(len(self), dtype=bool)
        if self.ball is not None:
            near, radius = self._around(lower, upper)
            left = radius >= 0
            # the radius is rounded up, and one step covers the rounding of each difference
            lower = np.maximum(lower, np.nextafter(near - radius[:, None], -np.inf))
            upper = np.minimum(upper, np.nextafter(near + radius[:, None], np.inf))
        if integral is not None:
            lower = np.where(integral, np.ceil(lower), lower)
            upper = np.where(integral, np.floor(upper), upper)
        left &= (lower <= upper).all(axis=1)
        return self.at(lower[left], upper[left]), left

    def widths(self, integral: BoolArray | None = None) -> FloatArray:
        """Return the widths of the boxes, (N, d), zero where no number is left in between."""
        middle = self.middle
        between = (self.lower < middle) & (middle < self.upper)
        if integral is not None:
            between = np.where(integral, self.lower < self.upper, between)
        return np.where(between, self.upper - self.lower, 0.0)

    def _over_blocks(
        self, coefficients: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> FloatArray:
        """Bound each row ``c·x`` over its box, (R, d), from above: blocks, then other inputs."""
        within, starts = joined(self.blocks)
        best = block_maxima(coefficients[:, within], upper[:, within] >= 1, starts)
        rest = coefficients.copy()
        rest[:, within] = 0.0
        others = Boxes(lower, upper).greatest(rest, np.arange(rest.shape[0]))
        error = relative_error(len(self.blocks) + 1) * (np.abs(others) + np.abs(best).sum(axis=1))
        return np.asarray(others + best.sum(axis=1) + error)

    def _around(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``a``, (R, d), and the radius around it, (R,), rounded up."""
        assert self.ball is not None
        near = np.clip(self.ball.centre, lower, upper)
        moved, epsilon = np.abs(near - self.ball.centre), self.ball.radius
        shrink = 1.0 - relative_error(moved.shape[1])
        if self.ball.norm == 1:
            return near, (epsilon - shrink * moved.sum(axis=1)) * (1 + 1e-15) + 1e-16 * epsilon
        # in units of the radius: squares of a tiny one may vanish
        unit = epsilon or 1.0
        left = (epsilon / unit) ** 2 - shrink * np.sum((moved / unit) ** 2, axis=1)
        left += relative_error(2)
        return near, np.where(left >= 0, unit * np.sqrt(np.maximum(left, 0.0)) * (1 + 1e-15), -1.0)


def root_boxes(region: Interval | NormBall) -> Boxes:
    """Return the ``region`` as one box, with its ball or its one-hot blocks if it has any."""
    box = region.box
    ball = region if isinstance(region, NormBall) else None
    blocks = region.blocks if isinstance(region, OneHotBox) else ()
    return Boxes(box.lower[None], box.upper[None], ball, blocks)


@dataclass(frozen=True, slots=True, eq=False)
class OneHotBox(Interval):
    """The convex hull of the points of a box whose ``blocks`` are unit vectors.

    Blocks are disjoint, and the box holds some unit vector of each. As an interval it is the box
    around the set; see :func:`one_hot_box`.
    """

    blocks: tuple[IntArray, ...]

    @property
    def box(self) -> Interval:
        return Interval(self.lower, self.upper)

    def extremes(self, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        return -self.greatest(-matrix), self.greatest(matrix)

    def greatest(self, matrix: Matrix) -> FloatArray:
        lower, upper = self.lower.copy(), self.upper.copy()
        within, starts = joined(self.blocks)
        lower[within] = upper[within] = 0.0
        others = Interval(lower, upper).greatest(matrix)
        best = block_maxima(dense(matrix[:, within]), self.upper[within] >= 1, starts)
        error = relative_error(len(self.blocks) + 1) * (np.abs(others) + np.abs(best).sum(axis=1))
        return np.asarray(others + best.sum(axis=1) + error)

    def farthest(self, way: FloatArray) -> FloatArray:
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
