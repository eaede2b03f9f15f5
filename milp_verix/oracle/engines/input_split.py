"""The engine ``split``: claims about few inputs with wide ranges, decided by branching on these.

Boxes of inputs are bounded in batches, and split until each is decided. Few inputs with wide ranges
favour this over branching on phases: half a range tightens every neuron at once (ReluVal: Wang,
Pei, Whitehouse, Yang, Jana, USENIX Security 2018; nnenum: Bak, NFM 2021; the input split of
α,β-CROWN). A batch of open boxes goes through these steps:

1. Each is halved at its input with the largest ``(|a_i| + r_i) · width_i``: ``a`` are the
   coefficients of the linear form above its worst margin, and ``r`` half the ranges of that
   margin's slopes over the box. An integral input is split into ``≤ k`` and ``≥ k + 1``.
2. Halves outside of the norm ball, by proof, are discarded.
3. Interval arithmetic inside the parent's bounds, and one backward pass for the open margins. A
   half is closed once each margin is proven below ``-needed``.
4. Halves that stay open get backward bounds of the neurons that they leave undecided, and another
   pass for the margins.
5. The maximiser of the worst margin's linear form and the middle of each open half are evaluated.
   Gradients climb from the worst of these, through the whole region. Points run in onnxruntime if
   a margin is above zero there.

Open boxes with the worst bounds come first. The worst bound of all closed and open boxes is proven
for the whole region at any moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.engines.beta_search import BoundSearch, Nodes
from milp_verix.oracle.engines.engine import BoundsEngine, Claim, Decision, Replays, decided
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.problem.problem import ProblemData
from verix_encodings import Bounds, Interval, Network, NormBall, crown_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.batch_crown import BatchCrown, slope_ranges
from verix_encodings.bounds.boxes import Boxes, one_hot_box, root_boxes
from verix_encodings.bounds.interval import Late, Range, never
from verix_encodings.bounds.mixed_domain import MixedDomain


@dataclass(frozen=True, slots=True, eq=False)
class Scored(Nodes):
    """Boxes with bounds on margins, (N, m), and on ``known`` values, and the axis to split."""

    boxes: Boxes
    upper: FloatArray
    axis: IntArray
    known: dict[int, Range]

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All arrays of the group."""
        ends = [end for both in self.known.values() for end in both]
        return [self.boxes.lower, self.boxes.upper, self.upper, self.axis, *ends]

    def of(self, arrays: Sequence[NDArray[Any]]) -> "Scored":
        """Return a group of other ``arrays``."""
        lower, upper, bounds, axis, *ends = arrays
        known = dict(zip(self.known, zip(ends[::2], ends[1::2], strict=True), strict=True))
        return Scored(self.boxes.at(lower, upper), bounds, axis, known)


@dataclass(frozen=True, slots=True)
class Split:
    """A box halved at input ``axis``, at ``at``; the keys of both halves, None if one is empty."""

    axis: int
    at: float
    below: bytes | None
    above: bytes | None


# the widths of AC-4's layers times this many boxes fill a few caches: more gain no speed
_MOST_BOXES = 512
_MOST_VALUES = 2**21  # of a batch: 16 MB
# from the highest points of a batch; a climb at all was measured (`7c62b28`), eight were not
_CLIMBS = 8


