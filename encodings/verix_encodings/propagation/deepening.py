"""Bounds over one region that become tighter in stages: slopes, then trees of phases, in turns.

    depth 0      the bounds given, such as CROWN's
    depth 1      each undecided neuron's bounds have slopes of their own (``propagation.alpha``)
    depth 2, …   each undecided neuron's bounds have trees of 16, 32, … leaves
                 (``propagation.neuron_trees``), layer after layer; then bounds of outputs are
                 computed again

A stage costs some times what the one before it does. Whoever has work to spend lets it go on; the
bounds proven by then hold at any time. Neurons with the largest effect on open outputs come first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Bounds, Late, Region, never
from verix_encodings.network.network import Network
from verix_encodings.propagation.alpha import alpha_bounds
from verix_encodings.propagation.cone import cone
from verix_encodings.propagation.crown import (
    crown_bounds,
    inside,
    neurons_to_tighten,
    readers_of,
)
from verix_encodings.propagation.neuron_trees import NeuronTrees
from verix_encodings.propagation.row_slopes import Relaxed, RowSlopes

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
    def begun(self) -> bool:
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
        for value in sorted(v for v in readers if 0 < v < last):
            if self._over_input(value):
                continue
            rows = neurons_to_tighten(self.network, readers, value, self.bounds[value])
            rows = rows[np.argsort(-self._effects(value)[rows], kind="stable")]
            while rows.size:
                done = self._grown(value, rows, _ROUNDS * 2 ** (depth - 1))
                rows = rows[done:]
                yield
        self.bounds = crown_bounds(
            self.network, self.region, self.bounds[:-1], self._late, within=self.bounds
        )

    def _over_input(self, value: int) -> bool:
        """Return whether a value is an affine function of the input, whose bounds are exact."""
        return all(source == 0 for source in self.network.nodes[value - 1].sources)

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
