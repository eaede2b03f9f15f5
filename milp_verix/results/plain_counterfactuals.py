"""Counterfactuals with fewer and smaller changes, in few digits, for readers.

A program's point sits at an end of each range that it may use. Most of these changes are not needed
for the outcome: groups of features go back to the input as long as the prediction is another one.
Then all numbers approach the input, one after the other: whole ones to the nearest value that is
enough, real ones by grids. Several sequences are tried if few numbers move, and the nearest
point is kept. Between two thresholds a tree says the same, so of trees the only values worth a try
are those next to the input in each cell.

A number that stands in a sentence has to work as it is printed. So real numbers are moved at last
to the nearest ones with one digit, two digits and so on, until the prediction changes there, with
all other numbers as they are written.

onnxruntime runs each point that is kept, and each lies in the ball, so the result is a
counterfactual as the first one was. No proof depends on it. A deadline ends the work: a
counterfactual that was not reached by then stays as it was found.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import BeyondMemoryError, Deadline, OutOfTimeError
from milp_verix.base.number_text import rounder
from milp_verix.oracle.verdict import violated_by
from milp_verix.problem.ball import rounded_to
from milp_verix.problem.problem import ProblemData
from milp_verix.results.base import Counterfactual
from milp_verix.results.build import counterfactual_of
from milp_verix.results.explanation import Explanation
from verix_encodings.network import batch_outputs

if TYPE_CHECKING:
    from milp_verix.results.audit import Audit

_CLOSE = 1e-4
"""A margin so far below zero, as a share of the largest, is no change in onnxruntime."""
_ROUNDS = 3
"""Rounds over all numbers: one that was moved may leave another one more room."""

Point = NDArray[Any]
Condition = Callable[[Point], bool]


def first_changed(problem: ProblemData, candidates: Point, allowed: Condition) -> int | None:
    """Return the first row of ``candidates``, (n, d), that is a counterfactual and ``allowed``.

    Of trees it is one as far as sums without rounding tell; the runtime of a network is run, and
    that of trees at a tie.
    """
    for row, margin in _likely(problem, candidates).items():
        one = candidates[row]
        if _inside(problem, one, allowed) and (
            (problem.margins.stepped and margin > 0)
            or problem.question.changed(problem.network.outputs_at(one))
        ):
            return row
    return None


def _likely(problem: ProblemData, candidates: Point) -> dict[int, float]:
    """Return rows of ``candidates``, (n, d), in the box, and margins: these may be above zero."""
    if not len(candidates):
        return {}
    worst = batch_outputs(problem.margins, candidates.T.astype(np.float64)).max(axis=0)
    least = 0.0
    if not problem.margins.stepped:  # the network may round across a margin close to zero
        least = -_CLOSE * max(float(np.abs(worst).max()), 1.0)
    inside = (candidates >= problem.ball.inner_lower) & (candidates <= problem.ball.inner_upper)
    rows = np.flatnonzero((worst >= least) & inside.all(axis=1))
    return dict(zip(rows.tolist(), worst[rows].tolist(), strict=True))


def _inside(problem: ProblemData, one: Point, allowed: Condition) -> bool:
    return problem.ball.contains(one, np.flatnonzero(one != problem.x)) and allowed(one)


def replaced(
    problem: ProblemData, point: Point, values: Mapping[int, Point], allowed: Condition
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
    problem: ProblemData, point: Point, allowed: Condition, *, near: bool = True
) -> Point:
    """Return a counterfactual like ``point``, (d,), whose moved real numbers have few digits.

    Not one of them has fewer digits when it is rounded alone. ``near`` is that of
    :func:`~milp_verix.base.number_text.rounder`; no number is nearer to a missing one than others.
    """
    moved = _real(problem, point)
    last = {} if problem.inputs is None else problem.inputs.missing
    close = {at: near and problem.x[at] <= last.get(at, np.inf) for at in moved}
    for _ in range(_ROUNDS):
        pairs = ((at, rounder(point[at], problem.x[at], near=close[at])) for at in moved)
        values = {at: np.array([*found], dtype=point.dtype) for at, found in pairs}
        before, point = point, replaced(problem, point, values, allowed)
        if len(moved) == 1 or np.array_equal(before, point):
            break
    return point


def _real(problem: ProblemData, point: Point) -> list[int]:
    """Return the coordinates that ``point`` moves to real numbers, none of them missing."""
    moved = point != problem.x
    if problem.inputs is None:
        exact_only = problem.margins.stepped or problem.features.names is not None
        return np.flatnonzero(moved & exact_only).tolist()
    pairs = zip(problem.inputs.features, problem.inputs.groups, strict=True)
    return [
        int(group[0])
        for feature, group in pairs
        if feature.kind == "continuous" and moved[group[0]] and point[group[0]] <= feature.last
    ]


_MOST_TRIED = 24
"""Values of a coordinate that are tried, the nearest first."""


def plain_tree_point(problem: ProblemData, found: Point, allowed: Condition) -> Point:
    """Return an input near ``found``, flat, that changes no other features, and fewer if it can.

    The prediction changes there as far as sums without rounding tell.
    """
    point = put_back(problem, found, allowed)
    unordered = np.zeros(point.size, dtype=bool)
    if problem.inputs is not None:
        for feature, group in zip(problem.inputs.features, problem.inputs.groups, strict=True):
            unordered[group] = feature.unordered
    moved = np.flatnonzero((point != problem.x) & ~unordered).tolist()
    nearer = {at: _in_cells(problem, point, at) for at in moved}
    return replaced(problem, point, nearer, allowed)


def put_back(problem: ProblemData, point: Point, allowed: Condition) -> Point:
    """Return ``point``, of any network, with groups back at the input, the least missed first."""
    x = problem.x
    while True:
        groups = [group for group in problem.features.groups if np.any(point[group] != x[group])]
        alone = np.tile(point, (len(groups), 1))
        for row, group in enumerate(groups):
            alone[row, group] = x[group]
        worst = batch_outputs(problem.margins, alone.T.astype(np.float64)).max(axis=0)
        ranked = [groups[row] for row in np.argsort(-worst, kind="stable") if worst[row] >= 0]
        # all beginnings of the ranking at once, the longest first
        candidates = np.tile(point, (len(ranked), 1))
        for row, group in enumerate(ranked):
            candidates[row:, group] = x[group]
        kept = first_changed(problem, candidates[::-1], allowed)
        if kept is None:
            return point
        point = candidates[::-1][kept]


def _in_cells(problem: ProblemData, point: Point, at: int) -> Point:
    """Return the values of coordinate ``at`` next to the input in each cell on the way to it."""
    from milp_verix.oracle.engines.leaves import cells_for

    x, own = float(problem.x[at]), cells_for(problem).of_feature(at)
    mixed = problem.ball.mixed
    whole = mixed is not None and bool(mixed.integral[at])
    if point[at] > x:
        beyond = own[(own >= x) & (own < point[at])][:_MOST_TRIED]
        return rounded_to(
            np.floor(beyond) + 1.0 if whole else np.nextafter(beyond, np.inf), point.dtype, np.inf
        )
    before = own[(own < x) & (own >= point[at])][::-1][:_MOST_TRIED]
    return rounded_to(np.floor(before) if whole else before, point.dtype, -np.inf)


Found = TypeVar("Found", Explanation, "Audit")
First: TypeAlias = Callable[[Point], int | None]
"""A function that returns the first row, of candidates (n, d), that is a counterfactual."""

_GRIDS, _PARTS, _FINEST = 13, 32, 1000
"""Grids between the input and a change, their parts, and those of all that real numbers get."""
_SCANNED = 64
"""Whole numbers between the input and a change that are looked at one by one."""
_SEQUENCES, _MOST_MOVED = 4, 64
"""Sequences of features, each beginning with another one, and the features moved in all of them."""
_MOST_VALUES = 4_000_000
"""Values of the network, for each change, up to which each feature is tried alone; not measured."""
_SPARE = 0.5
"""Seconds after a search's limit in which its counterfactuals become plain all the same."""


