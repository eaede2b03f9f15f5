"""Boxes of a branch and bound on inputs, with the bounds proven on them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.boxes import Boxes
from verix_encodings.bounds.interval import Range


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

    @classmethod
    def joined(cls, groups: "Sequence[Scored]") -> "Scored":
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
        return cls(
            groups[0].boxes.at(lower, upper),
            np.concatenate([group.upper for group in groups]),
            np.concatenate([group.axis for group in groups]),
            known,
        )
