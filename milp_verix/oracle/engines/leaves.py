"""The engine ``leaves``: claims about trees, decided by a search for leaves that one input reaches.

Each margin is a sum of trees, maximised by :mod:`~milp_verix.oracle.engines.leaf_search`. Leaves
that meet hold a box of inputs; the one of them next to ``x`` is run by the model's library. For L1
and L2 that input is the box's nearest, so the ball is decided exactly. Rules between features are
cut to boxes, and a point that satisfies them is searched for in the box; if none is found, and none
is excluded, the answer is UNKNOWN.

All inputs that reach the same leaves have the same prediction, so where rounding may decide, the
library itself does: leaves whose sum is near zero are run one set after the other, and are left
behind if the prediction stays. The inputs are the arrays of the model's own type in the ball:
nothing else is ever classified.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from milp_verix.inputs.nearest_point import nearest_point
from milp_verix.oracle.engines.engine import BoundsEngine, Claim, Decision, Replays, decided
from milp_verix.oracle.engines.leaf_search import Blocks, Clique, LeafSearch
from milp_verix.oracle.verdict import TIME_LIMIT
from milp_verix.problem.ball import Ball
from milp_verix.problem.problem import ProblemData
from verix_encodings import Interval, Program
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense, relative_error
from verix_encodings.kinds.leaf_boxes import Cells, LeafBoxes, cells_of
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network import Network

_ORDERS = {"l1": 1, "l2": 2}


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
    def of(cls, problem: ProblemData, cells: Cells, free: IntArray) -> "Reach":
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
        mixed = self.ball.mixed
        # there may be rules beyond boxes and one-hot blocks
        ruled = mixed is not None and bool(mixed.rules)
        return self.near if self.ball.norm != "linf" or ruled else None

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
    may, must = (np.tile(end[words] >= 1, (boxes.leaf.size, 1)) for end in (upper, lower))
    _, own, column = np.intersect1d(boxes.features, words, return_indices=True)
    may[:, column] &= boxes.hi[:, own] == boxes.high[own]
    must[:, column] |= boxes.lo[:, own] > boxes.low[own]
    forced = np.add.reduceat(must, starts, axis=1, dtype=np.intp)
    sizes = np.diff(starts, append=words.size)
    # a word is allowed if no other word of its block must be
    others = np.repeat(forced, sizes, axis=1) - must
    return np.asarray(may & (others == 0))


_MOST_TIES = 256
"""Sets of leaves with a sum near zero that the library runs for a margin."""


def trees_of(network: Network) -> TreeEnsemble | None:
    """Return the trees that ``network`` consists of; None if it is anything else."""
    if len(network.nodes) == 1 and isinstance(network.nodes[0], TreeEnsemble):
        return network.nodes[0]
    return None


def cells_for(problem: ProblemData) -> Cells:
    """Return the cells of the trees that the margins of ``problem`` consist of."""
    trees, mixed = trees_of(problem.margins), problem.ball.mixed
    assert trees is not None
    return cells_of(trees, problem.x.size, None if mixed is None else mixed.integral)


def point_of_cells(
    problem: ProblemData, claim: Claim, program: Program, point: FloatArray, found: FloatArray
) -> FloatArray:
    """Return the input in the cells that the binaries of ``point`` of ``program`` name, (d,).

    In a program cells are closed: at a threshold ``x`` is on both sides of it, up to tolerances. So
    the input is the nearest one in the cells that the binaries name; ``found`` where these hold no
    input.
    """
    trees, cells, mixed = trees_of(claim.margins), cells_for(problem), problem.ball.mixed
    assert trees is not None
    reach = Reach.of(problem, cells, claim.free)
    lower, upper = reach.lower.copy(), reach.upper.copy()
    thresholds = trees.open_thresholds(claim.bounds[0].lower, claim.bounds[0].upper)
    start = 0
    for prefix, numbers in program.column_labels:
        y = point[start : start + len(numbers)] > 0.5
        start += len(numbers)
        head, _, feature = prefix.rpartition("_")
        if not head.startswith("y_"):
            continue
        own = thresholds[f := int(feature)]
        side = int(np.argmax(y)) if y.any() else y.size
        if side > 0:
            lower[f] = max(lower[f], np.nextafter(own[side - 1], np.inf))
        if side < y.size:
            upper[f] = min(upper[f], own[side])
    if mixed is not None:
        lower = np.where(mixed.integral, np.ceil(lower), lower)
        upper = np.where(mixed.integral, np.floor(upper), upper)
    if np.any(lower > upper):
        return found
    features = reach.boxes.features
    lo, hi = cells.cell(lower)[features], cells.cell(upper)[features]
    words = None
    if reach.blocks is not None and mixed is not None:
        words = mixed.snapped(found)[reach.words] >= 1
    inside, _ = reach.point(Clique(0.0, lo, hi, words))
    return found if inside is None else inside


class LeavesEngine(BoundsEngine):
    """Decides claims about trees by a :class:`~.leaf_search.LeafSearch` for each margin."""

    name = "leaves"

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline, which is looked at between nodes."""
        trees = trees_of(claim.margins)
        assert trees is not None
        reach = Reach.of(self._problem, cells_for(self._problem), claim.free)
        replays = Replays(self._problem, claim.free)
        upper, nodes = claim.upper.copy(), 0
        points: dict[int, FloatArray] = {}
        reason: str | None = None
        for margin in claim.open_.tolist():
            query = _Query(reach, trees, margin, float(claim.needed[margin]), replays)
            stopped = query.search.run(claim.deadline.passed)
            nodes += query.search.nodes
            if query.tied:
                query = _Query(reach, trees, margin, query.needed, replays, every_tree=True)
                stopped = query.search.run(claim.deadline.passed)
                nodes += query.search.nodes
            if query.worst is not None:
                points[margin] = query.worst
            if stopped:
                break
            upper[margin] = min(upper[margin], query.upper)
            if stopped is None:
                reason = TIME_LIMIT
                if claim.deadline.passed():
                    break
            else:
                reason = reason or query.reason
        return decided(claim, upper, points, replays.verdict, reason, nodes=nodes)


