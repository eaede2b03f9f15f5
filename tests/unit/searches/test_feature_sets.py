"""Sets of features in every form that tools give, and the messages about other forms."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import InputError, OnnxNetwork, Problem, Search
from milp_verix.searches.feature_sets import feature_set, groups_for
from tests.support.digits_example import EPSILON, explained, images, network
from tests.support.onnx_models import FLOAT, build, loaded, node, weights

GROUPS = [list(range(8 * row, 8 * row + 8)) for row in range(8)]


def digits(**options: Any) -> Problem:
    return Problem(network(), images()[15], epsilon=EPSILON, **options)


def coloured(folder: Path, shape: tuple[int, ...]) -> OnnxNetwork:
    """Return a linear classifier of an image of 4 × 5 pixels with three channels."""
    nodes = [node("Flatten", ["x"], ["f"]), node("MatMul", ["f", "A"], ["y"])]
    model = build(nodes, inputs={"x": shape}, constants={"A": weights(60, 3)}, elem=FLOAT)
    return loaded(model, folder)


@pytest.mark.parametrize(
    "given",
    [[9, 3], (3, 9), np.array([9, 3]), {9, 3}, frozenset((3, 9)), np.array([3, 9], np.uint8)],
)
def test_indices(given: Any) -> None:
    assert feature_set(given, digits()) == (3, 9)


def test_no_features_and_all() -> None:
    assert feature_set([], digits()) == ()
    assert feature_set(range(64), digits()) == tuple(range(64))


def mask(*features: int, size: int = 64) -> np.ndarray[Any, np.dtype[np.bool_]]:
    chosen = np.zeros(size, dtype=bool)
    chosen[list(features)] = True
    return chosen


@pytest.mark.parametrize("shape", [(64,), (8, 8), (1, 8, 8), (1, 1, 8, 8)])
def test_masks_of_the_input(shape: tuple[int, ...]) -> None:
    for given in (mask(3, 9).reshape(shape), mask(3, 9).reshape(shape).tolist()):
        assert feature_set(given, digits()) == (3, 9)
    for given in (mask(3, 9).astype(float), mask(3, 9).astype(np.float32)):
        assert feature_set(given.reshape(shape), digits()) == (3, 9)
        assert feature_set(given.reshape(shape).tolist(), digits()) == (3, 9)
    if len(shape) > 1:
        assert feature_set(mask(3, 9).reshape(shape).astype(int), digits()) == (3, 9)


@pytest.mark.parametrize("form", [list, np.array, lambda one: np.array(one, float).reshape(8, 8)])
def test_each_call_takes_a_mask(form: Any) -> None:
    given, problem = form(mask(3, 9).tolist()), digits()
    search = Search(time_limit=1e-6)
    assert problem.check(given, search=search).free == (3, 9)
    assert problem.radius(free=given, search=search).bracket.features == (3, 9)
    assert problem.relevance(given, search=search).features == (3, 9)
    assert {3, 9} <= {*problem.minimum(must=given, search=search).explanation}
    assert not {3, 9} & {*(problem.contrastive(must_not=given, search=search).contrast or ())}
    ends = [problem.export(one).program.column_upper for one in (given, [3, 9])]
    assert np.array_equal(*ends)
    with pytest.raises(InputError, match=r"free: the mask has shape \(63,\), expected the input"):
        problem.check(mask(3, 9)[:63])
    with pytest.raises(InputError, match="free lists a feature twice; a mask holds True and False"):
        problem.check(mask(3, 9).astype(int))


def test_masks_of_features_that_are_groups() -> None:
    problem = digits(features=GROUPS)
    assert feature_set(mask(*GROUPS[2], *GROUPS[5]), problem) == (2, 5)
    assert feature_set(mask(2, 5, size=8), problem) == (2, 5)
    with pytest.raises(InputError, match="covers 7 of the 8 coordinates of feature 2"):
        feature_set(mask(*GROUPS[2][1:]), problem)


@pytest.mark.parametrize("shape", [(1, 4, 5, 3), (1, 3, 4, 5)])
@pytest.mark.parametrize("features", [None, "pixels"])
def test_masks_of_pixels(shape: tuple[int, ...], features: str | None, tmp_path: Path) -> None:
    model = coloured(tmp_path, shape)
    x = np.full(shape, 0.5, np.float32)
    problem = Problem(model, x, epsilon=0.1, features=features)
    chosen = mask(6, 13, size=20).reshape(4, 5)
    channels = np.repeat(chosen[..., None], 3, 2)
    whole = channels if shape[-1] == 3 else channels.transpose(2, 0, 1)
    found = feature_set(chosen, problem)
    expected = np.flatnonzero(whole) if features is None else [6, 13]
    assert list(found) == list(expected)
    assert feature_set(whole[None], problem) == found
    covered = problem.features.coordinates(found)
    assert list(covered) == list(np.flatnonzero(whole))


def test_a_mask_of_a_flat_input_follows_its_image_shape() -> None:
    nodes = [node("MatMul", ["x", "A"], ["y"])]
    model = build(nodes, inputs={"x": (1, 48)}, constants={"A": weights(48, 3)}, elem=FLOAT)
    x = np.full(48, 0.5, np.float32)
    flat = milp_verix.load_network(model.SerializeToString())
    problem = Problem(flat, x, epsilon=0.1, image_shape=(4, 4, 3))
    assert feature_set(mask(2, size=16).reshape(4, 4), problem) == (6, 7, 8)
    with pytest.raises(InputError, match=r"mask has shape \(4, 4\)"):
        feature_set(mask(2, size=16).reshape(4, 4), Problem(flat, x, epsilon=0.1))


def test_an_explanation_brings_its_groups() -> None:
    own = explained(features=tuple(map(tuple, GROUPS)))
    assert groups_for(own, None) == own.groups
    assert groups_for(explained(), None) is None
    assert groups_for([1, 2], "pixels") == "pixels"
    found = milp_verix.audit(network(), images()[15], own, epsilon=EPSILON)
    assert (found.groups, found.minimal) == (own.groups, True)
    with pytest.raises(InputError, match="about 8 features, the audit about 64"):
        milp_verix.audit(network(), images()[15], own, epsilon=EPSILON, features="pixels")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([64], "feature 64 is out of range: the features are 0..63"),
        ([-1], "feature -1 is out of range"),
        ([3, 3], "lists a feature twice"),
        ([0.5], "integer indices"),
        ([True, 2], "integer indices"),
        ({True, 2}, "integer indices"),
        ("pixels", "there is no feature 'pixels'"),
        (None, "integer indices"),
        ([[1], [2, 3]], "integer indices"),
        (np.full((8, 8), 0.5), "above a threshold"),
        (np.full((8, 8), -1), "mask == 1"),
        (np.ones((7, 8), bool), r"shape \(7, 8\), expected the input's, \(1, 1, 8, 8\)"),
        (np.ones(63, bool), "an entry for each of the 64 features"),
    ],
)
def test_what_is_no_set(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        feature_set(given, digits())
