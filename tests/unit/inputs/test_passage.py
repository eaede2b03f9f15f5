"""A text whose words are features: its parts, and its place in a description."""

from typing import Any

import pytest

from milp_verix import InputError, Inputs, integer
from milp_verix.inputs.stored import Passage

TEXT = Passage("win, win a prize", (((0, 3), (5, 8)), ((11, 16),), ()))


def test_words_are_marked_where_they_stand() -> None:
    assert TEXT.parts([]) == [("win, win a prize", False)]
    assert TEXT.parts([1, 2]) == [("win, win a ", False), ("prize", True)]
    assert TEXT.parts([0]) == [("win", True), (", ", False), ("win", True), (" a prize", False)]


def test_a_description_holds_the_passage() -> None:
    features = [integer(word, 0, 2) for word in ("win", "prize", "lunch")]
    inputs = Inputs(features, passage=TEXT)
    assert Inputs.from_data(inputs.to_data()) == inputs
    assert inputs != Inputs(features)
    assert inputs.where("win <= 1").passage == TEXT
    with pytest.raises(InputError, match="spans of 3 features"):
        Inputs(features[:2], passage=TEXT)


@pytest.mark.parametrize(
    "spans", [[[[0, 99]]], [[[3, 3]]], [[["a", 1]]], [[[1]]], 7, [[[-1, 2]]], [[[True, 2]]]]
)
def test_places_outside_of_the_text_are_refused(spans: Any) -> None:
    data = {"features": [{"name": "win", "kind": "integer"}], "passage": {"text": "win"}}
    data["passage"]["spans"] = spans  # type: ignore[call-overload]
    with pytest.raises(InputError, match="a passage has a text"):
        Inputs.from_data(data)
