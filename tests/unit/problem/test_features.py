"""Features partition the input's coordinates, whichever way they are described."""

import re
from typing import Any

import numpy as np
import pytest

from milp_verix.base.errors import InputError
from milp_verix.problem.features import Features, make_features


def lists(features: Features) -> list[list[int]]:
    return [group.tolist() for group in features.groups]


@pytest.mark.parametrize(
    ("shape", "drawn"),
    [
        ((1, 5), None),
        ((1, 28, 28, 1), (28, 28)),
        ((1, 1, 8, 8), (8, 8)),
        ((1, 784), None),
        ((4, 6), (4, 6)),
        ((3, 6), None),
        # three features to a pixel cannot be drawn in its place
        ((1, 6, 5, 3), None),
        ((7,), None),
    ],
)
def test_by_default_every_coordinate_is_a_feature(
    shape: tuple[int, ...], drawn: tuple[int, int] | None
) -> None:
    features = make_features(None, shape)
    assert lists(features) == [[i] for i in range(np.prod(shape))]
    assert features.count == np.prod(shape)
    assert features.shape == drawn


@pytest.mark.parametrize("shape", [(1, 6, 5, 3), (6, 5, 3), (6, 5, 4), (1, 6, 5, 1)])
def test_a_pixel_is_all_its_channels_channels_last(shape: tuple[int, ...]) -> None:
    index = np.arange(np.prod(shape)).reshape(6, 5, shape[-1])
    features = make_features("pixels", shape)
    assert lists(features) == [index[i, j].tolist() for i in range(6) for j in range(5)]
    assert features.shape == (6, 5)


# the last two would be no image with their channels last
@pytest.mark.parametrize(
    "shape", [(1, 3, 6, 5), (3, 6, 5), (4, 6, 5), (1, 1, 6, 5), (3, 6, 4), (1, 1, 4, 4)]
)
def test_a_pixel_is_all_its_channels_channels_first(shape: tuple[int, ...]) -> None:
    channels, height, width = shape[-3:]
    index = np.arange(np.prod(shape)).reshape(channels, height * width)
    features = make_features("pixels", shape)
    assert lists(features) == index.T.tolist()
    assert features.shape == (height, width)


def test_a_pixel_of_a_matrix_is_its_entry() -> None:
    assert lists(make_features("pixels", (6, 5))) == [[i] for i in range(30)]


def test_an_array_labels_coordinates() -> None:
    labels = np.array([[[0, 1, 0], [2, 1, 0]]])
    assert lists(make_features(labels, (1, 2, 3))) == [[0, 2, 5], [1, 4], [3]]


@pytest.mark.parametrize("given_shape", [(6,), (2, 3), (1, 6), (3, 2)])
def test_labels_may_come_in_another_shape(given_shape: tuple[int, ...]) -> None:
    labels = np.array([0, 1, 0, 2, 1, 0]).reshape(given_shape)
    assert lists(make_features(labels, (1, 6))) == [[0, 2, 5], [1, 4], [3]]


def test_labels_of_the_inputs_shape_may_all_differ() -> None:
    assert lists(make_features(np.array([[2, 0], [3, 1]]), (1, 2, 2))) == [[1], [3], [0], [2]]


@pytest.mark.parametrize("given", [[[0, 3], [2, 1]], ((0, 3), (2, 1)), np.array([[0, 3], [2, 1]])])
def test_lists_hold_coordinates(given: Any) -> None:
    assert lists(make_features(given, (1, 4))) == [[0, 3], [2, 1]]


def test_a_flat_input_has_the_pixels_of_its_image_shape() -> None:
    assert lists(make_features("pixels", (1, 48), (4, 4, 3)))[1] == [3, 4, 5]
    assert lists(make_features("pixels", (1, 48), (3, 4, 4)))[1] == [1, 17, 33]
    assert make_features("pixels", (1, 48), (3, 4, 4)).shape == (4, 4)
    assert make_features(None, (1, 16), (4, 4)).shape == (4, 4)


@pytest.mark.parametrize(
    ("size", "hint"),
    [
        (784, "say image_shape=(28, 28) (--image-shape 28,28)"),
        (3072, "image_shape=(32, 32, 3) (--image-shape 32,32,3), or (3, 32, 32) with channels"),
        (21, "say image_shape=(height, width, channels)"),
    ],
)
def test_pixels_of_a_flat_input_need_an_image_shape(size: int, hint: str) -> None:
    with pytest.raises(InputError, match=re.escape(hint)):
        make_features("pixels", (1, size))


def test_coordinates_of_features_are_ascending() -> None:
    features = make_features([[5, 0], [3], [4, 1, 2]], (6,))
    assert features.coordinates([2, 0]).tolist() == [0, 1, 2, 4, 5]
    assert features.coordinates([]).tolist() == []
    assert features.coordinates([]).dtype.kind == "i"


@pytest.mark.parametrize(
    ("given", "shape", "message"),
    [
        ("pixel", (1, 4), "unknown features 'pixel'"),
        ("pixels", (1, 4), "not an input of shape (1, 4)"),
        ("pixels", (2, 6, 5, 3), "not an input of shape (2, 6, 5, 3)"),
        ("pixels", (1, 5, 6, 2), "not an input of shape (1, 5, 6, 2)"),
        (np.array([[0, 1, 1, 3]]), (1, 4), "numbers run from 0 to 3, 3 distinct"),
        (np.array([[1, 2, 3, 1]]), (1, 4), "numbers run from 1 to 3, 3 distinct"),
        (np.array([[0, 0, -1, 1]]), (1, 4), "numbers run from -1 to 1, 3 distinct"),
        (np.array([[0.0, 1, 2, 3]]), (1, 4), "holds integers, got dtype float64"),
        ([[0, 1], [3]], (1, 4), "each of the 4 input coordinates 0..3"),
        ([[0, 1], [1, 2, 3]], (1, 4), "hold 5 (4 distinct)"),
        ([[0, 1, 2, 4]], (1, 4), "hold 4 (4 distinct)"),
        ([[0, 1, 2, -1]], (1, 4), "exactly once"),
        ([[0, 1, 2, 3], []], (1, 4), "one of them is empty"),
        ([], (1, 4), "hold 0 (0 distinct)"),
        ([0, 1, 2, 3], (1, 4), "lists of flat coordinates"),
        (4, (1, 4), "lists of flat coordinates"),
        ([["a"], ["b"]], (1, 2), "lists of flat coordinates"),
        ([[0.5], [1.7]], (1, 2), "lists of flat coordinates"),
        (np.array([0, 0]), (1, 4), "lists of flat coordinates"),
    ],
)
def test_what_is_no_partition_is_refused(given: Any, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make_features(given, shape)
