"""Interval arithmetic: an enclosure of every value of a network over a set of inputs.

    z = Σ_k M_k v_k + b,  v_k ∈ [m_k − r_k, m_k + r_k]   ⇒   z ∈ Σ_k M_k m_k + b ± Σ_k |M_k| r_k
    a = max(z, 0),  z ∈ [l, u]                            ⇒   a ∈ [max(l, 0), max(u, 0)]
    a = max_j z_j,  z_j ∈ [l_j, u_j]                      ⇒   a ∈ [max_j l_j, max_j u_j]
    a = σ(z),      z ∈ [l, u]                            ⇒   a between lines of slope 0

The lines are those of ``bounds.strips``. If ``v_0``, the input, lies in a norm ball, ``M_0 v_0`` is
bounded over the ball itself (``bounds.norm_ball``) and not over the box around it.

Every step is widened by the rounding error that float64 can make in it (the bound ``γ_n |M||v|``
of Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1), so that the enclosures hold in
real arithmetic and the big-Ms taken from them are valid.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from verix_encodings.arrays import FloatArray, Matrix, frozen, relative_error
from verix_encodings.bounds.strips import value_range
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Difference, Max, Node, Smooth
from verix_encodings.work import spend_product


class Region(Protocol):
    """A set of inputs: a box, or a norm ball in a box."""

    @property
    def box(self) -> "Interval":
        """The smallest box known around the set."""

    def extremes(self, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        """Bound ``M x`` over the set, rounded outward: (lower, upper), one for each row of M."""

    def greatest(self, matrix: Matrix) -> FloatArray:
        """Return the upper bounds of :meth:`extremes` alone."""

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
        """The interval itself."""
        return self

    def extremes(self, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        """Bound ``M v`` over the box, rounded outward: (lower, upper), one for each row of M."""
        middle, half = self.lower / 2 + self.upper / 2, self.upper / 2 - self.lower / 2
        spend_product(matrix, 4)
        weight = abs(matrix)
        centre, radius = matrix @ middle, weight @ half
        error = relative_error(middle.size) * (weight @ (np.abs(middle) + half))
        return centre - radius - error, centre + radius + error

    def greatest(self, matrix: Matrix) -> FloatArray:
        """Return the upper bounds of :meth:`extremes` alone."""
        return self.extremes(matrix)[1]

    def farthest(self, way: FloatArray) -> FloatArray:
        """Return the point of the box where ``way·v`` is largest, (d,); or (d, N) of columns."""
        return np.where(way.T > 0, self.upper, self.lower).T


Bounds: TypeAlias = tuple[Interval, ...]
"""One interval for each value of a network, the input first."""

BoundMethod: TypeAlias = Callable[[Network, Region], Bounds]
"""A method for bounds: a function from a network and a set of inputs to bounds on every value."""

Late: TypeAlias = Callable[[], bool]
"""A function that returns whether time is up; called between units of work of a second or so."""


def never() -> bool:
    """Return False: there is no time limit."""
    return False


def interval_bounds(network: Network, region: Region) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``region`` by interval arithmetic.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
    bounds = [region.box]
    for value, node in enumerate(network.nodes, start=1):
        bounds.append(forward_interval(node, region, bounds, value))
    return tuple(bounds)


def forward_interval(node: Node, region: Region, bounds: list[Interval], value: int) -> Interval:
    """Bound the value of ``node``, numbered ``value``, given those of all values before it.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
    if isinstance(node, Difference):
        entries = bounds[node.sources[0]]
        lower, upper = difference_range(node, entries.lower, entries.upper)
    elif isinstance(node, Affine):
        with np.errstate(over="ignore", invalid="ignore"):  # reported as an error below
            lower, upper = _affine(node, region, bounds)
    elif isinstance(node, Max):
        entries = bounds[node.entries]
        lower, upper = node.greatest(entries.lower), node.greatest(entries.upper)
    elif isinstance(node, Smooth):
        source = bounds[node.source]
        lower, upper = value_range(node.function, source.lower, source.upper)
    else:
        source = bounds[node.source]
        lower, upper = np.maximum(source.lower, 0.0), np.maximum(source.upper, 0.0)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise OverflowError(f"the bounds of value {value} overflow float64")
    return Interval(lower, upper)


def difference_range(
    node: Difference, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bound differences, given bounds on the entries: shape (size,), or (N, size) of N sets."""
    first, second = node.first, node.second
    lower, upper = low[..., second] - high[..., first], high[..., second] - low[..., first]
    # a difference of floats is zero only if they are equal
    lower = np.where(lower == 0, 0.0, np.nextafter(lower, -np.inf))
    upper = np.where(upper == 0, 0.0, np.nextafter(upper, np.inf))
    alone = first == second
    return np.where(alone, 0.0, lower), np.where(alone, 0.0, upper)


def _affine(node: Affine, region: Region, bounds: list[Interval]) -> tuple[FloatArray, FloatArray]:
    lower, upper, reach = node.bias.copy(), node.bias.copy(), np.abs(node.bias)
    for source, matrix in node.terms:
        low, high = (region if source == 0 else bounds[source]).extremes(matrix)
        lower += low
        upper += high
        reach += np.maximum(np.abs(low), np.abs(high))
    error = relative_error(len(node.terms)) * reach
    error += node.deviation(lambda source: bounds[source].magnitude)
    return lower - error, upper + error
