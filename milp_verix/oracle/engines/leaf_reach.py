"""The inputs of a ball as leaves see them: boxes of cells, words of one-hot blocks, and distances.

The inputs are the arrays of the model's own type in the ball: nothing else is ever classified.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from milp_verix.inputs.nearest_point import nearest_point
from milp_verix.oracle.engines.leaf_search import Blocks, Clique
from milp_verix.problem.ball import Ball
from milp_verix.problem.problem import PosedProblem
from verix_encodings import Interval
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.kinds.leaf_boxes import Cells, LeafBoxes

_ORDERS = {"l1": 1, "l2": 2}

Moves: TypeAlias = Callable[[FloatArray], BoolArray]
"""A function from the least moves of coordinates, (n, F), to whether they are possible, (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The leaves that the inputs of ``ball`` with the coordinates ``free`` free reach.

    ``lower`` and ``upper`` are the ends of the inputs, (d,). ``least`` and ``most`` are the least
    and the greatest input of each cell, those of the features of ``boxes`` one after the other from
    ``starts`` on. ``words`` are the coordinates of the one-hot blocks that move, block by block.
    """

    ball: Ball
    free: IntArray
    boxes: LeafBoxes
    lower: FloatArray
    upper: FloatArray
    least: FloatArray
    most: FloatArray
    starts: IntArray
    words: IntArray
    blocks: Blocks | None

    @classmethod
    def of(cls, problem: PosedProblem, cells: Cells, free: IntArray) -> "Reach":
        """Return what the inputs of a problem reach."""
        ball = problem.ball
        lower = ball.centre.astype(np.float64)
        upper = lower.copy()
        lower[free], upper[free] = ball.inner_lower[free], ball.inner_upper[free]
        boxes, mixed = cells.reached(lower, upper), ball.mixed
        moving = [b for b in (mixed.blocks if mixed else ()) if np.any(lower[b] < upper[b])]
        blocks, words = None, np.zeros(0, dtype=np.intp)
        if moving:
            words = np.concatenate(moving)
            firsts = np.cumsum([0, *(b.size for b in moving[:-1])])
            blocks = Blocks(_allowed(boxes, words, firsts, lower, upper), firsts)
            boxes = boxes.without(words)
        integral = None if mixed is None else mixed.integral
        ends = [
            cells.ends(f, lo, hi, whole=integral is not None and bool(integral[f]))
            for f, lo, hi in zip(
                boxes.features.tolist(), boxes.low.tolist(), boxes.high.tolist(), strict=True
            )
        ]
        none = [np.zeros(0)]
        least = np.concatenate([*(low for low, _ in ends), *none])
        most = np.concatenate([*(high for _, high in ends), *none])
        starts = np.cumsum([0, *(low.size for low, _ in ends)])[:-1]
        inside = np.repeat(boxes.features, boxes.high - boxes.low + 1)
        least, most = np.maximum(least, lower[inside]), np.minimum(most, upper[inside])
        return cls(ball, free, boxes, lower, upper, least, most, starts, words, blocks)

    @property
    def centre(self) -> FloatArray:
        """The input explained, (d,)."""
        return self.ball.centre.astype(np.float64)

    @property
    def ruled(self) -> bool:
        """True if there are rules beyond boxes and one-hot blocks."""
        return self.ball.mixed is not None and bool(self.ball.mixed.rules)

    def ends(self, lo: IntArray, hi: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the inputs in cells, of the features of ``boxes``; all (…, F)."""
        places = self.starts - self.boxes.low
        return self.least[places + lo], self.most[places + hi]

    def moves(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Return the least moves from the input into boxes of cells, (n, F)."""
        lower, upper = self.ends(lo, hi)
        centre = self.centre[self.boxes.features]
        return np.maximum(np.maximum(lower - centre, centre - upper), 0.0)

    def whole(self, lo: IntArray, hi: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the inputs in boxes of cells, (n, F), for all coordinates, (n, d)."""
        lower, upper = (np.tile(end, (lo.shape[0], 1)) for end in (self.lower, self.upper))
        features = self.boxes.features
        lower[:, features], upper[:, features] = self.ends(lo, hi)
        return lower, upper

    def near(self, lo: IntArray, hi: IntArray, _words: BoolArray | None) -> BoolArray:
        """Return False for boxes of cells, (n, F), that hold no input: (n,)."""
        if self.ball.norm != "linf":
            moved = self.moves(lo, hi) / self.ball.epsilon
            total = (moved ** _ORDERS[self.ball.norm]).sum(axis=1)
            return np.asarray(total <= 1 + 1e-9)
        assert self.ball.mixed is not None
        return self.ball.mixed.cut(*self.whole(lo, hi))[2]

    @property
    def limit(self) -> Callable[[IntArray, IntArray, BoolArray | None], BoolArray] | None:
        """:meth:`near`, None where each box of cells holds an input."""
        return self.near if self.ball.norm != "linf" or self.ruled else None

    def point(self, clique: Clique) -> tuple[FloatArray | None, bool]:
        """Return the input nearest to the one explained in the cells of ``clique``.

        None if none was found, and whether there is none. It is the nearest in each coordinate at
        once, unless rules move it.
        """
        ends = self.whole(clique.lo[None, :], clique.hi[None, :])
        lower, upper = ends[0][0], ends[1][0]
        centre = self.centre
        if clique.words is not None and self.blocks is not None:
            starts = self.blocks.starts
            for start, end in zip(starts, [*starts[1:], self.words.size], strict=True):
                block, may = self.words[start:end], clique.words[start:end]
                upper[block] = np.where(may, upper[block], 0.0)
                own = may & (centre[block] >= 1)
                word = block[np.argmax(own if own.any() else may)]
                centre[block] = 0.0
                centre[word] = 1.0
        point = np.clip(centre, lower, upper)
        if self.limit is None or self.ball.contains(point, self.free):
            return point, False
        if self.ball.norm != "linf":
            return None, True  # no input of these cells is nearer
        mixed = self.ball.mixed
        assert mixed is not None
        lower, upper, kept = (e[0] for e in mixed.cut(lower[None, :], upper[None, :]))
        if not kept:
            return None, True
        precision = float(np.finfo(self.ball.centre.dtype).eps)
        nearest = nearest_point(mixed, Interval(lower, upper), point, precision)
        if nearest is None:
            return None, False
        snapped = np.clip(mixed.snapped(nearest), lower, upper)
        return (snapped, False) if self.ball.contains(snapped, self.free) else (None, False)


def _allowed(
    boxes: LeafBoxes, words: IntArray, starts: IntArray, lower: FloatArray, upper: FloatArray
) -> BoolArray:
    """Return the words that each leaf allows, (N, words): the coordinates that may be 1."""
    place = {int(feature): column for column, feature in enumerate(boxes.features.tolist())}
    may = np.zeros((boxes.leaf.size, words.size), dtype=bool)
    must = np.zeros_like(may)
    for column, word in enumerate(words.tolist()):
        own = place.get(word)
        may[:, column] = upper[word] >= 1
        must[:, column] = lower[word] >= 1
        if own is not None:
            may[:, column] &= boxes.hi[:, own] == boxes.high[own]
            must[:, column] |= boxes.lo[:, own] > boxes.low[own]
    forced = np.add.reduceat(must, starts, axis=1, dtype=np.intp)
    sizes = np.diff(starts, append=words.size)
    # a word is allowed if no other word of its block must be
    others = np.repeat(forced, sizes, axis=1) - must
    return np.asarray(may & (others == 0))
