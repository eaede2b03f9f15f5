"""Ranges of one output's slopes over many boxes at once: where a box is best split.

Backward through the network, with coefficients in ``m ± r``:

    v = Σ_k M_k v_k + b    m_k += m M_k,  r_k += r |M_k|
    v = max(z, 0)          [m − r, m + r] · [l ≥ 0 , u > 0]             as for a slope in [0, 1]
    v = max_j z_j          the same for each entry: 1 if no other can win, in [0, 1] if it can
    v = σ(z)               [m − r, m + r] · [σ' on z ∈ [l, u]]

(The interval gradients of ReluVal: Wang et al., USENIX Security 2018.) Plain float64, for
branching: no proof rests on it.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.lines import Range
from verix_encodings.bounds.strips import slope_range
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Relu, Smooth
from verix_encodings.work import spend_product


def slope_ranges(
    network: Network, found: Sequence[Range], outputs: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the middle and half width of ``∂f_j/∂x`` over each box, j = ``outputs[n]``; (N, d).

    ``found`` are bounds on all values but the last over each box.
    """
    pending: dict[int, Range] = {}
    start = np.zeros((outputs.size, network.output_size))
    start[np.arange(outputs.size), outputs] = 1.0
    pending[len(network.nodes)] = start, np.zeros_like(start)
    for value in range(len(network.nodes), 0, -1):
        middle, half = pending.pop(value, (None, None))
        if middle is None or half is None:
            continue
        node = network.nodes[value - 1]
        if isinstance(node, Affine):
            for source, matrix in node.terms:
                spend_product(matrix, 2 * middle.shape[0])
                _add(pending, source, middle @ matrix, half @ abs(matrix))
        elif isinstance(node, Max):
            _add(pending, node.entries, *_before_maxima(node, middle, half, found))
        else:
            _add(pending, node.source, *_behind(node, middle, half, found[node.source]))
    size = (outputs.size, network.input_size)
    return pending.get(0, (np.zeros(size), np.zeros(size)))


def _behind(node: Relu | Smooth, middle: FloatArray, half: FloatArray, found: Range) -> Range:
    """Return the slopes before an activation."""
    lower, upper = found
    if isinstance(node, Smooth):
        least, most = slope_range(node.function, lower, upper)
        return _product(middle, half, least, most)
    return _product(middle, half, (lower >= 0).astype(float), (upper > 0).astype(float))


def _before_maxima(
    node: Max, middle: FloatArray, half: FloatArray, found: Sequence[Range]
) -> Range:
    """Return the slopes of the entries: ``z_q`` has that of ``max(d, 0)``, ``z_p`` one minus it."""
    (lower, upper), size = found[node.source], found[node.entries][0].shape
    least, most = (lower >= 0).astype(float), ((lower >= 0) | (upper > 0)).astype(float)
    # pairs may share an entry
    totals = np.zeros(size), np.zeros(size)
    for entries, low, high in (
        (node.first, 1.0 - most, 1.0 - least),
        (node.second, least, most),
    ):
        for total, part in zip(totals, _product(middle, half, low, high), strict=True):
            np.add.at(total.T, entries, part.T)
    return totals


def _product(middle: FloatArray, half: FloatArray, least: FloatArray, most: FloatArray) -> Range:
    """Return ``[middle ± half] · [least, most]`` as a middle and a half width."""
    ends = [(middle + side) * factor for side in (-half, half) for factor in (least, most)]
    low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    return (low + high) / 2, (high - low) / 2


def _add(pending: dict[int, Range], source: int, middle: FloatArray, half: FloatArray) -> None:
    known = pending.get(source)
    pending[source] = (middle, half) if known is None else (known[0] + middle, known[1] + half)
