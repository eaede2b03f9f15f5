"""Bounds on the derivatives of a network: interval arithmetic, backward through its phases.

    v = Σ_k M_k v_k + b        ∂f/∂v_k += ∂f/∂v · M_k
    v = max(z, 0), z ∈ [l, u]   ∂f/∂z   += ∂f/∂v · [0, 0] if u ≤ 0, [1, 1] if l ≥ 0, [0, 1] else
    v = σ(z), z ∈ [l, u]        ∂f/∂z   += ∂f/∂v · [min σ', max σ'] over [l, u]
    v = z_p + max(d, 0), d = z_q − z_p: z_q has the slope of max(d, 0), z_p one minus it

A network is piecewise smooth, so along a line its values change by no more than these bounds times
the distance (the mean value theorem on each piece): a known bound on ``f`` over a set of inputs
becomes one over a larger set.
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, relative_error
from verix_encodings.bounds.interval import Bounds
from verix_encodings.bounds.strips import slope_range
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Node, Relu, Smooth
from verix_encodings.work import spend_product

Slopes: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper bounds on derivatives, each of shape (outputs, size of a value)."""


def slope_bounds(network: Network, bounds: Bounds) -> Slopes:
    """Bound every ``∂f_j/∂x_i`` where ``bounds`` hold: (lower, upper), each of shape (m, d).

    Bounds that overflow are infinite or NaN.
    """
    size = network.output_size
    zero = np.zeros((size, network.input_size))
    pending: dict[int, Slopes] = {0: (zero, zero)}
    pending[len(network.nodes)] = (np.eye(size), np.eye(size))
    for value in range(len(network.nodes), 0, -1):
        if value not in pending:
            continue
        lower, upper = pending.pop(value)
        node = network.nodes[value - 1]
        with np.errstate(over="ignore", invalid="ignore"):
            for source, found in _sources(node, bounds, lower, upper):
                known = pending.get(source)
                pending[source] = found if known is None else _sum(known, found)
    return pending[0]


def _sources(
    node: Node, bounds: Bounds, lower: FloatArray, upper: FloatArray
) -> Iterator[tuple[int, Slopes]]:
    """Yield the sources of ``node``, each with the part of the slopes that passes to it."""
    if isinstance(node, Affine):
        middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        most = np.abs(middle) + half
        for number, (source, matrix) in enumerate(node.terms):
            weight = abs(matrix)
            spend_product(matrix, 3 * middle.shape[0])
            centre, radius = middle @ matrix, half @ weight
            radius += relative_error(node.bias.size) * (most @ weight)
            if node.rounding:
                # no entry of a row is off by more than all of them are together
                radius += (most @ node.rounding[number])[:, None]
            yield source, (centre - radius, centre + radius)
    elif isinstance(node, Relu):
        interval = bounds[node.source]
        always, ever = interval.lower >= 0, (interval.lower >= 0) | (interval.upper > 0)
        yield node.source, _scaled(lower, upper, always, ever)
    elif isinstance(node, Smooth):
        interval = bounds[node.source]
        least, most = slope_range(node.function, interval.lower, interval.upper)
        products = np.stack([lower * least, lower * most, upper * least, upper * most])
        error = relative_error(1) * np.abs(products).max(axis=0)
        yield node.source, (products.min(axis=0) - error, products.max(axis=0) + error)
    else:
        difference, size = bounds[node.source], bounds[node.entries].lower.size
        ends = (
            (node.first, ~(difference.lower >= 0) & (difference.upper <= 0), difference.lower < 0),
            (node.second, difference.lower >= 0, difference.upper > 0),
        )
        for entries, always, ever in ends:
            part = _scaled(lower, upper, always, always | ever)
            ones = (np.ones(entries.size), (np.arange(entries.size), entries))
            spread = sp.csr_array(ones, shape=(entries.size, size))
            yield node.entries, (part[0] @ spread, part[1] @ spread)


def _scaled(
    lower: FloatArray, upper: FloatArray, always: BoolArray, ever: BoolArray | np.bool_
) -> Slopes:
    """Multiply slopes by the derivative of an activation: 1 if ``always``, 0 unless ``ever``."""
    least = np.where(always, lower, np.minimum(lower, 0.0))
    most = np.where(always, upper, np.maximum(upper, 0.0))
    return np.where(ever, least, 0.0), np.where(ever, most, 0.0)


def _sum(first: Slopes, second: Slopes) -> Slopes:
    low, high = first[0] + second[0], first[1] + second[1]
    error = relative_error(1) * (np.abs(low) + np.abs(high) + np.abs(first[0]) + np.abs(first[1]))
    return low - error, high + error
