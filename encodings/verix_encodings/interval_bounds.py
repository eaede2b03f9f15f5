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

Ranges of values row by row, where rows suppose that entries lie on one side of a point.

    z ≤ s  or  z ≥ s        one of them holds for every input, so both rows together bound a third

A row that supposes one has a narrower range of ``z``, and by interval arithmetic of the values
behind it. Nodes that read these have forms of their own in that row, which are tighter. With ``l``
and ``u`` the ends of ``z`` in a row, its bound may leave any coefficient ``w`` at ``z``:

    c z ≤ w z + max((c − w) l, (c − w) u)

A row that supposes one more part begins with the ``w`` that was ``c`` before. Where its lines are
below those before, its bound is no worse (Lagrangian decomposition: Bunel et al., UAI 2020).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense, relative_error
from verix_encodings.bounds.interval import Bounds, Interval, Pair, Range, Region
from verix_encodings.bounds.lines import ByValue, FollowedForms, Replaced, TurnedForms
from verix_encodings.bounds.rows import Coefficients, RowPhases, absolute, reached
from verix_encodings.kinds.node import Cut, Node
from verix_encodings.network import Network


def cone(
    network: Network, bounds: Bounds, value: int, rows: IntArray
) -> tuple[Network, Bounds, IntArray]:
    """Return the network from the input to the neurons ``rows`` of ``value``, and its bounds.

    ``bounds`` hold for the values up to ``value``; so do those returned. The input is kept whole.
    Also return the numbers of the ``rows`` among the outputs, which may be more.
    """
    kept = kept_neurons(network, bounds, value, rows)
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


def kept_neurons(
    network: Network, bounds: Bounds, value: int, rows: IntArray
) -> dict[int, IntArray]:
    """Return the neurons that :func:`cone` keeps, by value; values without any have no entry."""
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
    if not network.stepped or len(network.nodes) != 1:
        return interval_bounds(network, region)
    from verix_encodings.kinds.leaf_boxes import cells_of
    from verix_encodings.kinds.tree import sums_of_ends
    from verix_encodings.kinds.tree_ensemble import TreeEnsemble

    (trees,), box = network.nodes, region.box
    assert isinstance(trees, TreeEnsemble)
    boxes = cells_of(trees, network.input_size, integral).reached(box.lower, box.upper)
    starts = np.flatnonzero(np.diff(boxes.tree, prepend=-1))
    low, high, _ = sums_of_ends(trees.value_of[boxes.leaf], starts)
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
    """Bound ``node``, numbered ``value``; ``NoBoundsError`` as :func:`interval_bounds`."""
    lower, upper = node.interval(region, bounds)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise NoBoundsError(
            f"the {node.plural or 'linear maps'} of value {value} are undefined for some inputs, "
            "or their bounds overflow float64"
        )
    return Interval(lower, upper)


@dataclass(frozen=True, slots=True, eq=False)
class Splittable:
    """Entries of ``value`` that ``readers`` split: ``places`` of dials, ``columns`` among all."""

    value: int
    readers: tuple[tuple[int, Node], ...]
    places: slice
    columns: slice


def splittable(network: Network, start: int) -> tuple[Splittable, ...]:
    """Return the values that are split at points; their dials stand from ``start`` on."""
    readers: dict[int, list[tuple[int, Node]]] = {}
    for number, node in enumerate(network.nodes, start=1):
        for source in node.sources if node.pointed else ():
            readers.setdefault(source, []).append((number, node))
    found: list[Splittable] = []
    column = 0
    for value in sorted(readers):
        end = column + network.sizes[value]
        places = slice(start + column, start + end)
        found.append(Splittable(value, tuple(readers[value]), places, slice(column, end)))
        column = end
    return tuple(found)


def range_in_rows(ranges: Mapping[int, Range], bounds: Bounds, rows: int, value: int) -> Range:
    """Return bounds on ``value`` in each row, (rows, size): its range, or those of all rows."""
    if value in ranges:
        return ranges[value]
    known = bounds[value]
    shape = rows, known.lower.size
    return np.broadcast_to(known.lower, shape), np.broadcast_to(known.upper, shape)


