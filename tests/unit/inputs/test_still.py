"""Features without room are those that listing all points shows with one value, and are told so."""

import json
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Explanation, Inputs, category, continuous, integer
from milp_verix.inputs.radii import radii_of, still_features
from milp_verix.views.result_page import feature_view
from milp_verix.views.result_words import facts_of, title
from tests.support.handmade_results import made
from tests.support.mixed_domains import mixed_case
from tests.support.random_networks import as_layers, dense_network


def listed(seed: int, *, rules: bool) -> tuple[set[int], set[int]]:
    """Return the features that are called still, and those with one value at all points."""
    case = mixed_case(seed, rules=rules)
    # radii below one step leave no room
    radii = {name: value if seed % 3 else 0.6 for name, value in [*case.epsilon.items()][:1]}
    epsilon = {**case.epsilon, **radii}
    points = np.array(
        [
            point
            for point in case.points(range(len(case.features)))
            if seed % 3 or point[0] == case.x[0]
        ]
    )
    alone = {f for f in range(len(case.features)) if np.ptp(points[:, f]) == 0}
    found = still_features(case.inputs, radii_of(case.inputs, epsilon), tuple(case.point))
    return {*found}, alone


@pytest.mark.parametrize("seed", range(20))
def test_without_rules_they_are_those_of_listing(seed: int) -> None:
    still, alone = listed(seed, rules=False)
    assert still == alone


@pytest.mark.slow
def test_with_rules_they_are_among_those_of_listing() -> None:
    pairs = [listed(seed, rules=True) for seed in range(60)]
    assert all(still <= alone for still, alone in pairs)
    beyond = sum(len(still) for (still, _), seed in zip(pairs, range(60), strict=True) if seed % 3)
    assert beyond >= 5
    # propagation alone misses few
    assert sum(len(still) for still, _ in pairs) >= 0.9 * sum(len(alone) for _, alone in pairs)


def told() -> Explanation:
    """Return an explanation in which two features have room, one none, and a rule holds another."""
    inputs = Inputs(
        [
            integer("age", 18, 75),
            integer("rooms", 0, 9),
            continuous("wage", 0, 90),
            category("town", ["Rome", "Bonn", "Oslo"], one_hot=True),
        ],
        ["town != 'Bonn'", "town != 'Oslo'"],
        class_names=["no", "maybe", "yes"],
    )
    return made(
        (6,),
        x=np.array([40, 3, 30.5, 1, 0, 0]),
        inputs=inputs,
        groups=inputs.listed,
        radii=(5.0, 0.6, 9.0, 1.0),
        feature_names=inputs.names,
        domain=(-np.inf, np.inf),
        explained=[2],
    )


def test_every_view_tells_them_apart() -> None:
    found = told()
    assert found.still == (1, 3)
    assert found.irrelevant == (0, 1, 3)
    facts = dict(facts_of(found))
    assert facts["irrelevant"] == "1 feature"
    assert facts["stay as they are"] == "2 features without room: rooms = 3, town = Rome"
    assert "while rooms and town stay as they are" in found.sentence()
    assert "whatever" not in found.sentence()
    assert json.loads(found.to_json())["still"] == [1, 3]
    assert Explanation.from_json(found.to_json()).still == (1, 3)
    keys = {text.get_text() for axes in found.plot().axes for text in axes.texts}
    assert "stays as it is" in keys
    table = feature_view(found, 3, "features").table
    assert table is not None
    heads = [head.unseen for head, *_ in table.lines()]
    assert (heads.count("stays as it is"), heads.count("irrelevant")) == (2, 1)


def test_a_pixel_with_a_domain_of_one_value_stays_as_it_is() -> None:
    ends: tuple[Any, Any] = (0.0, 0.0, 0.0), (1.0, 0.0, 1.0)
    found = made((3,), x=np.array([0.5, 0.0, 0.5]), domain=ends, explained=[0])
    assert found.still == (1,)
    assert made((3,), epsilon=0.0).still == (0, 1, 2)
    assert made((3,)).still == ()


def test_no_part_is_claimed_of_a_feature_without_room(tmp_path: Any) -> None:
    # the class is 1 where 2 a + b > 10
    layers = as_layers(([[0.0, 0.0], [2.0, 1.0]], [0.0, -10.0]))
    network = dense_network(layers, tmp_path)
    asked: dict[str, Any] = {"inputs": [integer("a", 0, 9), integer("b", 0, 9)]}
    radii = {"a": 0.6, "b": 9}
    found = milp_verix.relevance(network, [2, 1], "a", epsilon=radii, **asked)
    assert found.sentence().startswith(
        "In the prediction of class 0, a stays as it is: no input in question changes it."
    )
    assert title(found).endswith("a stays as it is: no input in question changes it")
    each = milp_verix.robustness_radius(network, [2, 1], each=True, scale=0.6, largest=1, **asked)
    told = dict(facts_of(each))
    assert told["irrelevant"].startswith("0 of 2 features")
    assert told["stay as they are"].startswith("2 features without room")


def test_a_picture_marks_pixels_that_stay_as_they_are() -> None:
    upper = tuple(float(i % 8 > 1) for i in range(64))
    x = np.where(np.array(upper) > 0, 0.5, 0.0)
    found = made((8, 8), x=x, domain=((0.0,) * 64, upper), explained=[12])
    panel = next(axes for axes in found.plot().axes if axes.get_title() == "Explanation")
    assert [text.get_text() for text in panel.get_legend().get_texts()] == [
        "explanation",
        "irrelevant",
        "stays as it is",
    ]
    drawn = np.asarray(panel.images[0].get_array())
    grey = np.ptp(drawn, axis=2) < 1e-9
    assert not grey[:, :2].any()
    assert grey[:, 2:].sum() == 8 * 6 - 1
