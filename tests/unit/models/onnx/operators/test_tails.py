"""What ends classifiers: a Sigmoid, its complement, their concatenation, and a normalisation."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from milp_verix.models.onnx.onnx_network import OnnxNetwork
from tests.support.onnx_models import FLOAT, assert_agrees, build, kinds, loaded, node, weights

GEMM = node("Gemm", ["x", "W"], ["s"])
SIGMOID = node("Sigmoid", ["s"], ["p"], name="last")


def tailed(folder: Path, *nodes: onnx.NodeProto, scores: int) -> OnnxNetwork:
    """Return a linear classifier of three inputs with ``nodes`` after its ``scores``."""
    constants = {"W": weights(3, scores), "one": np.array(1.0), "two": np.array(2.0)}
    model = build([GEMM, *nodes], inputs={"x": (1, 3)}, constants=constants, elem=FLOAT)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return loaded(model, folder)


@pytest.mark.parametrize("scores", [1, 4])
def test_a_final_sigmoid_is_left_out(scores: int, tmp_path: Path) -> None:
    network = tailed(tmp_path, SIGMOID, node("Identity", ["p"], ["y"]), scores=scores)
    assert (network.sigmoid_stripped, network.softmax_stripped) == (True, False)
    for x in np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32):
        expected = 1 / (1 + np.exp(-network.ir.evaluate(x)))
        np.testing.assert_allclose(network.evaluate(x), expected, rtol=1e-5)


def test_a_sigmoid_and_its_complement_are_two_scores(tmp_path: Path) -> None:
    other = node("Sub", ["one", "p"], ["q"])
    network = tailed(tmp_path, SIGMOID, other, node("Concat", ["q", "p"], ["y"], axis=1), scores=1)
    assert network.sigmoid_stripped
    for x in np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32):
        score = float(x @ weights(3, 1)[:, 0])
        np.testing.assert_allclose(network.ir.evaluate(x), [-score, score], atol=1e-6)
        expected = 1 / (1 + np.exp(-network.ir.evaluate(x)))
        np.testing.assert_allclose(network.evaluate(x), expected, rtol=1e-5)


def normalizer(source: str, norm: str) -> onnx.NodeProto:
    return node("Normalizer", [source], ["y"], domain="ai.onnx.ml", norm=norm, name="norm")


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
@pytest.mark.parametrize("operator", ["Sigmoid", "Softmax"])
def test_normalised_probabilities_keep_their_order(
    norm: str, operator: str, tmp_path: Path
) -> None:
    network = tailed(tmp_path, node(operator, ["s"], ["p"]), normalizer("p", norm), scores=4)
    for x in np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32):
        order = np.argsort(network.ir.evaluate(x))
        assert np.argsort(network.evaluate(x)).tolist() == order.tolist()


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
@pytest.mark.parametrize(("operator", "scores"), [("LogSoftmax", 4), ("Exp", 4)])
def test_a_normalisation_that_may_change_the_order_is_a_quotient(
    norm: str, operator: str, scores: int, tmp_path: Path
) -> None:
    network = tailed(tmp_path, node(operator, ["s"], ["p"]), normalizer("p", norm), scores=scores)
    assert "Product" in kinds(network)
    assert_agrees(network)
