"""Branching on inputs: boxes of inputs, bounded in batches, split until each is decided.

Few inputs with wide ranges favour this over branching on phases: half a range tightens every
neuron at once (ReluVal: Wang, Pei, Whitehouse, Yang, Jana, USENIX Security 2018; nnenum: Bak, NFM
2021; the input split of α,β-CROWN). A batch of open boxes goes through these steps:

1. Each is halved at its input with the largest ``|a_i| · width_i``, where ``a`` are the
   coefficients of the linear form above its worst margin. An integral input is split into ``≤ k``
   and ``≥ k + 1``.
2. Halves outside of the norm ball, by proof, are discarded.
3. Interval arithmetic inside the parent's bounds, and one backward pass for the open margins. A
   half is closed once each margin is proven below ``-needed``.
4. Halves that stay open get backward bounds of the neurons that they leave undecided, and another
   pass for the margins.
5. The maximiser of the worst margin's linear form and the middle of each open half are evaluated.
   The worst of these points run in onnxruntime if a margin is above zero there.

Open boxes with the worst bounds come first. The worst bound of all closed and open boxes is proven
for the whole region at any moment.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from milp_verix.oracle.engines.open_boxes import OpenBoxes, Scored
from verix_encodings import Bounds, Interval, Network, NormBall
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.batch_crown import BatchCrown, Range
from verix_encodings.bounds.batch_slopes import slope_ranges
from verix_encodings.bounds.boxes import Boxes, root_boxes
from verix_encodings.bounds.interval import Late
from verix_encodings.network.batch import batch_values

_BOXES_AT_ONCE = 512
_REPLAYS = 3


@dataclass(slots=True, eq=False)
class InputSplit:
    """A search on ``network`` over ``region``, whose bounds ``root`` are known.

    A margin holds once it is proven below ``-needed``, shape (m,). ``replays`` runs an input and
    returns whether the prediction changes there. ``integral`` marks inputs that are integers.

    ``upper`` are proven bounds on the margins over the region by now, shape (m,); ``worst`` is the
    worst input seen for each margin, (m, d), with the value ``reached``, (m,). ``boxes`` counts the
    boxes bounded so far; ``stuck`` those as small as float64 or integrality permits, yet open.
    """

    network: Network
    region: Interval | NormBall
    root: Bounds
    needed: FloatArray
    replays: Callable[[FloatArray], bool]
    integral: BoolArray | None = None
    batch: int = _BOXES_AT_ONCE
    boxes: int = 0
    stuck: int = 0
    worst: FloatArray = field(init=False)
    reached: FloatArray = field(init=False)
    found: FloatArray | None = None
    _crown: BatchCrown = field(init=False)
    _closed: FloatArray = field(init=False)
    _open: OpenBoxes = field(init=False)

    def __post_init__(self) -> None:
        self._crown = BatchCrown(self.network, self.root)
        size = self.needed.size
        self.worst = np.zeros((size, self.network.input_size))
        self.reached = np.full(size, -np.inf)
        self._closed = np.full(size, -np.inf)
        self._open = OpenBoxes(self.needed)

    @property
    def upper(self) -> FloatArray:
        return np.maximum(self._closed, self._open.upper())

    def search(self, late: Late) -> bool:
        """Split until every box is closed (return True), an input replays, or ``late()``."""
        start = self._rounded(root_boxes(self.region))
        self._bound(start, self.root[-1].upper[None], {})
        while self._open and self.found is None and not late():
            parents = self._open.pop(self.batch // 2)
            self._bound(*self._halves(parents))
        return self.found is None and not self._open and not self.stuck

    def _rounded(self, boxes: Boxes) -> Boxes:
        """Round integral inputs inward."""
        if self.integral is None:
            return boxes
        lower = np.where(self.integral, np.ceil(boxes.lower), boxes.lower)
        upper = np.where(self.integral, np.floor(boxes.upper), boxes.upper)
        return Boxes(lower, upper, boxes.ball)[(lower <= upper).all(axis=1)]

    def _halves(self, parents: Scored) -> tuple[Boxes, FloatArray, dict[int, Range]]:
        """Halve each box at its axis; children keep the bounds of their parents."""
        rows, axis = np.arange(len(parents)), parents.axis
        low, high = parents.boxes.lower[rows, axis], parents.boxes.upper[rows, axis]
        end = start = low / 2 + high / 2
        if self.integral is not None:
            whole = self.integral[axis]
            end = np.where(whole, np.floor(end), end)
            start = np.where(whole, end + 1.0, start)
        twice = np.tile(rows, 2)
        lower, upper = parents.boxes.lower[twice], parents.boxes.upper[twice]
        upper[rows, axis] = end
        lower[rows + rows.size, axis] = start
        both, left = Boxes(lower, upper, parents.boxes.ball).inside()
        both = self._rounded(both)
        kept = twice[left]
        known = {v: (below[kept], above[kept]) for v, (below, above) in parents.known.items()}
        return both, parents.upper[kept], known

    def _bound(self, boxes: Boxes, upper: FloatArray, known: dict[int, Range]) -> None:
        """Bound ``boxes``, try points of those that stay open, and queue these."""
        self.boxes += len(boxes)
        coefficients = np.zeros((len(boxes), boxes.lower.shape[1]))
        for backward in (False, True):
            found = self._crown.bounds(boxes, known, backward=backward)
            upper, coefficients = self._margins(boxes, found, upper, coefficients)
            left = ~(upper < -self.needed).all(axis=1)
            closed = upper[~left]
            self._closed = np.maximum(self._closed, closed.max(axis=0, initial=-np.inf))
            boxes, upper, coefficients = boxes[left], upper[left], coefficients[left]
            found = [(low[left], high[left]) for low, high in found]
            known = {value: found[value] for value in self._crown.hidden if value}
            if not len(boxes):
                return
        self._try(boxes, coefficients)
        worst = np.argmax(upper + self.needed, axis=1)
        _, bend = slope_ranges(self.network, found, worst)
        width = self._widths(boxes)
        # where no input matters to the form, the widest is split
        axis = np.argmax((np.abs(coefficients) + bend + 1e-12) * width, axis=1)
        splittable = width[np.arange(len(boxes)), axis] > 0
        self._closed = np.maximum(self._closed, upper[~splittable].max(axis=0, initial=-np.inf))
        self.stuck += int((~splittable).sum())
        self._open.push(Scored(boxes, upper, axis, known)[splittable])

    def _margins(
        self, boxes: Boxes, found: list[Range], upper: FloatArray, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bound the margins that are open; return bounds, and the form of each box's worst."""
        owner, margin = np.nonzero(~(upper < -self.needed))
        forms = self._crown.margins(boxes, found, owner, margin)
        upper = upper.copy()
        upper[owner, margin] = np.fmin(upper[owner, margin], forms.upper)
        # the last row written for a box is its worst
        order = np.argsort(forms.upper + self.needed[margin], kind="stable")
        coefficients = coefficients.copy()
        coefficients[owner[order]] = forms.coefficients[order]
        return upper, coefficients

    def _widths(self, boxes: Boxes) -> FloatArray:
        """Return the widths of inputs that can be split; zero where there is no number between."""
        middle = boxes.middle
        between = (boxes.lower < middle) & (middle < boxes.upper)
        if self.integral is not None:
            between |= self.integral & (boxes.lower < boxes.upper)
        return np.where(between, boxes.upper - boxes.lower, 0.0)

    def _try(self, boxes: Boxes, coefficients: FloatArray) -> None:
        """Evaluate two points of each box; keep the worst, and replay those above zero."""
        middle = boxes.middle
        if self.integral is not None:
            middle = np.where(self.integral, np.round(middle), middle)
        points = np.concatenate([boxes.farthest(coefficients), middle])
        values = batch_values(self.network, points.T)[-1]
        best = np.argmax(values, axis=1)
        best_values = values[np.arange(best.size), best]
        better = best_values > self.reached
        self.worst[better], self.reached[better] = points[best[better]], best_values[better]
        highest = values.max(axis=0)
        for place in np.argsort(-highest, kind="stable")[:_REPLAYS]:
            if not highest[place] > 0:
                break
            if self.replays(points[place]):
                self.found = points[place]
                break
