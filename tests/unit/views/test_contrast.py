"""Summaries of enumerations and sweeps say what their numbers are numbers of."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Inputs, integer
from milp_verix.views.result_words import facts_of
from tests.support.handmade_results import made
from tests.support.mixed_domains import mixed_case


@pytest.mark.slow
def test_an_enumeration_says_if_its_smallest_set_is_the_smallest(tmp_path: Path) -> None:
    known = set()
    for seed in range(500, 504):
        case = mixed_case(seed, rules=False)
        network, asked = case.network(tmp_path), {"epsilon": case.epsilon, "inputs": case.inputs}
        for limit in (None, 1, 2, 3):
            found = milp_verix.enumerate_explanations(network, case.point, limit=limit, **asked)
            smallest = dict(facts_of(found))["smallest"]
            least = case.least_explanation()
            if smallest.startswith("not known"):
                bound = int(smallest.partition(" one, of ")[2].split()[0])
                assert limit is not None
                assert bound <= least
            else:
                assert int(smallest.split()[0]) == least
            known.add(smallest[:9])
    assert {text == "not known" for text in known} == {True, False}


def test_an_enumeration_says_what_its_sets_do(tmp_path: Path) -> None:
    case = mixed_case(500, rules=False)
    inputs = Inputs(case.features, class_names=["no", "yes", "maybe"][: case.layers[-1][1].size])
    found = milp_verix.enumerate_explanations(
        case.network(tmp_path), case.point, epsilon=case.epsilon, inputs=inputs
    )
    facts = dict(facts_of(found))
    assert facts["abductive"].endswith(": with each one fixed, the prediction stays")
    assert facts["contrastive"].endswith(": a change of each one changes the prediction")
    rival = 1 - found.prediction
    against = dict(facts_of(replace(found, against=(rival,))))
    label, other = (inputs.class_names[one] for one in (found.prediction, rival))
    assert against["abductive"].endswith(f"fixed, “{label}” is not overtaken by “{other}”")
    assert against["contrastive"].endswith(f"raises “{other}” above “{label}”")


def test_a_sweep_counts_features_with_room() -> None:
    inputs = Inputs([integer("a", 0, 9), integer("b", 0, 9), integer("c", 0, 9)])
    shared: dict[str, Any] = {"inputs": inputs, "x": np.array([3, 3, 3]), "domain": (0.0, 9.0)}
    levels = tuple(
        made((3,), radii=radii, epsilon=max(radii), explained=explained, **shared)
        for radii, explained in (
            ((9.0, 9.0, 9.0), [1, 2]),
            ((5.0, 5.0, 5.0), [2]),
            ((5.0, 0.6, 0.6), []),
        )
    )
    sweep = milp_verix.EpsilonSweep(levels=levels, nested=True, seconds=1.0)
    told = [text for name, text in facts_of(sweep) if name.startswith("ε")]
    assert "irrelevant: 1 feature;" in told[0]
    assert "irrelevant: 2 features, 1 of them in the explanation at every larger radius;" in told[1]
    assert "irrelevant: 1 feature; without room to change: 2;" in told[2]
    keys = [text.get_text() for text in sweep.plot().axes[-1].get_legend().get_texts()]
    assert [key.split(": ")[1] for key in keys[:3]] == [
        "1 irrelevant",
        "2 irrelevant (+1)",
        "1 irrelevant (+0)",
    ]
    assert keys[3:] == ["at no radius: 1 feature", "stays as it is"]
