"""Bounds on trees by the leaves that a region reaches: the sum of each tree's best and worst leaf.

The same enclosure as that of the node, read from a table of all leaves where there is one.
"""

from verix_encodings.arrays import BoolArray, relative_error
from verix_encodings.bounds.interval import Bounds, Interval, Region
from verix_encodings.kinds.leaf_boxes import cells_of
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network.network import Network
from verix_encodings.propagation.interval_bounds import interval_bounds


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
