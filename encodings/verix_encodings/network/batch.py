"""A network at many inputs at once: its values, and the gradient of one output at each of them.

    v = Σ_k M_k v_k + b    ∂f/∂v_k += M_kᵀ ∂f/∂v
    v = max(z, 0)          ∂f/∂z   += ∂f/∂v · [z > 0]
    v = max_j z_j          ∂f/∂z_j += ∂f/∂v · [j is the first that is largest]
    v = σ(z)               ∂f/∂z   += ∂f/∂v · σ'(z)

Inputs are the columns of a matrix, shape (d, N). Plain float64, for searches: no proof rests on it.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Relu


def batch_values(network: Network, inputs: FloatArray) -> list[FloatArray]:
    """Return every value of the graph at the columns of ``inputs``; each shape (size, N)."""
    values = [inputs]
    for node in network.nodes:
        if isinstance(node, Affine):
            result = _affine(node, values)
        elif isinstance(node, Max):
            result = node.reduce(values[node.source][node.indices])
        elif isinstance(node, Relu):
            result = np.maximum(values[node.source], 0.0)
        else:
            result = node.function.evaluate(values[node.source])
        values.append(result)
    return values


def _affine(node: Affine, values: Sequence[FloatArray]) -> FloatArray:
    bias = node.bias[:, None]
    if not node.terms:
        return np.repeat(bias, values[0].shape[1], axis=1)
    (first, matrix), *others = node.terms
    # in place: no array is written twice
    result: FloatArray = matrix @ values[first]
    result += bias
    for source, matrix in others:
        result += matrix @ values[source]
    return result


def batch_gradients(
    network: Network, values: Sequence[FloatArray], outputs: IntArray
) -> FloatArray:
    """Return the gradient of output ``outputs[n]`` at input ``n``; shape (d, N).

    ``values`` are those of :func:`batch_values`; ``outputs`` has shape (N,).
    """
    slopes = [np.zeros_like(value) for value in values]
    slopes[-1][outputs, np.arange(outputs.size)] = 1.0
    for value in range(len(network.nodes), 0, -1):
        node, slope = network.nodes[value - 1], slopes[value]
        if isinstance(node, Affine):
            for source, matrix in node.terms:
                slopes[source] += matrix.T @ slope
            continue
        z = values[node.source]
        if isinstance(node, Relu):
            slopes[node.source] += slope * (z > 0)
        elif isinstance(node, Max):
            largest = _first_largest(node, z[node.indices], values[value])
            np.add.at(slopes[node.source], (node.indices[largest], np.arange(outputs.size)), slope)
        else:
            slopes[node.source] += slope * node.function.slope(z)
    return slopes[0]


def _first_largest(node: Max, entries: FloatArray, largest: FloatArray) -> IntArray:
    """Return the position in ``node.indices`` of each group's first largest entry."""
    position = np.arange(entries.shape[0])[:, None]
    candidates = np.where(entries == largest[node.groups], position, entries.shape[0])
    first: IntArray = np.minimum.reduceat(candidates, node.starts)
    return first