@dataclass(slots=True, eq=False)
class BoxSearch(BoundSearch[Scored]):
    """Branches on inputs: ``domain`` has the integers among these and their rules.

    ``boxes`` counts the boxes bounded so far. If ``proof`` is a mapping, each split is added to it,
    by the key of the box.
    """

    domain: MixedDomain | None = None
    proof: dict[bytes, Split] | None = None
    boxes: int = 0
    _crown: BatchCrown = field(init=False)

    def __post_init__(self) -> None:
        BoundSearch.__post_init__(self)
        self._crown = BatchCrown(self.network, self.root)

    @property
    def upper(self) -> FloatArray:
        """The bounds proven on the margins over the region, shape (m,)."""
        return np.maximum(self._closed, self._open.upper())

    def run(self, late: Late = never) -> bool:
        """Search until an input replays, no box is open, or ``late()``; return whether all hold."""
        self.tried.late = late
        at_once = min(max(_MOST_VALUES // sum(self.network.sizes), 2), _MOST_BOXES)
        start = self._cut(root_boxes(self.region))[0]
        self._bound(start, np.tile(self.bounds, (len(start), 1)), {}, late)
        while self._open and not self.tried.found and not late():
            self._bound(*self._halves(self._open.pop(at_once // 2)), late)
        return not (self.tried.found or self._open or self.stuck)

    @property
    def _integral(self) -> BoolArray | None:
        return None if self.domain is None else self.domain.integral

    def _cut(self, boxes: Boxes) -> tuple[Boxes, BoolArray]:
        """Cut boxes at the ball, at integers and by rules; return those left, and which."""
        boxes, kept = boxes.cut(self._integral)
        if self.domain is None or not self.domain.clauses:
            return boxes, kept
        lower, upper, possible = self.domain.cut(boxes.lower, boxes.upper)
        kept[kept] = possible
        return boxes.at(lower[possible], upper[possible]), kept

    def _halves(self, parents: Scored) -> tuple[Boxes, FloatArray, dict[int, Range]]:
        """Halve each box at its axis; children keep the bounds of their parents."""
        rows, axis = np.arange(len(parents)), parents.axis
        end = start = parents.boxes.middle[rows, axis]
        if self._integral is not None:
            whole = self._integral[axis]
            end = np.where(whole, np.floor(end), end)
            start = np.where(whole, end + 1.0, start)
        twice = np.tile(rows, 2)
        lower, upper = parents.boxes.lower[twice], parents.boxes.upper[twice]
        upper[rows, axis] = end
        lower[rows + rows.size, axis] = start
        halves, meets = self._cut(parents.boxes.at(lower, upper))
        self._note(parents, (start + end) / 2, halves, meets)
        kept = twice[meets]
        known = {v: (below[kept], above[kept]) for v, (below, above) in parents.known.items()}
        return halves, parents.upper[kept], known

    def _note(self, parents: Scored, at: FloatArray, halves: Boxes, meets: BoolArray) -> None:
        """Add splits to the proof; of both halves of all boxes, those that ``meets`` are left."""
        if self.proof is None:
            return
        keys = iter(halves.keys)
        left = [next(keys) if meet else None for meet in meets]
        pairs = zip(left[: at.size], left[at.size :], strict=True)
        for row, (key, (below, above)) in enumerate(zip(parents.boxes.keys, pairs, strict=True)):
            self.proof[key] = Split(int(parents.axis[row]), float(at[row]), below, above)

    def _bound(self, boxes: Boxes, upper: FloatArray, known: dict[int, Range], late: Late) -> None:
        """Bound ``boxes``, try points of those that stay open, and queue these."""
        self.boxes += len(boxes)
        ways = np.zeros(boxes.lower.shape)
        for backward in (False, True):
            found = self._crown.bounds(boxes, known, late=late if backward else None)
            upper, ways = self._margins(boxes, found, upper, ways)
            open_ = np.any(~(upper < -self.needed), axis=1)
            self._close(upper[~open_])
            boxes, upper, ways = boxes[open_], upper[open_], ways[open_]
            found = [(below[open_], above[open_]) for below, above in found]
            known = {value: found[value] for value in self._crown.hidden if value}
            if not len(boxes):
                return
        rows, worst = np.arange(len(boxes)), np.argmax(upper + self.needed, axis=1)
        seen = self._tried(boxes, ways)[rows, worst]
        stuck = upper[rows, worst] - seen <= self.needed[worst]
        axis = np.zeros_like(rows)
        if self.network.input_size:
            width = boxes.widths(self._integral)
            bend = slope_ranges(self.network, found, worst)[1]
            # where no input matters to the form, the widest is split
            axis = np.argmax((np.abs(ways) + bend + 1e-12) * width, axis=1)
            stuck |= width[rows, axis] <= 0
        else:  # nothing is free: the box is one point
            stuck[:] = True
        self._close(upper[stuck])
        self.stuck += int(stuck.sum())
        self._open.push(Scored(boxes, upper, axis, known)[~stuck])

    def _margins(
        self, boxes: Boxes, found: list[Range], upper: FloatArray, ways: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bound the margins that are open; return bounds, and the form of each box's worst."""
        owner, margin = np.nonzero(~(upper < -self.needed))
        forms = self._crown.margins(boxes, found, owner, margin, self.tried.late)
        upper, ways = upper.copy(), ways.copy()
        upper[owner, margin] = np.fmin(upper[owner, margin], forms.upper)
        # the last row written for a box is its worst
        order = np.argsort(forms.upper + self.needed[margin], kind="stable")
        ways[owner[order]] = np.nan_to_num(forms.coefficients[order])
        return upper, ways

    def _tried(self, boxes: Boxes, ways: FloatArray) -> FloatArray:
        """Look at two points of each box; return the higher values of its margins, (N, m)."""
        points = np.concatenate([boxes.farthest(ways), boxes.middle])
        if self._integral is not None:
            points = np.where(self._integral, np.floor(points), points)
        values = self.tried.seen(points)
        if not (self.tried.found or (self._integral is not None and self._integral.all())):
            self._climb(points, values, _CLIMBS)
        if self.domain is not None:
            # a point that breaks the rules says nothing about those of its box
            values = np.where(self.domain.nearly(points), values, -np.inf)
        return np.asarray(np.maximum(*np.split(values, 2, axis=1)).T)


_WORTH_SPLITTING = 20_000  # of a network whose boxes are worth splitting; not measured
_STUCK = (
    "no split proves it: the worst margin, {:.2e}, is so close to zero beside the tolerance, or to "
    "a jump"
)


class InputSplit(BoundsEngine):
    """Decides claims by a :class:`~milp_verix.oracle.engines.input_split.BoxSearch`.

    Each claim folds its own fixed inputs away. Networks of more than 20,000 values are UNKNOWN at
    once: rows of their backward bounds are held as dense arrays.
    """

    name = "split"

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline, which is looked at between batches."""
        values = sum(claim.margins.sizes)
        if values > _WORTH_SPLITTING:
            refused = f"the network has {values} values, and split takes {_WORTH_SPLITTING} at most"
            return Decision(Verdict(Answer.UNKNOWN, reason=refused), claim.upper, {})
        replays = Replays(self._problem, claim.free)
        mixed = self._problem.ball.mixed
        domain = None if mixed is None else mixed.among(claim.free, self._problem.x)
        network, region, root = _folded(self._problem, claim, domain)
        search = BoxSearch(
            network,
            region,
            root,
            claim.upper,
            claim.needed,
            lambda moved: replays(self._whole(claim, moved)),
            domain,
        )
        with np.errstate(over="ignore", invalid="ignore"):
            holds = search.run(claim.deadline.passed)
        points = {
            int(margin): self._whole(claim, search.tried.worst[margin])
            for margin in claim.open_
            if np.isfinite(search.tried.reached[margin])
        }
        reason = None if holds else search.reason(claim.deadline, _STUCK)
        return decided(claim, search.upper, points, replays.verdict, reason, nodes=search.boxes)

    def _whole(self, claim: Claim, moved: FloatArray) -> FloatArray:
        """Return the input whose free coordinates are ``moved``, shape (d,)."""
        point = self._problem.x.astype(np.float64)
        point[claim.free] = moved
        return point


def _folded(
    problem: ProblemData, claim: Claim, domain: MixedDomain | None
) -> tuple[Network, Interval | NormBall, Bounds]:
    """Return the margins in the free coordinates alone, their region, and bounds over it."""
    rest = problem.x.astype(np.float64)
    rest[claim.free] = 0.0
    network = claim.margins.among(claim.free, rest)
    box = Interval(claim.region.box.lower[claim.free], claim.region.box.upper[claim.free])
    region: Interval | NormBall = box if domain is None else one_hot_box(box, domain.blocks)
    if isinstance(claim.region, NormBall):
        ball = claim.region
        region = NormBall(box, ball.centre[claim.free], ball.radius, ball.norm)
    if claim.margins.affine_first:
        return network, region, (box, *claim.bounds[1:])
    # with one more value than the claim's network
    return network, region, crown_bounds(network, region, late=claim.deadline.passed)
