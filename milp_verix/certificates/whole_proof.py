"""Proofs as certificates hold them: points that show features to be needed, and claims about sets.

A counterfactual of an L∞ ball mostly has coordinates at the ends of the ball, or those of the
input: ``-``, ``+`` and ``.``. Moved in irrelevant features alone, it is a start; with the own
coordinates of another feature it is often a point for that one, too. So features share starts: the
counterfactual with the most moves is the first, then that of a feature which no start serves yet.
Other points, and those of other balls, list their coordinates. A margin that float64 puts far above
zero, in units of its rounding, needs no fractions; the checker evaluates any other one exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline
from milp_verix.certificates.certificate import Certificate, ball_of, exact
from milp_verix.certificates.lower_bounds import bound_claim, bound_proof
from milp_verix.certificates.phase_leaves import NoProofError
from milp_verix.certificates.sets_of import (
    Keeper,
    SetProof,
    bound_by_changes,
    importance_proof,
    no_part_proof,
)
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.problem.ball import Ball
from milp_verix.results.build import problem_behind
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.power_indices import IndexBracket, brackets
from verix_checker.claim import Claim
from verix_checker.sets import MOST
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.network import Network, batch_values

# the rounding of float64 is a ten-billionth of that, in units of the largest value
_FAR = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points by feature, as certificates have them: ``starts`` are texts, ``points`` the moves."""

    starts: list[str] = field(default_factory=list)
    points: dict[int, dict[str, Any]] = field(default_factory=dict)


def points_of(explanation: Explanation, margins: Network, claim: Callable[[], Claim]) -> Points:
    """Return a point for each feature needed exactly; ``claim`` decides on margins near zero."""
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


_FEW = 64
"""Features of a network whose lower bounds are tried to be proven by changes, if not otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A certificate, its claim as the checker reads it, and a way to prove other claims."""

    certificate: Certificate
    claim: Callable[[], Claim]
    keeper: Keeper


def with_sets(
    proof: Proof,
    explanation: Explanation,
    network: LoadedModel,
    about: Relevance | Importance | None,
    deadline: Deadline,
) -> Proof:
    """Return a proof with the lower bound of ``explanation``, or with what another result says.

    A lower bound without a proof is left out, and noted. ``NoProofError`` if the result ``about``
    features that play no part, or about importance, has none.
    """
    made = proof.certificate
    assert made.data is not None
    data: dict[str, Any] = dict(made.data)
    value: Any
    if about is not None:
        with closing(
            SetProof(problem_behind(explanation, network), proof.claim(), deadline)
        ) as found:
            if isinstance(about, Relevance):
                name, value = "no_part", sorted(about.features)
                data[name] = no_part_proof(found, frozenset(about.features), proof.keeper)
            else:
                name, value = "importance", _brackets(about)
                data[name] = importance_proof(found, about, proof.keeper)
        data["claim"] = {**data["claim"], name: value}
        return replace(proof, certificate=replace(made, data=data, about=name))
    least = bound_claim(explanation)
    try:
        data["minimum"] = _lower_bound(proof, explanation, network, least, deadline)
    except NoProofError as error:
        data["notes"] = [f"the lower bound {least['bound']} is not proven here: {error}"]
        return replace(proof, certificate=replace(made, data=data))
    data["claim"] = {**data["claim"], "minimum": least}
    return replace(proof, certificate=replace(made, data=data, bound=least["bound"]))


def _brackets(found: Importance) -> dict[str, Any]:
    """Return exact brackets of a Shapley value; none of many features, whose subsets count."""
    if found.index != "shapley" or len(found.game.players) > MOST:
        return {}
    known = brackets(found.game, found.index)
    nothing = IndexBracket(Fraction(0), Fraction(0))
    ends = [known.get(feature, nothing) for feature in range(len(found.groups))]
    return {"shapley": [[exact(one.lower), exact(one.upper)] for one in ends]}


def _lower_bound(
    proof: Proof,
    explanation: Explanation,
    network: LoadedModel,
    least: dict[str, Any],
    deadline: Deadline,
) -> dict[str, Any]:
    claim = proof.claim()
    if not (claim.ball.rules or claim.loose):
        try:
            return bound_proof(claim, least, deadline)
        except NoProofError:
            if len(explanation.groups) > _FEW or deadline.passed():
                raise
    with closing(SetProof(problem_behind(explanation, network), claim, deadline)) as found:
        for known in explanation.counterfactuals.values():
            found.add(known.input)
        return bound_by_changes(found, least)
