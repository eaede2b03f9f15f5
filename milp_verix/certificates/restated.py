"""Audits, ranges, radii and relevance as explanations that have certificates.

An audit is about a set that is sound, or one that is not. A set that is not sound is refuted by one
point: in terms of certificates, the features that the set leaves free are one feature, nothing is
irrelevant, and a point shows that feature to be needed.

Ranges are about a box, in which every feature may move: in terms of certificates, the domain of the
inputs is the box, and no feature is kept.

The lower end of a bracket is the radius of a ball in which its features are irrelevant. A protected
feature is relevant if some others are irrelevant, and are not once it is free, too: in terms of
certificates, it is feature 0, and needed.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np

from milp_verix.inputs.features import Feature
from milp_verix.problem.ball import make_ball
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Relevance
from milp_verix.results.ranges import FeatureRange, Ranges, RobustnessRadii

_UNTRIED = "not tried"


class _Coarser(Explanation):
    """An explanation whose features are groups of the features that its inputs describe."""

    __slots__ = ()

    def _refuse_contradictions(self) -> None:
        """Accept names, radii and inputs of other features."""


def sound_explanation(audit: Audit) -> Explanation:
    """Return the sound set of ``audit`` as an explanation."""
    irrelevant = tuple(sorted({*range(len(audit.groups))} - {*audit.sound_set}))
    found = audit.counterfactuals
    return _restated(audit, audit.sound_set, irrelevant, found, audit.unknown_reasons)


def refuting_explanation(audit: Audit) -> Explanation:
    """Return an explanation whose feature 0 is all that a set leaves free, with its counterexample.

    ``audit`` must have a counterexample.
    """
    assert audit.counterexample is not None
    kept = {i for feature in audit.explanation for i in audit.groups[feature]}
    free = {i for group in audit.groups for i in group} - kept
    groups = tuple(tuple(sorted(group)) for group in (free, kept) if group)
    return _restated(
        audit,
        tuple(range(len(groups))),
        (),
        {0: audit.counterexample},
        dict.fromkeys(range(1, len(groups)), _UNTRIED),
        kind=_Coarser,
        groups=groups,
        feature_names=None,
        feature_shape=None,
    )


def box_explanation(found: Ranges) -> Explanation:
    """Return the explanation that says that no input of the box of ``found`` is another class."""
    box = _domain(found) if found.inputs is None else _described(found)
    return _restated(found, (), tuple(range(len(found.groups))), {}, {}, **box)


def radius_explanation(found: RobustnessRadii) -> Explanation:
    """Return the explanation by all features but those of the bracket, at its lower end."""
    bracket = found.bracket
    changed: dict[str, Any] = {"epsilon": bracket.lower}
    if found.scale is not None:
        radii = tuple(bracket.lower * one for one in found.scale)
        changed = {"epsilon": max(radii), "radii": radii}
    kept = tuple(sorted({*range(len(found.groups))} - {*bracket.features}))
    return _restated(found, kept, bracket.features, {}, dict.fromkeys(kept, _UNTRIED), **changed)


def relevant_explanation(found: Relevance) -> Explanation:
    """Return the explanation whose feature 0 is what ``found`` is about, with its counterfactual.

    ``found`` must have evidence of relevance. Its free features are one, and the others are one.
    """
    assert found.counterfactual is not None
    assert found.free is not None
    parts = [{*found.features}, {*found.free}]
    parts.append({*range(len(found.groups))} - parts[0] - parts[1])
    free = (1,) if found.free else ()
    coordinates = [sorted(i for one in part for i in found.groups[one]) for part in parts if part]
    kept = tuple(place for place in range(len(coordinates)) if place not in free)
    return _restated(
        found,
        kept,
        free,
        {0: found.counterfactual},
        dict.fromkeys(kept[1:], _UNTRIED),
        kind=_Coarser,
        groups=tuple(map(tuple, coordinates)),
        feature_names=None,
        feature_shape=None,
    )


def everything_kept(found: Result) -> Explanation:
    """Return the explanation by all features, which says nothing but what ``found`` is about."""
    every = tuple(range(len(found.groups)))
    return _restated(found, every, (), {}, dict.fromkeys(every, _UNTRIED))


def _restated(
    result: Result,
    explanation: tuple[int, ...],
    irrelevant: tuple[int, ...],
    counterfactuals: Mapping[int, Counterfactual],
    unknown_reasons: Mapping[int, str],
    *,
    kind: type[Explanation] = Explanation,
    **changed: Any,
) -> Explanation:
    """Return an explanation about the question of ``result``, parts of which are ``changed``."""
    shared = {field.name: getattr(result, field.name) for field in fields(Result)}
    return kind(
        **{**shared, **changed},
        order="index",
        sensitivity=None,
        permutation=tuple(sorted((*explanation, *irrelevant))),
        explanation=explanation,
        irrelevant=irrelevant,
        unknown_reasons=unknown_reasons,
        counterfactuals=counterfactuals,
    )


def _domain(found: Ranges) -> dict[str, Any]:
    """Return a domain, and a radius that reaches all of it."""
    x = found.input.reshape(-1).astype(np.float64)
    ball = make_ball(found.input, found.epsilon, found.norm, found.domain)
    lower, upper = ball.outer.lower.copy(), ball.outer.upper.copy()
    for one in found.ranges:
        group = [*found.groups[one.feature]]
        low, high = one.ends_of(x[group])
        lower[group] = np.maximum(low, ball.domain_lower[group])
        upper[group] = np.minimum(high, ball.domain_upper[group])
    reach = np.nextafter(float(np.maximum(x - lower, upper - x).max(initial=0.0)), inf)
    return {"domain": (tuple(lower.tolist()), tuple(upper.tolist())), "epsilon": float(reach)}


def _described(found: Ranges) -> dict[str, Any]:
    """Return a description whose kept features have their ranges alone, and its radii."""
    assert found.inputs is not None
    assert found.radii is not None
    features, radii = list(found.inputs.features), list(found.radii)
    missing: list[tuple[str, str]] = []
    for one in found.ranges:
        feature = features[one.feature]
        if feature.kind != "fixed":
            radii[one.feature] = inf
        features[one.feature] = _narrowed(feature, one)
        if one.words is not None and not one.ordered:
            missing += [(feature.name, word) for word in feature.values if word not in one.words]
    inputs = found.inputs.remade(features=features)
    inputs = inputs.where(*(inputs[name] != word for name, word in missing))
    return {"inputs": inputs, "radii": tuple(radii), "epsilon": max(radii)}


def _narrowed(feature: Feature, one: FeatureRange) -> Feature:
    if feature.kind == "fixed" or feature.one_hot:
        return feature
    if one.lower is None or one.upper is None:
        codes = [feature.code_of(word) for word in one.words or ()]
        return replace(feature, lower=float(min(codes)), upper=float(max(codes)))
    return replace(feature, lower=one.lower, upper=one.upper)
