"""The point of a program that belongs to one input: each column as the network evaluates it.

In the columns of ``blocks.relu``, a neuron with the pre-activation ``z`` has

    z,   a = max(z, 0),   d = 1 if z > 0, else 0

and a maximum ``a = z_p + max(z_q − z_p, 0)`` has the phase of ``z_q − z_p``. The point satisfies
all rows of an encoding whose bounds hold at the input, up to rounding: a start for a solver.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.network.network import Network

Columns = dict[str, tuple[IntArray, IntArray]]
"""The columns of each prefix and the numbers behind it, see ``program.labels.blocks``."""


def fill(
    point: FloatArray,
    columns: Columns,
    network: Network,
    values: Sequence[FloatArray],
    prefix: str = "",
) -> None:
    """Write the columns of ``network`` into ``point``, a value for each column of the program.

    ``values`` are those of :meth:`~verix_encodings.Network.values`; ``prefix`` is that of
    ``models.encode.encode_values``. Columns of nodes other than ReLUs and maxima stay as they are.
    """
    for index, node in enumerate(network.nodes):
        if node.phase is None:
            continue
        label = f"{prefix}{index}"
        kinds = (
            ("z", values[node.sources[-1]]),
            ("a", values[index + 1]),
            ("d", (values[node.phase] > 0).astype(np.float64)),
        )
        for kind, value in kinds:
            if f"{kind}_{label}" in columns:
                places, neurons = columns[f"{kind}_{label}"]
                point[places] = value[neurons]
