"""The engine ``leaves``: claims about trees, decided by a search for leaves that one input reaches.

The inputs are the arrays of the model's own type in the ball: nothing else is ever classified. Each
margin is a sum of trees, maximised by :mod:`~milp_verix.oracle.engines.leaf_search`. Leaves that
meet hold a box of inputs; the one of them next to ``x`` is run by the model's library. For L1 and
L2 that input is the box's nearest, so the ball is decided exactly. Rules between features are cut
to boxes, and a point that satisfies them is searched for in the box; if none is found, and none is
excluded, the answer is UNKNOWN.

All inputs that reach the same leaves have the same prediction, so where rounding may decide, the
library itself does: leaves whose sum is near zero are run one set after the other, and are left
behind if the prediction stays.
"""

from dataclasses import dataclass, field

import numpy as np

from milp_verix.inputs.nearest_point import nearest_point
from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.engines.leaf_search import Blocks, Clique, LeafSearch
from milp_verix.oracle.engines.tried_points import BoundsEngine, Replays, decided
from milp_verix.problem.ball import Ball
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.records.statistics import TIME_LIMIT
from verix_encodings import Interval
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, relative_error
from verix_encodings.bounds.norm_ball import length
from verix_encodings.kinds.leaf_boxes import Cells, LeafBoxes
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network.network import Network

_ORDERS = {"l1": 1, "l2": 2}
_MOST_TIES = 256
"""Sets of leaves with a sum near zero that the library runs for a margin."""


def trees_of(network: Network) -> TreeEnsemble | None:
    """Return the trees that ``network`` consists of; None if it is anything else."""
    if len(network.nodes) == 1 and isinstance(network.nodes[0], TreeEnsemble):
        return network.nodes[0]
    return None


