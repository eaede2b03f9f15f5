import json
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Explanation, InputError
from milp_verix.records.json_format import KINDS, load
from milp_verix.records.stored.unread_points import UnreadCounterfactual
from tests.support.handmade_results import made
from tests.support.repository import FIXTURES

STORED = sorted((FIXTURES / "results").glob("*.json"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_result_read_lazily_is_the_result(path: Path) -> None:
    kind = KINDS[json.loads(path.read_text(encoding="utf-8")).get("kind")]
    eager, lazy = load(path, kind), load(path, kind, lazily=True)
    for field in eager.__dataclass_fields__:
        before, after = getattr(eager, field), getattr(lazy, field)
        if field in ("counterfactuals", "contrastive"):
            assert before.keys() == after.keys()
            pairs = [(before[name], after[name]) for name in before]
        elif field == "counterfactual":
            pairs = [(before, after)]
        else:
            assert np.array_equal(before, after) if field == "input" else before == after
            continue
        for one, other in pairs:
            assert isinstance(other, UnreadCounterfactual)
            assert one.prediction == other.prediction
            assert one.input.dtype == other.input.dtype
            assert np.array_equal(one.input, other.input)


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
        lambda text: text.replace('"input": [[', '"input": [['[:-1], 1),
        lambda text: text.replace("]]}]", '"]]}]'),
        lambda text: text.replace("]]}]", "]}]"),
        lambda text: text.replace("]]}]", ",]]}]"),
        lambda text: text.replace("]]}]", ", null]]}]"),
        lambda text: text.replace('"counterfactuals": [', '"counterfactuals": [{"input": {}}, '),
        lambda text: text.replace('"counterfactuals": [', '"counterfactuals": [[1], '),
    ],
)
def test_damaged_numbers_are_an_error_when_they_are_asked_for(damage) -> None:  # type: ignore[no-untyped-def]
    text = made((1, 3), explained=(1,)).to_json()
    assert damage(text) != text
    with pytest.raises(InputError):
        _ = load(damage(text), Explanation, lazily=True).counterfactuals[1].input
