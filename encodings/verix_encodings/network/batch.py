"""A network at many inputs at once: its values, and the gradient of one output at each of them.

    v = Σ_k M_k v_k + b    ∂f/∂v_k += M_kᵀ ∂f/∂v
    v = max(z, 0)          ∂f/∂z   += ∂f/∂v · [z > 0]
    v = max(z_p, z_q)      ∂f/∂z_q += ∂f/∂v · [z_q > z_p],  ∂f/∂z_p += ∂f/∂v · [z_q ≤ z_p]
    v = σ(z)               ∂f/∂z   += ∂f/∂v · σ'(z)

Inputs are the columns of a matrix, shape (d, N). Plain float64, for searches: no proof rests on it.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Relu
from verix_encodings.work import spend_entries, spend_product


def batch_values(network: Network, inputs: FloatArray) -> list[FloatArray]:
    """Return every value of the graph at the columns of ``inputs``; each shape (size, N)."""
    values = [inputs]
    for node in network.nodes:
        if isinstance(node, Affine):
            result = _affine(node, values)
        elif isinstance(node, Max):
            result = node.greatest(values[node.entries])
        elif isinstance(node, Relu):
            result = np.maximum(values[node.source], 0.0)
        else:
            result = node.function.evaluate(values[node.source])
        spend_entries(result.size)
        values.append(result)
    return values


def _affine(node: Affine, values: Sequence[FloatArray]) -> FloatArray:
    bias = node.bias[:, None]
    if not node.terms:
        return np.repeat(bias, values[0].shape[1], axis=1)
    (first, matrix), *others = node.terms
    for _, one in node.terms:
        spend_product(one, values[0].shape[1])
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
        spend_entries(slope.size)
        if isinstance(node, Affine):
            for source, matrix in node.terms:
                spend_product(matrix, outputs.size)
                spend_entries(slopes[source].size)
                slopes[source] += matrix.T @ slope
            continue
        z = values[node.source]
        if isinstance(node, Relu):
            slopes[node.source] += slope * (z > 0)
        elif isinstance(node, Max):
            second = values[node.entries][node.second] > values[node.entries][node.first]
            np.add.at(slopes[node.entries], node.first, np.where(second, 0.0, slope))
            np.add.at(slopes[node.entries], node.second, np.where(second, slope, 0.0))
        else:
            slopes[node.source] += slope * node.function.slope(z)
    return slopes[0]
