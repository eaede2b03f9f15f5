"""Branching on phases, with backward bounds in place of linear programs, in batches.

A node is a margin, and phases that are supposed of some neurons: ``z ≥ 0`` or ``z ≤ 0`` for ReLUs,
``z_q ≥ z_p`` or ``z_q ≤ z_p`` for maxima of pairs; ``z ≥ s`` or ``z ≤ s`` for entries that other
functions read, at a point ``s`` that these choose. Its bound is that of one row of
:mod:`~verix_encodings.row_slopes`, where the bounds of neurons are those over the whole
region. A batch of open nodes goes through these steps:

1. Each is split at the undecided neuron with the largest ``c⁺ t``: ``c`` is the coefficient that
   its bound met there, and ``t`` the intercept of the upper line; or at an entry that is to gain
   more by the estimate of the node that reads it.
2. Children begin with the slopes and multipliers of their parents, which a few steps optimise. A
   child is closed once its margin is proven below ``-needed`` where its phases hold. Where no
   neuron is left to split, the bound is minimised.
3. The maximisers of the linear forms are evaluated. Gradients climb from the worst of these. Points
   run in onnxruntime if a margin is above zero there.

The children of a node cover it, so the worst bound of all closed and open nodes of a margin is
proven for the whole region at any moment. Open nodes with the worst bounds come first. (Branch and
bound on bounds: Bunel, Lu, Turkaslan, Torr, Kohli, Kumar, JMLR 2020; β-CROWN: Wang et al., NeurIPS
2021.)
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline
from milp_verix.oracle.engines.engine import TriedPoints
from milp_verix.oracle.verdict import TIME_LIMIT
from verix_encodings import Bounds, Interval, Network, NormBall
from verix_encodings.alpha import least, lowered
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.interval_bounds import suppose_both
from verix_encodings.row_slopes import Relaxed, RowSlopes


class Nodes:
    """A group of nodes: ``arrays`` with a row for each; by default all fields are arrays.

    ``upper`` are proven bounds on the margins, (N, m), -inf for one that a node is not about.
    """

    __slots__ = ()
    upper: FloatArray

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All arrays of the group."""
        return [getattr(self, one.name) for one in fields(self)]  # type: ignore[arg-type]

    def of(self, arrays: Sequence[NDArray[Any]]) -> Self:
        """Return a group of other ``arrays``."""
        return type(self)(*arrays)

    def __len__(self) -> int:
        return len(self.upper)

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> Self:
        return self.of([array[chosen] for array in self.arrays])

    @property
    def bytes(self) -> int:
        """The memory that the nodes take."""
        return sum(array.nbytes for array in self.arrays)

    def joined(self, others: Sequence[Self]) -> Self:
        """Return the nodes of this group and of ``others`` as one group."""
        parts = zip(*(group.arrays for group in (self, *others)), strict=True)
        return self.of([np.concatenate(part) for part in parts]) if others else self


N = TypeVar("N", bound=Nodes)


@dataclass(slots=True, eq=False)
class OpenNodes(Generic[N]):
    """A queue of open nodes; ``needed`` are the distances from zero that close a margin.

    The group with the worst bound comes first; beyond ``most_bytes`` the one pushed last, so that
    the search runs into depth and frees memory.
    """

    needed: FloatArray
    most_bytes: int = 2**29
    bytes: int = 0
    _heap: list[tuple[float, int, N]] = field(default_factory=list)
    _count: int = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, nodes: N) -> None:
        """Add nodes, each of which has a margin that is open."""
        if not len(nodes):
            return
        worst = (nodes.upper + self.needed).max(axis=1)
        order = np.argsort(-worst, kind="stable")
        self._put(nodes[order], float(worst[order[0]]))

    def pop(self, count: int) -> N:
        """Remove up to ``count`` nodes and return them."""
        taken: list[N] = []
        left = count
        while left and self._heap:
            group = self._get()
            taken.append(group[:left])
            if len(group) > left:
                rest = group[left:]
                self._put(rest, float((rest.upper[0] + self.needed).max()))
            left -= len(taken[-1])
        return taken[0].joined(taken[1:])

    @property
    def groups(self) -> list[N]:
        """All open nodes."""
        return [nodes for _, _, nodes in self._heap]

    def upper(self) -> FloatArray:
        """Return the worst bound of each margin over all open nodes, shape (m,)."""
        uppers = [nodes.upper.max(axis=0) for _, _, nodes in self._heap]
        return (
            np.max(uppers, axis=0, initial=-np.inf)
            if uppers
            else -np.inf * np.ones_like(self.needed)
        )

    def _put(self, nodes: N, worst: float) -> None:
        self._count += 1
        self.bytes += nodes.bytes
        heapq.heappush(self._heap, (-worst, self._count, nodes))

    def _get(self) -> N:
        if self.bytes <= self.most_bytes:
            nodes = heapq.heappop(self._heap)[2]
        else:
            last = max(range(len(self._heap)), key=lambda place: self._heap[place][1])
            nodes = self._heap.pop(last)[2]
            heapq.heapify(self._heap)
        self.bytes -= nodes.bytes
        return nodes


