"""Counterfactuals with fewer and smaller changes, in few digits, for readers.

A program's point sits at an end of each range that it may use. Most of these changes are not needed
for the outcome: groups of features go back to the input as long as the prediction is another one.
Then all numbers approach the input, one after the other: whole ones to the nearest value that is
enough, real ones by grids. Several sequences are tried if few numbers move, and the nearest
point is kept; trees have thresholds instead, see :mod:`.plain_tree_points`. Real numbers
are told in few digits at last, see :mod:`.few_digits`. onnxruntime runs each point that is kept,
and each lies in the ball, so the result is a counterfactual as the first one was. No proof depends
on it.
A deadline ends the work: a counterfactual that was not reached by then stays as it was found.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias, TypeVar

import numpy as np

from milp_verix.base.clock import BeyondMemoryError, Deadline, OutOfTimeError
from milp_verix.oracle.verdict import violated_by
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.build import counterfactual_of
from milp_verix.results.few_digits import Condition, Point, first_changed, in_few_digits
from milp_verix.results.plain_tree_points import plain_tree_point, put_back
from milp_verix.results.records.audit import Audit
from milp_verix.results.records.base import Counterfactual
from milp_verix.results.records.explanation import Explanation

Found = TypeVar("Found", Explanation, Audit)
First: TypeAlias = Callable[[Point], int | None]
"""A function that returns the first row, of candidates (n, d), that is a counterfactual."""

_GRIDS, _PARTS, _FINEST = 13, 32, 1000
"""Grids between the input and a change, their parts, and those of all that real numbers get."""
_SCANNED = 64
"""Whole numbers between the input and a change that are looked at one by one."""
_SEQUENCES, _MOST_MOVED = 4, 64
"""Sequences of features, each beginning with another one, and the features moved in all of them."""
_SPARE = 0.5
"""Seconds after a search's limit in which its counterfactuals become plain all the same."""


def _always(_: Point) -> bool:
    return True


def with_plain_counterfactuals(found: Found, problem: PosedProblem, deadline: Deadline) -> Found:
    """Return an explanation, or an audit, with counterfactuals that are plain by ``deadline``."""
    points: Mapping[int, Counterfactual] = {
        feature: plain_counterfactual(problem, point, deadline)
        for feature, point in found.counterfactuals.items()
    }
    changed = replace(found, counterfactuals=points)
    if isinstance(changed, Audit) and changed.counterexample is not None:
        plain = plain_counterfactual(problem, changed.counterexample, deadline)
        return replace(changed, counterexample=plain)
    return changed


_MOST_VALUES = 4_000_000
"""Values of the network, for each change, up to which each feature is tried alone; not measured."""


def plain_counterfactual(
    problem: PosedProblem, found: Counterfactual, deadline: Deadline, allowed: Condition = _always
) -> Counterfactual:
    """Return a counterfactual that changes no other features than ``found``, and fewer if it can.

    ``allowed`` is a further condition on its input, flat, shape (d,), which ``found`` satisfies.
    A described one of very many features stays as it is.
    """
    point = found.input.reshape(-1).copy()
    if problem.inputs is not None and not _cheap(problem, point):
        return found
    late = deadline.sooner(-_SPARE)
    in_time = _in_time(allowed, late)
    with suppress(OutOfTimeError, BeyondMemoryError):
        in_time(point)
        if problem.margins.stepped:
            point = plain_tree_point(problem, point, in_time)
        elif problem.inputs is not None:
            point = _plain_point(problem, point, in_time, late)
        point = in_few_digits(problem, point, in_time)
    return _told(problem, found, point)


def _in_time(allowed: Condition, deadline: Deadline) -> Condition:
    """Return the condition ``allowed``, which raises ``OutOfTimeError`` after the deadline."""

    def in_time(candidate: Point) -> bool:
        deadline.check()
        return allowed(candidate)

    return in_time


def _cheap(problem: PosedProblem, point: Point) -> bool:
    changes = np.count_nonzero(point != problem.x)
    return bool(changes * sum(problem.margins.sizes) <= _MOST_VALUES)


def rounded_counterfactual(
    problem: PosedProblem, found: Counterfactual, deadline: Deadline, allowed: Condition
) -> Counterfactual:
    """Return ``found`` with fewer digits in real numbers, nearer to the input or farther.

    ``allowed`` is a condition on its input, flat, shape (d,), such as the distance that is proven.
    """
    point = found.input.reshape(-1).copy()
    with suppress(OutOfTimeError, BeyondMemoryError):
        point = in_few_digits(
            problem, point, _in_time(allowed, deadline.sooner(-_SPARE)), near=False
        )
    return _told(problem, found, point)


def _told(problem: PosedProblem, found: Counterfactual, point: Point) -> Counterfactual:
    """Return the counterfactual at ``point``; ``found`` if its library does not agree."""
    point = point.reshape(problem.network.input_shape)
    if np.array_equal(point, found.input):
        return found
    outputs = problem.network.outputs_at(point)
    if not problem.question.changed(outputs):
        return found
    point.flags.writeable = False
    return counterfactual_of(violated_by(problem.question, point, outputs))


def _plain_point(
    problem: PosedProblem, point: Point, allowed: Condition, deadline: Deadline
) -> Point:
    """Return a described input near ``point`` that changes as few of its features as is found."""
    inputs = problem.inputs
    assert inputs is not None

    def first(candidates: Point) -> int | None:
        deadline.check()  # a margin that stays below zero is not asked if it is allowed
        return first_changed(problem, candidates, allowed)

    point = put_back(problem, point, allowed)
    numbers = [
        (int(group[0]), feature.whole)
        for feature, group in zip(inputs.features, inputs.groups, strict=True)
        if not feature.unordered and point[group[0]] != problem.x[group[0]]
    ]
    return _near(problem, point, numbers, first)


def _near(
    problem: PosedProblem, point: Point, numbers: list[tuple[int, bool]], first: First
) -> Point:
    """Return ``point`` with its ``numbers``, coordinates and if they are whole, near the input.

    The nearest of several sequences, by the sum of the shares of its changes.
    """
    if not numbers:
        return point
    at = [coordinate for coordinate, _ in numbers]
    x, far = problem.x[at].astype(np.float64), point[at].astype(np.float64)
    found = []
    sequences = min(len(numbers), _SEQUENCES, max(_MOST_MOVED // len(numbers), 1))
    for begin in range(sequences):
        near = point
        for coordinate, whole in numbers[begin:] + numbers[:begin]:
            near = _nearer(problem, near, coordinate, whole, first)
        found.append(near)
    shares = [
        float(np.sum(np.abs(one[at].astype(np.float64) - x) / np.abs(far - x))) for one in found
    ]
    return found[int(np.argmin(shares))]


def _nearer(problem: PosedProblem, point: Point, at: int, whole: bool, first: First) -> Point:
    """Return ``point`` with coordinate ``at`` nearer to the input, and a change all the same."""
    near, far = float(problem.x[at]), float(point[at])
    finest = abs(far - near) / _FINEST
    for _ in range(_GRIDS if near != far else 0):
        values = np.linspace(near, far, _PARTS + 1)[1:-1]
        if whole:
            close = abs(far - near) <= _SCANNED
            values = np.arange(near, far, np.sign(far - near))[1:] if close else np.rint(values)
        if not len(values) or (not whole and abs(far - near) < finest):
            break
        candidates = np.tile(point, (len(values), 1))
        candidates[:, at] = values
        row = first(candidates)
        if row is None:
            near = float(values[-1])
        else:
            near, far = float(values[row - 1]) if row else near, float(values[row])
            point = candidates[row]
    return point
