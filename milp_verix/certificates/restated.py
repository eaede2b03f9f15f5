"""Audits, ranges, radii and relevance as explanations that have certificates, and stored ones read.

An audit is about a set that is sound, or one that is not. A set that is not sound is refuted by one
point: in terms of certificates, the features that the set leaves free are one feature, nothing is
irrelevant, and a point shows that feature to be needed. Ranges are about a box, in which every
feature may move: the domain of the inputs is the box, and no feature is kept. The lower end of a
bracket is the radius of a ball in which its features are irrelevant. A protected feature is
relevant if some others are irrelevant, and are not once it is free, too: it is feature 0, and
needed.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, MilpVerixError, check_command, refusing
from milp_verix.certificates.certificate import claim_data
from milp_verix.inputs.feature import Feature
from milp_verix.models.onnx.onnx_network import load_network
from milp_verix.problem.ball import make_ball
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Relevance
from milp_verix.results.ranges import FeatureRange, Ranges, RobustnessRadii
from verix_checker.numbers import BYTES, content, parsed, stored
from verix_checker.verification import verify

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
    """Return an explanation whose feature 0 is all that an audited set leaves free."""
    assert audit.counterexample is not None
    kept = {i for feature in audit.explanation for i in audit.groups[feature]}
    free = {i for group in audit.groups for i in group} - kept
    groups = tuple(tuple(sorted(group)) for group in (free, kept) if group)
    return _coarser(audit, groups, (), audit.counterexample)


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
    """Return the explanation whose feature 0 is what ``found`` is about, others joined."""
    assert found.counterfactual is not None
    assert found.free is not None
    parts = [{*found.features}, {*found.free}]
    parts.append({*range(len(found.groups))} - parts[0] - parts[1])
    free = (1,) if found.free else ()
    coordinates = [sorted(i for one in part for i in found.groups[one]) for part in parts if part]
    return _coarser(found, tuple(map(tuple, coordinates)), free, found.counterfactual)


def _coarser(
    result: Result,
    groups: tuple[tuple[int, ...], ...],
    free: tuple[int, ...],
    changed: Counterfactual,
) -> Explanation:
    """Return an explanation about ``groups``, of which ``changed`` shows the first to be needed."""
    kept = tuple(place for place in range(len(groups)) if place not in free)
    names: dict[str, Any] = {"groups": groups, "feature_names": None, "feature_shape": None}
    untried = dict.fromkeys(kept[1:], _UNTRIED)
    return _restated(result, kept, free, {0: changed}, untried, kind=_Coarser, **names)


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


_OF_THE_FILE = {"network", "sha256", "beside", "output", "minimal", "bits", "odd", "source"}
"""Parts of a claim that are about the model's file and the checker's numbers."""


def proof_text(path: Path, found: Ranges, folders: Iterable[Path]) -> str:
    """Return what can be said of the certificate in ``path``, for whoever a decision is about.

    It is checked if the model, or the file of its trees, is beside it or in one of ``folders``.
    Raises ``InputError`` for a file that cannot be read or is no certificate, for one about another
    model, input or ranges, and where the checker refuses it.
    """
    try:
        claim: dict[str, Any] = dict(parsed(content(path, BYTES))["claim"])
    except OSError as error:
        raise InputError(f"cannot read the certificate {path}: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path} is no certificate ({error!r:.200}): write one by ranges.certify(network)"
            ".to_json(path), or --certificate"
        ) from error
    if claim.get("source", claim.get("sha256")) != found.model.sha256:
        raise InputError(f"{path} is a certificate about another model than that of the ranges")
    question = json.loads(json.dumps(claim_data(box_explanation(found), "")))
    for name in sorted({*claim, *question} - _OF_THE_FILE):
        if claim.get(name) != question.get(name):
            raise InputError(f"{path} is a certificate of other ranges: its {name} differs")
    model, has = _model_of(claim, found, (path.parent, *folders)), "the model"
    if "source" in claim:
        has = "the file of the trees that were read from the model"
    if model is None:
        return (
            f"The proof of the first claim is said to be the file {path.name}, which names this "
            "model and this input. It was not checked when this page was written, since the "
            "model's file was not at hand."
        )
    # whatever the checker meets refuses the certificate
    with refusing(f"verix-check refuses the certificate {path}", Exception):
        for _ in verify(*stored(model, path)):
            pass
    return (
        f"The proof of the first claim is the file {path.name}, which was checked when this page "
        f"was written. Anybody who has {has} can check it again, without the software that made "
        f"it: {check_command(model, path)}"
    )


def _model_of(claim: dict[str, Any], found: Ranges, folders: Iterable[Path]) -> Path | None:
    """Return the file that the checker needs beside a certificate; None if it is not at hand."""
    trees, name, digest = "source" in claim, Path(found.model.file).name, claim.get("sha256")
    for folder in folders:
        model = folder / (f"trees-{str(digest)[:16]}.json" if trees else name)
        try:
            same = hashlib.sha256(model.read_bytes()).hexdigest() == digest
        except OSError:
            continue
        output = claim.get("output")
        scores = output if trees or not same else _scores(model, found)
        if same and scores == output:
            return model
        if same and scores is not None:
            raise InputError(f"a certificate of the output {output!r}, expected {scores!r}")
    return None


def _scores(model: Path, found: Ranges) -> str | None:
    """Return the name of the scores of the model in a file, if the ranges are about these."""
    try:
        network = load_network(model, input_shape=found.model.input_shape)
    except MilpVerixError:
        return None
    same = network.content_sha256 == found.model.content_sha256
    return getattr(network, "scores_name", None) if same else None
