"""L1 and L2 balls in a box, and the largest value of a linear form over them.

    X = { x : ‖x − x₀‖_p ≤ ε,  l ≤ x ≤ u },  p ∈ {1, 2}

With ``d = x − x₀`` and ``h_i`` the headroom on the side that helps (``u_i − x₀_i`` if ``c_i > 0``,
else ``x₀_i − l_i``), ``max c·x`` over ``X`` is ``c·x₀`` plus

    p = 1:  max { Σ |c_i| t_i : 0 ≤ t ≤ h, Σ t_i ≤ ε }   = min_{λ ≥ 0} λ ε + Σ max(|c_i| − λ, 0) h_i
    p = 2:  max { Σ |c_i| t_i : 0 ≤ t ≤ h, Σ t_i² ≤ ε² } = min_{λ ≥ 0} λ ε² + Σ φ_λ(|c_i|, h_i)

    φ_λ(w, h) = w² / (4 λ)  where w ≤ 2 λ h,  else  w h − λ h²

the dual norm intersected with the box. By weak duality *every* λ ≥ 0 gives an upper bound, so the λ
found in float64 need not be the best one for the bound to hold; its value is rounded up.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    frozen,
    relative_error,
    times_sizes,
)
from verix_encodings.bounds.interval import Interval
from verix_encodings.convolution import Convolution
from verix_encodings.work import spend_entries

_ROWS_AT_ONCE = 256
_L2_STEPS = 30
_LEAST = 2.0**-1074


def length(moves: FloatArray, norm: int) -> float:
    """Return ``‖moves‖_p``, ``p`` being 1 or 2, even if squares overflow float64."""
    return float(np.sum(np.abs(moves))) if norm == 1 else math.hypot(*moves)


@dataclass(frozen=True, slots=True, eq=False)
class NormBall:
    """The set ``X``; ``centre`` is ``x₀``, shape (d,), ``norm`` is ``p``, 1 or 2.

    ``box`` must hold the centre, else ``ValueError`` is raised. A coordinate whose ends coincide is
    fixed.
    """

    box: Interval
    centre: FloatArray
    radius: float
    norm: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", frozen(self.centre))
        if self.norm not in (1, 2):
            raise ValueError(f"the norm is 1 or 2, not {self.norm}")
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise ValueError(f"the radius is finite and not negative, not {self.radius}")
        inside = (self.box.lower <= self.centre) & (self.centre <= self.box.upper)
        if self.centre.shape != self.box.lower.shape or not inside.all():
            raise ValueError("the centre must lie in the box")

    def extremes(self, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        return -self.greatest(-matrix), self.greatest(matrix)

    def greatest(self, matrix: Matrix) -> FloatArray:
        if isinstance(matrix, Convolution):
            return self._greatest_of_windows(matrix)
        parts = [np.zeros(0)]
        for start in range(0, matrix.shape[0], _ROWS_AT_ONCE):
            rows = matrix[start : start + _ROWS_AT_ONCE, :]
            if isinstance(rows, np.ndarray):
                along = self._moves_along(rows)
            else:
                along = self._moves(*self._packed(rows))
            parts.append(self._bound(rows, along))
        return np.concatenate(parts)

    def _greatest_of_windows(self, matrix: Convolution) -> FloatArray:
        """Bound the rows over the box, and over the ball alone: its own λ for each is too much."""
        [size] = times_sizes(matrix, np.abs(self.centre))
        reach = self.radius * matrix.dual_norms(self.norm, self._free)
        error = relative_error(self.centre.size) * (size + reach)
        return np.minimum(self.box.greatest(matrix), matrix @ self.centre + reach + error)

    def _packed(self, rows: sp.csr_array) -> tuple[FloatArray, IntArray]:
        """Return the entries of each row, 0 behind the last one and where fixed, and their columns.

        Both have the shape (N, k), with the ``k`` of the row with the most.
        """
        counts = np.diff(rows.indptr)
        shape = counts.size, max(int(counts.max(initial=0)), 1)
        row = np.repeat(np.arange(counts.size), counts)
        place = np.arange(row.size) - np.repeat(rows.indptr[:-1], counts)
        entries, columns = np.zeros(shape), np.zeros(shape, dtype=np.intp)
        entries[row, place], columns[row, place] = rows.data, rows.indices
        return np.where(self._free[columns], entries, 0.0), columns

    def highest(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        along = self._moves_along(rows)
        return self._bound(rows, along), self._point(rows, along)

    def farthest(self, way: FloatArray) -> FloatArray:
        """Return a point where ``way·x`` is largest, shape (d,).

        For ways of shape (d, N), the result has a point in each column. Points lie in the box;
        their distance from the centre may be off by rounding. Coordinates in which a way is zero
        stay at the centre. For moves ``δ`` instead of points, take a ball around zero:
        ``NormBall(Interval(lower, upper), zeros, radius, norm)``.
        """
        ways = np.atleast_2d(way.T)
        return self._point(ways, self._moves_along(ways)).T.reshape(way.shape)

    def gains(self, ways: FloatArray, box: Interval) -> FloatArray:
        """Estimate what the largest ``way·x`` gains by a coordinate's headroom in a larger ``box``.

        For ``ways`` of shape (N, d), the result is (N, d). This ball's multiplier ``λ`` stays
        valid, so but for rounding no gain is too low, and those of several coordinates add up to a
        bound on what these gain together.
        """
        along, free = self._moves_along(ways), self._free
        more = np.where(ways > 0, box.upper - self.centre, self.centre - box.lower)
        with np.errstate(all="ignore"):
            result = along.payoffs(np.abs(ways), more)
            result[:, free] -= along.payoffs(np.abs(ways)[:, free], along.headroom)
        return result

    @property
    def _free(self) -> BoolArray:
        """The coordinates that are not fixed, shape (d,)."""
        return self.box.lower < self.box.upper

    def _moves_along(self, rows: FloatArray) -> "Moves":
        """Return the moves of free coordinates that raise ``c·x``, for each row ``c``."""
        free = np.flatnonzero(self._free)
        return self._moves(rows[:, free], free)

    def _moves(self, rows: FloatArray, columns: IntArray) -> "Moves":
        """Return the moves that raise ``c·x`` for rows ``c`` whose entries are of ``columns``."""
        # what is not exact in these differences is covered by the relative error of the bound
        up, down = self.box.upper - self.centre, self.centre - self.box.lower
        spend_entries(rows.size, 32)
        headroom = np.where(rows > 0, up[columns], down[columns])
        radius = np.full(rows.shape[0], self.radius)
        return Moves.of(np.abs(rows), headroom, radius, self.norm)

    def _bound(self, rows: Matrix, along: "Moves") -> FloatArray:
        error = relative_error(self.centre.size) * (np.abs(rows) @ np.abs(self.centre))
        return np.asarray(rows @ self.centre + along.reach() + error)

    def _point(self, rows: FloatArray, along: "Moves") -> FloatArray:
        free, points = self._free, np.tile(self.centre, (rows.shape[0], 1))
        points[:, free] += np.sign(rows[:, free]) * along.largest()
        return np.clip(points, self.box.lower, self.box.upper)


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Moves ``t``, ``0 ≤ t ≤ headroom`` and ``‖t‖_p ≤ radius``, and the best λ of ``Σ w_i t_i``.

    The bound of a row is ``unit`` times that of :attr:`share`, the ``headroom`` in this unit, with
    the radius ``total`` and the ``multiplier`` λ in it. ``weight``, ``headroom`` and ``share`` have
    the shape (N, d), ``unit`` and ``total`` (N,), ``multiplier`` (N, 1).
    """

    weight: FloatArray
    headroom: FloatArray
    share: FloatArray
    unit: FloatArray
    total: FloatArray
    multiplier: FloatArray
    norm: int

    @classmethod
    def of(cls, weight: FloatArray, headroom: FloatArray, radius: FloatArray, norm: int) -> "Moves":
        """Return the moves with their multipliers; no argument is negative.

        ``weight`` and ``headroom`` have the shape (N, d), ``radius`` (N,).
        """
        ones = np.ones(weight.shape[0])
        if norm == 1:
            multiplier = _l1_multiplier(weight, headroom, radius)
            return cls(weight, headroom, headroom, ones, radius, multiplier, 1)
        unit, share = _scaled(headroom, radius)
        return cls(weight, headroom, share, unit, ones, _l2_multiplier(weight, share), 2)

    def reach(self) -> FloatArray:
        """Bound ``Σ w_i t_i`` from above, rounded up; shape (N,)."""
        gains = np.sum(_payoffs(self.weight, self.share, self.multiplier, self.norm), axis=1)
        value = self.unit * (self.multiplier[:, 0] * self.total + gains)
        return np.asarray(value * (1.0 + relative_error(self.weight.shape[1])))

    def payoffs(self, weight: FloatArray, headroom: FloatArray) -> FloatArray:
        """Return what λ makes of coordinates with such ``headroom``; both (N, number)."""
        unit = self.unit[:, None]
        return unit * _payoffs(weight, headroom / unit, self.multiplier, self.norm)

    def largest(self) -> FloatArray:
        """Return the ``t`` with the largest ``Σ w_i t_i``, up to rounding; (N, d)."""
        if self.norm == 1:
            # sorted by weight there are the full ones, those with the weight λ, and empty ones
            full = np.where(self.weight > self.multiplier, self.headroom, 0.0)
            rest = np.where(self.weight == self.multiplier, self.headroom, 0.0)
            before = np.cumsum(rest, axis=1) - rest
            left = (self.total - np.sum(full, axis=1))[:, None] - before
            return np.asarray(full + np.clip(left, 0.0, rest))
        with np.errstate(all="ignore"):
            wanted = np.where(self.weight > 0, self.weight / (2.0 * self.multiplier), 0.0)
        return np.asarray(self.unit[:, None] * np.minimum(wanted, self.share))


