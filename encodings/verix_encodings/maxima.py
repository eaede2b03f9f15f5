"""Maxima of several entries as a tree of maxima of pairs.

    max(z_1, …, z_n) = max(max(z_1, z_2), max(z_3, z_4), …)

A pair is compared by its difference: ``max(a, b) = a + max(b − a, 0)`` (Bunel, Turkaslan, Torr,
Kohli, Mudigonda, NeurIPS 2018). The difference is a value of the network, so it has linear bounds
of its own. They are tighter than ``[l_b − u_a, u_b − l_a]``, since entries of a window depend on
the same inputs.
"""

import numpy as np

from verix_encodings.arrays import IntArray
from verix_encodings.kinds.affine import Difference
from verix_encodings.kinds.maximum import Max
from verix_encodings.kinds.node import Node


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
