"""The cone of some neurons: the part of a network that their values depend on.

A neuron of a convolution depends on its receptive field alone, and a neuron that is zero by its
bounds adds nothing to an affine map. The network of the cone has the same values at fewer neurons.
"""

from dataclasses import replace

import numpy as np

from verix_encodings.arrays import BoolArray, IntArray
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Difference, Max, Node


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
            nodes.append(_part(node, bounds, number, kept, kept[current]))
            number[current] = len(nodes)
    inner = (Interval(bounds[v].lower[kept[v]], bounds[v].upper[kept[v]]) for v in number)
    part = Network(network.input_shape, tuple(nodes))
    return part, tuple(inner), np.searchsorted(kept[value], rows)


def _kept(network: Network, bounds: Bounds, value: int, rows: IntArray) -> dict[int, IntArray]:
    """Return the neurons that matter, by value; values without any have no entry."""
    masks: dict[int, BoolArray] = {v: np.zeros(network.sizes[v], dtype=bool) for v in range(value)}
    masks[value] = np.isin(np.arange(network.sizes[value]), rows)
    for current in range(value, 0, -1):
        node, mask = network.nodes[current - 1], masks[current]
        if isinstance(node, Difference):
            for pairs in (node.first, node.second):
                masks[node.sources[0]][pairs[mask]] = True
        elif isinstance(node, Affine):
            for source, matrix in node.terms:
                read = np.asarray(abs(matrix[mask]).sum(axis=0)) > 0
                masks[source] |= read & (bounds[source].magnitude > 0)
        else:
            masks[node.source] |= mask
    masks[0][:] = True
    for current, node in enumerate(network.nodes[:value], start=1):
        if not isinstance(node, Affine) and masks[current].any():
            # a neuron for each of the source, which other nodes may read as well
            masks[current] = masks[node.source]
    return {v: np.flatnonzero(mask) for v, mask in masks.items() if mask.any()}


def _part(
    node: Node, bounds: Bounds, number: dict[int, int], kept: dict[int, IntArray], rows: IntArray
) -> Node:
    if isinstance(node, Difference):
        (source,) = node.sources
        pairs = (np.searchsorted(kept[source], p[rows]) for p in (node.first, node.second))
        return Difference.of(number[source], kept[source].size, *pairs)
    if isinstance(node, Affine):
        terms = tuple((number[s], m[rows][:, kept[s]]) for s, m in node.terms if s in number)
        # the errors are proportional to the largest entry of a source, which may not be kept
        off = node.deviation(lambda source: bounds[source].magnitude)[rows]
        none = (np.zeros(rows.size),) * len(terms)
        return Affine(terms, node.bias[rows], (*none, off))
    if isinstance(node, Max):
        pairs = (np.searchsorted(kept[node.entries], p[rows]) for p in (node.first, node.second))
        return Max(number[node.source], number[node.entries], *pairs)
    return replace(node, source=number[node.source])
