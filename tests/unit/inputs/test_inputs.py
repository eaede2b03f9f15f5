"""Described inputs: features, words, refusals, files and frames."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from milp_verix import (
    InputError,
    Inputs,
    Problem,
    binary,
    category,
    check,
    continuous,
    fixed,
    integer,
    ordinal,
)
from milp_verix.inputs.radii import radii_of, radii_of_coordinates
from tests.support.random_networks import dense_network, random_layers

FEATURES = [
    integer("age", 17, 90, "years"),
    category("colour", ["red", "green", "blue"], one_hot=True),
    binary("member"),
    ordinal("grade", ["bad", "fair", "good"], first=1),
    continuous("wage", 0, 10.5, "k€", deviation=2.25),
    category("town", ["A", "B"], codes=[3, 7]),
    fixed("weight"),
]
ROW = {
    "age": 39,
    "colour": "green",
    "member": "yes",
    "grade": "good",
    "wage": 2.5,
    "town": "B",
    "weight": 0.25,
}


def test_rows_become_coordinates_and_words() -> None:
    inputs = Inputs(FEATURES)
    x = inputs.row(ROW)
    assert x.tolist() == [39, 0, 1, 0, 1, 3, 2.5, 7, 0.25]
    assert inputs.texts(x) == ("39 years", "green", "yes", "good", "2.5 k€", "B", "0.25")
    assert inputs.row(pd.Series({**ROW, "number": "p7"})).tolist() == x.tolist()
    assert [group.tolist() for group in inputs.groups][:3] == [[0], [1, 2, 3], [4]]
    inputs.refuse(x)
    with pytest.raises(InputError, match=r"missing: age"):
        inputs.row({name: value for name, value in ROW.items() if name != "age"})
    with pytest.raises(InputError, match="no value 'pink'"):
        inputs.row({**ROW, "colour": "pink"})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({0: 39.5}, "must be whole"),
        ({0: 16}, "outside of"),
        ({1: 1}, "one-hot"),
        ({2: 0}, "one-hot"),
        ({7: 5}, "none of its codes: 3 A, 7 B"),
        ({6: 11}, "outside of"),
        ({0: 80, 6: 1}, "breaks the rule age <= 50"),
    ],
)
def test_inputs_outside_of_the_description_are_refused(change: dict[int, float], told: str) -> None:
    inputs = Inputs(FEATURES, ["age <= 50 + 20 * wage"])
    x = inputs.row(ROW)
    for coordinate, value in change.items():
        x[coordinate] = value
    with pytest.raises(InputError, match=told):
        inputs.refuse(x)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Inputs([]), "list of features"),
        (lambda: Inputs([integer("a", 0, 1), binary("a")]), "named 'a'"),
        (lambda: integer("a", 0.5, 2), "whole"),
        (lambda: integer("a", 3, 2), "at most"),
        (lambda: continuous("a", "x", 2), "lower must be a number, got 'x'"),  # type: ignore[arg-type]
        (lambda: category("a", ["x", "x"]), "twice"),
        (lambda: category("a", ["x", "y"], codes=[1, 1]), "distinct"),
        (lambda: category("a", "xy"), "list of texts"),
        (lambda: binary("a", ["x"]), "two values"),
        (lambda: continuous("a", deviation=-1.0), "finite and not negative"),
        (lambda: integer("a", deviation=float("nan")), "finite and not negative"),
        (lambda: Inputs([integer("a", 0, 3)], ["a >= 4"]), "no input satisfies .*a >= 4"),
        (
            lambda: Inputs([integer("a", 0, 3), integer("b", 0, 3)], ["a > b", "b > 2", "a <= 3"]),
            "together: a > b; b > 2$",
        ),
        (lambda: Inputs([integer("a", 0, 3)], [3]), "comparison"),  # type: ignore[list-item]
    ],
)
def test_descriptions_that_contradict_themselves_are_refused(make: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        make()  # type: ignore[operator]


def test_radii_are_numbers_shares_and_names() -> None:
    inputs = Inputs(FEATURES)
    assert radii_of(inputs, 2) == (2.0,) * 7
    assert radii_of(inputs, "10%")[:5] == (7.3, 0.1, 0.1, 0.2, 1.05)
    assert radii_of(inputs, {"age": "50%", "*": 0})[:2] == (36.5, 0.0)
    assert radii_of(Inputs([integer("a", 0, 100)]), "29%") == (29.0,)
    reach = radii_of_coordinates(inputs, radii_of(inputs, {"age": 5.9, "colour": 1, "*": np.inf}))
    inf = np.inf
    assert reach.tolist() == [5, inf, inf, inf, inf, inf, inf, inf, 0]
    none = radii_of_coordinates(inputs, radii_of(inputs, 0.9))
    assert none.tolist() == [0, 0, 0, 0, 0, 0, 0.9, 0, 0]
    for text, number in (("inf", np.inf), ("Inf", np.inf), ("8/255", 8 / 255), (" 2.5 ", 2.5)):
        assert radii_of(inputs, text) == (number,) * 7
        assert radii_of(inputs, {"age": text, "*": 0})[:2] == (number, 0.0)
    for wrong, told in (
        ({"age": 1}, "missing: colour, member"),
        ({"*": 1, "size": 2}, "extra: size"),
        ({"*": 1, "Age": 2}, "extra: Age; did you mean 'age'"),
        ("abc", "age: epsilon is 'abc', expected a number such as .*'inf'.*'10%' or '0.5sd'"),
        ("-10%", "epsilon is '-10%', expected"),
        ("1,5", "epsilon is '1,5', expected"),
        ("nan", "a number and not negative, got nan"),
        ([1, 2], "2 radii"),
        ("ten", "relative"),
        (-1, "negative"),
        (float("nan"), "negative"),
        ([*"abcdefg"], "relative"),
        ("1sd", "age has no standard deviation .* give its deviation"),
        ({"age": 1, "colour": "1sd", "*": 0}, "it has words: give it a radius of its own"),
    ):
        with pytest.raises(InputError, match=told):
            radii_of(inputs, wrong)  # type: ignore[arg-type]
    spread = Inputs([integer("a", 0, 9, deviation=2.5), fixed("b"), continuous("c", deviation=0.1)])
    assert radii_of(spread, "0.5sd") == (1.25, 0.0, 0.05)
    assert radii_of_coordinates(spread, radii_of(spread, " 1 sd ")).tolist() == [2.0, 0.0, 0.1]
    with pytest.raises(InputError, match="no finite range"):
        radii_of(Inputs([continuous("u")]), "5%")


def test_files_and_data_hold_the_description(tmp_path: Path) -> None:
    inputs = Inputs(FEATURES, ["age <= 50 + 20 * wage", "(colour == 'red').implies(age >= 18)"])
    assert Inputs.from_data(json.loads(json.dumps(inputs.to_data()))) == inputs
    path = tmp_path / "inputs.json"
    path.write_text(json.dumps(inputs.to_data()))
    assert Inputs.from_file(path) == inputs
    toml = tmp_path / "inputs.toml"
    toml.write_text(
        'rules = ["age >= 18"]\n[[features]]\nname = "age"\nkind = "integer"\nlower = 17\n'
        'upper = 90\n[[features]]\nname = "sex"\nkind = "category"\nvalues = ["f", "m"]\n'
    )
    described = [integer("age", 17, 90), category("sex", ["f", "m"])]
    assert Inputs.from_file(toml) == Inputs(described, ["age >= 18"])
    for text, told in (
        ('{"features": 3}', "lists its 'features'"),
        ('{"features": [{"name": "a", "kind": "real"}]}', "a name and a kind"),
        ('{"features": [{"name": "a", "kind": "integer", "low": 3}]}', "low"),
        ('{"features": [{"name": "a", "kind": "fixed"}], "rules": "a"}', "list of texts"),
        ('{"features": [{"name": "a", "kind": "integer", "lowr": 3}]}', "did you mean 'lower'"),
        ('{"features": [{"name": "a", "kind": "Integer"}]}', "did you mean 'integer'"),
        ('{"features": [{"name": "a", "kind": ["integer"]}]}', "a name and a kind"),
        ('{"features": [{"name": "a", "kind": "category"}]}', "a: .* needs 'values'"),
        ('{"features": [{"name": "a", "kind": "integer", "unit": 3}]}', "a: the unit is a text"),
        (
            '{"features": [{"name": "a", "kind": "ordinal", "values": ["x"], "first": "x"}]}',
            "first must be an integer, got 'x'",
        ),
        (
            '{"features": [{"name": "a", "kind": "category", "values": ["x"], "codes": 3}]}',
            "codes must be a list, got 3",
        ),
        (
            '{"features": [{"name": "a", "kind": "category", "values": ["x"], "one_hot": "no"}]}',
            "one_hot must be True or False, got 'no'",
        ),
        ('{"features": [], "more": 1}', "more"),
        ("{", "JSON"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=told):
            Inputs.from_file(path)
    path.write_text('{"features": [{"name": "a", "kind": "binary", "values": [false, true]}]}')
    truth = Inputs.from_file(path)
    for value, number in ((True, 1), ("true", 1), ("False", 0), ("no", 0), (1, 1)):
        assert truth.row({"a": value}).tolist() == [number]
    with pytest.raises(InputError, match="cannot read"):
        Inputs.from_file(tmp_path / "missing.toml")
    with pytest.raises(InputError, match="path must be the path of a file"):
        Inputs.from_file(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rules are a list"):
        Inputs(FEATURES, "age >= 18")
    with pytest.raises(InputError, match=r"\.json or a \.toml"):
        Inputs.from_file(tmp_path / "inputs.yaml")


def test_a_frame_describes_its_columns() -> None:
    frame = pd.DataFrame(
        {
            "age": [20, 30],
            "wage": [1.5, 2.0],
            "colour": ["red", "blue"],
            "member": [True, False],
            "code": [0, 1],
            "size": pd.Categorical(["small", "large"], ["small", "large"]),
            "weight": [1.0, 2.0],
        }
    )
    found = Inputs.from_frame(
        frame,
        categories={"code": ["A", "B", "C"]},
        one_hot=["colour"],
        ranges={"age": (17, 90)},
        units={"age": "years"},
        fixed=["weight"],
        rules=["age >= 18"],
    )
    assert found == Inputs(
        [
            integer("age", 17, 90, "years", deviation=5.0),
            continuous("wage", 1.5, 2.0, deviation=0.25),
            category("colour", ["blue", "red"], one_hot=True),
            binary("member"),
            category("code", ["A", "B", "C"]),
            category("size", ["small", "large"]),
            fixed("weight"),
        ],
        ["age >= 18"],
    )
    with pytest.raises(InputError, match="no column"):
        Inputs.from_frame(frame, units={"height": "m"})
    with pytest.raises(InputError, match="missing values"):
        Inputs.from_frame(pd.DataFrame({"a": [1.0, None]}))


def test_balls_are_those_of_the_description(tmp_path: Path) -> None:
    network = dense_network(random_layers(np.random.default_rng(0), (9, 4, 2)), tmp_path)
    inputs = Inputs(FEATURES)
    epsilon = {"age": 3, "colour": 1, "wage": 0.5, "*": 0}
    ball = Problem(network, ROW, epsilon=epsilon, inputs=inputs).ball
    assert ball.outer.lower.tolist() == [36, 0, 0, 0, 1, 3, 2.0, 7, 0.25]
    assert ball.outer.upper.tolist() == [42, 1, 1, 1, 1, 3, 3.0, 7, 0.25]
    everything = np.arange(9)
    point = np.array([40.4, 0.3, 0.2, 0.9, 1, 3, 2.25, 7, 0.25])
    witness = ball.nearest_witness(point, everything)
    assert witness.tolist() == [40, 0, 0, 1, 1, 3, 2.25, 7, 0.25]
    assert ball.contains(witness, everything)
    for coordinate, value in ((0, 40.5), (0, 43), (1, 1), (3, 0), (6, 3.5), (8, 0.5)):
        wrong = witness.copy()
        wrong[coordinate] = value
        assert not ball.contains(wrong, everything)
    assert not ball.contains(witness, np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"norm": "l2"}, "norm 'linf'"),
        ({"domain": (0.0, 100.0)}, "leave domain"),
        ({"features": "pixels"}, "leave domain"),
        ({"inputs": [integer("a", 0, 1)]}, "1 coordinate, those of the model 9"),
        ({"inputs": "inputs.toml"}, "from_file"),
        ({"epsilon": {"age": 1}}, "epsilon by name .* missing: colour"),
        ({"inputs": [continuous(f"c{i}") for i in range(9)], "epsilon": np.inf}, "without end"),
        (
            {"inputs": [integer(f"c{i}", -(10**9), 10**9) for i in range(9)], "epsilon": np.inf},
            "beyond 16777216",
        ),
    ],
)
def test_questions_that_do_not_fit_are_refused(
    options: dict[str, object], told: str, tmp_path: Path
) -> None:
    network = dense_network(random_layers(np.random.default_rng(0), (9, 4, 2)), tmp_path)
    x = np.zeros(9) if "c0" in str(options) else Inputs(FEATURES).row(ROW)
    with pytest.raises(InputError, match=told):
        check(network, x, [0], **{"epsilon": 1, "inputs": FEATURES, **options})  # type: ignore[arg-type]


def test_a_described_radius_without_inputs_is_refused(tmp_path: Path) -> None:
    network = dense_network(random_layers(np.random.default_rng(0), (2, 4, 2)), tmp_path)
    for epsilon in ("10%", float("inf"), "inf", "abc"):
        with pytest.raises(InputError, match=r"epsilon must be .* description, inputs="):
            check(network, np.zeros(2), [0], epsilon=epsilon)
    found = Problem(network, np.zeros(2), epsilon="8/255")
    assert found.ball.epsilon == 8 / 255


def test_the_end_of_a_domain_is_not_rounded_to_the_type_of_the_input(tmp_path: Path) -> None:
    net = dense_network(random_layers(np.random.default_rng(0), (1, 2, 2)), tmp_path)
    share = [continuous("share", 0.0, 0.1)]
    # float32 has no 0.1: the next number is above it, and no input of this description
    above = np.array([0.1], dtype=np.float32)
    assert float(above[0]) > 0.1
    with pytest.raises(InputError, match=r"share is 0\.1.*, outside of \[0, 0\.1\]"):
        Problem(net, above, epsilon=0.05, inputs=share)
    assert float(Problem(net, [0.1], epsilon=0.05, inputs=share).x[0]) < 0.1