_MOST_ROWS = 128  # nodes bounded at once; not measured
_MOST_VALUES = 2**20  # of a batch: 8 MB
# numbers of the steps for the first nodes, for children, whose steps are smaller, and for nodes
# without a neuron to split
_FIRST_STEPS = tuple(range(12))
_STEPS = tuple(range(3, 8))
_PART_STEPS = tuple(range(3, 12))  # with parts of ranges: half the nodes of the others
_LAST_STEPS = tuple(range(25)) * 6
# over balls of L1 and L2, where a minimisation follows: of so many evaluations for L2, for L1 by a
# linear program, as the bound has kinks there
_EXACT_STEPS = (0,)
_EVALUATIONS = 100  # not measured
_CLIMBS = 2  # from the highest points of a batch; not measured


@dataclass(frozen=True, slots=True, eq=False)
class PhaseNodes(Nodes):
    """Nodes of the margins ``margin``, (N,); ``upper`` bounds these, and is -inf elsewhere, (N, m).

    ``signs`` are the phases supposed, ``dials`` the slopes and multipliers, both (N, count), and
    ``ends`` the ranges supposed, as in
    :class:`~verix_encodings.row_slopes.RowSlopes`; ``split`` is the place to split, and
    ``point`` where, (N,).
    """

    margin: IntArray
    upper: FloatArray
    signs: FloatArray
    dials: FloatArray
    ends: NDArray[np.float32]
    split: IntArray
    point: FloatArray


@dataclass(slots=True, eq=False)
class BoundSearch(Generic[N]):
    """A search over ``region`` for a point where a margin of ``network`` is above zero.

    ``root`` are bounds on all values over the region, ``bounds`` those on the margins, (m,). A
    margin holds once it is proven below ``-needed``, (m,). ``replays`` runs an input and returns
    whether the prediction changes there; ``tried`` keeps the points seen. Nodes are ``stuck`` if
    nothing is left to split, or a point of theirs is so close to the bound that splitting cannot
    prove the margin.
    """

    network: Network
    region: Interval | NormBall
    root: Bounds
    bounds: FloatArray
    needed: FloatArray
    replays: Callable[[FloatArray], bool]
    tried: TriedPoints = field(init=False)
    stuck: int = field(init=False, default=0)
    _closed: FloatArray = field(init=False)
    _open: OpenNodes[N] = field(init=False)

    def __post_init__(self) -> None:
        self.tried = TriedPoints(self.network, self.region, self.needed, self.replays)
        self._closed = np.full(self.needed.size, -np.inf)
        self._open = OpenNodes(self.needed)

    def reason(self, deadline: Deadline, why: str) -> str:
        """Return why margins are open: time, or ``why``, in which the worst margin has a place."""
        if deadline.passed() or not self.stuck:
            return TIME_LIMIT
        return why.format(float(self.tried.reached.max()))

    def _close(self, upper: FloatArray) -> None:
        self._closed = np.maximum(self._closed, upper.max(axis=0, initial=-np.inf))

    def _climb(self, points: FloatArray, values: FloatArray, most: int) -> None:
        """Climb from the ``most`` highest of ``points``, (k, d), where margins are ``values``."""
        highest = np.argsort(-(values + self.needed[:, None]).max(axis=0), kind="stable")
        self.tried.climb(points[highest[:most]])


