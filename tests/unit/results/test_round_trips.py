"""Results are read as they were written, field by field and bit by bit."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from milp_verix import Explanation, InputError
from milp_verix.base.stored_numbers import parsed
from tests.support.handmade_results import made

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FLOATS = st.floats(-1e6, 1e6, width=32)


def same(one: Any, other: Any) -> bool:
    """Return whether two values of fields are equal, with types and bits of numbers."""
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if hasattr(one, "prediction"):
        return same(one.input, other.input) and one.prediction == other.prediction
    if hasattr(one, "items"):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    size = draw(st.integers(1, 6))
    order = draw(st.permutations(range(size)))
    cuts = sorted(draw(st.sets(st.integers(1, size - 1))) if size > 1 else [])
    parts = zip([0, *cuts], [*cuts, size], strict=True)
    groups = tuple(tuple(order[first:end]) for first, end in parts)
    count = len(groups)
    explained = draw(st.sets(st.integers(0, count - 1)))
    undecided = draw(st.sets(st.sampled_from(sorted(explained)))) if explained else set()
    outputs = st.lists(FLOATS, min_size=2, max_size=2).map(tuple)
    delta = draw(st.none() | st.floats(0, 9))
    prediction = st.integers(0, 9) if delta is None else outputs
    each = st.lists(FLOATS, min_size=count, max_size=count).map(tuple)
    ends = st.floats(-1e6, 1e6) | st.lists(FLOATS, min_size=size, max_size=size).map(tuple)
    return made(
        (1, size),
        x=draw(arrays(np.float32, size, elements=FLOATS)),
        prediction=draw(prediction),
        changed=draw(prediction),
        explained=sorted(explained - undecided),
        undecided={feature: draw(TEXT) for feature in undecided},
        groups=groups,
        sensitivity=draw(st.none() | each),
        epsilon=draw(st.floats(0, 1e6)),
        delta=delta,
        domain=(draw(ends | st.just(-np.inf)), draw(ends | st.just(np.inf))),
        notes=tuple(draw(st.lists(TEXT, max_size=3))),
        feature_names=draw(st.none() | st.lists(TEXT, min_size=count, max_size=count).map(tuple)),
        costs=draw(
            st.none() | st.lists(st.floats(0, 9), min_size=count, max_size=count).map(tuple)
        ),
        lower_bound=draw(st.sampled_from([None, 0.0])),
        scenarios=tuple(draw(st.lists(arrays(np.float32, (1, size), elements=FLOATS), max_size=2))),
        must=tuple(sorted(draw(st.sets(st.integers(0, count - 1))))),
    )


@pytest.mark.slow
@given(explanations(), st.sampled_from([None, 2]))
def test_an_explanation_comes_back_from_json(found: Explanation, indent: int | None) -> None:
    again = Explanation.from_json(found.to_json(indent=indent))
    for field in fields(Explanation):
        one, other = getattr(found, field.name), getattr(again, field.name)
        if field.name == "scenarios":
            assert len(one) == len(other)
            assert all(map(same, one, other))
        else:
            assert same(one, other), field.name


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"epsilon": 0.1', '"epsilon": NaN', "NaN is no number in JSON"),
        ('"epsilon": 0.1', '"epsilon": 1e999', "the number 1e999 is too large"),
        (
            '"epsilon": 0.1',
            '"epsilon": "0.1"',
            'epsilon is "0.1", expected a finite number',
        ),
        ('"epsilon": 0.1', '"epsilon": 0.1, "epsilon": 0.2', "an object in it has 'epsilon' twice"),
        ('"lower_bound": 1', '"lower_bound": 4', "the lower bound is above the cost"),
        (
            '"lower_bound": 1',
            '"lower_bound": "1"',
            'lower_bound is "1", expected a whole number or a finite number',
        ),
        ('"lower_bound": 1', '"lower_bound": 1' + "0" * 400, "lower_bound is 1000"),
        ('"file": "model.onnx"', '"file": "\\ud800"', "half of a surrogate pair"),
        ('"dtype": "float32"', '"dtype": "f4,f4"', "dtype"),
        ("[[0.0, ", '[["0.0", ', "entries that are no numbers"),
        ("[[0.0, ", "[[1e39, ", "numbers that float32 cannot hold"),
        (
            '"feature_names": null',
            '"feature_names": ["a"]',
            "feature_names has a name for each feature",
        ),
    ],
)
def test_a_number_that_readers_read_differently_is_refused(old: str, new: str, told: str) -> None:
    text = made((1, 3), explained=(0, 1), lower_bound=1).to_json()
    assert parsed(text) == json.loads(text)
    assert old in text
    with pytest.raises(InputError) as refused:
        Explanation.from_json(text.replace(old, new))
    assert told in str(refused.value)
