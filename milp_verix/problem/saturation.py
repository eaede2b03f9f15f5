"""Margins of scores that a final Sigmoid rounds.

``σ`` rises, so that in real arithmetic the scores ``s`` and the outputs ``σ(s)`` have one order. A
runtime tells outputs apart that differ by ``δ``, and the ends of ``σ`` are flat: from 17 on it is 1
in float32, and the first of several such classes is predicted. So a claim on the class ``c`` needs
``σ(s_c) − σ(s_j) ≥ δ`` for each rival ``j``. It holds if

    s_j − s_c + a_j < 0,    s_j − R < 0,    −R − s_c < 0    with    a_j ≤ ½,  a_j = 2 δ / σ'(R_j)

as there are ``a_j`` numbers between both scores where ``|s| ≤ R_j + a_j``, for ``R_j ≤ R``, and
there ``σ' ≥ σ'(R_j + a_j) ≥ σ'(R_j) / 2``, since ``(ln σ')' ≥ −1``. These are the margins. Those
with ``R`` alone are left out where bounds over the ball prove them; such bounds are ``R_j``, too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import differences, unit_rows
from verix_encodings.bounds.interval import Interval
from verix_encodings.crown import crown_bounds
from verix_encodings.network import Network

_UNITS = 8
"""``δ`` in units of the last place of 1; onnxruntime's own ``σ`` is within one or two of them."""
_LARGEST = 9.0
"""``R``, so that ``a_j`` is 0.016 at most in float32; ``σ(9)`` is 0.9999."""


def rounded_margins(
    network: Network, box: Interval, label: int, rivals: Sequence[int], dtype: np.dtype[Any]
) -> Network:
    """Return the margins of the class ``label`` and its ``rivals`` for inputs in a box.

    The first ones are those of the rivals. Outputs have the precision of ``dtype``, of float32 at
    most.
    """
    precision = max(float(np.finfo(kind).eps) for kind in (dtype, np.float32))
    chosen, size = list(rivals), network.output_size
    try:
        scores = crown_bounds(network, box)[-1]
        highest, lowest = scores.upper[chosen], float(scores.lower[label])
    except OverflowError:
        highest, lowest = np.full(len(chosen), np.inf), -np.inf
    reach = np.clip(np.maximum(highest, -lowest), 0.0, _LARGEST)
    apart = 4.0 * _UNITS * precision * (1.0 + np.cosh(reach))  # 1 / σ'(R) = 2 + 2 cosh R
    high = [j for j, most in zip(chosen, highest, strict=True) if not most < _LARGEST]
    low = [label] * (not lowest > -_LARGEST)
    rows = [differences(chosen, label, size), unit_rows(high, size), -unit_rows(low, size)]
    weights = sp.vstack([sp.csr_array(block) for block in rows], format="csr")
    return network.then(weights, np.append(apart, np.full(len(high + low), -_LARGEST)))
