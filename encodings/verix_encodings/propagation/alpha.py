"""Backward bounds with optimised slopes (α-CROWN): each neuron's bound has slopes of its own.

The line ``α z`` is below ``max(z, 0)`` for every ``α`` in [0, 1], so each bound of CROWN
(``propagation.crown``) holds for every choice. Projected gradient steps minimise it for a neuron:

    c·v ≤ c⁺·(λ z + β) + c⁻·(α z)     at a ReLU with l < 0 < u, c the coefficients met there
    g(α) = max over x in the region of a(α)·x + b(α)                    the bound of the neuron
    ∂g/∂α_j = c⁻_j z_j                z the value there if x is the maximiser and each activation
                                      is replaced by the line that the bound takes
    α ← min(max(α − η_t m_t / √v_t, 0), 1)                             steps of Adam, for each row

(Xu, Zhang, Wang, Wang, Jana, Lin, Hsieh, ICLR 2021.) Layer after layer: tighter bounds of one layer
make the lines of the next ones tighter. Each step's bound is rounded outward as CROWN's is, and the
least one counts: steps that do harm cost time alone.

Bounds on the derivatives of a network: interval arithmetic, backward through its phases.

    v = σ(z), z ∈ [l, u]        ∂f/∂z += ∂f/∂v · [min σ', max σ'] over [l, u]

A network whose slopes are finite is continuous and piecewise smooth, so along a line its values
change by no more than these bounds times the distance (the mean value theorem on each piece): a
known bound on ``f`` over a set of inputs becomes one over a larger set.
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import IntArray, relative_error
from verix_encodings.bounds.interval import Bounds, Interval, Late, Range, Region, never
from verix_encodings.network.network import Network
from verix_encodings.propagation.crown import (
    crown_bounds,
    inside,
    layer_by_layer,
    neurons_to_tighten,
    readers_of,
)
from verix_encodings.propagation.interval_bounds import cone
from verix_encodings.propagation.row_slopes import Relaxed, RowSlopes


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


_STEPS = 9

# entries of the arrays of a block, rows × neurons
_ENTRIES = 2**21
# neurons of a convolution in a block: neighbours share most of their receptive fields
_NEIGHBOURS = 64


def alpha_bounds(
    network: Network, region: Region, late: Late = never, *, within: Bounds = ()
) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``region``, inside CROWN's bounds.

    ``within`` are bounds known to hold there, computed by :func:`crown_bounds` unless they are
    given; neurons that these decide keep them. Once ``late()``, so do all remaining neurons. Raises
    ``OverflowError`` as :func:`interval_bounds` does.
    """
    within = within or crown_bounds(network, region, late=late)
    return layer_by_layer(network, region, _optimised, late=late, within=within)


def beyond_input(network: Network, bounds: Bounds) -> int:
    """Return the number of undecided neurons that are no affine function of the input alone."""
    readers = readers_of(network)
    return sum(
        neurons_to_tighten(network, readers, value, bounds[value]).size
        for value in readers
        if value and any(source != 0 for source in network.nodes[value - 1].sources)
    )


def _optimised(
    network: Network, region: Region, bounds: Bounds, rows: IntArray, late: Late
) -> Interval:
    value, found = len(bounds) - 1, bounds[-1]
    readers = readers_of(network)
    for block in _blocks(network, value, rows):
        if late():
            return found
        part, inner, places = cone(network, bounds, value, block)
        units = np.eye(part.output_size)[places]
        left, slopes = block, RowSlopes(Relaxed.of(part, inner), np.concatenate([units, -units]))
        for step in range(_STEPS):
            if late():
                return found
            with np.errstate(over="ignore", invalid="ignore"):
                if step:
                    slopes.descend(step)
                found = inside(found, left, slopes.extremes(region))
            if value != len(network.nodes):
                kept = np.isin(left, neurons_to_tighten(network, readers, value, found))
                left = left[kept]
                slopes.keep(np.tile(kept, 2))
            if not left.size:
                break
    return found


def _blocks(network: Network, value: int, rows: IntArray) -> list[IntArray]:
    """Return ``rows`` in blocks whose arrays fit the memory, and narrow cones share."""
    sparse = any(sp.issparse(matrix) for _, matrix in network.nodes[value - 1].matrices)
    most = _ENTRIES // (2 * max(network.sizes[: value + 1]))
    at_once = max(1, min(_NEIGHBOURS, most) if sparse else most)
    return [rows[first : first + at_once] for first in range(0, rows.size, at_once)]
