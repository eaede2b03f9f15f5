"""How small an explanation is said to be: never more than is proven, and never less."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from milp_verix import Explanation
from milp_verix.views.explanation_words import outcome_text
from milp_verix.views.result_words import facts_of
from tests.support.handmade_results import made

COSTS = tuple(np.linspace(0.5, 2.0, 16).tolist())


def case(**given: Any) -> Explanation:
    return made((16,), **{"explained": range(5), **given})


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({}, "locally minimal"),
        ({"undecided": {9: "t"}}, "1 undecided, at most 6 needed"),
        ({"undecided": {9: "t"}, "needed": 2}, "1 undecided, between 2 and 6 needed"),
        ({"undecided": {9: "t"}, "needed": 6}, "1 undecided, 6 needed"),
        ({"lower_bound": 5}, "globally minimum, proven"),
        ({"lower_bound": 4}, "locally minimal, at most 1 feature above the minimum"),
        ({"lower_bound": 2}, "locally minimal, at most 3 features above the minimum"),
        (
            {"lower_bound": 2, "undecided": {9: "t"}},
            "1 undecided, at most 4 features above the minimum",
        ),
        ({"lower_bound": 0}, "locally minimal, no lower bound proven"),
        ({"lower_bound": sum(COSTS[:5]), "costs": COSTS}, "globally minimum in cost, proven"),
        (
            {"lower_bound": sum(COSTS[:5]) - 1.25, "costs": COSTS},
            "locally minimal, cost at most 1.25 above the minimum",
        ),
        (
            {"lower_bound": 5, "must": (0, 1), "must_not": (7,)},
            "globally minimum with 2 given features and without 1 given feature, proven",
        ),
        ({"explained": ()}, "robust: no input in the ball changes the prediction"),
        (
            {"explained": (), "lower_bound": 0},
            "robust: no input in the ball changes the prediction",
        ),
    ],
)
def test_the_outcome_is_the_same_everywhere(given: dict[str, Any], outcome: str) -> None:
    explanation = case(**given)
    assert outcome_text(explanation) == outcome
    assert outcome in repr(explanation)
    assert ("outcome", outcome) in facts_of(explanation)
    assert f">{outcome}<" in explanation._repr_html_()
    assert ("locally" in repr(facts_of(explanation))) == outcome.startswith("locally")


def test_what_is_asked_for_narrows_the_claim() -> None:
    told = dict(facts_of(case(lower_bound=5, must=(0,))))
    assert told["minimum"] == "yes, proven: no explanation with 1 given feature has fewer features"
    told = dict(facts_of(case(lower_bound=3, must_not=(7, 8))))
    assert told["minimum"] == (
        "not proven: none without 2 given features has fewer than 3 features"
    )


def test_a_proven_minimum_needs_no_counterfactual_to_be_minimal() -> None:
    explanation = case(undecided={9: "time limit"}, lower_bound=6)
    told = dict(facts_of(explanation))
    assert "minimal" not in told
    assert told["undecided"] == "1 feature: time limit"
    # but what was asked to be in it, or costs nothing, may be left out
    asked = replace(explanation, must=(9,))
    assert dict(facts_of(asked))["minimal"].startswith("no: a feature that is undecided")
    free = replace(explanation, costs=(1.0,) * 9 + (0.0,) * 7, lower_bound=5)
    assert dict(facts_of(free))["minimal"].startswith("no: a feature that is undecided")
