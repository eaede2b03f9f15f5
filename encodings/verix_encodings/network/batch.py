"""A network at many inputs at once: its values, and the gradient of one output at each of them.

Inputs are the columns of a matrix, shape (d, N). Plain float64, for searches: no proof rests on it.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.network.network import Network
from verix_encodings.work import spend_entries


def batch_values(network: Network, inputs: FloatArray) -> list[FloatArray]:
    """Return every value of the graph at the columns of ``inputs``; each shape (size, N)."""
    values = [inputs]
    for node in network.nodes:
        values.append(node.value(values))
    return values


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
