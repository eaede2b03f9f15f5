import io
from base64 import b64decode
from typing import Any

import numpy as np
import pytest
from PIL import Image

from milp_verix import ContrastiveExplanation, Enumeration, Explanation
from milp_verix.views.pictures import pictures
from milp_verix.views.rendering import View
from tests.support.handmade_results import made
from tests.support.pages import Element, image, viewed
from tests.support.repository import FIXTURES


def drawn(result: Any, most: int = 4, **more: Any) -> Element:
    return viewed(View(pictures=pictures(result, most, **more)))


def alts(page: Element) -> list[str | None]:
    return [one.attributes["alt"] for one in page.all("img")]


def test_alternatives_say_what_is_seen() -> None:
    found = alts(drawn(image(3, prediction=7)))
    assert found[:2] == [
        "input, predicted 7",
        "prediction 7: 3 of 36 pixels kept, 1 of them undecided",
    ]
    assert found[2] == (
        "difference that changes the prediction → 5: 1 pixel changed by 0 to 0.1, "
        "with row 0 column 3 freed"
    )
    assert len(found) == 4


def test_the_feature_freed_is_outlined() -> None:
    lines = drawn(image(3)).all("path")[0].attributes["d"]
    assert set(str(lines).split("M")) == {"", "3 0L4 0", "3 1L4 1", "3 0L3 1", "4 0L4 1"}


def test_no_more_counterfactuals_are_shown_than_asked_for() -> None:
    assert len(alts(drawn(image(3), most=1))) == 3
    assert len(alts(drawn(image(3), most=0))) == 2


def test_a_sensitivity_is_shown_on_request() -> None:
    found = made((1, 6, 6, 1), explained=(1,), sensitivity=[0.1] * 36)
    assert "sensitivity: drop of the score" in alts(drawn(found, sensitivity=True))
    assert len(alts(drawn(found))) == 3


@pytest.mark.parametrize("shape", [(1, 6, 6, 3), (1, 3, 6, 6)])
def test_colours_stay_colours(shape: tuple[int, ...]) -> None:
    values = np.zeros(shape, np.float32)
    values[(..., 0) if shape[-1] == 3 else (0, 0)] = 1.0
    groups = np.arange(108).reshape(36, 3) if shape[-1] == 3 else np.arange(108).reshape(3, 36).T
    found = made(shape, x=values, explained=(4,), groups=groups.tolist())
    page = drawn(found)
    address = str(page.all("img")[0].attributes["src"])
    assert alts(page)[1] == "prediction 2: 1 of 36 pixels kept"
    seen = np.asarray(Image.open(io.BytesIO(b64decode(address.split(",")[1]))).convert("RGB"))
    assert np.array_equal(seen, np.broadcast_to([255, 0, 0], (6, 6, 3)))


def test_a_contrast_is_shown_as_a_difference() -> None:
    found = ContrastiveExplanation.from_json(FIXTURES / "results" / "contrastive.json")
    assert [str(alt).split(",")[0].split(" that")[0] for alt in alts(drawn(found))] == [
        "input",
        "difference",
        "counterfactual",
    ]


def test_an_enumeration_shows_sets_of_both_kinds() -> None:
    found = Enumeration.from_json(FIXTURES / "results" / "enumeration.json")
    assert len(alts(drawn(found, 3))) == 7


def test_a_row_of_numbers_has_no_pictures() -> None:
    assert pictures(made((1, 4), explained=(1,)), 4) == []


def test_a_stored_result_is_drawn_whole() -> None:
    found = Explanation.from_json(FIXTURES / "results" / "explanation.json")
    assert len(alts(drawn(found, most=99))) == 2 + found.size
