"""ReLUs: ``a = max(z, 0)`` with ``z ∈ [l, u]``.

enclosure   a ∈ [max(l, 0), max(u, 0)]
lines       α z ≤ a ≤ λ z + β                               (``bounds.lines.relu_lines``)
phases      z ≥ 0: a = z,  z ≤ 0: a = 0
slopes      [0, 0] if u ≤ 0, [1, 1] if l ≥ 0, [0, 1] else
program     the formulations of ``blocks.relu`` and ``blocks.formulations``
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.interval import Bounds, Range
from verix_encodings.bounds.lines import BatchLines, Lines, relu_lines
from verix_encodings.bounds.rows import by_phase
from verix_encodings.kinds.node import (
    Arrays,
    BySource,
    Elementwise,
    EncodingContext,
    Intervals,
    Ranges,
)
from verix_encodings.program import Expressions


@dataclass(frozen=True, slots=True)
class Relu(Elementwise):
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
        """The number of ``z``, whose sign is the phase."""
        return self.source

    def apply(self, z: FloatArray) -> FloatArray:
        """Return ``max(z, 0)``."""
        return np.maximum(z, 0.0)

    def range_of(self, lower: FloatArray, upper: FloatArray) -> Range:
        """Return ``max(l, 0)`` and ``max(u, 0)``."""
        return np.maximum(lower, 0.0), np.maximum(upper, 0.0)

    def slope_range(self, lower: FloatArray, upper: FloatArray) -> Range:
        """Return 1 where ``l ≥ 0``, and 1 where ``u > 0`` or ``l ≥ 0``."""
        active = lower >= 0
        return active.astype(float), (active | (upper > 0)).astype(float)

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return 1 where ``z > 0``."""
        return np.asarray(z > 0, dtype=np.float64)

    def undecided(self, lower: FloatArray, upper: FloatArray) -> BoolArray:
        """Mark neurons with two phases."""
        return (lower < 0) & (upper > 0)

    def relaxation(self, bounds: Intervals) -> Lines:
        z = bounds[self.source]
        above, ceiling, below = relu_lines(z.lower, z.upper)
        return Lines(
            ceiling, np.zeros_like(below), ceiling + z.magnitude, self.source, above, below
        )

    def batch_relaxation(self, of: Ranges, *, flat: bool) -> BatchLines:
        lower, upper = of(self.source)
        above, ceiling, below = relu_lines(lower, upper)
        below = np.where(lower >= 0, below, 0.0) if flat else below
        return BatchLines(((self.source, above, below),), ceiling)

    def backward_error(self, gamma: float, magnitude: Callable[[int], FloatArray]) -> FloatArray:
        """Bound the rounding of its lines: slopes are in [0, 1], and ``|β| ≤ |z|``."""
        return gamma * 3.0 * magnitude(self.source)

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> BySource:
        """Yield the source with the slopes, or zero, or both."""
        z = bounds[self.source]
        always = z.lower >= 0
        yield self.source, by_phase(lower, upper, always, always | (z.upper > 0))

    def rows(self, context: EncodingContext) -> Expressions:
        """Add the ReLUs by the formulation asked for."""
        z, interval = context.values[self.source], context.bounds[self.source]
        return context.relu(context.builder, context.label, z, interval)

    def evaluation_error(self, errors: Arrays, bounds: Intervals) -> FloatArray:
        """Return the errors of the source: a maximum adds none."""
        return errors[self.source]
