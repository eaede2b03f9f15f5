"""Ranges of one output's slopes over many boxes at once: where a box is best split.

Backward through the network, with coefficients in ``m ± r``:

    v = Σ_k M_k v_k + b    m_k += m M_k,  r_k += r |M_k|
    v = σ(z)               [m − r, m + r] · [σ' on z ∈ [l, u]]

(The interval gradients of ReluVal: Wang et al., USENIX Security 2018.) Plain float64, for
branching: no proof rests on it.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Range
from verix_encodings.network.network import Network


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
        for source, (more, wider) in node.slope_ranges(found.__getitem__, middle, half):
            known = pending.get(source)
            both = (more, wider) if known is None else (known[0] + more, known[1] + wider)
            pending[source] = both
    size = (outputs.size, network.input_size)
    return pending.get(0, (np.zeros(size), np.zeros(size)))
