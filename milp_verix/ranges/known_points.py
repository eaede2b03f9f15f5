"""Inputs that change the prediction, or are likely to: they refute boxes without a solver.

A point is a suspect until onnxruntime was run on it, which happens when a range is to end at it.
Suspects come from climbs: with kept features at the values of a row, or anywhere, gradients move
the free ones within their room until a margin is above zero.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.gradient_ascent import frank_wolfe
from milp_verix.oracle.witness import replayed
from milp_verix.problem.problem import PosedProblem
from milp_verix.ranges.regions import Regions, State
from milp_verix.results.records.verdict import Verdict
from verix_encodings import Interval
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Late
from verix_encodings.bounds.one_hot_box import one_hot_box
from verix_encodings.network.batch import batch_gradients, batch_values

_STEPS = 6
_SHARES = (1.0, 0.5, 0.2)


@dataclass(slots=True, eq=False)
class KnownPoints:
    """The points of the box ``whole``, the widest one, that a search has seen so far.

    ``places`` are their places on the axes, shape (N, axes, 2).
    """

    regions: Regions
    whole: PosedProblem
    points: list[NDArray[Any]] = field(default_factory=list)
    places: FloatArray = field(init=False)
    _verdicts: dict[int, Verdict | None] = field(default_factory=dict)
    _everything: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.places = np.zeros((0, len(self.regions.axes), 2))
        self._everything = np.arange(self.regions.problem.x.size)

    def suspect(self, points: FloatArray) -> None:
        """Add the inputs next to ``points``, (N, d), at which some margin is above zero."""
        ball, margins = self.whole.ball, self.whole.margins
        near = [ball.nearest_witness(point, self._everything) for point in points]
        if not near:
            return
        inputs = np.array(near)
        worst = batch_values(margins, inputs.astype(np.float64).T)[-1].max(axis=0)
        self._add(inputs[worst > 0])

    def learn(self, verdict: Verdict) -> int:
        """Add a counterfactual; return its number."""
        assert verdict.witness is not None
        self._add(verdict.witness.reshape(1, -1))
        self._verdicts[len(self.points) - 1] = verdict
        return len(self.points) - 1

    def _add(self, inputs: NDArray[Any]) -> None:
        self.points += [*inputs]
        self.places = np.concatenate([self.places, self.regions.places(inputs)])

    def verdict(self, number: int) -> Verdict | None:
        """Return the verdict of onnxruntime on a point: VIOLATED, or None where it is not."""
        if number not in self._verdicts:
            point = self.points[number].astype(np.float64)
            self._verdicts[number] = replayed(self.whole, point, self._everything)
        return self._verdicts[number]

    @property
    def suspected(self) -> BoolArray:
        """Mark the points that no replay has cleared, shape (N,)."""
        cleared = [number for number, verdict in self._verdicts.items() if verdict is None]
        marks = np.ones(len(self.points), dtype=bool)
        marks[cleared] = False
        return marks

    def within(self, state: State) -> IntArray:
        """Return the numbers of the suspected points in a box."""
        beyond = self.regions.beyond(self.places, state).any(axis=1)
        return np.flatnonzero(self.suspected & ~beyond)


def climbed(regions: Regions, starts: FloatArray, late: Late) -> FloatArray:
    """Return ``starts``, (N, d), with free features moved to where a margin is high."""
    free, margins = regions.free, regions.problem.margins
    if not free.size or not len(starts):
        return starts
    lower, upper = regions.ends(regions.widest)
    place = np.full(lower.size, -1)
    place[free] = np.arange(free.size)
    mixed = regions.problem.ball.mixed
    blocks = [place[block] for block in (mixed.blocks if mixed else ()) if place[block[0]] >= 0]
    room = one_hot_box(Interval(lower[free], upper[free]), blocks)
    base = starts.T.copy()
    output = np.argmax(batch_values(margins, base)[-1], axis=0)

    def inputs(points: FloatArray, numbers: IntArray) -> FloatArray:
        whole = base[:, numbers].copy()
        whole[free] = points
        return whole

    def values(points: FloatArray, numbers: IntArray) -> FloatArray:
        reached = batch_values(margins, inputs(points, numbers))[-1]
        return np.asarray(reached[output[numbers], np.arange(numbers.size)])

    def gradients(points: FloatArray, numbers: IntArray) -> FloatArray:
        there = batch_values(margins, inputs(points, numbers))
        return batch_gradients(margins, there, output[numbers])[free]

    found, _ = frank_wolfe(
        np.clip(base[free], lower[free, None], upper[free, None]),
        values,
        gradients,
        room.farthest,
        steps=_STEPS,
        shares=_SHARES,
        gain=1e-9,
        enough=1e-3,
        late=late,
    )
    return inputs(found, np.arange(len(starts))).T