def _payoffs(
    weight: FloatArray, headroom: FloatArray, multiplier: FloatArray, norm: int
) -> FloatArray:
    """Return ``max(w − λ, 0) h`` for ``p = 1`` or ``φ_λ(w, h)`` for ``p = 2``; shape (N, d)."""
    if norm == 1:
        return np.asarray(np.maximum(weight - multiplier, 0.0) * headroom)
    at_end = weight > 2.0 * multiplier * headroom
    inner = weight**2 / (4.0 * np.where(multiplier > 0, multiplier, 1.0))
    return np.where(at_end, weight * headroom - multiplier * headroom**2, inner)


def _l1_multiplier(weight: FloatArray, headroom: FloatArray, radius: FloatArray) -> FloatArray:
    """Return λ for ``p = 1``, (N, 1): the weight at which ε, filled largest first, is used up."""
    order = np.argsort(-weight, axis=1)  # of equal weights any may be the first
    sorted_weight = np.take_along_axis(weight, order, axis=1)
    filled = np.cumsum(np.take_along_axis(headroom, order, axis=1), axis=1)
    last = np.sum(filled < radius[:, None], axis=1)
    padded = np.concatenate([sorted_weight, np.zeros((weight.shape[0], 1))], axis=1)
    return np.take_along_axis(padded, last[:, None], axis=1)


