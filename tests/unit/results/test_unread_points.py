import numpy as np
import pytest

from milp_verix import Explanation, InputError
from milp_verix.results.json_format import load
from milp_verix.results.unread_points import UnreadCounterfactual
from tests.support.handmade_results import made


def test_a_result_read_lazily_is_the_result() -> None:
    text = made((1, 3), explained=(0, 1)).to_json()
    eager, lazy = load(text, Explanation), load(text, Explanation, lazily=True)
    assert np.array_equal(lazy.input, eager.input)
    assert lazy.counterfactuals.keys() == eager.counterfactuals.keys() == {0, 1}
    for feature, one in eager.counterfactuals.items():
        other = lazy.counterfactuals[feature]
        assert isinstance(other, UnreadCounterfactual)
        assert one.prediction == other.prediction
        assert one.input.dtype == other.input.dtype
        assert np.array_equal(one.input, other.input)
    assert lazy.to_json() == text


@pytest.mark.parametrize("indent", [None, 2])
def test_texts_that_look_like_an_input_are_left_as_they_are(indent: int | None) -> None:
    note = 'he said "input": [1, 2], and "unread": \\"input": [3]'
    found = made((1, 3), explained=(1,), notes=(note,), feature_names=("a", '"input": [0]', "c"))
    again = load(found.to_json(indent=indent), Explanation, lazily=True)
    assert again.notes == (note,)
    assert again.feature_names == ("a", '"input": [0]', "c")
    assert np.array_equal(again.counterfactuals[1].input, found.counterfactuals[1].input)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('{"input": [[', '{"input": [['[:-1], 1),
        lambda text: text.replace("]], ", ']]", '),
        lambda text: text.replace('1.0]], "pred', '1.0], "pred'),
        lambda text: text.replace('1.0]], "pred', '1.0,]], "pred'),
        lambda text: text.replace('1.0]], "pred', '1.0, null]], "pred'),
        lambda text: text.replace(
            '"counterfactuals": {', '"counterfactuals": {"0": {"input": {}}, '
        ),
        lambda text: text.replace('"counterfactuals": {', '"counterfactuals": {"0": [1], '),
    ],
)
def test_damaged_numbers_are_an_error_when_they_are_asked_for(damage) -> None:  # type: ignore[no-untyped-def]
    text = made((1, 3), explained=(1,)).to_json()
    assert damage(text) != text
    with pytest.raises(InputError):
        _ = load(damage(text), Explanation, lazily=True).counterfactuals[1].input
