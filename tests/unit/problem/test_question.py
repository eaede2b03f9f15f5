"""What is asked: margins that are zero exactly where the prediction starts to change."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix.base.errors import InputError
from milp_verix.problem.question import Classification, Regression, make_question
from milp_verix.problem.search import Given
from tests.support.onnx_models import FLOAT, build, loaded, node, weights
from tests.support.random_networks import as_layers, dense_network, network_of, random_layers

AFFINE = as_layers(([[1, 0], [0, 1], [1, 1]], [0, 0, -1]))


@pytest.mark.parametrize("seed", range(10))
def test_classification_margins_are_each_rivals_lead(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(random_layers(rng, (3, 5, 4)))
    x, label = rng.uniform(size=3), int(rng.integers(4))
    scores = network.evaluate(x)
    rivals = [j for j in range(4) if j != label]
    margins = Classification(label, 4).margins(network).evaluate(x)
    np.testing.assert_allclose(margins, scores[rivals] - scores[label], atol=1e-12)


@pytest.mark.parametrize("chosen", [(0, 1, 2, 3), (2,)])
def test_regression_margins_are_how_far_an_output_moves_too_much(chosen: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    network = network_of(random_layers(rng, (3, 5, 4)))
    x, other = rng.uniform(size=(2, 3))
    reference = network.evaluate(x)[list(chosen)]
    question = Regression(0.25, chosen, reference, reference, np.zeros(len(chosen)))
    margins = question.margins(network)
    moved = network.evaluate(other)[list(chosen)] - reference
    np.testing.assert_allclose(margins.evaluate(x), np.full(2 * len(chosen), -0.25), atol=1e-12)
    np.testing.assert_allclose(
        margins.evaluate(other), [*(moved - 0.25), *(-moved - 0.25)], atol=1e-12
    )


def test_regression_margins_are_about_the_network_in_real_arithmetic(tmp_path: Path) -> None:
    # in float32 the first layer loses what is behind the seventh digit
    layers = as_layers(([[2e4, 3e4]], [-1e4]), ([[1]], [0]))
    network, x = dense_network(layers, tmp_path), np.array([0.7, 0.9], np.float32)
    question = make_question(network, x, Given(epsilon=0, delta=0.125))
    assert isinstance(question, Regression)
    assert np.max(np.abs(question.reference - question.exact)) > 1e-5
    margins = question.margins(network.ir).evaluate(x.astype(np.float64))
    np.testing.assert_allclose(margins, [-0.125, -0.125], atol=1e-10)


@pytest.mark.parametrize(
    ("scores", "changed"),
    [
        ([1.0, 0.5, 0.0], False),
        ([1.0, 1.0, 0.0], False),
        ([1.0, np.nextafter(np.float32(1), np.float32(2)), 0.0], True),
        ([0.0, -1.0, 3.0], True),
        ([1.0, np.nan, 0.0], False),
        ([np.nan, 1.0, 0.0], False),
    ],
)
def test_a_class_changes_strictly(scores: list[float], changed: bool) -> None:
    assert Classification(0, 3).changed(np.array(scores, np.float32)) == changed


@pytest.mark.parametrize(
    ("outputs", "changed"),
    [
        ([1.0, 2.0], False),
        ([1.25, 1.75], False),
        ([1.0, np.nextafter(np.float32(2.25), np.float32(3))], True),
        ([np.nextafter(np.float32(0.75), np.float32(0)), 2.0], True),
        ([np.nan, 2.0], False),
    ],
)
def test_outputs_change_strictly(outputs: list[float], changed: bool) -> None:
    reference = np.array([1.0, 2.0])
    question = Regression(0.25, (0, 1), reference, reference, np.zeros(2))
    assert question.changed(np.array(outputs, np.float32)) == changed


def test_only_the_chosen_output_counts(tmp_path: Path) -> None:
    network = dense_network(AFFINE, tmp_path)
    x = np.array([0.25, 0.5], np.float32)
    question = make_question(network, x, Given(epsilon=0, delta=0.125, output=1))
    assert question.prediction == (0.5,)
    assert question.margins(network.ir).output_size == 2
    assert not question.changed(np.array([9, 0.5, 9], np.float32))
    assert question.changed(np.array([0.25, 0.75, -0.25], np.float32))
    assert question.predicted(np.array([9, 0.75, 9], np.float32)) == (0.75,)


def test_all_outputs_count_by_default(tmp_path: Path) -> None:
    network = dense_network(AFFINE, tmp_path)
    question = make_question(
        network, np.array([0.25, 0.5], np.float32), Given(epsilon=0, delta=0.125)
    )
    assert question.prediction == (0.25, 0.5, -0.25)
    assert question.margins(network.ir).output_size == 6


def test_the_class_explained_is_the_one_onnxruntime_predicts(tmp_path: Path) -> None:
    network = dense_network(AFFINE, tmp_path)
    question = make_question(network, np.array([0.25, 0.5], np.float32), Given(epsilon=0))
    assert question.prediction == 1
    tie = make_question(network, np.array([0.5, 0.5], np.float32), Given(epsilon=0))
    assert tie.prediction == 0


def test_lost_confidence_is_that_of_the_class() -> None:
    before, after = np.array([0.5, 2.0, 0.0]), np.array([9.0, 0.75, 0.0])
    assert Classification(1, 3).confidence_drop(before, after) == 1.25
    assert Classification(1, 3).confidence_drop(after, before) == -1.25
    question = Regression(0.1, (0, 2), before[[0, 2]], before[[0, 2]], np.zeros(2))
    assert question.confidence_drop(before, after) == 8.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": 0}, "predicts class 1, not class 0"),
        ({"label": 3}, "label 3 is out of range: the network's classes are 0..2"),
        ({"label": -1}, "label -1 is out of range"),
        ({"label": 1.0}, "label must be an integer, got 1.0"),
        ({"label": True}, "label must be an integer, got True"),
        ({"output": 1}, "output belongs to regression"),
        ({"delta": -0.5}, "delta must be finite and not negative, got -0.5"),
        ({"delta": np.nan}, "delta must be finite and not negative, got nan"),
        ({"delta": np.inf}, "delta must be finite and not negative, got inf"),
        ({"delta": "much"}, "delta must be a number, got 'much'"),
        ({"delta": 0.5, "label": 1}, "give one of them"),
        ({"delta": 0.5, "output": 3}, "output 3 is out of range"),
        ({"delta": 0.5, "output": "y"}, "output must be an integer, got 'y'"),
    ],
)
def test_what_does_not_fit_the_network_is_refused(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    network = dense_network(AFFINE, tmp_path)
    with pytest.raises(InputError, match=re.escape(message)):
        make_question(network, np.array([0.25, 0.5], np.float32), Given(epsilon=0, **options))


@pytest.mark.parametrize("operator", ["Softmax", "Sigmoid"])
def test_a_softmax_or_sigmoid_is_no_regression(operator: str, tmp_path: Path) -> None:
    nodes = [node("Gemm", ["x", "W"], ["h"]), node(operator, ["h"], ["y"])]
    model = build(nodes, inputs={"x": (1, 3)}, constants={"W": weights(3, 2)}, elem=FLOAT)
    network = loaded(model, tmp_path)
    with pytest.raises(InputError, match=f"ends in a {operator}"):
        make_question(network, np.zeros(3, np.float32), Given(epsilon=0, delta=0.1))
    if operator == "Softmax":
        assert make_question(network, np.zeros(3, np.float32), Given(epsilon=0)).prediction == 0
    x = np.float32([0, 0, 1])
    wanted = int(np.argmax(weights(3, 2)[2]))
    assert make_question(network, x, Given(epsilon=0)).prediction == wanted


def test_scores_that_are_not_finite_have_no_prediction(tmp_path: Path) -> None:
    huge = as_layers(([[3e38, 3e38], [1, 1]], [0, 0]))
    network = dense_network(huge, tmp_path)
    with pytest.raises(InputError, match=r"not finite: \[inf"):
        make_question(network, np.ones(2, np.float32), Given(epsilon=0))
