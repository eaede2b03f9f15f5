"""Bounds on the derivatives of a network: interval arithmetic, backward through its phases.

    v = σ(z), z ∈ [l, u]        ∂f/∂z += ∂f/∂v · [min σ', max σ'] over [l, u]

A network whose slopes are finite is continuous and piecewise smooth, so along a line its values
change by no more than these bounds times the distance (the mean value theorem on each piece): a
known bound on ``f`` over a set of inputs becomes one over a larger set.
"""

import numpy as np

from verix_encodings.arrays import relative_error
from verix_encodings.bounds.interval import Bounds, Range
from verix_encodings.network.network import Network


def slope_bounds(network: Network, bounds: Bounds) -> Range:
    """Bound every ``∂f_j/∂x_i`` where ``bounds`` hold: (lower, upper), each of shape (m, d).

    Bounds that overflow are infinite or NaN.
    """
    size = network.output_size
    zero = np.zeros((size, network.input_size))
    pending: dict[int, Range] = {0: (zero, zero)}
    pending[len(network.nodes)] = (np.eye(size), np.eye(size))
    for value in range(len(network.nodes), 0, -1):
        if value not in pending:
            continue
        lower, upper = pending.pop(value)
        node = network.nodes[value - 1]
        with np.errstate(over="ignore", invalid="ignore"):
            for source, found in node.slopes(bounds, lower, upper):
                known = pending.get(source)
                pending[source] = found if known is None else _sum(known, found)
    return pending[0]


def _sum(first: Range, second: Range) -> Range:
    low, high = first[0] + second[0], first[1] + second[1]
    error = relative_error(1) * (np.abs(low) + np.abs(high) + np.abs(first[0]) + np.abs(first[1]))
    return low - error, high + error