def _scaled(headroom: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a unit for each row, (N,), and ``headroom`` in it, for which the radius is 1.

    Squares of ε may be too large or too small for float64, squares of fractions of ε are not. Room
    beyond the radius cannot be used, nor can a radius beyond all headroom.
    """
    size = headroom.shape[1]
    unit = np.minimum(radius, math.sqrt(size) * np.max(headroom, axis=1, initial=0.0) * (1 + 1e-12))
    some = np.where(unit > 0, unit, 1.0)
    # the bound has room for a relative error, not for a quotient that is rounded to zero
    share = np.minimum(headroom, unit[:, None]) / some[:, None] + _LEAST
    return some, np.where(unit[:, None] > 0, share, 0.0)


def _l2_multiplier(weight: FloatArray, headroom: FloatArray) -> FloatArray:
    """Return the best λ for ``p = 2`` and ε = 1, for each row of ``weight``, (N, 1).

    Coordinates at the end of their ``headroom`` are fixed there. Then λ is solved for with the free
    coordinates, until no further one reaches its end.
    """
    squares, ends = weight**2, headroom**2
    multiplier = np.sqrt(squares.sum(axis=1, keepdims=True)) / 2.0
    with np.errstate(all="ignore"):
        last = weight / (2.0 * headroom)
    for _ in range(_L2_STEPS):
        at_end = last > multiplier
        left = 1.0 - np.einsum("nd,nd->n", ends, at_end)[:, None]
        others = np.sqrt(np.einsum("nd,nd->n", squares, ~at_end))[:, None]
        # no room left for the others, or nothing to gain by them: this λ stays
        usable = (left > 0) & (others > 0)
        better = others / (2.0 * np.sqrt(np.where(usable, left, 1.0)))
        before = multiplier
        multiplier = np.where(usable, better, np.where(others > 0, multiplier, 0.0))
        if np.array_equal(multiplier, before):
            break
    return np.asarray(multiplier)


def filled_up(weight: FloatArray, headroom: FloatArray, total: float | FloatArray) -> FloatArray:
    """Distribute ``total`` over the entries of each row, the largest ``weight`` first.

    Returns ``t`` with the largest ``Σ w_i t_i`` for ``0 ≤ t ≤ headroom`` and ``Σ t_i ≤ total``; all
    have the same shape, (d,) or (N, d). Rows with totals of their own give these as (N, 1).
    """
    order = np.argsort(-weight, axis=-1, kind="stable")
    ordered = np.take_along_axis(headroom, order, axis=-1)
    before = np.cumsum(ordered, axis=-1) - ordered
    filled = np.empty_like(headroom)
    np.put_along_axis(filled, order, np.clip(total - before, 0.0, ordered), axis=-1)
    return filled
