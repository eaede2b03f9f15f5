"""Functions of one number: smooth ones, ReLUs, and functions in steps.

Smooth functions: ``a = σ(z)`` with ``z ∈ [l, u]``, such as a sigmoid.

    enclosure   between lines of slope 0
    lines       s⁻ z + b⁻ ≤ a ≤ s⁺ z + b⁺                      (``bounds.strips``)
    slopes      [min σ', max σ'] over [l, u]
    program     segments, enclosed                             (``blocks.enclosures``)
    rounding    |σ(z)| ≤ 1 + 2 |z|, slopes in [−2, 2]

These are functions of ``SMOOTH_FUNCTIONS``; a curve is any of ``bounds.curves``, without bounds of
its own: its rounding follows from its lines.

ReLUs: ``a = max(z, 0)`` with ``z ∈ [l, u]``.

    enclosure   a ∈ [max(l, 0), max(u, 0)]
    lines       α z ≤ a ≤ λ z + β                               (``bounds.lines.relu_lines``)
    phases      z ≥ 0: a = z,  z ≤ 0: a = 0
    slopes      [0, 0] if u ≤ 0, [1, 1] if l ≥ 0, [0, 1] else
    program     the formulations of ``blocks.layers`` and ``blocks.formulations``

Functions in steps: a threshold, and rounding to whole numbers.

    above      v = 1 if z > 0 else 0
    reached    v = 1 if z ≥ 0 else 0
    floor      v = ⌊z⌋
    round      v the whole number next to z, the even one of two

    enclosure   the function grows: its values at the ends
    slopes      0 between steps, infinite where there is one
    program     above, reached:  b ∈ {0, 1},  z ≤ u b,  z ≥ l (1 − b),  v = b
                floor:           v whole,  v ≤ z ≤ v + 1
                round:           v whole,  v − ½ ≤ z ≤ v + ½

At a step itself the program holds both values. It is exact elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, relative_error
from verix_encodings.blocks.enclosures import enclose_smooth
from verix_encodings.blocks.layers import define
from verix_encodings.bounds.curves import SmoothFunction
from verix_encodings.bounds.interval import Bounds, Range, TwoLines
from verix_encodings.bounds.lines import BatchLines, Lines, MixedForms, relu_lines
from verix_encodings.bounds.rows import by_phase
from verix_encodings.bounds.strips import (
    best_lines,
    breakpoints,
    intercepts,
    slope_range,
    value_range,
)
from verix_encodings.kinds import node as kind
from verix_encodings.program import Expressions


@dataclass(frozen=True, slots=True)
class Relu(kind.Elementwise):
    """``a = max(z, 0)``, elementwise, of the value ``source``."""

    plural: ClassVar[str] = "ReLUs"
    exact: ClassVar[bool] = True
    flat: ClassVar[bool] = True

    source: int

    @property
    def relu_of(self) -> int:
        return self.source

    @property
    def phase(self) -> int:
        return self.source

    def apply(self, z: FloatArray) -> FloatArray:
        return np.maximum(z, 0.0)

    def range_of(self, lower: FloatArray, upper: FloatArray) -> Range:
        return np.maximum(lower, 0.0), np.maximum(upper, 0.0)

    def slope_range(self, lower: FloatArray, upper: FloatArray) -> Range:
        active = lower >= 0
        return active.astype(float), (active | (upper > 0)).astype(float)

    def derivative(self, z: FloatArray) -> FloatArray:
        return np.asarray(z > 0, dtype=np.float64)

    def undecided(self, lower: FloatArray, upper: FloatArray) -> BoolArray:
        """Mark neurons with two phases."""
        return (lower < 0) & (upper > 0)

    def relaxation(self, bounds: kind.Intervals) -> Lines:
        z = bounds[self.source]
        above, ceiling, below = relu_lines(z.lower, z.upper)
        return Lines(
            ceiling, np.zeros_like(below), ceiling + z.magnitude, self.source, above, below
        )

    def batch_relaxation(self, of: kind.Ranges, *, flat: bool) -> BatchLines:
        lower, upper = of(self.source)
        above, ceiling, below = relu_lines(lower, upper)
        below = np.where(lower >= 0, below, 0.0) if flat else below
        return BatchLines(((self.source, above, below),), ceiling)

    def backward_error(self, gamma: float, magnitude: Callable[[int], FloatArray]) -> FloatArray:
        """Bound the rounding of its lines: slopes are in [0, 1], and ``|β| ≤ |z|``."""
        return gamma * 3.0 * magnitude(self.source)

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> kind.BySource:
        z = bounds[self.source]
        always = z.lower >= 0
        yield self.source, by_phase(lower, upper, always, always | (z.upper > 0))

    def rows(self, context: kind.EncodingContext) -> Expressions:
        z, interval = context.values[self.source], context.bounds[self.source]
        return context.relu(context.builder, context.label, z, interval)

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Return the errors of the source: a maximum adds none."""
        return errors[self.source]


