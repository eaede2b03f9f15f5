"""Networks as the checker reads them, against onnxruntime, and what it refuses."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.support.onnx_models import FLOAT, build, node, weights
from tests.support.random_networks import convolutional, pooled, residual
from verix_checker.neurons import Network, UnreadableError

_ONE = 2**400


@pytest.mark.parametrize("make", [convolutional, residual, pooled])
def test_networks_are_read_as_onnxruntime_runs_them(make: object, tmp_path: Path) -> None:
    network = make(tmp_path)  # type: ignore[operator]
    model = onnx.load(network.path)
    neurons = Network(network.path.read_bytes(), _ONE, network.output_name)
    session = onnxruntime.InferenceSession(network.path)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.uniform(-1, 1, network.input_size).astype(network.dtype)
        point = [_ONE, *(neurons.number(entry) for entry in x.tolist())]
        ours = np.array([float(value) for value in neurons.values(point, neurons.forms)])
        theirs = session.run(None, {network.input_name: x.reshape(network.input_shape)})[0].ravel()
        if neurons.ordered:
            ours = np.exp(ours) / np.exp(ours).sum()
        assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert model.graph.node


@pytest.mark.parametrize(
    "extra",
    [
        node("Tanh", ["x"], ["y"]),
        node("Gemm", ["x", "A"], ["y"], alpha=0.5),
        node("Gemm", ["x", "A"], ["y"], transA=1),
        node("Mul", ["x", "x"], ["y"]),
        node("Relu", ["x"], ["y"], unknown=1),
        node("Relu", ["x"], ["y"], domain="elsewhere"),
        node("Sigmoid", ["x"], ["s"]),
    ],
)
def test_other_operators_are_refused(extra: onnx.NodeProto) -> None:
    nodes = [extra]
    if extra.op_type == "Sigmoid":
        nodes.append(node("Relu", ["s"], ["y"]))
    model = build(nodes, inputs={"x": (1, 3)}, constants={"A": weights(3, 3)}, elem=FLOAT)
    with pytest.raises(UnreadableError):
        Network(model.SerializeToString(), _ONE, "y")


def test_a_unit_that_is_too_coarse_is_refused(tmp_path: Path) -> None:
    network = residual(tmp_path)
    with pytest.raises(UnreadableError, match="finer unit"):
        Network(network.path.read_bytes(), 2**50, network.output_name)  # type: ignore[union-attr]
