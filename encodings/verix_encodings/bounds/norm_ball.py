"""L1 and L2 balls in a box, and the largest value of a linear form over them.

    X = { x : ‖x − x₀‖_p ≤ ε,  l ≤ x ≤ u },  p ∈ {1, 2}

With ``d = x − x₀`` and ``h_i`` the room on the side that helps (``u_i − x₀_i`` if ``c_i > 0``, else
``x₀_i − l_i``), ``max c·x`` over ``X`` is ``c·x₀`` plus

    p = 1:  max { Σ |c_i| t_i : 0 ≤ t ≤ h, Σ t_i ≤ ε }   = min_{λ ≥ 0} λ ε + Σ max(|c_i| − λ, 0) h_i
    p = 2:  max { Σ |c_i| t_i : 0 ≤ t ≤ h, Σ t_i² ≤ ε² } = min_{λ ≥ 0} λ ε² + Σ φ_λ(|c_i|, h_i)

    φ_λ(w, h) = w² / (4 λ)  where w ≤ 2 λ h,  else  w h − λ h²

the dual norm intersected with the box. By weak duality *every* λ ≥ 0 gives an upper bound, so the λ
found in float64 need not be the best one for the bound to hold; its value is rounded up.
"""

import math
from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import FloatArray, Matrix, dense, frozen, relative_error
from verix_encodings.bounds.interval import Interval
from verix_encodings.work import spend_entries

_ROWS_AT_ONCE = 256
_L2_STEPS = 30


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
        """Bound ``M x`` over the ball, rounded outward: (lower, upper), one for each row of M."""
        return -self.greatest(-matrix), self.greatest(matrix)

    def greatest(self, matrix: Matrix) -> FloatArray:
        """Return the upper bounds of :meth:`extremes` alone."""
        parts = [np.zeros(0)]
        for start in range(0, matrix.shape[0], _ROWS_AT_ONCE):
            rows = dense(matrix[start : start + _ROWS_AT_ONCE, :])
            error = relative_error(self.centre.size) * (np.abs(rows) @ np.abs(self.centre))
            spend_entries(rows.size, 32)
            parts.append(rows @ self.centre + self._reach(rows) + error)
        return np.concatenate(parts)

    def farthest(self, way: FloatArray) -> FloatArray:
        """Return a point where ``way·x`` is largest, shape (d,).

        For ways of shape (d, N), the result has a point in each column. Points lie in the box;
        their distance from the centre may be off by rounding. Coordinates in which a way is zero
        stay at the centre. For moves ``δ`` instead of points, take a ball around zero:
        ``NormBall(Interval(lower, upper), zeros, radius, norm)``.
        """
        ways = np.atleast_2d(way.T)
        up, down = self.box.upper - self.centre, self.centre - self.box.lower
        spend_entries(ways.size, 32)
        weight, room = np.abs(ways), np.where(ways > 0, up, down)
        moves = largest_move(weight, room, np.full(weight.shape[0], self.radius), self.norm)
        moved = self.centre + np.sign(ways) * moves
        return np.clip(moved, self.box.lower, self.box.upper).T.reshape(way.shape)

    def _reach(self, rows: FloatArray) -> FloatArray:
        """Bound ``c·(x − x₀)`` over the ball from above, for each row ``c``."""
        # what is not exact in these differences is covered by the relative error below
        up, down = self.box.upper - self.centre, self.centre - self.box.lower
        free = self.box.lower < self.box.upper
        weight = np.abs(rows[:, free])
        room = np.where(rows[:, free] > 0, up[free], down[free])
        return reach_in_box(weight, room, np.full(rows.shape[0], self.radius), self.norm)


def reach_in_box(weight: FloatArray, room: FloatArray, radius: FloatArray, norm: int) -> FloatArray:
    """Bound ``Σ w_i t_i`` for ``0 ≤ t ≤ room`` and ``‖t‖_p ≤ radius`` from above; shape (N,).

    ``weight`` and ``room`` have the shape (N, d), ``radius`` (N,); none is negative.
    """
    if norm == 1:
        value = _l1(weight, room, radius)
    else:
        unit, share = _scaled(room, radius)
        value = unit * _l2(weight, share)
    return np.asarray(value * (1.0 + relative_error(weight.shape[1])))


def largest_move(weight: FloatArray, room: FloatArray, radius: FloatArray, norm: int) -> FloatArray:
    """Return the ``t`` at which :func:`reach_in_box` has its maximum, up to rounding; (N, d)."""
    if norm == 1:
        return filled_up(weight, room, radius[:, None])
    unit, share = _scaled(room, radius)
    return np.asarray(unit[:, None] * _filled_l2(weight, share))


