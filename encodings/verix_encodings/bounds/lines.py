"""Straight lines around activations, and rounding errors of affine maps, where bounds hold.

    v = max(z, 0)      α z ≤ v ≤ λ z + β                     z ∈ [l, u], for each neuron
    v = max(z_p, z_q)  z_p + α d ≤ v ≤ z_p + λ d + β         d = z_q − z_p, see ``max_lines``
    v = σ(z)           s⁻ z + b⁻ ≤ v ≤ s⁺ z + b⁺             (``bounds.strips``)

Backward bounds (``propagation.linear_form``) replace each activation by these lines.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import UNIT_ROUNDOFF, FloatArray, relative_error
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.bounds.strips import best_lines
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Relu, Smooth


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines around an activation: ``B z + b ≤ v ≤ S z + t`` wherever bounds hold.

    ``above`` and ``below`` are the slopes ``S`` and ``B``, vectors of one for each neuron, or
    matrices for maxima; ``ceiling`` and ``floor`` are ``t`` and ``b``. ``reach`` is at least the
    magnitude of all products and intercepts of a neuron.
    """

    above: FloatArray | sp.csr_array
    ceiling: FloatArray
    below: FloatArray | sp.csr_array
    floor: FloatArray
    reach: FloatArray


Range: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper bounds, of one shape."""

# of 0.5 to 1, the factor with the lowest margins on seven networks with pools
_FLAT = 0.85

Relaxation: TypeAlias = dict[int, FloatArray | Lines]
"""The rounding errors of each affine value, and the lines around each activation, by value."""


def relaxation_of(network: Network, bounds: Bounds, value: int) -> Relaxation:
    """Return the relaxation of all nodes up to ``value``; ``bounds`` hold before it."""
    relaxation: Relaxation = {}
    extend_relaxation(relaxation, network, bounds, value)
    return relaxation


def extend_relaxation(relaxation: Relaxation, network: Network, bounds: Bounds, value: int) -> None:
    """Add the nodes up to ``value`` that ``relaxation`` of the first nodes does not hold yet.

    ``bounds`` hold before ``value``, and are those that the nodes were added with.
    """
    for i in range(len(relaxation) + 1, value + 1):
        node = network.nodes[i - 1]
        added = _error(node, bounds) if isinstance(node, Affine) else _lines(node, bounds)
        relaxation[i] = added


def _error(node: Affine, bounds: Bounds) -> FloatArray:
    reach = np.abs(node.bias)
    for source, matrix in node.terms:
        reach = reach + abs(matrix) @ bounds[source].magnitude
    error: FloatArray = relative_error(node.bias.size) * reach
    return error + node.deviation(lambda source: bounds[source].magnitude)


def _lines(node: Relu | Max | Smooth, bounds: Bounds) -> Lines:
    if isinstance(node, Max):
        return _lines_of_pairs(node, bounds[node.entries], bounds[node.source])
    interval = bounds[node.source]
    if isinstance(node, Smooth):
        s_low, b_low, s_high, b_high = best_lines(node.function, interval.lower, interval.upper)
        # a slope of σ is at most two
        reach = np.abs(b_low) + np.abs(b_high) + 2.0 * interval.magnitude
        return Lines(s_high, b_high, s_low, b_low, reach)
    slope, intercept, below = relu_lines(interval.lower, interval.upper)
    return Lines(slope, intercept, below, np.zeros_like(below), intercept + interval.magnitude)


def relu_lines(l: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return λ, β and α with ``α z ≤ max(z, 0) ≤ λ z + β`` for ``z ∈ [l, u]``, elementwise."""
    unstable = (l < 0) & (u > 0)
    width = np.where(unstable, u - l, 1.0)
    slope = np.where(unstable, u / width, (l >= 0).astype(np.float64))
    # valid for the slope as it was rounded: the line must be above both ends of the graph
    ends = np.maximum(-slope * l, (1.0 - slope) * u)
    intercept = np.where(unstable, ends * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF * u, 0.0)
    floor = np.where(unstable, (u > -l).astype(np.float64), slope)
    return slope, intercept, floor


@dataclass(frozen=True, slots=True, eq=False)
class MaxLines:
    """Lines around ``max(z_p, z_q)``: ``f z_p + s z_q + c`` above, ``(1 − b) z_p + b z_q`` below.

    ``above_first`` is ``f``, ``above_second`` ``s``, ``ceiling`` ``c`` and ``below_second`` ``b``.
    """

    above_first: FloatArray
    above_second: FloatArray
    ceiling: FloatArray
    below_second: FloatArray


def max_lines(node: Max, entries: Range, difference: Range) -> MaxLines:
    """Return lines around the maxima ``node`` where ``entries`` and their ``difference`` lie.

    With ``d = z_q − z_p ∈ [l, u]``, and ``λ``, ``β``, ``α`` of the ReLU of ``d``:

        z_p + α d ≤ max(z_p, z_q) = z_p + max(d, 0) ≤ z_p + λ d + β
                    max(z_p, z_q) ≤ max(u_p, u_q)                      the ceiling

    The middle of the line is the mean of those of ``z_p + u / 2`` and ``z_q − l / 2``. The ceiling
    takes its place if its height over ``max(l_p, l_q)``, times 0.85, is less than that of the line:
    it passes no error of earlier layers on.
    """
    (low, high), (l, u) = entries, difference
    slope, intercept, floor = relu_lines(l, u)
    first, second = node.first, node.second
    ceiling = np.maximum(high[..., first], high[..., second])
    ground = np.maximum(low[..., first], low[..., second])
    middle = (low + high) / 2
    line = (middle[..., first] + middle[..., second] + (u - l) / 2) / 2
    flat = (l < 0) & (u > 0) & (_FLAT * (ceiling - ground) < line - ground)
    return MaxLines(
        np.where(flat, 0.0, 1.0 - slope),
        np.where(flat, 0.0, slope),
        np.where(flat, ceiling, intercept),
        floor,
    )


def _lines_of_pairs(node: Max, entries: Interval, difference: Interval) -> Lines:
    """Return the lines of :func:`max_lines` with matrices of two entries a row."""
    ends = (entries.lower, entries.upper), (difference.lower, difference.upper)
    lines, size = max_lines(node, *ends), node.first.size
    rows = np.tile(np.arange(size), 2)
    columns = np.concatenate([node.first, node.second])

    def slopes(first: FloatArray, second: FloatArray) -> sp.csr_array:
        values = np.concatenate([first, second])
        result = sp.csr_array((values, (rows, columns)), (size, entries.lower.size))
        result.eliminate_zeros()
        return result

    above = slopes(lines.above_first, lines.above_second)
    below = slopes(1.0 - lines.below_second, lines.below_second)
    magnitude = entries.magnitude
    reach = np.abs(lines.ceiling) + magnitude[node.first] + magnitude[node.second]
    return Lines(above, lines.ceiling, below, np.zeros(size), reach)
