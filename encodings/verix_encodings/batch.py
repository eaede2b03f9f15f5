"""A network at many inputs at once: its values, and the gradient of one output at each of them.

    v = Σ_k M_k v_k + b    ∂f/∂v_k += M_kᵀ ∂f/∂v
    v = max(z, 0)          ∂f/∂z   += ∂f/∂v · [z > 0]
    v = max_j z_j          ∂f/∂z_j += ∂f/∂v · [j is the first that is largest]
    v = σ(z)               ∂f/∂z   += ∂f/∂v · σ'(z)

Inputs are the columns of a matrix, shape (d, N). Plain float64, for search: nothing proven here.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.network import Affine, Max, Network, Relu


def batch_values(network: Network, inputs: FloatArray) -> list[FloatArray]:
    """Return every value of the graph at the columns of ``inputs``; each shape (size, N)."""
    values = [inputs]
    for node in network.nodes:
        if isinstance(node, Affine):
            result = np.repeat(node.bias[:, None], inputs.shape[1], axis=1)
            for source, matrix in node.terms:
                result += matrix @ values[source]
        elif isinstance(node, Max):
            result = node.reduce(values[node.source][node.indices])
        elif isinstance(node, Relu):
            result = np.maximum(values[node.source], 0.0)
        else:
            result = node.function.evaluate(values[node.source])
        values.append(result)
    return values


def batch_gradients(
    network: Network, values: Sequence[FloatArray], outputs: IntArray
) -> FloatArray:
    """Return the gradient of output ``outputs[n]`` at input ``n``; shape (d, N).

    ``values`` are those of :func:`batch_values`; ``outputs`` has shape (N,).
    """
    count = outputs.size
    seed = np.zeros((network.output_size, count))
    seed[outputs, np.arange(count)] = 1.0
    pending = {len(network.nodes): seed}
    for value in range(len(network.nodes), 0, -1):
        slope = pending.pop(value, None)
        if slope is None:
            continue
        node = network.nodes[value - 1]
        if isinstance(node, Affine):
            for source, matrix in node.terms:
                pending[source] = pending.get(source, 0.0) + matrix.T @ slope
            continue
        z = values[node.source]
        if isinstance(node, Relu):
            before = slope * (z > 0)
        elif isinstance(node, Max):
            before = np.zeros_like(z)
            largest = _first_largest(node, z[node.indices], values[value])
            np.add.at(before, (node.indices[largest], np.arange(count)), slope)
        else:
            before = slope * node.function.slope(z)
        pending[node.source] = pending.get(node.source, 0.0) + before
    return pending.get(0, np.zeros((network.input_size, count)))


def _first_largest(node: Max, entries: FloatArray, largest: FloatArray) -> IntArray:
    """Return the position in ``node.indices`` of each group's first largest entry."""
    position = np.arange(entries.shape[0])[:, None]
    candidates = np.where(entries == largest[node.groups], position, entries.shape[0])
    first: IntArray = np.minimum.reduceat(candidates, node.starts)
    return first
