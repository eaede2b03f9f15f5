"""Classifiers of two classes with one output: a logit, or a probability by a final Sigmoid."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix import Explanation, InputError, OnnxNetwork, check, explain
from milp_verix.problem.question import Threshold, make_question
from milp_verix.problem.search import Given
from tests.support.brute_force import BruteForce
from tests.support.onnx_models import FLOAT, build, loaded, node
from tests.support.random_networks import Layer, network_of, random_layers
from verix_encodings import Affine, Network


def classifier(layers: tuple[Layer, ...], folder: Path, *, sigmoid: bool) -> OnnxNetwork:
    """Return the classifier whose logit the layers compute."""
    (A, a), (B, b) = layers
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"], transB=1),
        node("Relu", ["h"], ["r"]),
        node("Gemm", ["r", "B", "b"], ["s" if sigmoid else "y"], transB=1),
        *([node("Sigmoid", ["s"], ["y"])] if sigmoid else []),
    ]
    constants = {"A": A, "a": a, "B": B, "b": b}
    inputs = {"x": (1, A.shape[1])}
    return loaded(build(nodes, inputs=inputs, constants=constants, elem=FLOAT), folder)


def test_the_two_margins_are_the_score_and_its_negative() -> None:
    network = Network((2,), (Affine(((0, np.array([[1.0, -2.0]])),), [0.5]),))
    assert Threshold(0, 0.0).margins(network).evaluate([1, 2]).tolist() == [-2.5]
    assert Threshold(1, 0.0).margins(network).evaluate([1, 2]).tolist() == [2.5]


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_sides_of_the_threshold(threshold: float) -> None:
    below, at, above = (np.array([threshold + d], np.float32) for d in (-0.1, 0, 0.1))
    zero, one = Threshold(0, threshold), Threshold(1, threshold)
    assert [zero.predicted(s) for s in (below, at, above)] == [0, 0, 1]
    # a tie is no change, as it is no proof
    assert [zero.changed(s) for s in (below, at, above)] == [False, False, True]
    assert [one.changed(s) for s in (below, at, above)] == [True, False, False]
    assert one.confidence_drop(above, below) == pytest.approx(0.2)
    assert zero.confidence_drop(above, below) == pytest.approx(-0.2)


@pytest.mark.parametrize("sigmoid", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_explanations_are_those_of_brute_force(seed: int, sigmoid: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, (4, 5, 1))
    x = rng.random(4).astype(np.float32)
    network = classifier(layers, tmp_path, sigmoid=sigmoid)
    assert (network.sigmoid_stripped, network.softmax_stripped) == (sigmoid, False)
    score = float(network_of(layers).evaluate(x)[0])
    # the same margin, of a network with two scores: 0 and s
    (A, a), (B, b) = layers
    two = ((A, a), (np.vstack([0 * B, B]), np.concatenate([0 * b, b])))
    ends = (np.zeros(4), np.ones(4))
    brute = BruteForce(two, x.astype(float), 0.4, [[i] for i in range(4)], *ends)
    found = explain(network, x, epsilon=0.4, order="sequential")
    assert found.prediction == int(score > 0)
    assert found.explanation == brute.explanation(range(4))
    assert found.minimal
    assert found.model.sigmoid_stripped == sigmoid
    for counterfactual in found.counterfactuals.values():
        assert counterfactual.prediction == 1 - found.prediction
        output = float(network.evaluate(counterfactual.input)[0])
        assert int(output > (0.5 if sigmoid else 0)) == counterfactual.prediction
    stored = Explanation.from_json(found.to_json())
    assert stored.model == found.model
    assert stored.prediction == found.prediction
    assert stored.replay(network) == ()


@pytest.mark.slow
def test_both_classes_are_predicted_and_both_answers_given(tmp_path: Path) -> None:
    found = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        network = classifier(random_layers(rng, (4, 5, 1)), tmp_path, sigmoid=True)
        x = rng.random(4).astype(np.float32)
        verdict = check(network, x, [0, 1], epsilon=0.4)
        found.add((make_question(network, x, Given(epsilon=0)).prediction, verdict.answer.value))
    assert found >= {(0, "holds"), (1, "holds"), (0, "violated"), (1, "violated")}


def test_labels_and_outputs_that_do_not_fit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    network = classifier(random_layers(rng, (3, 4, 1)), tmp_path, sigmoid=True)
    x = np.zeros(3, np.float32)
    label = make_question(network, x, Given(epsilon=0)).prediction
    assert isinstance(label, int)
    assert make_question(network, x, Given(epsilon=0, label=label)).prediction == label
    with pytest.raises(InputError, match=f"predicts class {label}, not class {1 - label}"):
        make_question(network, x, Given(epsilon=0, label=1 - label))
    with pytest.raises(InputError, match="label 2 is out of range"):
        make_question(network, x, Given(epsilon=0, label=2))
    with pytest.raises(InputError, match="output belongs to regression"):
        make_question(network, x, Given(epsilon=0, output=0))


def test_a_logit_may_be_a_regression(tmp_path: Path) -> None:
    network = classifier(
        random_layers(np.random.default_rng(0), (3, 4, 1)), tmp_path, sigmoid=False
    )
    question = make_question(network, np.zeros(3, np.float32), Given(epsilon=0, delta=0.5))
    assert isinstance(question.prediction, tuple)