class Leaves(BoundsEngine):
    """Decides claims about trees by a :class:`~.leaf_search.LeafSearch` for each margin."""

    name = "leaves"

    def __init__(self, problem: PosedProblem) -> None:
        super().__init__(problem)
        self._cells: Cells | None = None

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline, which is looked at between nodes."""
        trees = trees_of(claim.margins)
        assert trees is not None
        reach = _Reach.of(self._problem, self._cells_of(trees), claim.free)
        replays = Replays(self._problem, claim.free)
        upper, nodes = claim.upper.copy(), 0
        points: dict[int, FloatArray] = {}
        reason: str | None = None
        for margin in claim.open_.tolist():
            asked = _Asked(reach, trees, margin, float(claim.needed[margin]), replays)
            stopped = asked.search.run(claim.deadline.passed)
            nodes += asked.search.nodes
            if asked.worst is not None:
                points[margin] = asked.worst
            if stopped:
                break
            upper[margin] = min(upper[margin], asked.upper)
            if stopped is None:
                reason = TIME_LIMIT
                if claim.deadline.passed():
                    break
            else:
                reason = reason or asked.reason
        return decided(claim, upper, points, replays.verdict, reason, nodes=nodes)

    def _cells_of(self, trees: TreeEnsemble) -> Cells:
        # margins that are left out later share these arrays
        if self._cells is None or self._cells.ensemble.feature is not trees.feature:
            mixed = self._problem.ball.mixed
            integral = None if mixed is None else mixed.integral
            self._cells = Cells.of(trees, self._problem.x.size, integral)
        return self._cells


@dataclass(slots=True, eq=False)
class _Asked:
    """The question whether margin ``margin`` of ``trees`` reaches ``-needed``."""

    reach: "_Reach"
    trees: TreeEnsemble
    margin: int
    needed: float
    replays: Replays
    search: LeafSearch = field(init=False)
    worst: FloatArray | None = None
    reason: str | None = None
    _reached: float = -np.inf
    _left: float = -np.inf
    _ties: int = 0
    _off: float = field(init=False)

    def __post_init__(self) -> None:
        boxes, blocks = self.reach.boxes, self.reach.blocks
        values = self.trees.value_of[boxes.leaf, self.margin]
        base, count = float(self.trees.base[self.margin]), self.trees.tree_count
        starts = np.flatnonzero(np.diff(boxes.tree, prepend=-1))
        largest = np.maximum.reduceat(np.abs(values), starts).sum() if values.size else 0.0
        self._off = float(self.trees.error[self.margin])
        self._off += relative_error(count + 4) * (float(largest) + abs(base) + self.needed)
        cut = float(np.nextafter(-self.needed - self._off - base, -np.inf))
        near = None if self.reach.plain else self.reach.near
        self.search = LeafSearch(boxes, values, cut, self._take, near, blocks)

    @property
    def upper(self) -> float:
        """The bound on the margin that the nodes closed so far prove, once all are."""
        return max(self.search.closed, self._left) + float(self.trees.base[self.margin]) + self._off

    def _take(self, clique: Clique) -> bool | None:
        point, excluded = self.reach.point(clique)
        if point is None and excluded:
            return False
        self._left = max(self._left, clique.total)
        if point is None:
            self.reason = "no input was found that satisfies the rules where a margin is high"
            return False
        total = clique.total + float(self.trees.base[self.margin])
        if total > self._reached:
            self._reached, self.worst = total, point
        if self.replays(point):
            return True
        if total > self._off:
            self.reason = (
                f"a margin of {total:.2e} does not change the prediction of the model's library"
            )
        self._ties += 1
        if self._ties < _MOST_TIES:
            return False
        self.reason = (
            f"{_MOST_TIES} sets of leaves have margins within {self.needed + self._off:.2e} of "
            "zero, the tolerance and the rounding of the model's sums"
        )
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Reach:
    """The leaves that the inputs of ``ball`` with the coordinates ``free`` free reach.

    ``lower`` and ``upper`` are the ends of the inputs, (d,); ``words`` are the coordinates of the
    one-hot blocks that move, block by block. ``plain`` says that boxes are all there is to inputs.
    """

    ball: Ball
    free: IntArray
    cells: Cells
    boxes: LeafBoxes
    lower: FloatArray
    upper: FloatArray
    words: IntArray
    blocks: Blocks | None

    @classmethod
    def of(cls, problem: PosedProblem, cells: Cells, free: IntArray) -> "_Reach":
        ball = problem.ball
        lower = ball.centre.astype(np.float64)
        upper = lower.copy()
        lower[free], upper[free] = ball.inner_lower[free], ball.inner_upper[free]
        boxes = cells.reached(lower, upper)
        mixed = ball.mixed
        moving = [b for b in (mixed.blocks if mixed else ()) if np.any(lower[b] < upper[b])]
        if not moving:
            none = np.zeros(0, dtype=np.intp)
            return cls(ball, free, cells, boxes, lower, upper, none, None)
        words = np.concatenate(moving)
        starts = np.cumsum([0, *(b.size for b in moving[:-1])])
        blocks = Blocks(_allowed(boxes, words, starts, lower, upper), starts)
        kept = np.flatnonzero(~np.isin(boxes.features, words))
        boxes = LeafBoxes(
            boxes.features[kept],
            boxes.low[kept],
            boxes.high[kept],
            boxes.tree,
            boxes.leaf,
            boxes.lo[:, kept],
            boxes.hi[:, kept],
        )
        return cls(ball, free, cells, boxes, lower, upper, words, blocks)

    @property
    def plain(self) -> bool:
        mixed = self.ball.mixed
        return self.ball.norm == "linf" and (mixed is None or not mixed.rules)

    def ends(self, lo: IntArray, hi: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the inputs in the cells from ``lo`` to ``hi``, both (d,)."""
        lower, upper = self.lower.copy(), self.upper.copy()
        boxes, mixed = self.boxes, self.ball.mixed
        for place in np.flatnonzero((lo > boxes.low) | (hi < boxes.high)).tolist():
            feature = int(boxes.features[place])
            low, high = self.cells.ends(feature, int(lo[place]), int(hi[place]))
            if mixed is not None and mixed.integral[feature]:
                low, high = np.ceil(low), np.floor(high)
            lower[feature], upper[feature] = max(lower[feature], low), min(upper[feature], high)
        return lower, upper

    def near(self, lo: IntArray, hi: IntArray) -> bool:
        """Return False if no input is in the cells from ``lo`` to ``hi``."""
        if np.any(lo > hi):
            return False
        lower, upper = self.ends(lo, hi)
        if self.ball.norm != "linf":
            centre = self.ball.centre.astype(np.float64)
            moved = np.clip(centre, lower, upper) - centre
            return length(moved, _ORDERS[self.ball.norm]) <= self.ball.epsilon * (1 + 1e-9)
        assert self.ball.mixed is not None
        _, _, kept = self.ball.mixed.cut(lower[None, :], upper[None, :])
        return bool(kept[0])

    def point(self, clique: Clique) -> tuple[FloatArray | None, bool]:
        """Return an input in the cells of ``clique``, or None and whether there is none."""
        lower, upper = self.ends(clique.lo, clique.hi)
        centre = self.ball.centre.astype(np.float64)
        if clique.words is not None and self.blocks is not None:
            starts = self.blocks.starts
            for start, end in zip(starts, [*starts[1:], self.words.size], strict=True):
                block, may = self.words[start:end], clique.words[start:end]
                upper[block] = np.where(may, upper[block], 0.0)
                chosen = may & (centre[block] >= 1)
                word = block[np.argmax(chosen if chosen.any() else may)]
                centre[block] = 0.0
                centre[word] = 1.0
        point = np.clip(centre, lower, upper)
        if self.plain:
            return point, False
        if self.ball.contains(point, self.free):
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
