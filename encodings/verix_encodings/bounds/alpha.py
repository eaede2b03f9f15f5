"""Backward bounds with optimised slopes (α-CROWN): each neuron's bound has slopes of its own.

The line ``α z`` is below ``max(z, 0)`` for every ``α`` in [0, 1], so each bound of ``bounds.crown``
holds for every choice; that of a neuron is minimised over its choice by projected gradient steps:

    c·v ≤ c⁺·(λ z + β) + c⁻·(α z)     at a ReLU with l < 0 < u, c the coefficients met there
    g(α) = max over x in the region of a(α)·x + b(α)                    the bound of the neuron
    ∂g/∂α_j = c⁻_j z_j                z the value there if x is the maximiser and each activation
                                      is replaced by the line that the bound takes
    α ← min(max(α − η_t m_t / √v_t, 0), 1)                             steps of Adam, for each row

(Xu, Zhang, Wang, Wang, Jana, Lin, Hsieh, ICLR 2021.) Layer after layer: tighter bounds of one layer
make the lines of the next ones tighter. Each step's bound is rounded outward as CROWN's is, and the
least one counts: steps that do harm cost time alone.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense
from verix_encodings.bounds.cone import cone
from verix_encodings.bounds.crown import (
    crown_bounds,
    inside,
    layer_by_layer,
    neurons_to_tighten,
    readers_of,
    upper_form,
)
from verix_encodings.bounds.interval import Bounds, Interval, Late, Region, never
from verix_encodings.bounds.lines import Lines, relaxation_of
from verix_encodings.bounds.patches import Rows
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Relu

_STEPS = 9
_RATE = 0.5
_DECAY = 0.9
_MOMENTS = 0.9, 0.99

# entries of the arrays of a block, rows × neurons
_ENTRIES = 2**21
# neurons of a convolution in a block: neighbours share most of their receptive fields
_NEIGHBOURS = 64
_TINY = 1e-300


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
        left, slopes = block, _Slopes(*cone(network, bounds, value, block))
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
                slopes.keep(kept)
            if not left.size:
                break
    return found


def _blocks(network: Network, value: int, rows: IntArray) -> list[IntArray]:
    """Return ``rows`` in blocks whose arrays fit the memory, and narrow cones share."""
    node = network.nodes[value - 1]
    sparse = isinstance(node, Affine) and any(sp.issparse(matrix) for _, matrix in node.terms)
    most = _ENTRIES // (2 * max(network.sizes[: value + 1]))
    at_once = max(1, min(_NEIGHBOURS, most) if sparse else most)
    return [rows[first : first + at_once] for first in range(0, rows.size, at_once)]


@dataclass(slots=True)
class _Layer:
    """Slopes of a layer of ReLUs that reads ``source``: an array of rows × neurons.

    ``free`` are the neurons with two phases; ``mean`` and ``square`` are moments of the derivatives
    by their slopes, shape (rows, free).
    """

    source: int
    free: IntArray
    slopes: FloatArray
    mean: FloatArray
    square: FloatArray


class _Slopes:
    """Slopes for the bounds of the neurons ``rows`` of the last value, where ``bounds`` hold.

    Each neuron has two rows: the first half are upper bounds, the second half lower ones.
    """

    def __init__(self, network: Network, bounds: Bounds, rows: IntArray) -> None:
        self._network, self._bounds = network, bounds
        self._relaxation = relaxation_of(network, bounds, len(network.nodes))
        units = np.eye(network.output_size)[rows]
        self._rows = np.concatenate([units, -units])
        self._met: dict[int, FloatArray] = {}
        self._points = np.zeros((0, network.input_size))
        self._layers: dict[int, _Layer] = {}
        for value, node in enumerate(network.nodes, start=1):
            lines = self._relaxation[value]
            if isinstance(node, Relu) and isinstance(lines, Lines):
                interval = bounds[node.source]
                free = np.flatnonzero((interval.lower < 0) & (interval.upper > 0))
                slopes = np.tile(lines.below, (self._rows.shape[0], 1))
                zero = np.zeros((self._rows.shape[0], free.size))
                self._layers[value] = _Layer(node.source, free, slopes, zero, zero)

    def extremes(self, region: Region) -> FloatArray:
        """Bound the rows over ``region`` from above, rounded up; shape (2 neurons,)."""
        met: dict[int, Rows] = {}
        form = upper_form(
            self._network,
            self._bounds,
            len(self._network.nodes),
            self._rows,
            self._relaxation,
            slopes={value: layer.slopes for value, layer in self._layers.items()},
            met=met,
        )
        self._met = {value: dense(c) for value, c in met.items()}
        self._points = region.farthest(form.coefficients.T).T
        return form.greatest(region)

    def keep(self, neurons: BoolArray) -> None:
        """Drop the rows of other neurons."""
        if neurons.all():
            return
        rows = np.tile(neurons, 2)
        self._rows, self._points = self._rows[rows], self._points[rows]
        self._met = {value: c[rows] for value, c in self._met.items()}
        for layer in self._layers.values():
            layer.slopes, layer.mean = layer.slopes[rows], layer.mean[rows]
            layer.square = layer.square[rows]

    def descend(self, step: int) -> None:
        """Move the slopes of all rows by the step of that number, from one on."""
        first, second = _MOMENTS
        rate = _RATE * _DECAY ** (step - 1) * np.sqrt(1 - second**step) / (1 - first**step)
        for value, derivative in self._derivatives().items():
            layer = self._layers[value]
            layer.mean = first * layer.mean + (1 - first) * derivative
            layer.square = second * layer.square + (1 - second) * derivative**2
            change = rate * layer.mean / (np.sqrt(layer.square) + _TINY)
            # derivatives that overflowed move nothing
            moved = layer.slopes[:, layer.free] - np.nan_to_num(change)
            layer.slopes[:, layer.free] = np.clip(moved, 0.0, 1.0)

    def _derivatives(self) -> dict[int, FloatArray]:
        """Return the derivatives of the bounds by the free slopes, by layer: (rows, free) each."""
        values = self._values()
        return {
            value: np.minimum(self._met[value][:, layer.free], 0.0)
            * values[layer.source][:, layer.free]
            for value, layer in self._layers.items()
            if layer.free.size and value in self._met
        }

    def _values(self) -> dict[int, FloatArray]:
        """Return the values of the lines that each row takes at its point: (rows, neurons) each."""
        values = {0: self._points}
        last = max((layer.source for layer in self._layers.values()), default=0)
        for value, node in enumerate(self._network.nodes[:last], start=1):
            relaxed = self._relaxation[value]
            if isinstance(node, Affine):
                values[value] = node.bias + sum(values[s] @ m.T for s, m in node.terms)
                continue
            z = values[node.entries if isinstance(node, Max) else node.source]
            assert isinstance(relaxed, Lines)
            below = self._layers[value].slopes if value in self._layers else relaxed.below
            high, low = (
                z @ slope.T if sp.issparse(slope) else slope * z for slope in (relaxed.above, below)
            )
            up = self._met[value] > 0
            values[value] = np.where(up, high + relaxed.ceiling, low + relaxed.floor)
        return values
