"""Counterfactuals of trees with few changes, each just beyond a threshold, in few digits.

Between two thresholds a tree says the same, so the only values worth a try are those next to the
input explained in each cell, and plain numbers a little beyond. Trees are evaluated for many
candidates at once; the library runs the last one alone.
"""

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.engines.leaves import cells_for
from milp_verix.problem.problem import PosedProblem
from verix_encodings.arrays import FloatArray
from verix_encodings.network.batch import batch_values

_DIGITS = (2, 3, 4, 5, 6, 8)
_MOST_TRIED = 24
"""Values of a coordinate that are tried, the nearest first."""


def plain_tree_point(problem: PosedProblem, found: NDArray[np.floating]) -> FloatArray:
    """Return an input near ``found``, flat, that changes no other features, and fewer if it can.

    The prediction changes there as far as sums without rounding tell.
    """
    point = _put_back(problem, found.astype(np.float64))
    unordered, mixed = np.zeros(point.size, dtype=bool), problem.ball.mixed
    if problem.inputs is not None:
        for feature, group in zip(problem.inputs.features, problem.inputs.groups, strict=True):
            unordered[group] = feature.unordered
    moved = np.flatnonzero((point != problem.x) & ~unordered).tolist()
    point = _replaced(problem, point, {at: _nearer(problem, point, at) for at in moved})
    real = [at for at in moved if mixed is None or not mixed.integral[at]]
    return _replaced(problem, point, {at: _few_digits(problem, point, at) for at in real})


def _first_changed(problem: PosedProblem, candidates: FloatArray) -> int | None:
    """Return the first row of ``candidates``, (n, d), in the ball where a rival wins."""
    if not len(candidates):
        return None
    worst = batch_values(problem.margins, candidates.T)[-1].max(axis=0)
    for row in np.flatnonzero(worst > 0).tolist():
        moved = np.flatnonzero(candidates[row] != problem.x)
        if problem.ball.contains(candidates[row], moved):
            return int(row)
    return None


def _put_back(problem: PosedProblem, point: FloatArray) -> FloatArray:
    """Return ``point`` with as many groups as at the input as suffice, the least missed first."""
    x = problem.x.astype(np.float64)
    while True:
        groups = [group for group in problem.features.groups if np.any(point[group] != x[group])]
        alone = np.tile(point, (len(groups), 1))
        for row, group in enumerate(groups):
            alone[row, group] = x[group]
        worst = batch_values(problem.margins, alone.T)[-1].max(axis=0)
        ranked = [groups[row] for row in np.argsort(-worst, kind="stable") if worst[row] > 0]
        # all beginnings of the ranking at once, the longest first
        candidates = np.tile(point, (len(ranked), 1))
        for row, group in enumerate(ranked):
            candidates[row:, group] = x[group]
        kept = _first_changed(problem, candidates[::-1])
        if kept is None:
            return point
        point = candidates[::-1][kept]


def _replaced(
    problem: PosedProblem, point: FloatArray, values: dict[int, FloatArray]
) -> FloatArray:
    """Return ``point`` with the first of the ``values`` of each coordinate that suffices.

    All at once if that suffices, else one after the other.
    """
    owners = np.repeat(list(values), [found.size for found in values.values()]).astype(np.intp)
    if not owners.size:
        return point
    candidates = np.tile(point, (owners.size, 1))
    candidates[np.arange(owners.size), owners] = np.concatenate(list(values.values()))
    worst = batch_values(problem.margins, candidates.T)[-1].max(axis=0)
    chosen: dict[int, float] = {}
    for at, row, margin in zip(owners.tolist(), candidates, worst.tolist(), strict=True):
        if margin > 0 and at not in chosen:
            chosen[at] = float(row[at])
    together = point.copy()
    together[list(chosen)] = list(chosen.values())
    if _first_changed(problem, together[None, :]) is not None:
        return together
    for at, value in chosen.items():
        alone = point.copy()
        alone[at] = value
        point = point if _first_changed(problem, alone[None, :]) is None else alone
    return point


def _nearer(problem: PosedProblem, point: FloatArray, at: int) -> FloatArray:
    """Return the values of coordinate ``at`` next to the input in each cell on the way to it."""
    x, own = float(problem.x[at]), cells_for(problem).of_feature(at)
    mixed = problem.ball.mixed
    whole = mixed is not None and bool(mixed.integral[at])
    if point[at] > x:
        beyond = own[(own >= x) & (own < point[at])][:_MOST_TRIED]
        return np.asarray(np.floor(beyond) + 1.0 if whole else np.nextafter(beyond, np.inf))
    before = own[(own < x) & (own >= point[at])][::-1][:_MOST_TRIED]
    return np.asarray(np.floor(before) if whole else before)


def _few_digits(problem: PosedProblem, point: FloatArray, at: int) -> FloatArray:
    """Return values of coordinate ``at`` with few digits, a little farther from the input."""
    x = float(problem.x[at])
    return np.array([_away(float(point[at]), x, digits) for digits in _DIGITS])


def _away(value: float, x: float, digits: int) -> float:
    """Return ``value`` with so many digits, rounded away from ``x``."""
    if value in (0.0, x):
        return value
    nearest = float(f"{value:.{digits - 1}e}")
    if (nearest >= value) == (value > x) or nearest == value:
        return nearest
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    step = 10.0 ** (exponent - digits + 1)
    moved = nearest + (step if value > x else -step)
    return float(f"{moved:.{digits - 1}e}")
