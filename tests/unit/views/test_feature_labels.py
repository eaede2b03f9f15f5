"""What features are called: names, rows and columns, numbers."""

from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, explain
from milp_verix.views.labels import FeatureLabels, labels_of
from tests.support.digits_example import images, network
from tests.support.handmade_results import made


def labels(shape: tuple[int, ...], **given: Any) -> FeatureLabels:
    image_shape = given.pop("image_shape", None)
    return labels_of(made(shape, **given), image_shape)


@pytest.mark.parametrize("shape", [(5, 6), (1, 1, 5, 6), (1, 5, 6, 1)])
def test_a_grey_pixel_has_a_row_and_a_column(shape: tuple[int, ...]) -> None:
    found = labels(shape)
    assert (found[0], found[7], found[29]) == (
        "row 0 column 0",
        "row 1 column 1",
        "row 4 column 5",
    )
    assert found.listed([7, 29]) == "(1,1), (4,5)"
    assert (found.unit, found.axes) == ("pixels", "(row,column)")


def test_a_flat_input_is_seen_in_the_shape_given() -> None:
    assert labels((1, 30))[7] == "feature 7"
    assert labels((1, 30), image_shape=(5, 6))[7] == "row 1 column 1"
    assert labels((1, 30), image_shape=(5, 7))[7] == "feature 7"


@pytest.mark.parametrize(
    ("shape", "coordinate"), [((4, 5, 3), (1 * 5 + 2) * 3 + 1), ((3, 4, 5), 20 + 1 * 5 + 2)]
)
def test_a_channel_of_a_pixel_is_named_too(shape: tuple[int, ...], coordinate: int) -> None:
    found = labels(shape)
    assert found[coordinate] == "row 1 column 2 channel 1"
    assert found.short(coordinate) == "(1,2,1)"
    assert (found.unit, found.axes) == ("pixel values", "(row,column,channel)")


def test_a_pixel_with_its_channels_has_none() -> None:
    first = [[i, i + 20, i + 40] for i in range(20)]
    last = np.arange(60).reshape(20, 3).tolist()
    assert labels((3, 4, 5), groups=first)[7] == "row 1 column 2"
    assert labels((4, 5, 3), groups=last)[7] == "row 1 column 2"


def test_groups_that_are_no_pixels_have_numbers() -> None:
    blocks = [[0, 1], [2, 3], *([i] for i in range(4, 20))]
    channels = [[0], [1, 2], *([3 * i, 3 * i + 1, 3 * i + 2] for i in range(1, 20))]
    assert labels((4, 5), groups=blocks)[1] == "feature 1"
    found = labels((4, 5, 3), groups=channels)
    assert (found[1], found.unit, found.axes) == ("feature 1", "features", "")


def test_names_come_first() -> None:
    found = labels((4, 4), feature_names=tuple("abcdefghijklmnop"))
    assert (found[3], found.short(3), found.unit, found.axes) == ("d", "d", "features", "")


def test_long_lists_are_cut_and_counted() -> None:
    found = labels((40,))
    assert found.listed(range(12)).endswith(", 10, 11")
    assert found.listed(range(13)).endswith(", 10, 11, … and 1 more")
    assert found.listed([]) == ""


def test_names_are_stored_with_the_explanation() -> None:
    names = [f"pixel {i}" for i in range(64)]
    found = explain(network(), images()[0], epsilon=0.1, feature_names=names)
    assert found.feature_names == tuple(names)
    assert type(found).from_json(found.to_json()).feature_names == tuple(names)


@pytest.mark.parametrize("names", [["a"], list(range(64)), [["a"] * 8] * 8, "abc"])
def test_names_that_do_not_fit_are_refused(names: Any) -> None:
    with pytest.raises(InputError, match="feature_names are 64 texts, one for each feature; got"):
        explain(network(), images()[0], epsilon=0.1, feature_names=names)


def test_a_place_that_is_too_long_is_told_by_its_numbers() -> None:
    found = labels((20, 20, 3))
    assert found.fitting(3 * 212 + 1, 24) == "(10,12,1)"
    assert found.fitting(0, 24) == "row 0 column 0 channel 0"
    named = labels((2,), feature_names=("a name of more letters", "b"))
    assert named.fitting(0, 8) == "a na…ers"
