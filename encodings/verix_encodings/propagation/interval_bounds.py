"""Interval arithmetic: an enclosure of every value of a network over a set of inputs.

If ``v_0``, the input, lies in a norm ball, an affine map of it is bounded over the ball itself
(``bounds.norm_ball``) and not over the box around it. Every step is widened by the rounding error
that float64 can make in it, so that the enclosures hold in real arithmetic and the big-Ms taken
from them are valid.

The cone of some neurons: the part of a network that their values depend on.

A neuron of a convolution depends on its receptive field alone, and a neuron that is zero by its
bounds adds nothing to an affine map. The network of the cone has the same values at fewer neurons.

Bounds on trees by the leaves that a region reaches: the sum of each tree's best and worst leaf.

The same enclosure as that of the node, read from a table of all leaves where there is one.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import BoolArray, IntArray, relative_error
from verix_encodings.bounds.interval import Bounds, Interval, Region
from verix_encodings.kinds.leaf_boxes import cells_of
from verix_encodings.kinds.node import Cut, Node
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network import Network


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
    cut = Cut(kept, number, bounds)
    for current, node in enumerate(network.nodes[:value], start=1):
        if current in kept:
            nodes.append(node.part(kept[current], cut))
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


def leaf_bounds(network: Network, region: Region, integral: BoolArray | None = None) -> Bounds:
    """Bound every value of ``network`` over ``region``; trees by their leaves.

    They hold for inputs that are whole where ``integral``, (d,), says so.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
    trees = network.nodes[0] if len(network.nodes) == 1 else None
    if not isinstance(trees, TreeEnsemble):
        return interval_bounds(network, region)
    box = region.box
    boxes = cells_of(trees, network.input_size, integral).reached(box.lower, box.upper)
    values = trees.value_of[boxes.leaf]
    high, low = boxes.highest(values), -boxes.highest(-values)
    off = trees.error + relative_error(trees.tree_count + 2) * (trees.magnitude + trees.error)
    return box, Interval(trees.base + low - off, trees.base + high + off)


BoundMethod: TypeAlias = Callable[[Network, Region], Bounds]
"""A method for bounds: a function from a network and a set of inputs to bounds on every value."""


class NoBoundsError(OverflowError):
    """A value has no bounds: it is undefined for some inputs, as 1/0 is, or leaves float64."""


def interval_bounds(network: Network, region: Region) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``region`` by interval arithmetic.

    Raises ``NoBoundsError`` where a value is undefined for some inputs, or leaves float64.
    """
    bounds = [region.box]
    for value, node in enumerate(network.nodes, start=1):
        bounds.append(forward_interval(node, region, bounds, value))
    return tuple(bounds)


def forward_interval(node: Node, region: Region, bounds: list[Interval], value: int) -> Interval:
    """Bound the value of ``node``, numbered ``value``, given those of all values before it.

    Raises ``NoBoundsError`` where a value is undefined for some inputs, or leaves float64.
    """
    lower, upper = node.interval(region, bounds)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise NoBoundsError(
            f"the {node.plural or 'linear maps'} of value {value} are undefined for some inputs, "
            "or their bounds overflow float64"
        )
    return Interval(lower, upper)
