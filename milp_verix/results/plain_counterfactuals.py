"""Counterfactuals of described inputs, and of trees, with fewer and smaller changes, for readers.

A program's point sits at an end of each range that it may use. Most of these changes are not needed
for the outcome: groups of features go back to the input as long as the prediction is another one.
Then all numbers approach the input together by halving, and one after the other: whole ones to the
nearest value that is enough, real ones by halving, with few digits. Several sequences are tried,
and the nearest point is kept. onnxruntime runs each point that is kept, and each lies in the ball,
so the result is a counterfactual as the first one was. No proof depends on it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.witness import replayed, violated_by
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.build import counterfactual_of
from milp_verix.results.plain_tree_points import plain_tree_point
from milp_verix.results.public import Explanation
from milp_verix.results.records.base import Counterfactual
from verix_encodings.network.batch import batch_values

_DIGITS = (1, 2, 3, 4)
_HALVINGS = 10
"""Of real numbers, and of whole ones that are far away."""
_SCANNED = 64
"""Whole numbers between the input and a change that are looked at one by one."""
_SEQUENCES = 4
"""Sequences of features that are tried, each beginning with another one."""

_CLOSE = 1e-4
"""A margin so far below zero, as a share of the largest, is no change in onnxruntime."""

Point = NDArray[Any]


def with_plain_counterfactuals(explanation: Explanation, problem: PosedProblem) -> Explanation:
    """Return ``explanation`` with plain counterfactuals, if its input is described."""
    if problem.inputs is None and not problem.margins.stepped:
        return explanation
    found: Mapping[int, Counterfactual] = {
        feature: plain_counterfactual(problem, point)
        for feature, point in explanation.counterfactuals.items()
    }
    return replace(explanation, counterfactuals=found)


def plain_counterfactual(
    problem: PosedProblem, found: Counterfactual, allowed: Callable[[Point], bool] = lambda _: True
) -> Counterfactual:
    """Return a counterfactual that changes no other features than ``found``, and fewer if it can.

    ``allowed`` is a further condition on its input, flat, shape (d,), which ``found`` satisfies.
    """
    inputs, network = problem.inputs, problem.network
    if inputs is None and not problem.margins.stepped:
        return found
    point = found.input.reshape(-1).copy()

    def counts(candidate: Point) -> bool:
        moved = np.flatnonzero(candidate != problem.x)
        inside = problem.ball.contains(candidate, moved)
        return (
            inside and problem.question.changed(network.evaluate(candidate)) and allowed(candidate)
        )

    if problem.margins.stepped:
        plain = plain_tree_point(problem, point).astype(point.dtype)
        if np.array_equal(plain, point) or not allowed(plain):
            return found
        verdict = replayed(problem, plain, np.flatnonzero(plain != problem.x))
        return found if verdict is None else counterfactual_of(verdict)
    assert inputs is not None
    groups = [group for group in inputs.groups if np.any(point[group] != problem.x[group])]
    point = _put_back(point, problem.x, groups, counts)
    numbers = [
        (int(group[0]), feature.whole)
        for feature, group in zip(inputs.features, inputs.groups, strict=True)
        if not feature.unordered and point[group[0]] != problem.x[group[0]]
    ]
    point = _near(problem, point, numbers, counts).reshape(network.input_shape)
    point.flags.writeable = False
    return counterfactual_of(violated_by(problem.question, point, network.evaluate(point)))


def rounded_counterfactual(
    problem: PosedProblem, found: Counterfactual, allowed: Callable[[Point], bool]
) -> Counterfactual:
    """Return ``found`` with fewer digits in real numbers, a little farther from the input.

    ``allowed`` is a condition on its input, flat, shape (d,), such as the distance that is proven.
    """
    inputs, network = problem.inputs, problem.network
    if inputs is None:
        return found
    point = found.input.reshape(-1).copy()
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        at = int(group[0])
        if feature.kind == "continuous" and point[at] != problem.x[at]:
            point = _shortened(problem, point, at, allowed)
    point = point.reshape(network.input_shape)
    point.flags.writeable = False
    return counterfactual_of(violated_by(problem.question, point, network.evaluate(point)))


def _shortened(
    problem: PosedProblem, point: Point, at: int, allowed: Callable[[Point], bool]
) -> Point:
    """Return ``point`` with the fewest digits in coordinate ``at`` that are allowed."""
    value, away = float(point[at]), 1 if point[at] > problem.x[at] else -1
    for digits in range(1, 8):
        unit = 10.0 ** (np.floor(np.log10(abs(value))) - digits + 1) if value else 1.0
        for steps in (np.ceil(away * value / unit), np.round(away * value / unit)):
            candidate = point.copy()
            candidate[at] = float(f"{away * steps * unit:.{digits}g}")
            moved = np.flatnonzero(candidate != problem.x)
            if (
                allowed(candidate)
                and problem.ball.contains(candidate, moved)
                and problem.question.changed(problem.network.evaluate(candidate))
            ):
                return candidate
    return point


def _near(
    problem: PosedProblem,
    point: Point,
    numbers: list[tuple[int, bool]],
    counts: Callable[[Point], bool],
) -> Point:
    """Return ``point`` with its ``numbers``, coordinates and if they are whole, near the input.

    The nearest of several sequences, by the sum of the shares of its changes.
    """
    if not numbers:
        return point
    at = [coordinate for coordinate, _ in numbers]
    x, far = problem.x[at].astype(np.float64), point[at].astype(np.float64)
    found = []
    starts = [point, _together(problem, point, numbers, counts)] if len(numbers) > 1 else [point]
    for first in range(min(len(numbers), _SEQUENCES)):
        for start in starts:
            near = start
            for coordinate, whole in numbers[first:] + numbers[:first]:
                if near[coordinate] != problem.x[coordinate]:
                    near = _nearer(problem, near, coordinate, whole, counts)
            found.append(near)
    shares = [
        float(np.sum(np.abs(one[at].astype(np.float64) - x) / np.abs(far - x))) for one in found
    ]
    return found[int(np.argmin(shares))]


def _together(
    problem: PosedProblem,
    point: Point,
    numbers: list[tuple[int, bool]],
    counts: Callable[[Point], bool],
) -> Point:
    """Return ``point`` with all its numbers so far on the way to the input as halving finds."""
    at, whole = [one for one, _ in numbers], np.array([whole for _, whole in numbers])
    x, far = problem.x[at].astype(np.float64), point[at].astype(np.float64)
    best, near, end = point, 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (near + end) / 2
        values = x + middle * (far - x)
        candidate = point.copy()
        candidate[at] = np.where(
            whole, np.where(far > x, np.ceil(values), np.floor(values)), values
        )
        if counts(candidate):
            best, end = candidate, middle
        else:
            near = middle
    return best


def _put_back(
    point: Point, x: Point, groups: list[NDArray[np.intp]], counts: Callable[[Point], bool]
) -> Point:
    """Return ``point`` with as many of ``groups`` as at ``x`` as halving finds."""
    if not groups:
        return point
    candidate = point.copy()
    for group in groups:
        candidate[group] = x[group]
    if counts(candidate):
        return candidate
    if len(groups) == 1:
        return point
    middle = len(groups) // 2
    for half in (groups[:middle], groups[middle:]):
        point = _put_back(point, x, half, counts)
    return point


def _nearer(
    problem: PosedProblem, point: Point, at: int, whole: bool, counts: Callable[[Point], bool]
) -> Point:
    """Return ``point`` with coordinate ``at`` nearer to the input, and a change all the same."""
    x, most = float(problem.x[at]), float(point[at])
    if whole and abs(most - x) <= _SCANNED:
        return _scanned(problem, point, at, counts)
    near, far = x, most
    for _ in range(64 if whole else _HALVINGS):
        middle = (near + far) / 2
        if whole:
            middle = float(np.rint(middle)) if abs(far - near) > 1 else far
        if middle in (near, far):
            break
        candidate = point.copy()
        candidate[at] = middle
        if counts(candidate):
            point, far = candidate, float(candidate[at])
        else:
            near = middle
    return point if whole else _rounded(point, at, x, most, counts)


def _scanned(
    problem: PosedProblem, point: Point, at: int, counts: Callable[[Point], bool]
) -> Point:
    """Return ``point`` with the whole number at ``at`` that is nearest to the input."""
    x, most = float(problem.x[at]), float(point[at])
    values = np.arange(x, most, np.sign(most - x))[1:]
    candidates = np.repeat(point[None], len(values), axis=0)
    candidates[:, at] = values
    margins = batch_values(problem.margins, candidates.T.astype(np.float64))[-1].max(axis=0)
    # the network may round across a margin close to zero
    likely = margins > -_CLOSE * max(float(np.abs(margins).max(initial=0.0)), 1.0)
    return next((one for one in candidates[likely] if counts(one)), point)


def _rounded(
    point: Point, at: int, x: float, most: float, counts: Callable[[Point], bool]
) -> Point:
    """Return ``point`` with few digits in coordinate ``at``, between ``x`` and ``most``."""
    for digits in _DIGITS:
        value = float(f"{point[at]:.{digits}g}")
        candidate = point.copy()
        candidate[at] = value
        if min(x, most) <= value <= max(x, most) and counts(candidate):
            return candidate
    return point