def _l1(weight: FloatArray, room: FloatArray, radius: FloatArray) -> FloatArray:
    """Return the maximum for ``p = 1`` and ε = ``radius``, for each row of ``weight``, shape (N,).

    Coordinates with the largest weights are filled up; λ is the weight at which ε is used up.
    """
    order = np.argsort(-weight, axis=1, kind="stable")
    sorted_weight = np.take_along_axis(weight, order, axis=1)
    filled = np.cumsum(np.take_along_axis(room, order, axis=1), axis=1)
    last = np.sum(filled < radius[:, None], axis=1)
    padded = np.concatenate([sorted_weight, np.zeros((weight.shape[0], 1))], axis=1)
    multiplier = np.take_along_axis(padded, last[:, None], axis=1)
    spared: FloatArray = np.sum(np.maximum(weight - multiplier, 0.0) * room, axis=1)
    return multiplier[:, 0] * radius + spared


def _scaled(room: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a unit of length for each row, (N,), and ``room`` in it, for which the radius is 1.

    Squares of ε may be too large or too small for float64, squares of fractions of ε are not. Room
    beyond the radius cannot be used, nor can a radius beyond all room.
    """
    size = room.shape[1]
    unit = np.minimum(radius, math.sqrt(size) * np.max(room, axis=1, initial=0.0) * (1 + 1e-12))
    some = np.where(unit > 0, unit, 1.0)[:, None]
    share = np.nextafter(np.minimum(room, unit[:, None]) / some, np.inf)
    return unit, np.where(unit[:, None] > 0, share, 0.0)


def _l2(weight: FloatArray, room: FloatArray) -> FloatArray:
    """Return the maximum for ``p = 2`` and ε = 1, for each row of ``weight``, shape (N,).

    Coordinates at the end of their ``room`` are fixed there. Then λ is solved for with the free
    coordinates, until no further one reaches its end.
    """
    multiplier = np.linalg.norm(weight, axis=1, keepdims=True) / 2.0
    for _ in range(_L2_STEPS):
        at_end = weight > 2.0 * multiplier * room
        left = 1.0 - np.sum(np.where(at_end, room, 0.0) ** 2, axis=1, keepdims=True)
        others = np.linalg.norm(np.where(at_end, 0.0, weight), axis=1, keepdims=True)
        # no room left for the others, or nothing to gain by them: this λ stays
        usable = (left > 0) & (others > 0)
        better = others / (2.0 * np.sqrt(np.where(usable, left, 1.0)))
        before = multiplier
        multiplier = np.where(usable, better, np.where(others > 0, multiplier, 0.0))
        if np.array_equal(multiplier, before):
            break
    at_end = weight > 2.0 * multiplier * room
    inner = weight**2 / (4.0 * np.where(multiplier > 0, multiplier, 1.0))
    gains = np.where(at_end, weight * room - multiplier * room**2, inner)
    total: FloatArray = multiplier[:, 0] + np.sum(gains, axis=1)
    return total


def filled_up(weight: FloatArray, room: FloatArray, total: float | FloatArray) -> FloatArray:
    """Distribute ``total`` over the entries of each row, the largest ``weight`` first.

    Returns ``t`` with the largest ``Σ w_i t_i`` for ``0 ≤ t ≤ room`` and ``Σ t_i ≤ total``; all
    have the same shape, (d,) or (N, d). Rows with totals of their own give these as (N, 1).
    """
    order = np.argsort(-weight, axis=-1, kind="stable")
    ordered = np.take_along_axis(room, order, axis=-1)
    before = np.cumsum(ordered, axis=-1) - ordered
    filled = np.empty_like(room)
    np.put_along_axis(filled, order, np.clip(total - before, 0.0, ordered), axis=-1)
    return filled


def _filled_l2(weight: FloatArray, room: FloatArray) -> FloatArray:
    """Return the maximiser ``t`` for ``p = 2`` and ε = 1, for each row of ``weight``, (N, d).

    It is a multiple of the weights, except for coordinates fixed at the end of their ``room``.
    """
    at_end = np.zeros(weight.shape, dtype=bool)
    while True:
        left = 1.0 - np.sum(np.where(at_end, room, 0.0) ** 2, axis=1, keepdims=True)
        others = np.linalg.norm(np.where(at_end, 0.0, weight), axis=1, keepdims=True)
        scale = np.sqrt(np.maximum(left, 0.0)) / np.where(others > 0, others, np.inf)
        beyond = ~at_end & (weight * scale > room)
        if not beyond.any():
            return np.where(at_end, room, weight * scale)
        at_end |= beyond
