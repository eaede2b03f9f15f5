"""The cone of some neurons: the part of a network that their values depend on.

A neuron of a convolution depends on its receptive field alone, and a neuron that is zero by its
bounds adds nothing to an affine map. The network of the cone has the same values at fewer neurons.
"""

import numpy as np

from verix_encodings.arrays import BoolArray, IntArray
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.kinds.node import Node
from verix_encodings.network.network import Network


def cone(
    network: Network, bounds: Bounds, value: int, rows: IntArray
) -> tuple[Network, Bounds, IntArray]:
    """Return the network from the input to the neurons ``rows`` of ``value``, and its bounds.

    ``bounds`` hold for the values up to ``value``; so do those returned. The input is kept whole.
    Also return the numbers of the ``rows`` among the outputs, which may be more.
    """
    kept = _kept(network, bounds, value, rows)
    number: dict[int, int] = {0: 0}
    nodes: list[Node] = []
    for current, node in enumerate(network.nodes[:value], start=1):
        if current in kept:
            nodes.append(node.part(kept[current], kept, number, bounds))
            number[current] = len(nodes)
    inner = (Interval(bounds[v].lower[kept[v]], bounds[v].upper[kept[v]]) for v in number)
    part = Network(network.input_shape, tuple(nodes))
    return part, tuple(inner), np.searchsorted(kept[value], rows)


def _kept(network: Network, bounds: Bounds, value: int, rows: IntArray) -> dict[int, IntArray]:
    """Return the neurons that matter, by value; values without any have no entry."""
    masks: dict[int, BoolArray] = {v: np.zeros(network.sizes[v], dtype=bool) for v in range(value)}
    masks[value] = np.isin(np.arange(network.sizes[value]), rows)
    for current in range(value, 0, -1):
        network.nodes[current - 1].mark(masks, masks[current], bounds)
    masks[0][:] = True
    for current, node in enumerate(network.nodes[:value], start=1):
        if masks[current].any():
            masks[current] = node.kept(masks, masks[current])
    return {v: np.flatnonzero(mask) for v, mask in masks.items() if mask.any()}
