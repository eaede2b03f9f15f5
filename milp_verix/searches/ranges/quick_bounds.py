"""Bounds on the margins over many boxes at once: they prove most steps of a search for ranges."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.tolerances import Tolerances
from milp_verix.searches.ranges.regions import Regions, State, stacked
from verix_encodings import Interval, crown_bounds
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.boxes import Boxes, root_boxes
from verix_encodings.bounds.one_hot_box import one_hot_box
from verix_encodings.propagation.batch_crown import BatchCrown


@dataclass(frozen=True, slots=True, eq=False)
class QuickBounds:
    """Backward bounds on boxes inside the widest one, ``root``, computed in batches.

    A margin is proven below ``-needed``, shape (m,).
    """

    regions: Regions
    crown: BatchCrown
    root: Boxes
    needed: FloatArray

    @classmethod
    def over(cls, regions: Regions, tolerances: Tolerances, deadline: Deadline) -> Self | None:
        """Return the bounds over the widest box; None if they leave the range of float64."""
        lower, upper = regions.ends(regions.widest)
        mixed = regions.problem.ball.mixed
        region = one_hot_box(Interval(lower, upper), mixed.blocks if mixed else ())
        margins = regions.problem.margins
        try:
            bounds = crown_bounds(margins, region, late=deadline.passed)
        except OverflowError:
            return None
        needed = tolerances.needed(bounds[-1].magnitude)
        return cls(regions, BatchCrown(margins, bounds), root_boxes(region), needed)

    def proven(self, states: Sequence[State], deadline: Deadline) -> BoolArray:
        """Mark the boxes in which the prediction is proven to stay, or that hold no input."""
        if not states:
            return np.zeros(0, dtype=bool)
        lower, upper = stacked([self.regions.ends(state) for state in states])
        left = np.ones(len(states), dtype=bool)
        if (mixed := self.regions.problem.ball.mixed) is not None:
            lower, upper, left = mixed.cut(lower, upper)
        boxes, found = self.root.at(lower[left], upper[left]), ~left
        if left.any():
            # the cost of a pass that stops: wider bounds, and nothing proven wrongly
            ranges = self.crown.bounds(boxes, {}, deadline.passed)
            size = self.needed.size
            owner = np.repeat(np.arange(len(boxes)), size)
            which, late = np.tile(np.arange(size), len(boxes)), deadline.passed
            forms = self.crown.margins(boxes, ranges, owner, which, late)
            # a NaN is no bound
            highest = np.fmin(forms.upper.reshape(-1, size), self.crown.root[-1].upper)
            found[left] = np.all(highest < -self.needed, axis=1)
        return found
