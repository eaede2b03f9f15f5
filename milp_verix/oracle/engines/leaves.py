"""The engine ``leaves``: claims about trees, decided by a search for leaves that one input reaches.

Each margin is a sum of trees, maximised by :mod:`~milp_verix.oracle.engines.leaf_search`. Leaves
that meet hold a box of inputs; the one of them next to ``x`` is run by the model's library. For L1
and L2 that input is the box's nearest, so the ball is decided exactly. Rules between features are
cut to boxes, and a point that satisfies them is searched for in the box; if none is found, and none
is excluded, the answer is UNKNOWN.

All inputs that reach the same leaves have the same prediction, so where rounding may decide, the
library itself does: leaves whose sum is near zero are run one set after the other, and are left
behind if the prediction stays.
"""

from dataclasses import dataclass, field

import numpy as np

from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.engines.leaf_reach import Reach
from milp_verix.oracle.engines.leaf_search import Clique, LeafSearch
from milp_verix.oracle.engines.tried_points import BoundsEngine, Replays, decided
from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.problem.problem import PosedProblem
from verix_encodings.arrays import FloatArray, relative_error
from verix_encodings.kinds.leaf_boxes import Cells, cells_of
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network.network import Network

_MOST_TIES = 256
"""Sets of leaves with a sum near zero that the library runs for a margin."""


def trees_of(network: Network) -> TreeEnsemble | None:
    """Return the trees that ``network`` consists of; None if it is anything else."""
    if len(network.nodes) == 1 and isinstance(network.nodes[0], TreeEnsemble):
        return network.nodes[0]
    return None


def cells_for(problem: PosedProblem) -> Cells:
    """Return the cells of the trees that the margins of ``problem`` consist of."""
    trees, mixed = trees_of(problem.margins), problem.ball.mixed
    assert trees is not None
    return cells_of(trees, problem.x.size, None if mixed is None else mixed.integral)


class Leaves(BoundsEngine):
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
            asked = _Asked(reach, trees, margin, float(claim.needed[margin]), replays)
            stopped = asked.search.run(claim.deadline.passed)
            nodes += asked.search.nodes
            if asked.tied:
                asked = _Asked(reach, trees, margin, asked.needed, replays, every_tree=True)
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


def cut_of(reach: Reach, trees: TreeEnsemble, margin: int, needed: float) -> tuple[float, float]:
    """Return the sum of leaves from which on ``margin`` may reach ``-needed``, and the rounding.

    A sum below the cut proves that the margin, as the model computes it, is below ``-needed``.
    """
    values, base = trees.value_of[reach.boxes.leaf, margin], float(trees.base[margin])
    starts = np.flatnonzero(np.diff(reach.boxes.tree, prepend=-1))
    largest = float(np.maximum.reduceat(np.abs(values), starts).sum()) if values.size else 0.0
    off = relative_error(trees.tree_count + 4) * (largest + abs(base) + needed)
    off += float(trees.error[margin])
    return float(np.nextafter(-needed - off - base, -np.inf)), off


@dataclass(slots=True, eq=False)
class _Asked:
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
        values = self.trees.value_of[boxes.leaf, self.margin]
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
