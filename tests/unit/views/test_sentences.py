"""Sentences say what a result claims: who stays, how far others may move, what was left open."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Explanation, InputError, Inputs, binary, category, continuous, fixed, integer
from milp_verix.results.base import Counterfactual
from milp_verix.views.sentences import _move
from tests.support.handmade_results import made
from tests.support.mixed_domains import mixed_case
from tests.support.random_networks import dense_network

TABLE = Inputs(
    [
        integer("age", 18, 75, "years"),
        continuous("wage", 0, 90),
        binary("arrears"),
        category("town", ["Rome", "Bonn", "Oslo"]),
    ],
    class_names=["no", "maybe", "yes"],
)
X = np.array([40, 30.5, 0, 1])


def told(
    radii: tuple[float, ...] = (np.inf,) * 4, inputs: Inputs = TABLE, **more: Any
) -> Explanation:
    names = more.pop("feature_names", inputs.names)
    return made(
        (4,), x=X, inputs=inputs, radii=radii, feature_names=names, domain=(0.0, 90.0), **more
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"explained": [0, 3]},
            "The decision “yes” stays, whatever wage and arrears are, as long as age is 40 years "
            "and town is Bonn.",
        ),
        ({}, "The decision “yes” stays, whatever the 4 features are."),
        (
            {"explained": range(4)},
            "The decision “yes” stays, as long as age is 40 years, wage is 30.5, arrears is no "
            "and town is Bonn.",
        ),
        (
            {"explained": [2], "radii": (5.0, np.inf, 1.0, 0.5)},
            "The decision “yes” stays, whatever wage is, with age within ±5 years of 40, while "
            "town stays as it is, as long as arrears is no.",
        ),
        (
            {"explained": [2], "radii": (5.7, 9.0, 0.1, 0.1)},
            "The decision “yes” stays, with age and wage within ±10 % of their ranges, while town "
            "stays as it is, as long as arrears is no.",
        ),
        (
            {"undecided": {0: "time limit"}, "explained": [1]},
            "The decision “yes” stays, whatever arrears and town are, as long as age is 40 years "
            "and wage is 30.5. It is open if age is needed.",
        ),
        (
            {"explained": [0], "against": (0, 1)},
            "The decision “yes” is not overtaken by “no” or “maybe”, whatever wage, arrears and "
            "town are, as long as age is 40 years.",
        ),
        (
            {"explained": [0, 1, 2], "inputs": TABLE.where("age >= 18 + arrears")},
            "The decision “yes” stays, whatever town is, as long as age is 40 years, wage is 30.5 "
            "and arrears is no. Only inputs with age >= 18 + arrears count.",
        ),
        (
            {"explained": [0], "inputs": Inputs(TABLE.features)},
            "The prediction of class 2 stays, whatever wage, arrears and town are, as long as age "
            "is 40 years.",
        ),
    ],
)
def test_explanations_of_described_inputs(given: dict[str, Any], sentence: str) -> None:
    assert told(**given).sentence() == sentence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"explained": [0, 3]},
            "The prediction of class 2 stays, while the other 7 features stay within ±0.1 of their "
            "values and between 0 and 1, as long as feature 0 and feature 3 keep their values.",
        ),
        (
            {"explained": range(1, 9), "norm": "l1", "feature_names": list("abcdefghi")},
            "The prediction of class 2 stays, while the other feature stays within 0.1 of the "
            "input (L1) and between 0 and 1, as long as b, c, d, e, f, g, h and i keep their "
            "values.",
        ),
        (
            {"prediction": (1.5,), "changed": (2.5,), "delta": 0.25, "explained": [4]},
            "The output 1.5 moves by at most 0.25, while the other 8 features stay within ±0.1 of "
            "their values and between 0 and 1, as long as feature 4 keeps its value.",
        ),
    ],
)
def test_explanations_of_other_inputs(given: dict[str, Any], sentence: str) -> None:
    norm = given.pop("norm", "linf")
    assert replace(made((9,), **given), norm=norm).sentence() == sentence


def test_a_comma_stands_between_pixels() -> None:
    sentence = made((8, 8), explained=[10, 19]).sentence()
    assert sentence.endswith("as long as row 1 column 2 and row 2 column 3 keep their values.")


def test_many_pixels_are_counted() -> None:
    sentence = made((8, 8), explained=range(20)).sentence()
    assert sentence.endswith("as long as the 20 pixels of the explanation keep their values.")


def test_counterfactuals_name_each_change() -> None:
    found = told(explained=[0])
    point = found.input.copy()
    point[:] = [45, 30.5, 0, 2]
    found = replace(found, counterfactuals={0: Counterfactual(point, 0)})
    sentence = "With age: 40 → 45 years and town: Bonn → Oslo, the decision becomes “no”."
    assert found.sentence("age") == found.sentence(0) == sentence
    with pytest.raises(InputError, match="no counterfactual"):
        found.sentence("wage")


@pytest.mark.parametrize("seed", range(300, 330))
def test_the_room_of_a_feature_is_that_of_enumeration(seed: int) -> None:
    case = mixed_case(seed, rules=False)
    radii = tuple(case.epsilon[feature.name] for feature in case.features)
    found = made(
        case.point.shape, x=case.point, inputs=case.inputs, radii=radii, groups=case.inputs.listed
    )
    everywhere = replace(case, epsilon=dict.fromkeys(case.epsilon, np.inf))
    for index in range(len(case.features)):
        reached, every = case.reachable(index), everywhere.reachable(index)
        room = _move(found, index)
        assert (room == 0) == (len(reached) == 1)
        assert (room == np.inf) == (len(reached) == len(every) > 1)


def test_contrasts_and_sentences_of_nothing_found(tmp_path: Path) -> None:
    case = mixed_case(100, rules=True)
    network, options = case.network(tmp_path), {"epsilon": case.epsilon, "inputs": case.inputs}
    sentence = milp_verix.contrastive(network, case.point, **options).sentence()
    assert sentence.startswith("With ")
    assert " → " in sentence
    assert "No change of fewer features does that, while f2 stays as it is." in sentence
    assert "Only inputs " in sentence
    still = dict.fromkeys(case.epsilon, 0.0)
    robust = milp_verix.contrastive(network, case.point, inputs=case.inputs, epsilon=still)
    assert robust.robust
    assert "stay as they are" in robust.sentence()
    nothing = milp_verix.contrastive(network, case.point, **options, time_limit=1e-9)
    assert nothing.sentence().startswith(
        "No change was found that changes the prediction, while f2 stays as it is; there may be "
    )


def test_a_feature_that_is_fixed_stays(tmp_path: Path) -> None:
    inputs = Inputs([integer("age", 18, 75), fixed("wage"), *TABLE.features[2:]])
    sentence = told(inputs=inputs, explained=[0]).sentence()
    assert "whatever arrears and town are, while wage stays as it is" in sentence


def overtaken(folder: Path) -> tuple[milp_verix.OnnxNetwork, Inputs]:
    """Return a network in which class 1 is ahead wherever class 2 is above class 0."""
    weights = np.array([[0, 3, 1], [0, 0, 1]], dtype=np.float64)
    network = dense_network([(weights.T, np.array([2.0, 0.0, 0.0]))], folder)
    return network, Inputs(
        [integer("a", 0, 5), integer("b", 0, 5)], class_names=["no", "yes", "maybe"]
    )


def test_the_decision_is_the_models_own(tmp_path: Path) -> None:
    network, inputs = overtaken(tmp_path)
    asked: dict[str, Any] = {"epsilon": np.inf, "inputs": inputs}
    found = milp_verix.explain(network, [0, 0], against=2, **asked)
    own = inputs.class_names[int(np.argmax(network.evaluate(found.counterfactuals[0].input)))]
    assert own == "yes"
    said = f"“maybe” overtakes “no” and the decision becomes “{own}”."
    assert found.sentence("a").endswith(said)
    contrast = milp_verix.contrastive(network, [0, 0], against=2, must_not="b", **asked)
    assert contrast.sentence() == (
        f"With a: 0 → 3, {said} No change of fewer features raises “maybe” above “no”, as long as "
        "b is 0."
    )
    assert milp_verix.relevance(network, [0, 0], "b", against=1, **asked).sentence() == (
        "In the decision “no” against “yes” alone, b plays no part: no minimal explanation "
        "contains it."
    )
    ruled = inputs.where("b <= 0")
    alone = milp_verix.relevance(network, [0, 0], "b", epsilon=np.inf, inputs=ruled)
    assert alone.sentence().endswith("Only inputs with b <= 0 count.")


def test_one_output_of_several_is_named() -> None:
    found = made((3,), prediction=(1.5,), changed=(2.5,), delta=0.25, output=3, explained=[1])
    assert found.sentence().startswith("The value 1.5 of output 3 moves by at most 0.25, while")
    assert found.sentence(1) == "With a change of 1 feature, output 3 becomes 2.5 instead of 1.5."