def cut_of(reach: Reach, trees: TreeEnsemble, margin: int, needed: float) -> tuple[float, float]:
    """Return the sum of leaves from which on ``margin`` may reach ``-needed``, and the rounding.

    A sum below the cut proves that the margin, as the model computes it, is below ``-needed``.
    """
    values, base = dense(trees.value_of[reach.boxes.leaf, margin]), float(trees.base[margin])
    starts = np.flatnonzero(np.diff(reach.boxes.tree, prepend=-1))
    largest = float(np.maximum.reduceat(np.abs(values), starts).sum()) if values.size else 0.0
    off = relative_error(trees.tree_count + 4) * (largest + abs(base) + needed)
    off += float(trees.error[margin])
    return float(np.nextafter(-needed - off - base, -np.inf)), off


@dataclass(slots=True, eq=False)
class _Query:
    """The question whether margin ``margin`` of ``trees`` reaches ``-needed``.

    ``tied`` says that the search stopped at a sum near zero, to be asked again with ``every_tree``.
    """

    reach: Reach
    trees: TreeEnsemble
    margin: int
    needed: float
    replays: Replays
    every_tree: bool = False
    tied: bool = False
    search: LeafSearch = field(init=False)
    worst: FloatArray | None = None
    reason: str | None = None
    _reached: float = -np.inf
    _left: float = -np.inf
    _ties: int = 0
    _off: float = field(init=False)

    def __post_init__(self) -> None:
        boxes, blocks = self.reach.boxes, self.reach.blocks
        values = dense(self.trees.value_of[boxes.leaf, self.margin])
        cut, self._off = cut_of(self.reach, self.trees, self.margin, self.needed)
        self.search = LeafSearch(
            boxes, values, cut, self._take, self.reach.limit, blocks, self.every_tree
        )

    @property
    def upper(self) -> float:
        """The bound on the margin that the nodes closed so far prove, once all are."""
        closed = self.search.closed + self.search.constant
        return max(closed, self._left) + float(self.trees.base[self.margin]) + self._off

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
        if not self.every_tree:
            # trees that leave the margin alone may still move its rounding
            self.tied = True
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
