"""A counterfactual that is none is found by the replay."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import Counterfactual, Explanation, InputError, load_network
from tests.support.digits_example import explained, images, network
from tests.support.onnx_models import dense, saved


def with_counterfactual(
    feature: int, x: NDArray[np.float32], prediction: int | None = None
) -> Explanation:
    """Return the explanation with one counterfactual replaced."""
    full = explained()
    found = full.counterfactuals[feature]
    changed = Counterfactual(x, found.prediction if prediction is None else prediction)
    return replace(full, counterfactuals={**full.counterfactuals, feature: changed})


def test_the_counterfactuals_of_an_explanation_stand() -> None:
    assert len(explained().counterfactuals) > 10
    assert explained().replay(network()) == ()


def test_the_original_input_is_no_counterfactual() -> None:
    feature = explained().explanation[3]
    assert with_counterfactual(feature, explained().input).replay(network()) == (feature,)


def test_a_counterfactual_just_outside_the_ball() -> None:
    feature = explained().explanation[0]
    x = explained().counterfactuals[feature].input.copy()
    flat, centre = x.reshape(-1), images()[15].reshape(-1)
    far = centre.astype(np.float64) + np.float64(0.1)
    inside = int(np.flatnonzero((centre < 0.5) & (np.abs(flat - far) < 1e-6))[0])
    beyond = np.float32(far[inside])
    flat[inside] = beyond if beyond > far[inside] else np.nextafter(beyond, np.float32(1))
    assert with_counterfactual(feature, x).replay(network()) == (feature,)


def test_a_counterfactual_that_touches_another_feature_of_the_explanation() -> None:
    feature, other = explained().explanation[:2]
    x = explained().counterfactuals[feature].input.copy()
    x.reshape(-1)[other] = np.nextafter(x.reshape(-1)[other], np.float32(0.5))
    assert with_counterfactual(feature, x).replay(network()) == (feature,)


def test_a_prediction_that_is_not_what_onnxruntime_says() -> None:
    feature = explained().explanation[0]
    found = explained().counterfactuals[feature]
    third = next(c for c in range(10) if c not in (found.prediction, explained().prediction))
    changed = with_counterfactual(feature, found.input, third)
    assert changed.replay(network()) == (feature,)


def test_another_network_is_refused(tmp_path: Path) -> None:
    other = load_network(saved(dense(), tmp_path))
    with pytest.raises(InputError, match="not the network explained"):
        explained().replay(other)


def test_another_prediction_is_refused() -> None:
    wrong = replace(explained(), prediction=(explained().prediction + 1) % 10)
    with pytest.raises(InputError, match="predicts"):
        wrong.replay(network())