@dataclass(slots=True, eq=False)
class PhaseSearch(BoundSearch[PhaseNodes]):
    """Branches on phases; only margins that are ``wanted``, (m,), are searched on.

    ``nodes`` counts the nodes bounded so far. If ``proof`` is a list, nodes that are closed are
    appended to it: with the dials that prove it, stuck or unwanted. Beyond ``most`` nodes it is
    dropped. ``inherited`` are nodes to begin with, which cover all inputs for their margins;
    ``relaxed`` is what nodes refine.
    """

    proof: list[PhaseNodes] | None = None
    most: float = np.inf
    inherited: PhaseNodes | None = None
    wanted: BoolArray = field(init=False)
    nodes: int = 0
    relaxed: Relaxed = field(init=False)

    def __post_init__(self) -> None:
        BoundSearch.__post_init__(self)
        self.relaxed = Relaxed.of(self.network, self.root)
        # margins that hold from the start have no node
        self._closed = np.where(self.bounds < -self.needed, self.bounds, -np.inf)
        self.wanted = np.ones(self.needed.size, dtype=bool)

    @property
    def cover(self) -> PhaseNodes | None:
        """Nodes, closed or open, that cover all inputs for each margin searched on, if kept."""
        groups = [] if self.proof is None else [*self.proof, *self._open.groups]
        return groups[0].joined(groups[1:]) if groups else None

    @property
    def upper(self) -> FloatArray:
        """The bounds proven on the margins over the region, shape (m,)."""
        if not self.nodes:
            return self.bounds
        return np.maximum(self._closed, self._open.upper())

    def run(self, late: Late = never) -> bool:
        """Search on until an input replays, no node is open, or late; return if all hold."""
        self.tried.late = late
        if not self.nodes and not late():
            margins = np.flatnonzero(~(self.bounds < -self.needed))
            if self.inherited is not None:
                kept = self.inherited[np.isin(self.inherited.margin, margins)]
                margins = np.setdiff1d(margins, kept.margin)
                if len(kept):
                    self._bound(kept, _STEPS[:1], late)
                    if self._open and not self.tried.found:
                        self._bound(self._open.pop(len(kept)), _STEPS, late)
            if margins.size:
                dials = self.relaxed.first_dials(margins.size)
                self._bound(self.begun(margins, np.zeros_like(dials), dials), _FIRST_STEPS, late)
        at_once = min(max(_MOST_VALUES // sum(self.network.sizes), 2), _MOST_ROWS)
        while self._open and not self.tried.found and not late():
            parents = self._open.pop(at_once // 2)
            wanted = self.wanted[parents.margin]
            self._shut(parents[~wanted])
            steps = _PART_STEPS if self.relaxed.points else _STEPS
            self._bound(self._children(parents[wanted]), steps, late)
        return not (self.tried.found or self._open or self.stuck or not self.nodes)

    def begun(self, margin: IntArray, signs: FloatArray, dials: FloatArray) -> PhaseNodes:
        """Return nodes that suppose phases, with the bounds of their margins over the region."""
        upper = np.full((margin.size, self.needed.size), -np.inf)
        upper[np.arange(margin.size), margin] = self.bounds[margin]
        ends = self.relaxed.first_ends(margin.size).astype(np.float32)
        point = np.full(margin.size, np.nan)
        return PhaseNodes(margin, upper, signs, dials, ends, margin, point)

    def _children(self, parents: PhaseNodes) -> PhaseNodes:
        """Split each node into the two phases of a neuron, or the parts of its range."""
        children = parents[np.tile(np.arange(len(parents)), 2)]
        split = parents.split, parents.point
        suppose_both(children.signs, children.dials, children.ends, split)
        return children

    def _bound(self, nodes: PhaseNodes, steps: tuple[int, ...], late: Late) -> None:
        """Bound ``nodes``, try points of those that stay open, and queue these."""
        self.nodes += len(nodes)
        margin, upper = nodes.margin, nodes.upper.copy()
        ways = np.eye(self.needed.size)[margin]
        rows = RowSlopes(self.relaxed, ways, nodes.dials, nodes.signs, nodes.ends)
        every = np.arange(len(nodes))
        goals = -self.needed[margin]
        found = lowered(rows, self.region, upper[every, margin], goals, steps)
        if steps == _EXACT_STEPS and isinstance(self.region, NormBall):
            found = least(rows, self.region, found, goals, _EVALUATIONS)
        upper[every, margin], best, left = found.upper, found.dials, found.left
        closed = np.delete(np.arange(len(nodes)), left)
        self._shut(replace(nodes[closed], upper=upper[closed], dials=best[closed]))
        if not left.size:
            return
        values = self.tried.seen(rows.points)
        if not self.tried.found:
            self._climb(rows.points, values, _CLIMBS)
        margin, upper, (split, point) = margin[left], upper[left], rows.best_splits()
        ends = nodes.ends[left]
        nodes = PhaseNodes(margin, upper, nodes.signs[left], best[left], ends, split, point)
        stuck = upper.max(axis=1) - self.tried.reached[margin] <= self.needed[margin]
        spent = split < 0
        if steps in (_LAST_STEPS, _EXACT_STEPS) or not self.relaxed.count:
            stuck |= spent
        else:
            # one at a time: the highest point of a node is often a counterfactual
            last = np.flatnonzero(spent & ~stuck)
            # parts of ranges can be split for ever, as a rule
            exact = isinstance(self.region, NormBall) and not self.relaxed.points
            longer = _EXACT_STEPS if exact else _LAST_STEPS
            for place in last[np.argsort(-upper[last].max(axis=1), kind="stable")].tolist():
                node = nodes[slice(place, place + 1)]
                if self.tried.found or late():
                    self._open.push(node)
                else:
                    self._bound(node, longer, late)
        self._shut(nodes[stuck])
        self.stuck += int(stuck.sum())
        self._open.push(nodes[~(stuck | spent)])

    def _shut(self, nodes: PhaseNodes) -> None:
        """Close nodes with the bounds that they have."""
        self._close(nodes.upper)
        if self.nodes > self.most:
            self.proof = None
        if self.proof is not None and len(nodes):
            self.proof.append(nodes)
