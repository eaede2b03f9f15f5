"""Open boxes of a branch and bound on inputs: the worst first, within a cap on memory."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.boxes import Boxes
from verix_encodings.bounds.lines import Range


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Boxes with proven ``upper`` bounds on the margins, (N, m), and the input to split, (N,).

    ``known`` are bounds of hidden values over each box, by the number of the value.
    """

    boxes: Boxes
    upper: FloatArray
    axis: IntArray
    known: dict[int, Range]

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> "Scored":
        known = {value: (low[chosen], high[chosen]) for value, (low, high) in self.known.items()}
        return Scored(self.boxes[chosen], self.upper[chosen], self.axis[chosen], known)

    @property
    def bytes(self) -> int:
        """The memory that the boxes take."""
        arrays = [self.boxes.lower, self.upper, *(low for low, _ in self.known.values())]
        return 2 * sum(array.nbytes for array in arrays)


@dataclass(slots=True, eq=False)
class OpenBoxes:
    """A queue of open boxes; ``needed`` are the distances from zero that close a margin.

    The group with the worst bound comes first; beyond ``most_bytes`` the one pushed last, so that
    the search runs into depth and frees memory.
    """

    needed: FloatArray
    most_bytes: int = 2**29
    bytes: int = 0
    _heap: list[tuple[float, int, Scored]] = field(default_factory=list)
    _count: int = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, scored: Scored) -> None:
        """Add boxes, each of which has a margin that is open."""
        if not len(scored):
            return
        worst = (scored.upper + self.needed).max(axis=1)
        order = np.argsort(-worst, kind="stable")
        self._put(scored[order], float(worst[order[0]]))

    def pop(self, count: int) -> Scored:
        """Remove up to ``count`` boxes and return them."""
        taken: list[Scored] = []
        left = count
        while left and self._heap:
            group = self._get()
            taken.append(group[:left])
            if len(group) > left:
                rest = group[left:]
                self._put(rest, float((rest.upper[0] + self.needed).max()))
            left -= len(taken[-1])
        return joined(taken)

    def upper(self) -> FloatArray:
        """Return the worst bound of each margin over all open boxes, shape (m,)."""
        uppers = [scored.upper.max(axis=0) for _, _, scored in self._heap]
        return (
            np.max(uppers, axis=0, initial=-np.inf)
            if uppers
            else -np.inf * np.ones_like(self.needed)
        )

    def _put(self, scored: Scored, worst: float) -> None:
        self._count += 1
        self.bytes += scored.bytes
        heapq.heappush(self._heap, (-worst, self._count, scored))

    def _get(self) -> Scored:
        if self.bytes <= self.most_bytes:
            scored = heapq.heappop(self._heap)[2]
        else:
            last = max(range(len(self._heap)), key=lambda place: self._heap[place][1])
            scored = self._heap.pop(last)[2]
            heapq.heapify(self._heap)
        self.bytes -= scored.bytes
        return scored


def joined(groups: Sequence[Scored]) -> Scored:
    """Return the boxes of several groups, at least one, as one group."""
    if len(groups) == 1:
        return groups[0]
    lower = np.concatenate([group.boxes.lower for group in groups])
    upper = np.concatenate([group.boxes.upper for group in groups])
    known = {
        value: (
            np.concatenate([group.known[value][0] for group in groups]),
            np.concatenate([group.known[value][1] for group in groups]),
        )
        for value in groups[0].known
    }
    return Scored(
        Boxes(lower, upper, groups[0].boxes.ball),
        np.concatenate([group.upper for group in groups]),
        np.concatenate([group.axis for group in groups]),
        known,
    )
