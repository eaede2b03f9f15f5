"""Models as PyTorch, Keras and scikit-learn export them load, equal onnxruntime and are explained.

``fixtures/make.py`` made the files.
"""

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from milp_verix import OnnxNetwork, explain, load_network
from tests.support.onnx_models import kinds
from tests.support.repository import FIXTURES

NAMES = sorted(path.stem for path in FIXTURES.glob("*.onnx"))
LOGARITHMS = ("torchscript-dense", "dynamo-dense", "external-data")
MAPS = [name for name in NAMES if "zipmap" in name]


def fixture(name: str) -> OnnxNetwork:
    return load_network(FIXTURES / f"{name}.onnx")


def points(network: OnnxNetwork, count: int) -> NDArray[np.floating]:
    rng = np.random.default_rng(0)
    return rng.random((count, network.input_size)).astype(network.dtype)


def with_tail(network: OnnxNetwork, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the file returns where the network computes ``scores``."""
    if network.sigmoid_stripped:
        # (1 − σ(s), σ(s)) is read as σ(−s) and σ(s)
        return 1 / (1 + np.exp(-scores))
    if network.softmax_stripped:
        logarithms = scores - np.log(np.exp(scores).sum())
        return logarithms if network.path.stem in LOGARITHMS else np.exp(logarithms)
    return scores


def test_every_exporter_is_here() -> None:
    assert len(NAMES) == 15
    others = [path for path in FIXTURES.iterdir() if path.suffix != ".json"]
    assert sum(path.stat().st_size for path in others) < 60_000


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_onnxruntime_computes(name: str) -> None:
    network = fixture(name)
    for x in points(network, 20):
        expected = network.evaluate(x)
        seen = with_tail(network, network.ir.evaluate(x))
        np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-5 * max(1, abs(expected).max()))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_explained(name: str) -> None:
    network = fixture(name)
    x = points(network, 1)[0].reshape(network.input_shape)
    found = explain(
        network,
        x,
        epsilon=0.03 if network.input_size > 10 else 0.2,
        delta=0.1 if "regressor" in name else None,
        time_limit=60,
    )
    assert found.minimal
    assert found.replay(network) == ()


def test_some_explanations_are_neither_empty_nor_everything() -> None:
    sizes = []
    for name in ("torchscript-dense", "sklearn-binary-zipmap", "sklearn-scaled-regressor"):
        network = fixture(name)
        delta = 0.1 if "regressor" in name else None
        for x in points(network, 4):
            found = explain(network, x, epsilon=0.2, delta=delta)
            sizes.append(found.size / network.input_size)
    assert any(0 < size < 1 for size in sizes)


@pytest.mark.parametrize("name", MAPS)
def test_a_counterfactual_changes_the_label_that_the_whole_file_returns(name: str) -> None:
    network = fixture(name)
    file = onnxruntime.InferenceSession(network.path, providers=["CPUExecutionProvider"])

    def label_of(x: NDArray[np.floating]) -> object:
        labels, maps = file.run(None, {network.input_name: x.reshape(network.input_shape)})
        probabilities = maps[0]
        assert labels[0] == max(probabilities, key=probabilities.get)
        np.testing.assert_array_equal(list(probabilities.values()), network.evaluate(x))
        return labels[0]

    flips = 0
    for x in points(network, 8):
        found = explain(network, x, epsilon=0.3)
        assert "was run as far as" in found.notes[0]
        for counterfactual in found.counterfactuals.values():
            assert label_of(counterfactual.input) != label_of(x)
            flips += 1
    assert flips > 5


def test_a_label_leads_to_the_scores_it_is_made_from() -> None:
    path = FIXTURES / "sklearn-binary-zipmap.onnx"
    by_label = load_network(path, output="output_label")
    assert by_label.scores_name == fixture("sklearn-binary-zipmap").scores_name == "probabilities"
    tensor = fixture("sklearn-binary-tensor")
    assert (tensor.output_name, tensor.scores_name) == ("probabilities", "probabilities")
    assert tensor.notes == ()


def test_both_exporters_of_pytorch_write_the_same_network() -> None:
    for name in ("dense", "residual", "decoder"):
        old, new = fixture(f"torchscript-{name}"), fixture(f"dynamo-{name}")
        for x in points(old, 5):
            np.testing.assert_allclose(old.ir.evaluate(x), new.ir.evaluate(x), atol=1e-6)


def test_batch_normalisation_and_transposes_fold_away() -> None:
    # convolution, max-pool, convolution with normalisation, dense layer
    # of a window of four, pairs are compared first, and then the two that are left
    pairs = ["Difference", "Max", "Difference", "Max", "Affine"]
    expected = ["Affine", "Relu", *pairs, "Relu", "Affine"]
    assert kinds(fixture("keras-style")) == expected
