"""Rules: their clauses hold exactly where Python says so, as texts and as objects."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, Inputs, binary, category, continuous, integer, ordinal
from milp_verix.inputs.rule_text import rule_in
from milp_verix.inputs.rules import Rule

FEATURES = [
    integer("a", 0, 4),
    integer("two words", -2, 2),
    category("colour", ["red", "green", "blue"], codes=[0, 2, 5]),
    ordinal("grade", ["bad", "fair", "good"]),
    category("block", ["x", "y"], one_hot=True),
]
POINTS = [
    (a, b, c, g, *block)
    for a, b, c, g, block in product(range(5), range(-2, 3), (0, 2, 5), range(3), ((1, 0), (0, 1)))
]


def holds(rule: Rule, point: tuple[float, ...]) -> bool:
    """Return whether every clause of ``rule`` holds."""
    x = np.array(point, dtype=np.float64)
    return all(any(half.holds(x) for half in clause) for clause in rule.clauses)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a >= 1 + inputs['two words']", lambda a, b, c, g, x, y: a >= 1 + b),
        ("a < 2", lambda a, b, c, g, x, y: a < 2),
        ("2 > a", lambda a, b, c, g, x, y: a < 2),
        ("2 * a - 3 * inputs['two words'] <= 2.5", lambda a, b, c, g, x, y: 2 * a - 3 * b <= 2.5),
        ("0.5 * a > 1", lambda a, b, c, g, x, y: 0.5 * a > 1),
        ("a == 3", lambda a, b, c, g, x, y: a == 3),
        ("a != 3", lambda a, b, c, g, x, y: a != 3),
        ("1 <= a <= 3", lambda a, b, c, g, x, y: 1 <= a <= 3),
        ("colour == 'green'", lambda a, b, c, g, x, y: c == 2),
        ("colour != 'green'", lambda a, b, c, g, x, y: c != 2),
        ("colour.isin(['red', 'blue'])", lambda a, b, c, g, x, y: c in (0, 5)),
        ("a.isin([0, 4])", lambda a, b, c, g, x, y: a in (0, 4)),
        ("grade >= 'fair'", lambda a, b, c, g, x, y: g >= 1),
        ("grade == 'good'", lambda a, b, c, g, x, y: g == 2),
        ("block == 'y'", lambda a, b, c, g, x, y: y == 1),
        ("block != 'y'", lambda a, b, c, g, x, y: y == 0),
        ("not (a > 1 and grade == 'bad')", lambda a, b, c, g, x, y: not (a > 1 and g == 0)),
        ("~(a > 1) | (block == 'x') & (a < 4)", lambda a, b, c, g, x, y: a <= 1 or (x and a < 4)),
        (
            "(colour == 'red').implies(a == 0 or a >= 3)",
            lambda a, b, c, g, x, y: c != 0 or a == 0 or a >= 3,
        ),
        ("-a <= -2", lambda a, b, c, g, x, y: a >= 2),
    ],
)
def test_a_rule_and_its_opposite_say_what_python_says(text: str, meaning: object) -> None:
    inputs = Inputs(FEATURES)
    rule = rule_in(text, {name: inputs[name] for name in inputs.names})
    again = rule_in(rule.text, {name: inputs[name] for name in inputs.names})
    for point in POINTS:
        expected = bool(meaning(*point))  # type: ignore[operator]
        assert holds(rule, point) is expected
        assert holds(~rule, point) is not expected
        assert holds(again, point) is expected


def test_objects_make_the_same_rules_as_texts() -> None:
    inputs = Inputs(FEATURES)
    rule = (inputs["colour"] == "red").implies(inputs["a"] >= 1 + inputs["two words"])
    text = "(colour == 'red').implies(a >= 1 + inputs['two words'])"
    assert Inputs(FEATURES, [text]).mixed is not None
    for point in POINTS:
        again = rule_in(text, {name: inputs[name] for name in inputs.names})
        assert holds(rule, point) is holds(again, point)


def test_strict_rules_over_real_numbers_stay_strict() -> None:
    inputs = Inputs([continuous("u", 0, 1), continuous("v", 0, 1)])
    strict, closed = inputs["u"] < inputs["v"], inputs["u"] <= inputs["v"]
    assert not holds(strict, (0.5, 0.5))
    assert holds(closed, (0.5, 0.5))
    assert holds(~strict, (0.5, 0.5))
    assert not holds(~closed, (0.5, 0.5))
    tenth = float(Fraction(1, 10))
    assert holds(inputs["u"] + inputs["v"] <= 0.3, (tenth, 0.1))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a >=", "not understood"),
        ("a + 1", "compares nothing"),
        ("missing <= 1", "no feature 'missing'"),
        ("colour >= 'red'", "is a category"),
        ("colour == 'pink'", "no value 'pink'"),
        ("a * a <= 3", "rules are linear, and a product of features is not: multiply"),
        ("a * inputs['two words'] <= 3", "rules are linear"),
        ("a = 3", "invalid syntax.*rules compare by"),
        ("colours == 'red'", "no feature 'colours'.*did you mean 'colour'"),
        ("a >= '3'", "a is compared with '3', and has numbers: write a number, without quotes"),
        ("a >= True", "a is compared with True, and has numbers"),
        ("__import__('os').system('true')", "not understood"),
        ("a.__class__ == 1", "no part of a rule"),
        ("[a for a in a] == 1", "no part of a rule"),
        ("a <= 10 ** 9", "no part of a rule"),
        ("a is 3", "compares by"),
        ("1 <= 2", "not understood|compares nothing"),
        ("a - a <= 3", "about no feature"),
    ],
)
def test_texts_that_are_no_rules_are_refused(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Inputs(FEATURES, [text])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda i: i["a"] * i["two words"] <= 1, "rules are linear, and a product of features"),
        (lambda i: i["a"] / 2 <= 1, "without /, %, .*write a / 2 <= 3 as a <= 6"),
        (lambda i: 2 / i["a"] <= 1, "without /, %,"),
        (lambda i: i["a"] ** 2 <= 1, "without /, %,"),
        (lambda i: abs(i["a"]) <= 1, "bound a feature from both sides"),
        (lambda i: i["Colour"] == "red", "no feature 'Colour'; .*mean 'colour'"),
        (lambda i: i[0] <= 1, "no feature 0"),
        (lambda i: i["a"] <= "3", "write a number, without quotes"),
        (lambda i: i["colour"].isin("red"), "isin takes a list of values, got 'red'"),
        (lambda i: i["colour"] == "Red", "no value 'Red'.*did you mean 'red'"),
    ],
)
def test_objects_that_make_no_rule_are_refused_with_the_remedy(make: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        make(Inputs(FEATURES))


def test_a_truth_value_is_the_word_for_it() -> None:
    inputs = Inputs([binary("member"), binary("sex", ["female", "male"])])
    for rule in (inputs["member"] == True, inputs["member"] == "true"):  # noqa: E712
        assert [holds(rule, point) for point in ((0, 0), (1, 0))] == [False, True]
    again = Inputs(inputs.features, ["member == True"]).rules[0]
    assert [holds(again, point) for point in ((0, 0), (1, 0))] == [False, True]
    with pytest.raises(InputError, match="sex has no value 'true'; its values are female, male"):
        _ = inputs["sex"] == "true"


def test_chains_and_python_s_and_are_refused_for_objects() -> None:
    inputs = Inputs(FEATURES)
    with pytest.raises(InputError, match="parentheses"):
        _ = 1 <= inputs["a"] <= 3
    with pytest.raises(InputError, match="two different Inputs"):
        _ = inputs["a"] <= Inputs(FEATURES)["a"]
    with pytest.raises(InputError, match="other Inputs"):
        Inputs(FEATURES).where(inputs["a"] <= 3)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <= 3", [0, 3]),
        ("a > 3", [4, 9]),
        ("a != 3", [0, 4, 9, None]),
        ("not (a <= 3)", [4, 9, None]),
        ("a == 'missing'", [None]),
        ("a != 'missing'", [0, 3, 4, 9]),
        ("a <= 3 or a == 'missing'", [0, 3, None]),
        ("a.isin([0, 4, 'missing'])", [0, 4, None]),
        ("0 * a + b <= 1", [0, 3, 4, 9]),
        ("(b == 1).implies(a >= 4)", [4, 9]),
        ("(a <= 3).implies(b == 0)", [4, 9, None]),
    ],
)
@pytest.mark.parametrize("make", [integer, continuous])
def test_a_missing_value_satisfies_no_comparison_as_in_python(
    make: Any, text: str, kept: list[int | None]
) -> None:
    inputs = Inputs([make("a", 0, 9, missing=True), binary("b")]).where(text)
    for inner in (inputs, inputs.missing_apart, Inputs.from_data(inputs.to_data())):
        last, top = inner.features[0].last, inner.features[0].top
        points = {value: (top if value is None else value, 1) for value in (0, 3, 4, 9, None)}
        assert last < top
        assert [value for value in points if holds(inner.rules[0], points[value])] == kept
        assert inner.mixed is not None
        whole = np.array([points[value] for value in kept], dtype=float)
        assert inner.mixed.containing(whole).all()


def test_lists_of_values_of_a_number_that_may_be_missing_stay_short() -> None:
    inputs = Inputs([integer("a", 0, 99, missing=True)])
    assert len(inputs["a"].isin(range(0, 20, 2)).clauses) == 2**10 + 1
