"""A network at many inputs at once: its values, and the gradient of one output at each of them.

Inputs are the columns of a matrix, shape (d, N). Plain float64, for searches: no proof rests on it.

Maxima of several entries as a tree of maxima of pairs.

    max(z_1, …, z_n) = max(max(z_1, z_2), max(z_3, z_4), …)

A pair is compared by its difference: ``max(a, b) = a + max(b − a, 0)`` (Bunel, Turkaslan, Torr,
Kohli, Mudigonda, NeurIPS 2018). The difference is a value of the network, so it has linear bounds
of its own. They are tighter than ``[l_b − u_a, u_b − l_a]``, since entries of a window depend on
the same inputs.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.kinds.affine import Difference
from verix_encodings.kinds.maximum import Max
from verix_encodings.kinds.node import Node
from verix_encodings.network.network import Network
from verix_encodings.work import spend_entries


def pairwise_maxima(
    number: int, source: int, size: int, indices: IntArray, starts: IntArray
) -> tuple[Node, ...]:
    """Return nodes that take the maxima of groups of entries of the value ``source``.

    The groups stand one after the other in ``indices``, group ``i`` from ``starts[i]`` on; they may
    overlap. ``size`` is that of ``source``. The first node gets the value number ``number``; the
    last one holds the maxima. Raises ``ValueError`` for an empty group.
    """
    nodes: list[Node] = []
    while True:
        lengths = np.diff(starts, append=indices.size)
        if np.any(lengths < 1):
            raise ValueError("a maximum needs groups of one or more indices")
        place = np.arange(indices.size) - np.repeat(starts, lengths)
        left = np.flatnonzero(place % 2 == 0)
        # a lone entry is a pair with itself
        right = left + (place[left] + 1 < np.repeat(lengths, lengths)[left])
        last = bool(np.all(lengths <= 2))
        pairs = np.stack([indices[left], indices[right]], axis=1)
        which = np.arange(left.size)
        if not last:
            # windows that overlap share pairs
            pairs, which = np.unique(pairs, axis=0, return_inverse=True)
        first, second = pairs.T
        nodes.append(Difference.of(source, size, first, second))
        nodes.append(Max(number, source, first, second))
        source, size, number = number + 1, first.size, number + 2
        if last:
            return tuple(nodes)
        indices, lengths = which.reshape(-1), (lengths + 1) // 2
        starts = np.cumsum(lengths) - lengths


_MOST_VALUES = 4_000_000
"""Values of a network that are held at once, 32 MB."""


def batch_values(network: Network, inputs: FloatArray) -> list[FloatArray]:
    """Return every value of the graph at the columns of ``inputs``; each shape (size, N)."""
    values = [inputs]
    for node in network.nodes:
        values.append(node.value(values))
    return values


def batch_outputs(network: Network, inputs: FloatArray, late: Late = never) -> FloatArray:
    """Return the outputs at the columns of ``inputs``, shape (m, N).

    They are minus infinity at the columns that are not reached before ``late()``.
    """
    found = np.full((network.output_size, inputs.shape[1]), -np.inf)
    for part in _parts(network, inputs):
        if late():
            break
        found[:, part] = batch_values(network, inputs[:, part])[-1]
    return found


def batch_slopes(
    network: Network, inputs: FloatArray, outputs: IntArray, late: Late = never
) -> FloatArray:
    """Return the gradient of output ``outputs[n]`` at column ``n`` of ``inputs``; shape (d, N).

    It is zero at the columns that are not reached before ``late()``.
    """
    found = np.zeros(inputs.shape)
    for part in _parts(network, inputs):
        if late():
            break
        there = batch_values(network, inputs[:, part])
        found[:, part] = batch_gradients(network, there, outputs[part])
    return found


def _parts(network: Network, inputs: FloatArray) -> list[slice]:
    size = max(_MOST_VALUES // sum(network.sizes), 1)
    return [slice(first, first + size) for first in range(0, inputs.shape[1], size)]


def batch_gradients(
    network: Network, values: Sequence[FloatArray], outputs: IntArray
) -> FloatArray:
    """Return the gradient of output ``outputs[n]`` at input ``n``; shape (d, N).

    ``values`` are those of :func:`batch_values`; ``outputs`` has shape (N,).
    """
    slopes = [np.zeros_like(value) for value in values]
    slopes[-1][outputs, np.arange(outputs.size)] = 1.0
    for node, slope in zip(network.nodes[::-1], slopes[:0:-1], strict=True):
        spend_entries(slope.size)
        node.add_gradients(slopes, slope, values)
    return slopes[0]