def narrowed_ranges(
    network: Network, bounds: Bounds, values: tuple[Splittable, ...], ends: NDArray[np.floating]
) -> dict[int, Range]:
    """Return bounds of the values that ``ends`` narrow, row by row: (R, size) each.

    ``bounds`` hold for all rows. ``ends`` has shape (R, 2, entries): least and most values that a
    row supposes, infinite where it supposes nothing.
    """
    found: dict[int, Range] = {}
    at = {one.value: one for one in values}
    of = partial(range_in_rows, found, bounds, ends.shape[0])
    for value in range(len(network.nodes)):
        known = bounds[value]
        low, high = of(value)
        if value and any(source in found for source in network.nodes[value - 1].sources):
            low, high = network.nodes[value - 1].narrowed(of, bounds)
            low, high = np.maximum(low, known.lower), np.minimum(high, known.upper)
        if value in at:
            low = np.maximum(low, ends[:, 0, at[value].columns])
            high = np.minimum(high, ends[:, 1, at[value].columns])
        if np.any(low > known.lower) or np.any(high < known.upper):
            # where they cross no input is left, and any range is right
            found[value] = np.minimum(low, high), np.maximum(low, high)
    return found


def suppose_both(
    signs: NDArray[Any], dials: NDArray[Any], ends: NDArray[Any], split: tuple[IntArray, FloatArray]
) -> None:
    """Let the first half of rows suppose one side of a split, and the second half the other.

    The halves are copies of the same N rows, changed in place: ``signs`` and ``dials``, (2N, count)
    and ``ends``, (2N, 2, points). ``split`` has the place of each row, (N,), and its point, NaN for
    a phase. Multipliers of a phase begin at zero; coefficients of a part stay.
    """
    place, point = split
    first, count = signs.shape[1] - ends.shape[2], place.size
    phase = np.flatnonzero(np.isnan(point))
    part = np.flatnonzero(~np.isnan(point))
    for side, start in enumerate((0, count)):
        signs[start + phase, place[phase]] = 1 - 2 * side
        dials[start + phase, place[phase]] = 0.0
        signs[start + part, place[part]] = 1
        ends[start + part, side, place[part] - first] = point[part]


@dataclass(frozen=True, slots=True, eq=False)
class RowForms:
    """Forms around a node in the rows ``owner``, with the rounding that they leave out."""

    forms: FollowedForms | TurnedForms
    owner: IntArray
    error: FloatArray | float

    def replaced(
        self, c: Coefficients, slopes: FloatArray | None, phases: RowPhases | None
    ) -> Replaced:
        """Replace ``c·v`` by a form in the sources that is above it in each row."""
        rows = reached(c)
        more: Any = () if slopes is None else (slopes,)
        shift, products = self.forms.replaced(dense(rows), self.owner, *more)
        lost = absolute(rows) @ np.broadcast_to(self.error, rows.shape[1:])
        return shift, lost, list(products)

    def followed(self, values: ByValue, met: FloatArray | None, slopes: FloatArray | None) -> Pair:
        """Return the values of the forms that each row takes."""
        more: Any = () if slopes is None else (slopes,)
        found = self.forms.followed(values, met, self.owner, *more)
        return found, found


def narrowed_forms(
    network: Network,
    bounds: Bounds,
    ranges: Mapping[int, Range],
    owner: IntArray,
    *,
    turned: bool = False,
) -> dict[int, RowForms]:
    """Return the forms of nodes that are split at points and read one of the ``ranges``.

    With ``turned`` only nodes whose forms turn have any.
    """
    found: dict[int, RowForms] = {}
    of = partial(range_in_rows, ranges, bounds, owner.size)
    for value, node in enumerate(network.nodes, start=1):
        if turned and not node.turns:
            continue
        if not (node.pointed and any(source in ranges for source in node.sources)):
            continue
        gamma = relative_error(network.sizes[value] + len(network.nodes))
        error = node.backward_error(gamma, lambda k: bounds[k].magnitude)
        found[value] = RowForms(node.narrowed_forms(of, bounds), owner, error)
    return found
