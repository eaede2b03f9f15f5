"""Intervals, sets of inputs, and bounds on all values of a network.

    v ∈ [m − r, m + r]   ⇒   M v ∈ M m ± |M| r

is widened by the rounding error that float64 can make in it (the bound ``γ_n |M||v|`` of Higham,
*Accuracy and Stability of Numerical Algorithms*, §3.1), so that it holds in real arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from verix_encodings.arrays import (
    FloatArray,
    Matrix,
    count_of_entries,
    frozen,
    relative_error,
    times_sizes,
)
from verix_encodings.work import spend_entries


class Region(Protocol):
    """A set of inputs: a box, or a norm ball in a box."""

    @property
    def box(self) -> "Interval":
        """The smallest box known around the set."""

    def extremes(self, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        """Bound ``M x`` over the set, rounded outward: (lower, upper), one for each row of M."""

    def greatest(self, matrix: Matrix) -> FloatArray:
        """Return the upper bounds of :meth:`extremes` alone."""

    def highest(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return :meth:`greatest` and :meth:`farthest` of each row at once: (N,) and (N, d)."""

    def farthest(self, way: FloatArray) -> FloatArray:
        """Return a point of the set where ``way·x`` is largest, up to rounding; shape (d,).

        For ways that are columns, shape (d, N), the points are the columns of the result.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """The box ``{v : lower ≤ v ≤ upper}``; both ends finite, shape (size,).

    Raises ``ValueError`` for an empty box or an end that is not finite.
    """

    lower: FloatArray
    upper: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", frozen(self.lower))
        object.__setattr__(self, "upper", frozen(self.upper))
        if self.lower.ndim != 1 or self.lower.shape != self.upper.shape:
            raise ValueError(
                f"an interval needs two vectors of one size, got shapes "
                f"{self.lower.shape} and {self.upper.shape}"
            )
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise ValueError("an interval needs finite ends")
        if np.any(self.lower > self.upper):
            raise ValueError("an interval needs lower <= upper")

    @property
    def magnitude(self) -> FloatArray:
        """The largest absolute value in each coordinate."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def box(self) -> "Interval":
        return self

    def extremes(self, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        middle, half = self.lower / 2 + self.upper / 2, self.upper / 2 - self.lower / 2
        spend_entries(count_of_entries(matrix), 3)
        centre = matrix @ middle
        radius, reach = times_sizes(matrix, half, np.abs(middle) + half)
        error = relative_error(middle.size) * reach
        return centre - radius - error, centre + radius + error

    def greatest(self, matrix: Matrix) -> FloatArray:
        return self.extremes(matrix)[1]

    def highest(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.greatest(rows), self.farthest(rows.T).T

    def farthest(self, way: FloatArray) -> FloatArray:
        spend_entries(way.size, 2)
        return np.where(way.T > 0, self.upper, self.lower).T


Range: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper bounds, of one shape."""

Pair: TypeAlias = tuple[FloatArray, FloatArray]
"""Two arrays; the function that returns them tells which."""

TwoLines: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Lines below and above a function: ``s⁻, b⁻, s⁺, b⁺`` with ``s⁻ z + b⁻ ≤ v ≤ s⁺ z + b⁺``."""

Bounds: TypeAlias = tuple[Interval, ...]
"""One interval for each value of a network, the input first."""

Late: TypeAlias = Callable[[], bool]
"""A function that returns whether time is up; called between units of work of a second or so."""


def never() -> bool:
    """Return False: there is no time limit."""
    return False
