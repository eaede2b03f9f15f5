"""Bounds of neurons by branching: each bound of a neuron has a small tree of phases.

A bound of a neuron is that of a row ``± v_i`` of the network up to it, where other neurons have two
phases. Its tree begins with one leaf. In each round the worst leaf of every row is split at the
undecided neuron ``j`` with the largest ``c⁺ t`` (``c`` the coefficient that the leaf's bound met
there, ``t`` the intercept of the upper line), and the children take a few steps on slopes and
multipliers (:mod:`~verix_encodings.propagation.row_slopes`):

    leaf with z_j ≥ 0,  leaf with z_j ≤ 0        one of them holds for every input of the region
    bound of the row = the worst of its leaves

All rows of a layer go through the network together. A row that is below zero decides its neuron,
and gets no further leaves. (Branch and bound on bounds: Bunel et al., JMLR 2020; bounds of neurons
by branching: Henriksen, Lomuscio, IJCAI 2021; Zhou et al., NeurIPS 2024.)
"""

from dataclasses import dataclass, field

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Late, Region, never
from verix_encodings.propagation.row_ranges import suppose_both
from verix_encodings.propagation.row_slopes import Relaxed, RowSlopes
from verix_encodings.propagation.row_steps import lowered

# numbers of the steps for the first leaves, and for children, whose steps are smaller
_FIRST_STEPS = tuple(range(6))
_STEPS = (3, 4)  # on a 4×256 and a 6×256 network, 16 leaves by these beat 8 by five
_MOST_VALUES = 2**20  # of a batch: 8 MB


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Leaves of the rows ``row``, (L,): bounds ``upper``, (L,), and the place to ``split``, (L,).

    The place is -1 where no neuron is left; ``point``, (L,), says where its range is split. The
    others are those of :class:`~verix_encodings.propagation.row_slopes.RowSlopes` in few bytes: any
    dials are valid.
    """

    row: IntArray
    upper: FloatArray
    split: IntArray
    point: FloatArray
    signs: np.ndarray
    dials: np.ndarray
    ends: np.ndarray

    def __getitem__(self, chosen: IntArray | BoolArray) -> "Leaves":
        return Leaves(
            self.row[chosen],
            self.upper[chosen],
            self.split[chosen],
            self.point[chosen],
            self.signs[chosen],
            self.dials[chosen],
            self.ends[chosen],
        )

    def and_(self, more: "Leaves") -> "Leaves":
        """Return these leaves and ``more``."""
        return Leaves(
            np.concatenate([self.row, more.row]),
            np.concatenate([self.upper, more.upper]),
            np.concatenate([self.split, more.split]),
            np.concatenate([self.point, more.point]),
            np.concatenate([self.signs, more.signs]),
            np.concatenate([self.dials, more.dials]),
            np.concatenate([self.ends, more.ends]),
        )


@dataclass(slots=True, eq=False)
class NeuronTrees:
    """Trees for upper bounds of the rows ``coefficients``, (R, outputs), over ``region``.

    ``known`` are bounds proven before, (R,). ``nodes`` counts the leaves bounded so far.
    """

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
        children = self._leaves[np.tile(parents, 2)]
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
            bounded.append(self._bounded(children[both], steps))
        kept = np.ones(self._leaves.row.size, dtype=bool)
        kept[parents[:done]] = False
        leaves = self._leaves[kept]
        for group in bounded:
            leaves = leaves.and_(group)
        self._leaves = leaves
        return done == parents.size

    def _bounded(self, leaves: Leaves, steps: tuple[int, ...]) -> Leaves:
        """Return ``leaves`` with better bounds, and the neuron to split next."""
        self.nodes += leaves.row.size
        rows = RowSlopes(
            self.relaxed,
            self.coefficients[leaves.row],
            leaves.dials.astype(np.float64),
            leaves.signs.astype(np.float64),
            leaves.ends,
        )
        goals = np.zeros(leaves.row.size)
        found = lowered(rows, self.region, leaves.upper, goals, steps)
        split, point = np.full(leaves.row.size, -1), np.full(leaves.row.size, np.nan)
        if found.left.size:
            split[found.left], point[found.left] = rows.best_splits()
        dials = found.dials.astype(np.float32)
        return Leaves(leaves.row, found.upper, split, point, leaves.signs, dials, leaves.ends)
