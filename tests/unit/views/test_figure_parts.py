"""What a figure shows, as numbers: no drawing."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.views.feature_status import Status, chosen
from milp_verix.views.image_view import (
    ImageView,
    image_view,
    outline,
    overlay,
    sensitivity_map,
    status_masks,
)
from milp_verix.views.tabular_plot import changes, rows
from tests.support.handmade_results import made

RNG = np.random.default_rng(0)
COLOURS = RNG.random((5, 6, 3))


def seen(shape: tuple[int, ...], **given: Any) -> ImageView:
    view = image_view(made(shape, **given), given.pop("image_shape", None))
    assert view is not None
    return view


@pytest.mark.parametrize("shape", [(5, 6), (1, 5, 6), (1, 1, 5, 6), (1, 5, 6, 1), (5, 6, 1)])
def test_a_grey_image_is_grey(shape: tuple[int, ...]) -> None:
    values = RNG.random((5, 6))
    colours = seen(shape).rgb(values.reshape(shape))
    np.testing.assert_allclose(colours, np.stack([values] * 3, axis=2))


@pytest.mark.parametrize("shape", [(1, 30), (30,), (1, 30, 1)])
def test_a_flat_input_is_seen_in_the_shape_given(shape: tuple[int, ...]) -> None:
    explanation = made(shape)
    assert image_view(explanation) is None
    view = image_view(explanation, (5, 6))
    assert view is not None
    assert view.rgb(explanation.input)[:, :, 0] == pytest.approx(
        np.linspace(0, 1, 30).reshape(5, 6)
    )


def test_channels_may_come_first_or_last() -> None:
    np.testing.assert_allclose(seen((1, 5, 6, 3)).rgb(COLOURS), COLOURS)
    np.testing.assert_allclose(seen((1, 3, 5, 6)).rgb(COLOURS.transpose(2, 0, 1)), COLOURS)


def test_a_fourth_channel_is_opacity_over_white() -> None:
    opacity = np.zeros((5, 6, 1))
    opacity[0] = 1.0
    colours = seen((5, 6, 4)).rgb(np.concatenate([COLOURS, opacity], axis=2))
    np.testing.assert_allclose(colours[0], COLOURS[0])
    np.testing.assert_allclose(colours[1:], 1.0)


def test_values_are_drawn_on_the_scale_of_the_domain() -> None:
    view = seen((4, 4), domain=(-1.0, 3.0))
    np.testing.assert_allclose(view.rgb(np.full(16, 1.0)), 0.5)
    np.testing.assert_allclose(view.rgb(np.full(16, 5.0)), 1.0)


def test_each_channel_has_a_scale_of_its_own() -> None:
    view = seen((3, 4, 5), domain=(0.0, (1.0,) * 20 + (2.0,) * 20 + (4.0,) * 20))
    np.testing.assert_allclose(view.rgb(np.ones(60))[2, 1], [1.0, 0.5, 0.25])


def test_without_a_finite_domain_the_input_gives_the_scale() -> None:
    values = np.linspace(-3, 7, 16)
    colours = seen((4, 4), x=values, domain=(-np.inf, np.inf)).rgb(values)
    np.testing.assert_allclose(colours[:, :, 0].reshape(-1), np.linspace(0, 1, 16))


def test_a_constant_input_without_a_domain_can_be_drawn() -> None:
    view = seen((4, 4), x=np.full(16, 3.0), domain=(-np.inf, np.inf))
    assert np.isfinite(view.rgb(np.full(16, 3.0))).all()


@pytest.mark.parametrize(
    ("image_shape", "message"),
    [
        ((5, 7), r"image_shape=\(5, 7\) has 35 values, and the input has 30"),
        ((2, 15), r"\(2, 15\) is not an image: .* at least 4 pixels"),
        ((30,), r"\(30,\) is not an image"),
    ],
)
def test_an_image_shape_that_does_not_fit_is_refused(
    image_shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        image_view(made((1, 30)), image_shape)


def tinted(
    colours: NDArray[np.float64], explained: list[int], undecided: list[int]
) -> NDArray[np.float64]:
    masks = np.zeros((2, 30), dtype=bool)
    masks[0, explained] = True
    masks[1, undecided] = True
    first, second = masks.reshape(2, 5, 6)
    return overlay(colours, first, second).reshape(-1, 3)


def test_exactly_the_explanation_is_green_and_the_undecided_orange() -> None:
    pixels = tinted(COLOURS, [0, 7, 29], [3, 8])
    red, green, blue = pixels.T
    is_grey = (red == green) & (green == blue)
    is_green = (green > red + 0.1) & (green > blue + 0.1)
    is_orange = (red > green + 0.1) & (green > blue + 0.1)
    assert np.flatnonzero(is_green).tolist() == [0, 7, 29]
    assert np.flatnonzero(is_orange).tolist() == [3, 8]
    assert np.flatnonzero(~is_grey).tolist() == [0, 3, 7, 8, 29]


def test_the_image_stays_visible_under_the_tint() -> None:
    bright = np.linspace(0, 1, 30).reshape(5, 6, 1).repeat(3, axis=2)
    pixels = tinted(bright, list(range(30)), [])
    assert np.all(np.diff(pixels, axis=0) > 0)
    assert pixels.min() >= 0
    assert pixels.max() <= 1


def test_a_pixel_is_explained_if_any_of_its_channels_is() -> None:
    # channels first: coordinates 0, 20, 40 are pixel 0; 1, 21, 41 are pixel 1; and so on
    explanation = made((3, 4, 5), explained=[20, 1], undecided={40: "t", 42: "t"})
    view = image_view(explanation)
    assert view is not None
    pixels = {
        status: np.flatnonzero(mask).tolist()
        for status, mask in status_masks(view, explanation).items()
    }
    assert pixels[Status.EXPLANATION] == [0, 1]
    assert pixels[Status.UNDECIDED] == [2]
    assert pixels[Status.IRRELEVANT] == list(range(3, 20))


def test_a_group_covers_its_pixels() -> None:
    groups = [[0, 1, 4, 5], [i for i in range(16) if i not in (0, 1, 4, 5)]]
    explanation = made((4, 4), groups=groups, explained=[0], sensitivity=[-2.0, 1.0])
    view = image_view(explanation)
    assert view is not None
    expected = np.zeros((4, 4), dtype=bool)
    expected[:2, :2] = True
    masks = status_masks(view, explanation)
    np.testing.assert_array_equal(masks[Status.EXPLANATION], expected)
    scores = sensitivity_map(view, explanation)
    np.testing.assert_array_equal(scores, np.where(expected, -2.0, 1.0))


def test_the_strongest_channel_stands_for_its_pixel() -> None:
    scores = np.zeros((4, 4, 3))
    scores[1, 2] = [0.5, -3.0, 2.0]
    explanation = made((4, 4, 3), sensitivity=scores.reshape(-1).tolist())
    view = image_view(explanation)
    assert view is not None
    drawn = sensitivity_map(view, explanation)
    assert drawn is not None
    assert drawn[1, 2] == -3.0
    assert np.count_nonzero(drawn) == 1


def test_no_sensitivity_no_map() -> None:
    assert sensitivity_map(seen((4, 4)), made((4, 4))) is None


def test_the_outline_is_the_border_of_the_mask() -> None:
    mask = np.zeros((3, 4), dtype=bool)
    mask[0, 1:3] = True
    # two pixels side by side: six sides outside, none between them
    assert sorted(outline(mask)) == [
        ((0.5, -0.5), (0.5, 0.5)),
        ((0.5, -0.5), (1.5, -0.5)),
        ((0.5, 0.5), (1.5, 0.5)),
        ((1.5, -0.5), (2.5, -0.5)),
        ((1.5, 0.5), (2.5, 0.5)),
        ((2.5, -0.5), (2.5, 0.5)),
    ]


def test_every_class_is_in_the_gallery_before_any_comes_twice() -> None:
    changed = {0: 9, **dict.fromkeys(range(1, 18), 4), 18: 1, 19: 1}
    explanation = made((20,), explained=range(20), changed=changed)
    assert chosen(explanation, 3) == (19, 9, 0)
    shown = [explanation.counterfactuals[feature].prediction for feature in chosen(explanation, 6)]
    assert shown == [1, 1, 4, 4, 4, 9]


def test_the_most_frequent_classes_are_kept_where_not_all_fit() -> None:
    changed = {0: 7, 1: 8, 2: 8, 3: 9, 4: 9, 5: 9}
    explanation = made((6,), explained=range(6), changed=changed)
    shown = {explanation.counterfactuals[feature].prediction for feature in chosen(explanation, 2)}
    assert shown == {8, 9}


def test_counterfactuals_of_a_class_are_spread_evenly() -> None:
    assert chosen(made((100,), explained=range(100)), 4) == (12, 37, 62, 87)


def test_counterfactuals_of_a_regression_are_spread_evenly() -> None:
    changed = {feature: (float(feature),) for feature in range(100)}
    explanation = made((100,), explained=range(100), prediction=(0.5,), changed=changed, delta=0.1)
    assert chosen(explanation, 4) == (12, 37, 62, 87)
    assert chosen(explanation, 4, among=[3, 60]) == (3, 60)


def test_few_counterfactuals_are_all_shown() -> None:
    assert chosen(made((10,), explained=[2, 5]), 8) == (2, 5)
    assert chosen(made((10,)), 8) == ()


def test_rows_run_from_the_most_sensitive_feature() -> None:
    explanation = made((1, 4), x=np.array([1.0, -2.5, 0, 4]), sensitivity=[1.0, -3.0, 0.0, 2.0])
    shown = rows(explanation)
    assert [row.feature for row in shown] == [1, 3, 0, 2]
    assert [row.length for row in shown] == [3.0, 2.0, 1.0, 0.0]
    assert shown[0].label == "feature 1 = -2.5"


def test_without_sensitivity_rows_follow_the_traversal_with_the_values() -> None:
    explanation = made((1, 3), x=np.array([1.0, -2.5, 0]), explained=[1], undecided={2: "t"})
    assert [(row.feature, row.length) for row in rows(explanation)] == [(0, 1), (1, -2.5), (2, 0)]
    assert [row.status for row in rows(explanation)] == [
        Status.IRRELEVANT,
        Status.EXPLANATION,
        Status.UNDECIDED,
    ]


def test_the_explanation_is_shown_where_not_everything_can_be() -> None:
    scores = np.arange(50.0)
    explanation = made((50,), explained=[0, 1], undecided={2: "t"}, sensitivity=scores.tolist())
    assert [row.feature for row in rows(explanation, most=5)] == [49, 48, 2, 1, 0]


def test_a_group_of_coordinates_is_a_row_with_its_mean() -> None:
    explanation = made((1, 3), x=np.array([1.0, 2.0, 5.0]), groups=[[0, 1], [2]])
    assert rows(explanation)[0].label == "feature 0: 2 inputs, mean 1.5"


def test_changes_are_those_of_the_counterfactual() -> None:
    explanation = made((1, 3), groups=[[0, 2], [1]], explained=[0], epsilon=0.25)
    np.testing.assert_allclose(changes(explanation, 0, rows(explanation)), [0.25, 0.0], rtol=1e-6)
