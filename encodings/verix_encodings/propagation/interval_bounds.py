"""Interval arithmetic: an enclosure of every value of a network over a set of inputs.

If ``v_0``, the input, lies in a norm ball, an affine map of it is bounded over the ball itself
(``bounds.norm_ball``) and not over the box around it. Every step is widened by the rounding error
that float64 can make in it, so that the enclosures hold in real arithmetic and the big-Ms taken
from them are valid.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from verix_encodings.bounds.interval import Bounds, Interval, Region
from verix_encodings.kinds.node import Node
from verix_encodings.network.network import Network

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
