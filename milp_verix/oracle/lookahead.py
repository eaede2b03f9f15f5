"""Guesses on the features that come next, from known points and by forward passes.

Along a traversal ``B`` only grows, so an input that changes the prediction and differs from ``x``
in ``B ∪ {i}`` alone keeps ``i`` in the explanation for good, however far the traversal has come
when it is found. And from the worst point ``x*`` of margin ``j``, with its gradient ``g``,

    m_j(x* + d) ≈ m_j(x*) + g·d

is exact until a phase changes: it picks the features worth a forward pass, and estimates how many
features in a row may be freed together. No proof rests on it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from milp_verix.oracle.gradient_ascent import climb
from milp_verix.oracle.reuse import Memory
from milp_verix.oracle.verdict import Stage, Verdict
from milp_verix.oracle.witness import replayed
from milp_verix.problem.problem import PosedProblem
from verix_encodings import Interval, Network, NormBall
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.interval import Late, never


def flipped(
    problem: PosedProblem,
    memory: Memory,
    irrelevant: Sequence[int],
    features: Sequence[int],
    late: Late = never,
) -> Iterator[tuple[int, Verdict]]:
    """Yield the ``features`` whose change, added to a worst point, changes the prediction.

    ``memory`` belongs to the set ``irrelevant``; once ``late()``, no more features are tried.
    """
    expected = memory.reached[:, None] + _rises(problem, memory)
    for feature in features:
        if late():
            return
        if np.all(expected[:, feature] <= 0):
            continue
        free = problem.features.coordinates([*irrelevant, feature])
        region, group = problem.ball.region(free), problem.features.groups[feature]
        for margin in np.argsort(-expected[:, feature], kind="stable"):
            if expected[margin, feature] <= 0:
                break
            point = region.farthest(memory.gradients[margin])
            if isinstance(region, Interval):
                # the other coordinates are where they do most already
                point, end = memory.points[margin].copy(), point[group]
                point[group] = end
            if memory.network.evaluate(point)[margin] <= 0:
                continue
            if (verdict := replayed(problem, point, free)) is not None:
                yield feature, verdict
                break


def _rises(problem: PosedProblem, memory: Memory) -> FloatArray:
    """Return the first-order gain of each margin with each feature freed; shape (m, features)."""
    rises = memory.rises(problem.ball.outer, problem.ball.region(memory.free))
    return problem.features.totals(rises)


def forecast(
    problem: PosedProblem, memory: Memory, irrelevant: Sequence[int], features: Sequence[int]
) -> int:
    """Guess how many of ``features``, from the first on, can be freed together; at least one."""
    if problem.ball.norm == "linf":
        rises = _rises(problem, memory)[:, list(features)]
        expected = memory.reached[:, None] + np.cumsum(rises, axis=1)
        beyond = np.flatnonzero((expected >= 0).any(axis=0))
        return max(1, int(beyond[0])) if beyond.size else len(features)
    base = memory.reached - _greatest(problem, memory, irrelevant)
    least, most = 0, len(features)
    while least < most:
        middle = (least + most + 1) // 2
        there = base + _greatest(problem, memory, [*irrelevant, *features[:middle]])
        least, most = (middle, most) if np.all(there < 0) else (least, middle - 1)
    return max(1, least)


def shortest_violated(
    problem: PosedProblem,
    margins: Network,
    irrelevant: Sequence[int],
    block: Sequence[int],
    verdict: Verdict,
    *,
    late: Late = never,
) -> tuple[int, Verdict]:
    """Return the shortest prefix of ``block`` found to be violated, by halving.

    ``verdict`` is the one on the whole block: its witness is pulled into the ball of a prefix, and
    climbs there. Once ``late()``, the shortest prefix so far is returned.
    """
    lengths = [0, len(block)]
    while lengths[1] - lengths[0] > 1 and not late():
        middle = sum(lengths) // 2
        witness = verdict.point
        worst = int(np.argmax(margins.evaluate(witness)))
        free = problem.features.coordinates([*irrelevant, *block[:middle]])
        point = climb(margins, problem.ball.region(free), witness, worst, late)
        shorter = replayed(problem, point, free) if margins.evaluate(point)[worst] > 0 else None
        if shorter is None:
            lengths[0] = middle
        else:
            lengths[1], verdict = middle, replace(shorter, stage=Stage.POINTS)
    return lengths[1], verdict


def _greatest(problem: PosedProblem, memory: Memory, features: Sequence[int]) -> FloatArray:
    """Return the largest value of each margin's gradient over the ball with ``features`` free."""
    region = problem.ball.region(problem.features.coordinates(features))
    assert isinstance(region, NormBall)
    return region.greatest(memory.gradients)
