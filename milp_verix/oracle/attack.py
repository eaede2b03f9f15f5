"""Gradient attacks on many features at once: counterfactuals where programs are dear.

For the set ``B`` that is proven free, feature ``i`` and margin ``j``, Frank and Wolfe's method
climbs

    δ ↦ m_j(x + w ∘ δ),   w = 1 on the coordinates of B ∪ {i}, 0 elsewhere,   x + δ in the ball,

for many pairs ``(i, j)`` in one batch, from the worst points known of ``B``. A point where a margin
is above zero is run in onnxruntime; the input that changes the prediction keeps ``i`` in the
explanation for good, since ``B`` only grows. Nothing is proven of features that survive.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from milp_verix.oracle.gradient_ascent import frank_wolfe
from milp_verix.oracle.witness import replayed
from milp_verix.problem.problem import Problem
from milp_verix.records.verdict import Stage, Verdict
from verix_encodings import Interval, Network, NormBall
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network.batch import batch_gradients, batch_values

_RIVALS = 3
_STEPS = 20
_STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)
_MOST_VALUES = 2e6


def attacked(
    problem: Problem,
    margins: Network,
    starts: FloatArray,
    irrelevant: Sequence[int],
    features: Sequence[int],
    *,
    late: Late = never,
) -> Iterator[tuple[int, Verdict]]:
    """Yield those of ``features`` that a climb shows to be needed beside ``irrelevant``.

    ``starts`` are inputs of the ball over ``irrelevant``, the worst one known for each margin,
    shape (m, d). Once ``late()``, no more features are looked at.
    """
    centre = problem.x.astype(np.float64)
    reached = np.max(batch_values(margins, starts.T)[-1], axis=1)
    rivals = np.argsort(-reached, kind="stable")[:_RIVALS]
    base = np.zeros(centre.size)
    base[problem.features.coordinates(irrelevant)] = 1.0
    # a batch holds every value of the network for each climb and step
    values = sum(margins.sizes) * rivals.size * len(_STEP_LENGTHS)
    size = max(int(_MOST_VALUES / values), 1)
    for first in range(0, len(features), size):
        if late():
            return
        some = features[first : first + size]
        weights = np.repeat(base[:, None], len(some), axis=1)
        for column, feature in enumerate(some):
            weights[problem.features.groups[feature], column] = 1.0
        yield from _climbed(problem, margins, starts[rivals] - centre, some, weights, rivals, late)


def _climbed(
    problem: Problem,
    margins: Network,
    deltas: FloatArray,
    features: Sequence[int],
    weights: FloatArray,
    rivals: IntArray,
    late: Late,
) -> Iterator[tuple[int, Verdict]]:
    """Climb each rival for each feature, ``weights`` being ``w``, shape (d, features)."""
    centre, count = problem.x.astype(np.float64)[:, None], len(features)
    # the pairs of features and rivals, all features of one rival after the other
    weight = np.tile(weights, rivals.size)
    outputs = np.repeat(rivals, count)

    def inputs(points: FloatArray, numbers: IntArray) -> FloatArray:
        return np.asarray(centre + weight[:, numbers] * points)

    def values(points: FloatArray, numbers: IntArray) -> FloatArray:
        reached = batch_values(margins, inputs(points, numbers))[-1]
        return np.asarray(reached[outputs[numbers], np.arange(numbers.size)])

    def gradients(points: FloatArray, numbers: IntArray) -> FloatArray:
        there = batch_values(margins, inputs(points, numbers))
        return weight[:, numbers] * batch_gradients(margins, there, outputs[numbers])

    points, reached = frank_wolfe(
        np.repeat(deltas.T, count, axis=1),
        values,
        gradients,
        _around_zero(problem).farthest,
        steps=_STEPS,
        shares=_STEP_LENGTHS,
        gain=1e-9,
        late=late,
    )
    for column, feature in enumerate(features):
        mine = np.arange(column, reached.size, count)
        coordinates = np.flatnonzero(weights[:, column])
        for best in mine[np.argsort(-reached[mine], kind="stable")]:
            if reached[best] <= 0:
                break
            point = inputs(points[:, [best]], np.array([best]))[:, 0]
            if (verdict := replayed(problem, point, coordinates)) is not None:
                yield (
                    feature,
                    Verdict(
                        verdict.answer,
                        witness=verdict.witness,
                        prediction=verdict.prediction,
                        stage=Stage.POINTS,
                    ),
                )
                break


def _around_zero(problem: Problem) -> Interval | NormBall:
    """Return the perturbations of the ball: the region, moved to zero."""
    region = problem.ball.region(np.arange(problem.x.size))
    centre = problem.x.astype(np.float64)
    box = region if isinstance(region, Interval) else region.box
    moved = Interval(np.minimum(box.lower - centre, 0.0), np.maximum(box.upper - centre, 0.0))
    if isinstance(region, Interval):
        return moved
    return NormBall(moved, np.zeros(centre.size), region.radius, region.norm)
