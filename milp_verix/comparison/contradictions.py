"""Find definite verdicts that contradict each other, whatever the traversals were.

If a check holds with the features ``B`` free, no counterfactual moves features of ``B`` alone. So a
counterfactual of any run that moves only features of a set that any run claims to hold refutes that
claim; that two runs ended in different sets without such a pair is no contradiction, since one
undecided feature changes the checks that follow it.

A claim is about real arithmetic and a counterfactual about the network's own: a margin of the
counterfactual that is not above zero in float64 too is rounding, and refutes nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.check_program import encode_problem
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search
from milp_verix.results.comparison import Disagreement, Pair, Run
from milp_verix.results.explanation import Explanation
from verix_encodings import Interval, interval_bounds
from verix_encodings.arrays import BoolArray

_Claims: TypeAlias = Iterator[tuple[tuple[int, ...], int]]
"""The features of a claim, and the number of a counterfactual that moves these alone."""


def contradictions(
    problem: ProblemData, runs: Sequence[Run], checks: Sequence[Sequence[int]], search: Search
) -> tuple[Disagreement, ...]:
    """Return, for each two pairs, the first claim of one that the other refutes, if any.

    ``checks`` are the compared checks, none for explanations; ``search`` bounds the network in the
    program of a refuted claim. A pair may contradict itself.
    """
    found: dict[tuple[Pair, Pair], Disagreement] = {}
    for violated in runs:
        points = _counterfactuals(violated)
        moved = _moved(problem, points)
        within = _within(checks, moved)
        # few margins are asked for, and each by many runs
        margin = cache(partial(_margin_at, problem, points))
        for holding in runs:
            pairs = (holding.pair, violated.pair)
            if holding.explanation is None:
                claims = _refuted_checks(holding, checks, within)
            else:
                claims = _refuted_prefixes(holding.explanation, moved)
            first = next(((f, n) for f, n in claims if margin(n)[1] > 0), None)
            if first is None or pairs in found:
                continue
            free, number = first
            how = Search(
                bounds=search.bounds, segments=search.segments, formulation=holding.pair.formulation
            )
            encoding = encode_problem(problem, free, search=how)
            found[pairs] = Disagreement(*pairs, free, points[number], *margin(number), encoding)
    return tuple(found.values())


def _counterfactuals(run: Run) -> list[NDArray[Any]]:
    if run.explanation is None:
        return [v.witness for v in run.verdicts if v.witness is not None]
    return [found.input for found in run.explanation.counterfactuals.values()]


def _moved(problem: ProblemData, points: Sequence[NDArray[Any]]) -> BoolArray:
    """Return which features each point moves, shape (points, features)."""
    moved = np.zeros((len(points), problem.features.count), dtype=bool)
    for row, point in zip(moved, points, strict=True):
        row[problem.features.of_coordinate[point.reshape(-1) != problem.x]] = True
    return moved


def _within(checks: Sequence[Sequence[int]], moved: BoolArray) -> BoolArray:
    """Return which points move free features alone, shape (points, checks)."""
    within, values = np.zeros((len(moved), len(checks)), dtype=bool), moved.astype(np.float32)
    for number, free in enumerate(checks if len(moved) else ()):
        fixed = np.ones(moved.shape[1], dtype=np.float32)  # of all checks it is gigabytes
        fixed[list(free)] = 0.0
        within[:, number] = values @ fixed == 0
    return within


def _refuted_checks(run: Run, checks: Sequence[Sequence[int]], within: BoolArray) -> _Claims:
    """Yield the first check that each point refutes, of those that hold; the smallest first."""
    holding = [number for number, verdict in enumerate(run.verdicts) if verdict.holds]
    holding.sort(key=lambda number: len(checks[number]))
    refuted = np.pad(within[:, holding], ((0, 0), (0, 1)), constant_values=True)
    return _ascending(refuted.argmax(axis=1), len(holding), lambda i: tuple(checks[holding[i]]))


def _refuted_prefixes(explanation: Explanation, moved: BoolArray) -> _Claims:
    """Yield the shortest prefix of the irrelevant features that each point refutes, ascending.

    The claims are nested: a point refutes the prefix that ends with the last feature it moves.
    """
    irrelevant = set(explanation.irrelevant)
    freed = tuple(feature for feature in explanation.permutation if feature in irrelevant)
    place = np.full(moved.shape[1], len(freed))
    place[list(freed)] = np.arange(len(freed))
    last = np.where(moved, place, 0).max(axis=1, initial=0)
    return _ascending(last, len(freed), lambda i: freed[: i + 1])


def _ascending(
    firsts: NDArray[np.intp], count: int, claim: Callable[[int], tuple[int, ...]]
) -> _Claims:
    """Yield claims and points in the order of ``firsts``; ``count`` stands for no claim."""
    for number in np.argsort(firsts, kind="stable"):
        if firsts[number] == count:
            return
        yield claim(int(firsts[number])), int(number)


def _margin_at(
    problem: ProblemData, points: Sequence[NDArray[Any]], number: int
) -> tuple[int, float]:
    """Return which margin of a point is the greatest, and the least that it can be there."""
    point = points[number].reshape(-1).astype(np.float64)
    try:
        values = interval_bounds(problem.margins, Interval(point, point))[-1].lower
    except OverflowError:
        return 0, 0.0  # a margin that float64 cannot tell refutes nothing
    index = int(np.argmax(values))
    return index, float(values[index])
