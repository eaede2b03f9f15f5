"""Counterfactuals of described inputs, and of trees, with fewer and smaller changes, for readers.

A program's point sits at an end of each range that it may use. Most of these changes are not needed
for the outcome: groups of features go back to the input as long as the prediction is another one,
then numbers approach the input by halving, and real ones lose digits. onnxruntime runs each point
that is kept, and each lies in the ball, so the result is a counterfactual as the first one was. No
proof depends on it.
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

_DIGITS = (2, 3, 4)
_HALVINGS = 10
"""Of real numbers; whole ones are halved until they are neighbours."""

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
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        if not feature.unordered and point[group[0]] != problem.x[group[0]]:
            point = _nearer(point, int(group[0]), float(problem.x[group[0]]), feature.whole, counts)
    point = point.reshape(network.input_shape)
    point.flags.writeable = False
    return counterfactual_of(violated_by(problem.question, point, network.evaluate(point)))


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


def _nearer(point: Point, at: int, x: float, whole: bool, counts: Callable[[Point], bool]) -> Point:
    """Return ``point`` with coordinate ``at`` as near to ``x`` as halving finds."""
    most = float(point[at])
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
