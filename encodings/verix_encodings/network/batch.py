"""A network at many inputs at once: its values, and the gradient of one output at each of them.

Inputs are the columns of a matrix, shape (d, N). Plain float64, for searches: no proof rests on it.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network.network import Network
from verix_encodings.work import spend_entries

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
