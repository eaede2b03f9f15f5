"""Interval arithmetic: an enclosure of every value of a network over a box of inputs.

    z = Σ_k M_k v_k + b,  v_k ∈ [m_k − r_k, m_k + r_k]   ⇒   z ∈ Σ_k M_k m_k + b ± Σ_k |M_k| r_k
    a = max(z, 0),  z ∈ [l, u]                            ⇒   a ∈ [max(l, 0), max(u, 0)]

Every step is widened by the rounding error that float64 can make in it (the bound ``γ_n |M||v|``
of Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1), so that the enclosures hold in
real arithmetic and the big-Ms taken from them are valid.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import UNIT_ROUNDOFF, FloatArray, frozen
from verix_encodings.network import Affine, Network, Node


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


Bounds: TypeAlias = tuple[Interval, ...]
"""One interval for each value of a network, the input first."""

BoundMethod: TypeAlias = Callable[[Network, Interval], Bounds]
"""What tightens bounds: a function from a network and a box of inputs to bounds on every value."""


def interval_bounds(network: Network, box: Interval) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``box`` by interval arithmetic.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
    bounds = [box]
    for value, node in enumerate(network.nodes, start=1):
        bounds.append(forward_interval(node, bounds, value))
    return tuple(bounds)


def forward_interval(node: Node, bounds: list[Interval], value: int) -> Interval:
    """Bound the value of ``node``, numbered ``value``, given those of all values before it.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
    if isinstance(node, Affine):
        with np.errstate(over="ignore", invalid="ignore"):  # reported as an error below
            lower, upper = _affine(node, bounds)
    else:
        source = bounds[node.source]
        lower, upper = np.maximum(source.lower, 0.0), np.maximum(source.upper, 0.0)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise OverflowError(f"the bounds of value {value} overflow float64")
    return Interval(lower, upper)


def _affine(node: Affine, bounds: list[Interval]) -> tuple[FloatArray, FloatArray]:
    centre = node.bias.copy()
    radius = np.zeros_like(centre)
    error = np.abs(centre)
    operations = 4
    for source, matrix in node.terms:
        lower, upper = bounds[source].lower, bounds[source].upper
        middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        weight = abs(matrix)
        centre += matrix @ middle
        radius += weight @ half
        error += weight @ (np.abs(middle) + half)
        operations += matrix.shape[1]
    error *= 4 * operations * UNIT_ROUNDOFF
    return centre - radius - error, centre + radius + error
