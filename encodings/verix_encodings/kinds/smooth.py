"""Smooth functions: ``a = σ(z)`` with ``z ∈ [l, u]``, such as a sigmoid.

    enclosure   between lines of slope 0
    lines       s⁻ z + b⁻ ≤ a ≤ s⁺ z + b⁺                      (``bounds.strips``)
    slopes      [min σ', max σ'] over [l, u]
    program     segments, enclosed                             (``blocks.enclosures``)
    rounding    |σ(z)| ≤ 1 + 2 |z|, slopes in [−2, 2]

These are functions of ``SMOOTH_FUNCTIONS``; a curve is any of ``bounds.curves``, without bounds of
its own: its rounding follows from its lines.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from verix_encodings.arrays import FloatArray, relative_error
from verix_encodings.blocks.enclosures import enclose_smooth
from verix_encodings.bounds.curves import SmoothFunction
from verix_encodings.bounds.interval import Range, TwoLines
from verix_encodings.bounds.lines import BatchLines, Lines
from verix_encodings.bounds.strips import best_lines, breakpoints, slope_range, value_range
from verix_encodings.kinds.node import (
    OPERATIONS,
    Arrays,
    Elementwise,
    EncodingContext,
    Intervals,
    Ranges,
    own_rounding,
    within_bounds,
)
from verix_encodings.program import Expressions

Bound: TypeAlias = Callable[[SmoothFunction, FloatArray, FloatArray], Sequence[FloatArray]]


@dataclass(frozen=True, slots=True)
class Curve(Elementwise):
    """``a = σ(z)``, elementwise, of the value ``source``, for any ``σ`` of ``bounds.curves``.

    Where ``σ`` is not defined for all of an interval, nothing is known but its least and most.
    """

    plural: ClassVar[str] = "smooth functions"
    pointed: ClassVar[bool] = True

    source: int
    function: SmoothFunction

    @property
    def name(self) -> str:
        return self.function.name

    def apply(self, z: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.function.evaluate(z)

    def range_of(self, lower: FloatArray, upper: FloatArray) -> Range:
        ends = self.function.least, self.function.most
        low, high = self._where_defined(value_range, lower, upper, ends)
        return low, high

    def lines_of(self, lower: FloatArray, upper: FloatArray) -> TwoLines:
        flat = 0.0, self.function.least, 0.0, self.function.most
        s_low, b_low, s_high, b_high = self._where_defined(best_lines, lower, upper, flat)
        return s_low, b_low, s_high, b_high

    def slope_range(self, lower: FloatArray, upper: FloatArray) -> Range:
        least, most = self._where_defined(slope_range, lower, upper, (-np.inf, np.inf))
        return least, most

    def _where_defined(
        self, bound: Bound, lower: FloatArray, upper: FloatArray, otherwise: Sequence[float]
    ) -> Sequence[FloatArray]:
        """Return what ``bound`` finds, and ``otherwise`` where the function is not defined."""
        if self.function.defined is None:
            return bound(self.function, lower, upper)
        known = self.function.defined(lower, upper)
        ends = np.where(known, lower, 1.0), np.where(known, upper, 1.0)
        pairs = zip(bound(self.function, *ends), otherwise, strict=True)
        return [np.where(known, found, other) for found, other in pairs]

    def derivative(self, z: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.function.slope(z)

    def split_points(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return the points that share out the curvature evenly, or the middle."""
        middle = lower / 2 + upper / 2
        with np.errstate(all="ignore"):
            points = breakpoints(self.function, lower, upper, 2)[1]
        return np.where(np.isfinite(points), points, middle)

    def evaluation_error(self, errors: Arrays, bounds: Intervals) -> FloatArray:
        """Bound the error as for any function, or by the range next to the least argument."""
        usual = Elementwise.evaluation_error(self, errors, bounds)
        if np.all(usual < 1e-9):  # only roots are steep, at zero alone
            return usual
        z, off = bounds[self.source], errors[self.source]
        least, start = z.lower - off, z.lower + off
        if self.function.defined is not None:  # no point is judged by a root that is no number
            least = np.where(z.lower >= 0, np.maximum(least, 0.0), least)
        low, near = self.range_of(least, start + 2.0 * off)
        high = self.range_of(least, z.upper + off)[1]
        # an argument above start + off is computed as one above start
        beyond = np.abs(self.slope_range(start, z.upper + off)).max(axis=0) * off
        with np.errstate(invalid="ignore"):
            split: FloatArray = own_rounding(low, high) + np.fmax(near - low, beyond)
        return np.fmin(usual, split)

    def rows(self, context: EncodingContext) -> Expressions:
        """Enclose the function by segments; its bounds alone where it is not defined for all."""
        z, interval = context.values[self.source], context.bounds[self.source]
        defined = self.function.defined
        if defined is not None and not defined(interval.lower, interval.upper).all():
            return within_bounds(context)
        builder, label, k, late = context.builder, context.label, context.segments, context.late
        return enclose_smooth(builder, label, self.function, z, interval, segments=k, late=late)


@dataclass(frozen=True, slots=True)
class Smooth(Curve):
    """``a = σ(z)`` for a ``σ`` of ``SMOOTH_FUNCTIONS``, whose slopes are in [−2, 2]."""

    plural: ClassVar[str] = "smooth activations"

    def relaxation(self, bounds: Intervals) -> Lines:
        z = bounds[self.source]
        s_low, b_low, s_high, b_high = best_lines(self.function, z.lower, z.upper)
        # a slope of σ is at most two
        reach = np.abs(b_low) + np.abs(b_high) + 2.0 * z.magnitude
        return Lines(b_high, b_low, reach, self.source, s_high, s_low)

    def batch_relaxation(self, of: Ranges, *, flat: bool) -> BatchLines:
        s_low, b_low, s_high, b_high = best_lines(self.function, *of(self.source))
        return BatchLines(((self.source, s_high, s_low),), b_high, b_low)

    def backward_error(self, gamma: float, magnitude: Callable[[int], FloatArray]) -> FloatArray:
        return gamma * (3.0 + 12.0 * magnitude(self.source))

    def evaluation_error(self, errors: Arrays, bounds: Intervals) -> FloatArray:
        """Bound the error: that of the source times the steepest slope, and the function's own."""
        z = bounds[self.source]
        steepest = np.abs(slope_range(self.function, z.lower, z.upper)).max(axis=0)
        own = relative_error(OPERATIONS) * (1.0 + z.magnitude)
        return np.asarray(steepest * errors[self.source] + own)
