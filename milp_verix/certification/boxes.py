"""Ranges as explanations that have certificates: of the box, in which every feature may move.

In terms of certificates, the domain of the inputs is the box, and no feature is kept.
"""

from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np

from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.problem.ball import make_ball
from milp_verix.results.records.base import Result
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.ranges import FeatureRange, RangesRecord


def box_explanation(found: RangesRecord) -> ExplanationRecord:
    """Return the explanation that says that no input of the box of ``found`` is another class."""
    shared: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(Result)}
    everything = tuple(range(len(found.groups)))
    return ExplanationRecord(
        **{**shared, **(_domain(found) if found.inputs is None else _described(found))},
        order="index",
        sensitivity=None,
        permutation=everything,
        explanation=(),
        irrelevant=everything,
        unknown_reasons={},
        counterfactuals={},
    )


def _domain(found: RangesRecord) -> dict[str, Any]:
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


def _described(found: RangesRecord) -> dict[str, Any]:
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
    texts = [rule.text for rule in found.inputs.rules]
    inputs = Inputs(features, texts, class_names=found.inputs.class_names)
    inputs = inputs.where(*(inputs[name] != word for name, word in missing))
    return {"inputs": inputs, "radii": tuple(radii), "epsilon": max(radii)}


def _narrowed(feature: Feature, one: FeatureRange) -> Feature:
    if feature.kind == "fixed" or feature.one_hot:
        return feature
    if one.lower is None or one.upper is None:
        codes = [feature.code_of(word) for word in one.words or ()]
        return replace(feature, lower=float(min(codes)), upper=float(max(codes)))
    return replace(feature, lower=one.lower, upper=one.upper)
