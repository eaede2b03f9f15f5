"""Counterfactuals whose real numbers have few digits, so that they can be told as they are.

A number that is told in a sentence has to work as it is printed. So the number itself is moved: to
the nearest ones with one digit, two digits and so on, until the prediction changes there, with all
other numbers as they are told.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.number_text import rounder
from milp_verix.problem.problem import PosedProblem
from verix_encodings.network.batch import batch_values

_CLOSE = 1e-4
"""A margin so far below zero, as a share of the largest, is no change in onnxruntime."""
_ROUNDS = 3
"""Rounds over all numbers: one that was moved may leave another one more room."""

Point = NDArray[Any]
Condition = Callable[[Point], bool]


def first_changed(problem: PosedProblem, candidates: Point, allowed: Condition) -> int | None:
    """Return the first row of ``candidates``, (n, d), that is a counterfactual and ``allowed``.

    Of trees it is one as far as sums without rounding tell; the runtime of a network is run.
    """
    if not len(candidates):
        return None
    worst = batch_values(problem.margins, candidates.T.astype(np.float64))[-1].max(axis=0)
    stepped, least = problem.margins.stepped, 0.0
    if not stepped:  # the network may round across a margin close to zero
        least = -_CLOSE * max(float(np.abs(worst).max()), 1.0)
    for row in np.flatnonzero(worst > least).tolist():
        one = candidates[row]
        if (
            problem.ball.contains(one, np.flatnonzero(one != problem.x))
            and allowed(one)
            and (stepped or problem.question.changed(problem.network.evaluate(one)))
        ):
            return int(row)
    return None


def replaced(
    problem: PosedProblem, point: Point, at: int, values: Point, allowed: Condition
) -> Point:
    """Return ``point`` with the first of ``values`` at ``at`` with which it counts; else itself."""
    candidates = np.repeat(point[None], len(values), axis=0)
    candidates[:, at] = values
    found = first_changed(problem, candidates, allowed)
    return point if found is None else candidates[found]


def in_few_digits(
    problem: PosedProblem, point: Point, allowed: Condition, *, near: bool = True
) -> Point:
    """Return a counterfactual like ``point``, (d,), whose moved real numbers have few digits.

    Not one of them has fewer digits when it is rounded alone. ``near`` is that of
    :func:`~milp_verix.number_text.rounder`.
    """
    moved = _real(problem, point)
    for _ in range(_ROUNDS):
        before = point
        for at in moved:
            values = [*rounder(point[at], problem.x[at], near=near)]
            point = replaced(problem, point, at, np.array(values, dtype=point.dtype), allowed)
        if len(moved) == 1 or np.array_equal(before, point):
            break
    return point


def _real(problem: PosedProblem, point: Point) -> list[int]:
    """Return the coordinates of the real numbers, none of them missing, that ``point`` moves."""
    moved = point != problem.x
    if problem.inputs is None:
        told = problem.margins.stepped or problem.features.names is not None
        return np.flatnonzero(moved & told).tolist()
    pairs = zip(problem.inputs.features, problem.inputs.groups, strict=True)
    return [
        int(group[0])
        for feature, group in pairs
        if feature.kind == "continuous"
        and moved[group[0]]
        and max(point[group[0]], problem.x[group[0]]) <= feature.last
    ]