STEPS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "above": lambda z: (z > 0).astype(np.float64),
    "reached": lambda z: (z >= 0).astype(np.float64),
    "floor": np.floor,
    "round": np.round,
}
"""The functions in steps, by name; all of them grow."""

# the least and the greatest of z − v within a step
_REACH = {"floor": (0.0, 1.0), "round": (-0.5, 0.5)}
# the distance from a jump at which a range is split, as a share of the jump's place
_BESIDE = 2.0**-20
# beyond, a whole number is no column of a program
_MOST = 2.0**30


@dataclass(frozen=True, slots=True)
class Step(kind.Elementwise):
    """The function ``form`` of :data:`STEPS`, elementwise, of the value ``source``."""

    plural: ClassVar[str] = "steps"
    pointed: ClassVar[bool] = True

    source: int
    form: str

    @property
    def name(self) -> str:
        return "step" if self.form in ("above", "reached") else self.form

    def apply(self, z: FloatArray) -> FloatArray:
        return np.asarray(STEPS[self.form](z))

    def range_of(self, lower: FloatArray, upper: FloatArray) -> Range:
        return self.apply(lower), self.apply(upper)

    def lines_of(self, lower: FloatArray, upper: FloatArray) -> TwoLines:
        """Return flat lines; for rounding, lines of slope one where these are closer."""
        low, high = self.range_of(lower, upper)
        zero = np.zeros_like(low)
        if self.form not in _REACH:
            return zero, low, zero, high
        least, most = _REACH[self.form]
        slope = (high - low > most - least).astype(np.float64)
        return slope, np.where(slope, -most, low), slope, np.where(slope, -least, high)

    def slope_range(self, lower: FloatArray, upper: FloatArray) -> Range:
        low, high = self.range_of(lower, upper)
        steps = low != high
        return np.where(steps, -np.inf, 0.0), np.where(steps, np.inf, 0.0)

    def split_points(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return points just below the jump nearest to the middle, or above it.

        At the jump itself both parts would hold both values.
        """
        middle = lower / 2 + upper / 2
        jump = np.zeros_like(middle)
        if self.form in _REACH:
            start = 0.5 if self.form == "round" else 0.0
            jump = np.round(middle - start) + start
            # the middle may be nearest to a jump outside
            jump = np.where(jump > upper, jump - 1.0, np.where(jump < lower, jump + 1.0, jump))
        beside = _BESIDE * np.maximum(np.abs(jump), 1.0)
        return np.where(lower < jump - beside, jump - beside, jump + beside)

    def rows(self, context: kind.EncodingContext) -> Expressions:
        """Add a whole column for each entry with a step in its bounds, and its rows."""
        z, result = context.bounds[self.source], kind.within_bounds(context)
        low, high = self.range_of(z.lower, z.upper)
        open_ = np.flatnonzero((low < high) & (np.maximum(np.abs(low), np.abs(high)) < _MOST))
        label, builder = context.label, context.builder
        column = define(builder, f"z_{label}", context.values[self.source], z, open_)
        whole = builder.add_columns(f"n_{label}", open_, low[open_], high[open_], integer=True)
        terms = [(1.0, result.columns[open_]), (-1.0, whole)]
        builder.add_rows(f"whole_{label}", open_, terms, 0.0, 0.0)
        if self.form in _REACH:
            least, most = _REACH[self.form]
            terms = [(1.0, column), (-1.0, whole)]
            builder.add_rows(f"step_{label}", open_, terms, least, most)
            return result
        l, u = z.lower[open_], z.upper[open_]
        builder.add_rows(f"below_{label}", open_, [(1.0, column), (-u, whole)], -np.inf, 0.0)
        builder.add_rows(f"over_{label}", open_, [(1.0, column), (l, whole)], l, np.inf)
        return result

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Return the greatest jump that the errors of the source can make."""
        z, off = bounds[self.source], errors[self.source]
        low, high = self.range_of(z.lower - off, z.upper + off)
        jumps = np.minimum(high - low, 1.0 if self.form not in _REACH else np.ceil(off) + 1.0)
        return np.where(off > 0, jumps, 0.0)


Bound: TypeAlias = Callable[[SmoothFunction, FloatArray, FloatArray], Sequence[FloatArray]]


@dataclass(frozen=True, slots=True)
class Curve(kind.Elementwise):
    """``a = σ(z)``, elementwise, of the value ``source``, for any ``σ`` of ``bounds.curves``.

    Where ``σ`` is not defined for all of an interval, nothing is known but its least and most.
    """

    plural: ClassVar[str] = "smooth functions"
    pointed: ClassVar[bool] = True
    segmented: ClassVar[bool] = True
    turns: ClassVar[int] = 1

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

    def narrowed_forms(self, of: kind.Ranges, bounds: Bounds) -> MixedForms:
        """Return the usual lines, and those that are closer at either end, if any are."""
        found = self._by_parts(self._turned_lines, of, bounds)
        lines = ((found[k], found[k + 1], found[k + 2], found[k + 3]) for k in (4, 0, 8))
        first, usual, last = (self._batch_lines(one, *of(self.source)) for one in lines)
        return MixedForms(first, usual, last)

    def _turned_lines(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, ...]:
        """Return the usual lines, and tangents at both ends where these are closer there."""
        usual = self.lines_of(lower, upper)
        found = list(usual)
        for x in (lower, upper):
            with np.errstate(all="ignore"):
                slope = np.nan_to_num(self.function.slope(x), posinf=0.0, neginf=0.0)
            below, above = self._where_defined(
                partial(intercepts, slope=slope, touching=x), lower, upper, (-np.inf, np.inf)
            )
            with np.errstate(invalid="ignore"):
                under = slope * x + below > usual[0] * x + usual[1]
                over = slope * x + above < usual[2] * x + usual[3]
            found += [np.where(under, slope, usual[0]), np.where(under, below, usual[1])]
            found += [np.where(over, slope, usual[2]), np.where(over, above, usual[3])]
        return tuple(found)

    def split_points(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return the points that share out the curvature evenly, or the middle."""
        middle = lower / 2 + upper / 2
        with np.errstate(all="ignore"):
            points = breakpoints(self.function, lower, upper, 2)[1]
        return np.where(np.isfinite(points), points, middle)

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Bound the error as for any function, or by the range next to the least argument."""
        usual = kind.Elementwise.evaluation_error(self, errors, bounds)
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
            split: FloatArray = kind.own_rounding(low, high) + np.fmax(near - low, beyond)
        return np.fmin(usual, split)

    def rows(self, context: kind.EncodingContext) -> Expressions:
        """Enclose the function by segments; its bounds alone where it is not defined for all."""
        z, interval = context.values[self.source], context.bounds[self.source]
        defined = self.function.defined
        if defined is not None and not defined(interval.lower, interval.upper).all():
            return kind.within_bounds(context)
        builder, label, k, late = context.builder, context.label, context.segments, context.late
        return enclose_smooth(builder, label, self.function, z, interval, segments=k, late=late)


@dataclass(frozen=True, slots=True)
class Smooth(Curve):
    """``a = σ(z)`` for a ``σ`` of ``SMOOTH_FUNCTIONS``, whose slopes are in [−2, 2]."""

    plural: ClassVar[str] = "smooth activations"

    def relaxation(self, bounds: kind.Intervals) -> Lines:
        z = bounds[self.source]
        s_low, b_low, s_high, b_high = best_lines(self.function, z.lower, z.upper)
        # a slope of σ is at most two
        reach = np.abs(b_low) + np.abs(b_high) + 2.0 * z.magnitude
        return Lines(b_high, b_low, reach, self.source, s_high, s_low)

    def batch_relaxation(self, of: kind.Ranges, *, flat: bool) -> BatchLines:
        s_low, b_low, s_high, b_high = best_lines(self.function, *of(self.source))
        return BatchLines(((self.source, s_high, s_low),), b_high, b_low)

    def backward_error(self, gamma: float, magnitude: Callable[[int], FloatArray]) -> FloatArray:
        return gamma * (3.0 + 12.0 * magnitude(self.source))

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Bound the error: that of the source times the steepest slope, and the function's own."""
        z = bounds[self.source]
        steepest = np.abs(slope_range(self.function, z.lower, z.upper)).max(axis=0)
        own = relative_error(kind.OPERATIONS) * (1.0 + z.magnitude)
        return np.asarray(steepest * errors[self.source] + own)
