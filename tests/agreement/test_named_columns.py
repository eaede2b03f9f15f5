"""Descriptions in another order than the model's columns: the model's own ``predict`` judges."""

import math
from typing import Any

import numpy as np
import pytest

from milp_verix import (
    Explanation,
    Inputs,
    Problem,
    audit,
    certify,
    contrastive,
    enumerate_explanations,
    explain,
    importance,
    inflate,
    load_network,
    minimum,
    relevance,
    robustness_radius,
)
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.trees.tree_network import TreeNetwork
from tests.support.certificates import checked
from tests.support.named_tables import FORMS, KINDS, NamedCase, named_case

pytestmark = pytest.mark.filterwarnings("ignore")

ASKED: dict[str, Any] = {"epsilon": math.inf}


def read_case(kind: str, seed: int) -> tuple[NamedCase, LoadedModel]:
    """Return a case and its network; each kind has another form first, and all of them in turn."""
    case = named_case(kind, FORMS[(KINDS.index(kind) + seed) % len(FORMS)], seed)
    return case, load_network(case.model)


def assert_kept(case: NamedCase, found: Any) -> None:
    """Rows with the kept values are of the row's class, and each counterfactual is of another."""
    assert found.inputs.names == case.inputs.names
    kept = {case.inputs.names[feature] for feature in found.explanation}
    assert (case.predicted(case.with_row(kept)) == case.kept).all()
    for feature, point in found.counterfactuals.items():
        assert_changed(
            case, found, point, {*case.inputs.names} - kept | {found.inputs.names[feature]}
        )


def assert_changed(case: NamedCase, found: Any, point: Any, names: set[str]) -> None:
    """A counterfactual is of another class, and only the columns ``names`` have other values."""
    there = case.point(found.inputs, point.input)
    assert case.predicted(there)[0] != case.kept
    assert {name for name in there.columns if there[name].iloc[0] != case.row[name]} <= names


def named(inputs: Inputs, sets: Any) -> set[tuple[str, ...]]:
    """Return sets of features by their names."""
    return {tuple(sorted(inputs.names[feature] for feature in one)) for one in sets}


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("kind", KINDS)
def test_explanations_are_about_the_columns_that_they_name(kind: str, seed: int) -> None:
    case, network = read_case(kind, seed)
    found = explain(network, case.row, inputs=case.inputs, **ASKED)
    assert_kept(case, found)
    contrast = contrastive(network, case.row, inputs=case.inputs, **ASKED)
    assert contrast.size == contrastive(network, case.row, inputs=case.plain, **ASKED).size
    if contrast.counterfactual is not None:
        names = {case.inputs.names[feature] for feature in contrast.contrast or ()}
        assert_changed(case, contrast, contrast.counterfactual, names)
    again = Explanation.from_json(found.to_json())
    assert again.inputs == found.inputs
    assert not again.replay(network)
    posed = Problem(network, again.input, inputs=again.inputs, **ASKED)
    assert posed.explain().explanation == found.explanation
    if isinstance(network, TreeNetwork):
        proof = certify(network, again)
        assert proof.model is not None
        assert checked(proof.model, proof.to_json())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("kind", KINDS)
def test_other_answers_are_those_of_the_models_order(kind: str, seed: int) -> None:
    case, network = read_case(kind, seed)
    some, both = [*case.inputs.names[:3]], (case.inputs, case.plain)
    smallest, same = (minimum(network, case.row, inputs=one, **ASKED) for one in both)
    assert_kept(case, smallest)
    assert smallest.size == same.size
    every = [enumerate_explanations(network, case.row, inputs=one, **ASKED) for one in both]
    for sets in ("abductive", "contrastive"):
        first, second = (named(one.inputs, getattr(one, sets)) for one in every)
        assert first == second
    weights = [importance(network, case.row, inputs=one, **ASKED) for one in both]
    first, second = (dict(zip(one.inputs.names, one.values, strict=True)) for one in weights)
    assert first == pytest.approx(second, abs=1e-9)
    parts = [relevance(network, case.row, some[:1], inputs=one, **ASKED) for one in both]
    assert parts[0].relevant == parts[1].relevant
    judged, same = (audit(network, case.row, some, inputs=one, **ASKED) for one in both)
    assert judged.sound == same.sound
    if judged.sound:
        assert (case.predicted(case.with_row(some)) == case.kept).all()
    if judged.counterexample is not None:
        assert_changed(case, judged, judged.counterexample, {*case.inputs.names} - {*some})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("kind", KINDS)
def test_ranges_and_radii_hold_in_the_table(kind: str, seed: int) -> None:
    case, network = read_case(kind, seed)
    found = inflate(network, case.row, inputs=case.inputs, rows=case.values, **ASKED)
    inside = np.ones(len(case.values), dtype=bool)
    for one in found.ranges:
        column = case.values[case.inputs.names[one.feature]]
        if one.words is None:
            inside &= column.between(one.lower, one.upper).to_numpy()
        else:
            inside &= column.replace({True: "yes", False: "no"}).isin(one.words).to_numpy()
    assert inside.sum() == found.inside
    assert (case.predicted(case.values[inside]) == case.kept).all()
    radius = robustness_radius(network, case.row, inputs=case.inputs, scale="100%")
    near = np.ones(len(case.values), dtype=bool)
    for feature in case.inputs.features:
        column, here = case.values[feature.name], case.row[feature.name]
        if column.dtype.kind in "biuf":
            moved = (column.astype(float) - float(here)).abs()
            near &= (moved <= radius.bracket.lower * feature.range).to_numpy()
        else:
            near &= ((column == here) | (radius.bracket.lower >= 1)).to_numpy()
    assert (case.predicted(case.values[near]) == case.kept).all()
