"""Points that show features to be needed, in few characters.

A counterfactual of an L∞ ball mostly has coordinates at the ends of the ball, or those of the
input: ``-``, ``+`` and ``.``. Moved in irrelevant features alone, it is a start; with the own
coordinates of another feature it is often a point for that one, too. So features share starts: the
counterfactual with the most moves is the first, then that of a feature which no start serves yet.
Other points, and those of other balls, list their coordinates.

A margin that float64 puts far above zero, in units of its rounding, needs no fractions; the checker
evaluates any other one exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.certificates.claims import ball_of, exact
from milp_verix.problem.ball import Ball
from milp_verix.results.records.explanation import ExplanationRecord
from verix_checker.claim import Claim
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.network.batch import batch_values
from verix_encodings.network.network import Network

# the rounding of float64 is a ten-billionth of that, in units of the largest value
_FAR = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points by feature, as certificates have them: ``starts`` are texts, ``points`` the moves."""

    starts: list[str] = field(default_factory=list)
    points: dict[int, dict[str, Any]] = field(default_factory=dict)


def points_of(
    explanation: ExplanationRecord, margins: Network, claim: Callable[[], Claim]
) -> Points:
    """Return a point for each feature whose counterfactual shows it to be needed exactly.

    ``margins`` is the network of these; ``claim`` returns the claim as the checker reads it, which
    decides where they are near zero.
    """
    ball = ball_of(explanation)
    given = {
        feature: found.input.ravel()
        for feature, found in sorted(explanation.counterfactuals.items())
    }
    shared = explanation.norm == "linf" and explanation.inputs is None
    result = _sharing(given, explanation.groups, ball, margins) if shared else Points()
    for feature in sorted(given.keys() - result.points.keys()):
        freed = [explanation.groups[one] for one in (*explanation.irrelevant, feature)]
        free = np.sort(np.concatenate([np.asarray(group) for group in freed]))
        point = given[feature].astype(np.float64)
        if ball.contains(given[feature], free) and (
            _changing(margins, point[None])[0] or _changes(claim(), point)
        ):
            moved = np.flatnonzero(given[feature] != ball.centre).tolist()
            result.points[feature] = {str(place): exact(point[place]) for place in moved}
    return result


def _sharing(
    given: Mapping[int, NDArray[Any]],
    groups: Sequence[tuple[int, ...]],
    ball: Ball,
    margins: Network,
) -> Points:
    """Return points for some of the features whose counterfactuals are ``given``."""
    result = Points()
    low, x, high = ball.outer.lower, ball.centre.astype(np.float64), ball.outer.upper
    # -1, 0, 1 for the nearest of an end, the input, the other end
    signs = {
        feature: (point > (x + high) / 2).astype(np.int8) - (point < (low + x) / 2)
        for feature, point in given.items()
    }
    for feature in sorted(signs, key=lambda one: -np.count_nonzero(signs[one])):
        if feature in result.points:
            continue
        start = signs[feature].copy()
        start[list(groups[feature])] = 0
        left = [one for one in signs if one not in result.points]
        points = np.tile(np.choose(start + 1, (low, x, high)), (len(left), 1))
        for row, one in enumerate(left):
            own = list(groups[one])
            points[row, own] = np.choose(signs[one][own] + 1, (low[own], x[own], high[own]))
        shown = [one for one, shows in zip(left, _changing(margins, points), strict=True) if shows]
        for one in shown:
            moves = {str(place): "-.+"[signs[one][place] + 1] for place in groups[one]}
            result.points[one] = {"start": len(result.starts), **moves}
        if shown:
            result.starts.append("".join("-.+"[sign] for sign in (start + 1).tolist()))
    return result


def _changing(margins: Network, points: FloatArray) -> BoolArray:
    """Return for which points, (N, d), a margin is certainly above zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = batch_values(margins, points.T)
    far = _FAR * max(float(np.max(np.abs(value), initial=1e-300)) for value in values)
    return np.asarray(values[-1].max(axis=0) > far)


def _changes(claim: Claim, point: FloatArray) -> bool:
    """Return whether a margin is above zero at ``point``, exactly."""
    exactly = [claim.one, *map(claim.net.number, point.tolist())]
    return bool(max(claim.net.values(exactly, claim.margins)) * claim.one > 1 + claim.limit)
