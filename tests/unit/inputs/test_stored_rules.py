"""Descriptions of inputs that are written and read again say the same of every point."""

import json
import math
import operator
from typing import Any

import numpy as np
import onnx.parser
import pytest
from hypothesis import given, strategies as st

from milp_verix import Explanation, InputError, Inputs, explain
from milp_verix.base.stored_numbers import parsed
from milp_verix.inputs.feature import binary, category, continuous, fixed, integer, ordinal
from milp_verix.inputs.rules import Quantity, Rule

WORDS = ["red", "it's", '"', "ﬁn", "a\\b", "Ω\u2028"]
FEATURES = [
    *(integer("a", -3, 5), continuous("ﬁx", -2, 2), continuous("fix", -2, 2)),
    *(continuous("not a name", -2, 2), ordinal("size", ["S", "M", "L"]), binary("lambda")),
    *(category("colour", WORDS), category("hot", ["x", "y", "z"], one_hot=True)),
]
ORDERED = ("a", "ﬁx", "fix", "not a name", "size", "lambda")
COMPARED = (operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne)


@st.composite
def numbers(draw: st.DrawFn) -> Any:
    value = draw(st.one_of(st.integers(-9, 9), st.floats(-9, 9, allow_subnormal=False)))
    kinds = [type(value), np.float64, np.longdouble, np.float32]
    return draw(st.sampled_from([*kinds, np.int64] if isinstance(value, int) else kinds))(value)


@st.composite
def quantities(draw: st.DrawFn, inputs: Inputs, depth: int = 3) -> Quantity:
    if depth == 0 or draw(st.booleans()):
        return inputs[draw(st.sampled_from(ORDERED))]
    left = draw(quantities(inputs, depth - 1))
    right = draw(st.one_of(numbers(), quantities(inputs, depth - 1)))
    way = draw(st.sampled_from(["+", "-", "*", "neg", "r+", "r-"]))
    if way == "neg":
        return -left
    if way == "*":
        return left * draw(numbers())
    sign = operator.add if way[-1] == "+" else operator.sub
    found: Quantity = sign(right, left) if way[0] == "r" else sign(left, right)
    return found


@st.composite
def rules(draw: st.DrawFn, inputs: Inputs, depth: int = 2) -> Rule:
    if depth and draw(st.booleans()):
        one, other = draw(rules(inputs, depth - 1)), draw(rules(inputs, depth - 1))
        ways = [one & other, one | other, ~one, one.implies(other)]
        return draw(st.sampled_from(ways))
    if draw(st.booleans()):
        name = draw(st.sampled_from(["colour", "hot"]))
        word = st.sampled_from(inputs.features[inputs.names.index(name)].values)
        words = draw(st.lists(st.one_of(word, word.map(np.str_)), min_size=1, max_size=3))
        picked = [inputs[name] == words[0], inputs[name] != words[0], inputs[name].isin(words)]
        return draw(st.sampled_from(picked))
    left = draw(quantities(inputs))
    right = st.one_of(numbers(), quantities(inputs, 1))
    if draw(st.booleans()):
        return left.isin(draw(st.lists(right, min_size=1, max_size=3)))
    found: Rule = draw(st.sampled_from(COMPARED))(left, draw(right))
    return found


def truth(rule: Rule, points: Any) -> list[bool]:
    return [
        all(any(half.holds(point) for half in clause) for clause in rule.clauses)
        for point in points
    ]


@pytest.mark.slow
@given(st.data())
def test_a_rule_that_is_stored_is_the_rule_that_is_read(data: st.DataObject) -> None:
    inputs = Inputs(FEATURES)
    try:
        inputs = inputs.where(data.draw(rules(inputs)))
    except InputError as refused:  # no rule at all, or one that nothing satisfies
        if "about no feature" in str(refused) or "no input satisfies" in str(refused):
            return
        raise
    again = Inputs.from_data(parsed(json.dumps(inputs.to_data())))
    assert again == inputs
    assert again.to_data() == inputs.to_data()
    width = sum(feature.width for feature in inputs.features)
    points = np.random.default_rng(0).integers(-3, 4, (40, width)) / 2
    for before, after in zip(inputs.rules, again.rules, strict=True):
        assert before.same(after)
        assert truth(before, points) == truth(after, points)


def test_names_that_python_normalises_are_different_names() -> None:
    inputs = Inputs([continuous("ﬁx", 0, 1), continuous("fix", 0, 1), continuous("größe", 0, 1)])
    stored = inputs.where(inputs["ﬁx"] <= 0.5).to_data()["rules"]
    for rules, place in ((stored, 0), (["ﬁx <= 0.5"], 0), (["fix <= 0.5"], 1), (["größe > 0"], 2)):
        ((clause,),) = (rule.clauses for rule in Inputs(inputs.features, rules).rules)
        assert clause[0].coordinates.tolist() == [place]
    alone = [continuous("fix", 0, 1)]
    with pytest.raises(InputError, match="there is no feature 'ﬁx'"):
        Inputs(alone, ["ﬁx <= 0.5"])


def test_results_about_rules_with_numbers_of_numpy_are_read_again() -> None:
    model = onnx.parser.parse_model(
        """
    <ir_version: 8, opset_import: ["": 17]>
    m (float[1,2] x) => (float[1,1] y)
    <float[2,1] W = {1, 1}, float[1] b = {-2.5>
    { y = Gemm(x, W, b) }
    """.replace("-2.5>", "-2.5}>")
    )
    bare = Inputs([integer("a", 0, 5), continuous("c", -1, 1)])
    for rule in (
        bare["c"] <= np.float64(0.25),
        bare["a"].isin(np.arange(3)),
        (bare["a"] + bare["c"]).isin([0.25, 1.25]),
    ):
        inputs = bare.where(rule)
        found = explain(model, {"a": 1, "c": 0.25}, epsilon=math.inf, inputs=inputs)
        again = Explanation.from_json(found.to_json())
        assert again.inputs == found.inputs == inputs


def test_a_rule_that_cannot_be_read_again_is_refused_at_once() -> None:
    inputs = Inputs([integer("a", 0, 2**40), continuous("c", -1, 1)])
    long = sum((0.1111111111111111 * inputs["c"] for _ in range(600)), inputs["c"])
    with pytest.raises(InputError, match="more than 10000 characters"):
        inputs.where(long <= 1)
    with pytest.raises(InputError, match="finite numbers"):
        inputs.where(inputs["a"] <= 10**400)
    with pytest.raises(InputError, match="beyond float64"):
        inputs.where(1e200 * (1e200 * inputs["c"]) <= 1)


@pytest.mark.parametrize(
    "made",
    [
        lambda: continuous("\ud800"),
        lambda: category("a", ["\udfff", "b"]),
        lambda: fixed("a", "\ud800"),
        lambda: fixed("a", 5),  # type: ignore[arg-type]
        lambda: Inputs([fixed("a")], class_names=["\ud800"]),
    ],
)
def test_texts_that_no_file_can_hold_are_refused(made: Any) -> None:
    with pytest.raises(InputError, match=r"surrogate|unit is a text"):
        made()
