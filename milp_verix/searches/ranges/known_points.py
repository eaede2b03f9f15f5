"""Inputs that change the prediction, or are likely to: they refute boxes without a solver.

A point is a suspect until onnxruntime was run on it, which happens when a range is to end at it.
Suspects come from climbs: with kept features at the values of a row, or anywhere, gradients move
the free ones within their room until a margin is above zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.attacks import frank_wolfe, margins_along
from milp_verix.oracle.verdict import Verdict, replayed
from milp_verix.problem.problem import PosedProblem
from milp_verix.searches.ranges.axes import WordAxis
from milp_verix.searches.ranges.regions import Regions, State, stacked
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.boxes import put_best
from verix_encodings.bounds.interval import Late
from verix_encodings.network import batch_outputs

_STEPS = 6  # of a climb; not measured
_SHARES = (1.0, 0.5, 0.2)  # tried at each; not measured
_ENOUGH = 1e-3  # of a margin: more than what onnxruntime rounds


@dataclass(slots=True, eq=False)
class KnownPoints:
    """The points of the box ``whole``, the widest one, that a search has seen so far.

    ``places`` are their places on the axes, shape (N, axes, 2).
    """

    regions: Regions
    whole: PosedProblem
    points: list[NDArray[Any]] = field(default_factory=list)
    places: FloatArray = field(init=False)
    cleared: set[int] = field(default_factory=set)
    _verdicts: dict[int, Verdict | None] = field(default_factory=dict)
    _everything: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.places = np.zeros((0, len(self.regions.axes), 2))
        self._everything = np.arange(self.regions.problem.x.size)

    def suspect(self, points: FloatArray) -> None:
        """Add the inputs next to ``points``, (N, d), at which some margin is above zero."""
        ball, margins = self.whole.ball, self.whole.margins
        points = points[batch_outputs(margins, points.T).max(axis=0) > 0]
        near = [ball.some_input(point, self._everything) for point in points]
        if not near:
            return
        inputs = np.array(near)
        if ball.mixed is not None:  # to repair points that break rules takes a program each
            inputs = inputs[ball.mixed.containing(inputs.astype(np.float64))]
        worst = batch_outputs(margins, inputs.astype(np.float64).T).max(axis=0)
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
            if self._verdicts[number] is None:
                self.cleared.add(number)
        return self._verdicts[number]

    def within(self, state: State) -> IntArray:
        """Return the numbers of the suspected points in a box."""
        marks: BoolArray = np.logical_not(self.regions.beyond(self.places, state).any(axis=1))
        marks[[*self.cleared]] = False
        return np.flatnonzero(marks)

    def refuting(self, state: State) -> Verdict | None:
        """Return a known counterfactual in a box; None without one."""
        verdicts = (self.verdict(number) for number in self.within(state).tolist())
        return next((verdict for verdict in verdicts if verdict is not None), None)


def climbed(
    regions: Regions, lower: FloatArray, upper: FloatArray, draw: np.random.Generator, late: Late
) -> FloatArray:
    """Return points of boxes, one in each, where a margin is high; boxes and points are (N, d).

    Climbs begin at random points. With ``x = l + (u − l) ∘ t`` they run side by side over one unit
    cube of ``t``.
    """
    margins, mixed = regions.problem.margins, regions.problem.ball.mixed
    width, base = (upper - lower).T, lower.T
    blocks = [b for b in (mixed.blocks if mixed else ()) if np.isin(b, regions.free).all()]
    # unit vectors that the ball does not have do not count
    top = np.where(regions.ends(regions.widest)[1] >= 1, 1.0, 0.0)

    def inputs(points: FloatArray, numbers: IntArray) -> FloatArray:
        return np.asarray(base[:, numbers] + width[:, numbers] * points)

    def farthest(ways: FloatArray) -> FloatArray:
        ends = (ways.T > 0).astype(np.float64)
        put_best(ends, ways.T, top, blocks)
        return ends.T

    every = np.arange(len(lower))
    starts = farthest(draw.standard_normal(width.shape))
    output = np.argmax(batch_outputs(margins, inputs(starts, every), late), axis=0)
    values, slopes = margins_along(margins, output, inputs, late)
    found, _ = frank_wolfe(
        starts,
        values,
        lambda points, numbers: width[:, numbers] * slopes(points, numbers),
        farthest,
        steps=_STEPS,
        shares=_SHARES,
        gain=1e-9,
        enough=_ENOUGH,
        late=late,
    )
    return inputs(found, every).T


def boxes_of(
    regions: Regions, states: Sequence[State], each: int, draw: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of ``each`` boxes for each state, (N, d), with one word for each category."""
    ends = stacked([regions.ends(state) for state in states])
    lower, upper = (np.repeat(end, each, axis=0) for end in ends)
    for column, axis in enumerate(regions.axes):
        if isinstance(axis, WordAxis):
            words = [draw.choice(sorted(state[column]), each) for state in states]
            axis.put(lower, np.concatenate(words))
            axis.put(upper, np.concatenate(words))
    return lower, upper
