"""Gradient attacks on many features at once: counterfactuals where programs are dear.

For the set ``B`` that is proven free, feature ``i`` and margin ``j``, Frank and Wolfe's method
climbs

    δ ↦ m_j(x + w ∘ δ),   w = 1 on the coordinates of B ∪ {i}, 0 elsewhere,   x + δ in the ball,

for many pairs ``(i, j)`` in one batch, from the worst points known of ``B``. A point where a margin
is above zero is run in onnxruntime; the input that changes the prediction keeps ``i`` in the
explanation for good, since ``B`` only grows. Nothing is proven of features that survive. Features
that need several batches are attacked only if a climb with all of them free finds something.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from milp_verix.oracle.gradient_ascent import frank_wolfe, margins_along
from milp_verix.oracle.verdict import Stage, Verdict
from milp_verix.oracle.witness import replayed
from milp_verix.problem.problem import PosedProblem
from verix_encodings import Interval, Network, NormBall
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network.batch import batch_outputs

_RIVALS = 3  # margins that are climbed; not measured
_STEPS = 20  # of a climb; not measured
_STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)  # tried at each; not measured
_MOST_VALUES = 2e6  # of a batch: 16 MB
# of a margin: more than what onnxruntime rounds
_ENOUGH = 1e-3


def attacked(
    problem: PosedProblem,
    margins: Network,
    starts: FloatArray,
    irrelevant: Sequence[int],
    features: Sequence[int],
    *,
    late: Late = never,
) -> Iterator[tuple[int, Verdict]]:
    """Yield those of ``features`` that a climb shows to be needed beside ``irrelevant``.

    ``starts`` are inputs of the ball over ``irrelevant``, the worst one known for each margin,
    shape (m, d), or one for all of them, (1, d). Once ``late()``, no more features are looked at.
    """
    if margins.stepped:
        return
    centre = problem.x.astype(np.float64)
    reached = np.max(batch_outputs(margins, starts.T, late), axis=1)
    rivals = np.argsort(-reached, kind="stable")[:_RIVALS]
    base = np.zeros(centre.size)
    base[problem.features.coordinates(irrelevant)] = 1.0
    # a batch holds every value of the network for each climb and step
    values = sum(margins.sizes) * rivals.size * len(_STEP_LENGTHS)
    size = max(int(_MOST_VALUES / values), 1)
    deltas = np.broadcast_to(starts, (margins.output_size, centre.size))[rivals] - centre
    if size < len(features):
        # several batches: not worth it if nothing is found with all features free
        every = base.copy()
        every[problem.features.coordinates(features)] = 1.0
        all_free = _Batch(problem, margins, features[:1], every[:, None], rivals, late)
        points, reached = all_free.climb(deltas)
        if np.all(reached <= 0):
            return
        deltas = points.T
    for first in range(0, len(features), size):
        if late():
            return
        some = features[first : first + size]
        weights = np.repeat(base[:, None], len(some), axis=1)
        for column, feature in enumerate(some):
            weights[problem.features.groups[feature], column] = 1.0
        batch = _Batch(problem, margins, some, weights, rivals, late)
        yield from batch.climbed(deltas)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Climbs of each of the margins ``rivals`` for each of ``features``, side by side.

    ``weights`` are ``w``, shape (d, features). The columns of a batch are pairs of a rival and a
    feature: those of the first rival first. Climbs end once ``late()``.
    """

    problem: PosedProblem
    margins: Network
    features: Sequence[int]
    weights: FloatArray
    rivals: IntArray
    late: Late

    def climbed(self, deltas: FloatArray) -> Iterator[tuple[int, Verdict]]:
        """Yield features with their counterfactuals; climbs begin at ``deltas``, (rivals, d)."""
        count = len(self.features)
        points, reached = self.climb(deltas, _ENOUGH)
        inputs = self._inputs(points, np.arange(reached.size))
        for place, feature in enumerate(self.features):
            mine = np.arange(place, reached.size, count)
            coordinates = np.flatnonzero(self.weights[:, place])
            for best in mine[np.argsort(-reached[mine], kind="stable")]:
                # many rules make a replay a program of its own
                if reached[best] <= 0 or self.late():
                    break
                verdict = replayed(self.problem, inputs[:, best], coordinates)
                if verdict is not None:
                    yield feature, replace(verdict, stage=Stage.POINTS)
                    break

    def climb(self, deltas: FloatArray, enough: float = np.inf) -> tuple[FloatArray, FloatArray]:
        """Return the points δ where the climbs from ``deltas`` end, and the margins there.

        A climb ends once its margin is above ``enough``.
        """
        count = len(self.features)
        outputs = np.repeat(self.rivals, count)
        values, slopes = margins_along(self.margins, outputs, self._inputs, self.late)
        return frank_wolfe(
            np.repeat(deltas.T, count, axis=1),
            values,
            lambda points, numbers: self.weights[:, numbers % count] * slopes(points, numbers),
            _around_zero(self.problem).farthest,
            steps=_STEPS,
            shares=_STEP_LENGTHS,
            gain=1e-9,
            enough=enough,
            late=self.late,
        )

    def _inputs(self, points: FloatArray, numbers: IntArray) -> FloatArray:
        """Return ``x + w ∘ δ`` for the ``points`` δ of the columns ``numbers``."""
        weight = self.weights[:, numbers % len(self.features)]
        return np.asarray(self.problem.x.astype(np.float64)[:, None] + weight * points)


def _around_zero(problem: PosedProblem) -> Interval | NormBall:
    """Return the perturbations of the ball: the region, moved to zero."""
    region = problem.ball.region(np.arange(problem.x.size))
    centre = problem.x.astype(np.float64)
    box = region if isinstance(region, Interval) else region.box
    moved = Interval(np.minimum(box.lower - centre, 0.0), np.maximum(box.upper - centre, 0.0))
    if isinstance(region, Interval):
        return moved
    return NormBall(moved, np.zeros(centre.size), region.radius, region.norm)