def with_plain_counterfactuals(found: Found, problem: ProblemData, deadline: Deadline) -> Found:
    """Return an explanation, or an audit, with counterfactuals that are plain by ``deadline``."""
    points: Mapping[int, Counterfactual] = {
        feature: plain_counterfactual(problem, point, deadline)
        for feature, point in found.counterfactuals.items()
    }
    changed = replace(found, counterfactuals=points) if points else found
    first: Counterfactual | None = getattr(changed, "counterexample", None)  # of an audit
    if first is None:
        return changed
    audit: Any = changed
    plainer: Found = replace(audit, counterexample=plain_counterfactual(problem, first, deadline))
    return plainer


def plain_counterfactual(
    problem: ProblemData,
    found: Counterfactual,
    deadline: Deadline,
    allowed: Condition = lambda _: True,
) -> Counterfactual:
    """Return a counterfactual that changes no other features than ``found``, and fewer if it can.

    ``allowed`` is a further condition on its input, flat, shape (d,), which ``found`` satisfies.
    A described one of very many features stays as it is.
    """
    point = found.input.reshape(-1).copy()
    changes = np.count_nonzero(point != problem.x)
    if problem.inputs is not None and changes * sum(problem.margins.sizes) > _MOST_VALUES:
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
    return _exchanged(problem, found, point)


def _in_time(allowed: Condition, deadline: Deadline) -> Condition:
    """Return the condition ``allowed``, which raises ``OutOfTimeError`` after the deadline."""

    def in_time(candidate: Point) -> bool:
        deadline.require_time()
        return allowed(candidate)

    return in_time


def rounded_counterfactual(
    problem: ProblemData, found: Counterfactual, deadline: Deadline, allowed: Condition
) -> Counterfactual:
    """Return ``found`` with fewer digits in real numbers, nearer to the input or farther.

    ``allowed`` is a condition on its input, flat, shape (d,), such as the distance that is proven.
    """
    point, in_time = found.input.reshape(-1).copy(), _in_time(allowed, deadline.sooner(-_SPARE))
    with suppress(OutOfTimeError, BeyondMemoryError):
        point = in_few_digits(problem, point, in_time, near=False)
    return _exchanged(problem, found, point)


def _exchanged(problem: ProblemData, found: Counterfactual, point: Point) -> Counterfactual:
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
    problem: ProblemData, point: Point, allowed: Condition, deadline: Deadline
) -> Point:
    """Return a described input near ``point`` that changes as few of its features as is found.

    Of several sequences of numbers, each brought near the input, the nearest point by the sum of
    the shares of its changes.
    """
    inputs = problem.inputs
    assert inputs is not None

    def first(candidates: Point) -> int | None:
        deadline.require_time()  # a margin that stays below zero is not asked if it is allowed
        return first_changed(problem, candidates, allowed)

    point = put_back(problem, point, allowed)
    numbers = [
        (int(group[0]), feature.whole)
        for feature, group in zip(inputs.features, inputs.groups, strict=True)
        if not feature.unordered and point[group[0]] != problem.x[group[0]]
    ]
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


def _nearer(problem: ProblemData, point: Point, at: int, whole: bool, first: First) -> Point:
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
