"""Counterfactuals whose real numbers have few digits, so that they can be told as they are.

A number that is told in a sentence has to work as it is printed. So the number itself is moved: to
the nearest ones with one digit, two digits and so on, until the prediction changes there, with all
other numbers as they are told.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.number_text import rounder
from milp_verix.problem.problem import PosedProblem
from verix_encodings.network import batch_outputs

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
    for row in _likely(problem, candidates):
        one = candidates[row]
        if _inside(problem, one, allowed) and (
            problem.margins.stepped or problem.question.changed(problem.network.outputs_at(one))
        ):
            return row
    return None


def _likely(problem: PosedProblem, candidates: Point) -> list[int]:
    """Return the rows of ``candidates``, (n, d), in the box where a margin may be above zero."""
    if not len(candidates):
        return []
    worst = batch_outputs(problem.margins, candidates.T.astype(np.float64)).max(axis=0)
    least = 0.0
    if not problem.margins.stepped:  # the network may round across a margin close to zero
        least = -_CLOSE * max(float(np.abs(worst).max()), 1.0)
    inside = (candidates >= problem.ball.inner_lower) & (candidates <= problem.ball.inner_upper)
    return np.flatnonzero((worst > least) & inside.all(axis=1)).tolist()


def _inside(problem: PosedProblem, one: Point, allowed: Condition) -> bool:
    return problem.ball.contains(one, np.flatnonzero(one != problem.x)) and allowed(one)


def replaced(
    problem: PosedProblem, point: Point, values: Mapping[int, Point], allowed: Condition
) -> Point:
    """Return ``point`` with the first of the ``values`` of each coordinate that is enough.

    All at once if that is enough, else one after the other.
    """
    owners = np.repeat([*values], [len(found) for found in values.values()]).astype(np.intp)
    if not owners.size:
        return point
    candidates = np.repeat(point[None], owners.size, axis=0)
    candidates[np.arange(owners.size), owners] = np.concatenate([*values.values()])
    chosen: dict[int, int] = {}
    for row in _likely(problem, candidates):
        at = int(owners[row])
        if at not in chosen and _inside(problem, candidates[row], allowed):
            chosen[at] = row
    if not chosen:
        return point
    together = point.copy()
    for at, row in chosen.items():
        together[at] = candidates[row, at]
    if first_changed(problem, together[None], allowed) is not None:
        return together
    for at, row in chosen.items():
        further = candidates[row:][owners[row:] == at]
        rows = np.repeat(point[None], len(further), axis=0)
        rows[:, at] = further[:, at]
        found = first_changed(problem, rows, allowed)
        point = point if found is None else rows[found]
    return point


def in_few_digits(
    problem: PosedProblem, point: Point, allowed: Condition, *, near: bool = True
) -> Point:
    """Return a counterfactual like ``point``, (d,), whose moved real numbers have few digits.

    Not one of them has fewer digits when it is rounded alone. ``near`` is that of
    :func:`~milp_verix.base.number_text.rounder`.
    """
    moved = _real(problem, point)
    for _ in range(_ROUNDS):
        pairs = ((at, rounder(point[at], problem.x[at], near=near)) for at in moved)
        values = {at: np.array([*found], dtype=point.dtype) for at, found in pairs}
        before, point = point, replaced(problem, point, values, allowed)
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
