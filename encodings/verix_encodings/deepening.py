"""Bounds over one region that become tighter in stages: slopes, then trees of phases, in turns.

    depth 0      the bounds given, such as CROWN's
    depth 1      each undecided neuron's bounds have slopes of their own (``alpha``)
    depth 2, …   each undecided neuron's bounds have trees of 16, 32, … leaves, layer after layer;
                 then bounds of outputs are computed again

A stage costs some times what the one before it does. Whoever has work to spend lets it go on; the
bounds proven by then hold at any time. Neurons with the largest effect on open outputs come first.

Bounds of neurons by branching: each bound of a neuron has a small tree of phases.

A bound of a neuron is that of a row ``± v_i`` of the network up to it, where other neurons have two
phases. Its tree begins with one leaf. In each round the worst leaf of every row is split at the
undecided neuron ``j`` with the largest ``c⁺ t`` (``c`` the coefficient that the leaf's bound met
there, ``t`` the intercept of the upper line), and the children take a few steps on slopes and
multipliers (:mod:`~verix_encodings.row_slopes`):

    leaf with z_j ≥ 0,  leaf with z_j ≤ 0        one of them holds for every input of the region
    bound of the row = the worst of its leaves

All rows of a layer go through the network together. A row that is below zero decides its neuron,
and gets no further leaves. (Branch and bound on bounds: Bunel et al., JMLR 2020; bounds of neurons
by branching: Henriksen, Lomuscio, IJCAI 2021; Zhou et al., NeurIPS 2024.)
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from verix_encodings.alpha import alpha_bounds, lowered
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Bounds, Late, Region, never
from verix_encodings.crown import behind_relus, crown_bounds, inside, neurons_to_tighten, readers_of
from verix_encodings.interval_bounds import cone, suppose_both
from verix_encodings.network import Network
from verix_encodings.row_slopes import Relaxed, RowSlopes

# numbers of the steps for the first leaves, and for children, whose steps are smaller
_FIRST_STEPS = tuple(range(6))
_STEPS = (3, 4)  # on a 4×256 and a 6×256 network, 16 leaves by these beat 8 by five
_MOST_VALUES = 2**20  # of a batch: 8 MB


class Leaves(NamedTuple):
    """Leaves of the rows ``row``, (L,): bounds ``upper``, (L,), and the place to ``split``, (L,).

    The place is -1 where no neuron is left; ``point``, (L,), says where its range is split. The
    others are those of :class:`~verix_encodings.row_slopes.RowSlopes` in few bytes: any
    dials are valid.
    """

    row: IntArray
    upper: FloatArray
    split: IntArray
    point: FloatArray
    signs: np.ndarray
    dials: np.ndarray
    ends: np.ndarray

    def at(self, chosen: IntArray | BoolArray) -> "Leaves":
        """Return the leaves at these places, or marks."""
        return Leaves._make(part[chosen] for part in self)


@dataclass(slots=True, eq=False)
class NeuronTrees:
    """Trees for bounds of rows, (R, outputs), ``known`` before; ``nodes`` counts their leaves."""

    relaxed: Relaxed
    region: Region
    coefficients: FloatArray
    known: FloatArray
    nodes: int = 0
    _leaves: Leaves = field(init=False)

    def __post_init__(self) -> None:
        rows = self.known.size
        dials = self.relaxed.first_dials(rows).astype(np.float32)
        signs = np.zeros(dials.shape, dtype=np.int8)
        row, nowhere, at = np.arange(rows), np.full(rows, -1), np.full(rows, np.nan)
        ends = self.relaxed.first_ends(rows).astype(np.float32)
        self._leaves = Leaves(row, self.known.copy(), nowhere, at, signs, dials, ends)

    @property
    def upper(self) -> FloatArray:
        """The bounds proven on the rows, shape (R,): those of their worst leaves."""
        worst = np.full(self.known.size, -np.inf)
        np.maximum.at(worst, self._leaves.row, self._leaves.upper)
        return worst

    def grow(self, rounds: int, late: Late = never) -> bool:
        """Split the worst leaf of each undecided row, so many times or until ``late()``.

        Returns whether all rounds were finished.
        """
        if not self.nodes:
            whole = np.arange(self.known.size)
            if not self._replace(whole, self._leaves, _FIRST_STEPS, late):
                return False
        for _ in range(rounds):
            worst = self._worst()
            if not worst.size:
                return True
            if not self._replace(worst, self._children(worst), _STEPS, late):
                return False
        return True

    def _worst(self) -> IntArray:
        """Return the worst leaf of each row, if it can be split and does not decide the row."""
        leaves = self._leaves
        order = np.lexsort((-leaves.upper, leaves.row))
        _, first = np.unique(leaves.row[order], return_index=True)
        worst = order[first]
        return np.asarray(worst[(leaves.upper[worst] >= 0) & (leaves.split[worst] >= 0)])

    def _children(self, parents: IntArray) -> Leaves:
        children = self._leaves.at(np.tile(parents, 2))
        split = self._leaves.split[parents], self._leaves.point[parents]
        suppose_both(children.signs, children.dials, children.ends, split)
        return children

    def _replace(
        self, parents: IntArray, children: Leaves, steps: tuple[int, ...], late: Late
    ) -> bool:
        """Replace leaves by their ``children``, bounded in batches; none are once ``late()``."""
        at_once = max(_MOST_VALUES // sum(self.relaxed.network.sizes), 2)
        pairs = children.row.size // parents.size
        bounded: list[Leaves] = []
        done = 0
        for first in range(0, parents.size, max(at_once // pairs, 1)):
            if late():
                break
            done = min(first + max(at_once // pairs, 1), parents.size)
            some = np.arange(first, done)
            both = np.concatenate([some + k * parents.size for k in range(pairs)])
            bounded.append(self._bounded(children.at(both), steps))
        kept = np.ones(self._leaves.row.size, dtype=bool)
        kept[parents[:done]] = False
        groups = zip(self._leaves.at(kept), *bounded, strict=True)
        self._leaves = Leaves._make(map(np.concatenate, groups))
        return done == parents.size

    def _bounded(self, leaves: Leaves, steps: tuple[int, ...]) -> Leaves:
        """Return ``leaves`` with better bounds, and the neuron to split next."""
        self.nodes += leaves.row.size
        dials, signs = leaves.dials.astype(np.float64), leaves.signs.astype(np.float64)
        coefficients = self.coefficients[leaves.row]
        rows = RowSlopes(self.relaxed, coefficients, dials, signs, leaves.ends)
        goals = np.zeros(leaves.row.size)
        found = lowered(rows, self.region, leaves.upper, goals, steps)
        split, point = np.full(leaves.row.size, -1), np.full(leaves.row.size, np.nan)
        if found.left.size:
            split[found.left], point[found.left] = rows.best_splits()
        dials = found.dials.astype(np.float32)
        return Leaves(leaves.row, found.upper, split, point, leaves.signs, dials, leaves.ends)


_ROUNDS = 16  # of the first trees, doubled for each next depth
_DEEPEST = 5
_MOST_DIALS = 2**22  # of the trees of a block, over all leaves


@dataclass(slots=True, eq=False)
class Deepening:
    """Bounds on all values of ``network`` over ``region``, as tight as ``depth`` says.

    ``bounds`` hold there. ``nodes`` counts the leaves of trees.
    """

    network: Network
    region: Region
    bounds: Bounds
    depth: int = 0
    nodes: int = 0
    _under_way: Iterator[None] | None = field(init=False, default=None)
    _late: Late = field(init=False, default=never)

    @property
    def ended(self) -> bool:
        """True if no stage is left."""
        return self.depth >= _DEEPEST

    @property
    def started(self) -> bool:
        """True within a stage."""
        return self._under_way is not None

    def go_on(self, late: Late = never) -> None:
        """Work on the next stage until it is finished, or ``late()``."""
        self._late = late
        if self._under_way is None:
            self._under_way = self._slopes() if self.depth == 0 else self._trees(self.depth)
        for _ in self._under_way:
            if late():
                return
        self.depth += 1
        self._under_way = None

    def _slopes(self) -> Iterator[None]:
        """Optimise the slopes of all undecided neurons."""
        while True:
            self.bounds = alpha_bounds(self.network, self.region, self._late, within=self.bounds)
            if not self._late():
                return
            yield

    def _trees(self, depth: int) -> Iterator[None]:
        """Grow trees for all undecided neurons, a layer at a time."""
        readers, last = readers_of(self.network), len(self.network.nodes)
        behind = behind_relus(self.network)
        for value in sorted(v for v in readers if 0 < v < last):
            if not any(self.network.nodes[value - 1].sources):
                continue  # an affine function of the input, whose bounds are exact
            rows = neurons_to_tighten(behind, readers, value, self.bounds[value])
            rows = rows[np.argsort(-self._effects(value)[rows], kind="stable")]
            while rows.size:
                done = self._grown(value, rows, _ROUNDS * 2 ** (depth - 1))
                rows = rows[done:]
                yield
        self.bounds = crown_bounds(
            self.network, self.region, self.bounds[:-1], self._late, within=self.bounds
        )

    def _grown(self, value: int, rows: IntArray, rounds: int) -> int:
        """Grow the trees of a block of ``rows``, the first ones; return how many these are."""
        count = max(sum(self.network.sizes[:value]) - self.network.input_size, 1)
        block = rows[: max(_MOST_DIALS // (2 * count * rounds), 1)]
        part, inner, places = cone(self.network, self.bounds, value, block)
        units = np.eye(part.output_size)[places]
        ends = self.bounds[value]
        known = np.concatenate([ends.upper[block], -ends.lower[block]])
        relaxed = Relaxed.of(part, inner)
        trees = NeuronTrees(relaxed, self.region, np.concatenate([units, -units]), known)
        with np.errstate(over="ignore", invalid="ignore"):
            trees.grow(rounds, self._late)
        self.nodes += trees.nodes
        tight = inside(ends, block, trees.upper)
        self.bounds = (*self.bounds[:value], tight, *self.bounds[value + 1 :])
        return block.size

    def _effects(self, value: int) -> FloatArray:
        """Estimate how much the lines of the neurons of a value cost the worst open outputs."""
        worst = np.eye(self.network.output_size)[[int(np.argmax(self.bounds[-1].upper))]]
        relaxed = Relaxed.of(self.network, self.bounds)
        rows = RowSlopes(relaxed, worst)
        rows.extremes(self.region)
        effects, found = rows.effects()[0], np.zeros(self.network.sizes[value])
        for layer in relaxed.layers:
            if layer.source == value:
                found[layer.free] = np.maximum(found[layer.free], effects[layer.places])
        return found


def branched_bounds(
    network: Network, region: Region, late: Late = never, *, within: Bounds = (), depth: int = 2
) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``region``, by stages up to ``depth``.

    ``within`` are bounds known to hold there, computed by :func:`crown_bounds` unless they are
    given. Once ``late()``, the bounds proven by then are returned. Raises ``OverflowError`` as
    :func:`interval_bounds` does.
    """
    deepening = Deepening(network, region, within or crown_bounds(network, region, late=late))
    while deepening.depth < depth and not late():
        deepening.go_on(late)
    return deepening.bounds
