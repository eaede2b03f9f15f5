"""Smooth operators against onnxruntime, and the uses of them that are refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix.base.errors import ModelError
from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    assert_agrees,
    build,
    kinds,
    loaded,
    node,
    weights,
)
from verix_encodings import Smooth

# operator, attributes, first opset in which onnxruntime runs it
OPERATORS = [
    ("Sigmoid", {}, 17),
    ("Tanh", {}, 17),
    ("Softsign", {}, 17),
    ("Softplus", {}, 17),
    ("Mish", {}, 18),
    ("Gelu", {}, 20),
    ("Gelu", {"approximate": "none"}, 20),
    ("Gelu", {"approximate": "tanh"}, 20),
    ("Elu", {}, 17),
    ("Elu", {"alpha": 0.5}, 17),
    ("Elu", {"alpha": 2.0}, 17),
    ("Selu", {}, 17),
    ("Selu", {"alpha": 1.5, "gamma": 0.5}, 17),
    ("Celu", {}, 17),
    ("Celu", {"alpha": 2.0}, 17),
    ("Celu", {"alpha": 0.25}, 17),
]


def model(
    operator: str, attributes: dict, opset: int, elem: int = FLOAT, size: float = 1.0
) -> onnx.ModelProto:
    """Return a dense layer, the operator, and another dense layer."""
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node(operator, ["h"], ["s"], name="curve", **attributes),
        node("Gemm", ["s", "B"], ["y"]),
    ]
    constants = {"A": size * weights(3, 6), "a": weights(6, seed=1), "B": weights(6, 2, seed=2)}
    return build(nodes, inputs={"x": (1, 3)}, constants=constants, opset=opset, elem=elem)


@pytest.mark.parametrize(("operator", "attributes", "opset"), OPERATORS)
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_operators_compute_what_onnxruntime_computes(
    tmp_path: Path, operator: str, attributes: dict, opset: int, size: float
) -> None:
    network = loaded(model(operator, attributes, opset, size=size), tmp_path)
    assert "Smooth" in kinds(network)
    assert not network.ir.exact
    for x in np.random.default_rng(3).uniform(-1, 1, (8, 3)).astype(np.float32):
        seen, expected = network.ir.evaluate(x), network.evaluate(x)
        # onnxruntime loses digits in the tails: the scale is that of the layer, not of the score
        np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-6 * max(1.0, size))


def test_tanh_agrees_in_double_precision(tmp_path: Path) -> None:
    assert_agrees(loaded(model("Tanh", {}, 17, elem=DOUBLE), tmp_path))


def test_an_elu_with_a_kink_keeps_it_in_a_relu(tmp_path: Path) -> None:
    assert kinds(loaded(model("Elu", {"alpha": 2.0}, 17), tmp_path)).count("Relu") == 1
    assert kinds(loaded(model("Elu", {}, 17), tmp_path)).count("Relu") == 0


def test_swish_with_its_alpha() -> None:
    # onnxruntime has no kernel yet: compared with the definition
    from milp_verix.models.onnx.model_file import read_signature
    from milp_verix.models.onnx.trace import trace

    for alpha in (1.0, 1.7, -0.5, 0.0):
        proto = model("Swish", {"alpha": alpha}, 24)
        network = trace(proto, read_signature(proto.graph)).network
        for x in np.random.default_rng(0).normal(size=(20, 3)):
            A, a, B = (onnx.numpy_helper.to_array(t).astype(float) for t in proto.graph.initializer)
            h = x @ A + a
            expected = (h / (1 + np.exp(-np.float32(alpha) * h))) @ B
            np.testing.assert_allclose(network.evaluate(x), expected, rtol=0, atol=1e-12)


def test_smooth_nodes_name_their_functions(tmp_path: Path) -> None:
    network = loaded(model("Gelu", {"approximate": "tanh"}, 20), tmp_path)
    (smooth,) = (entry for entry in network.ir.nodes if isinstance(entry, Smooth))
    assert smooth.function.name == "gelu_tanh"
    assert network.ir.enclosed == {"gelu_tanh"}
    assert network.ir.counts["smooth activations"] == 6


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("Gelu", {"approximate": "cubic"}, "neither 'none' nor 'tanh'"),
        ("Celu", {"alpha": 0.0}, "is zero"),
    ],
)
def test_malformed_attributes_are_refused(operator: str, attributes: dict, message: str) -> None:
    from milp_verix.models.onnx.model_file import read_signature
    from milp_verix.models.onnx.trace import trace

    proto = model(operator, attributes, 20)
    with pytest.raises(ModelError, match=message):
        trace(proto, read_signature(proto.graph))


def test_a_sigmoid_inside_is_a_node_and_one_at_the_end_is_left_out(tmp_path: Path) -> None:
    nodes = [
        node("Gemm", ["x", "A"], ["h"]),
        node("Sigmoid", ["h"], ["s"]),
        node("Reshape", ["s", "shape"], ["r"]),
        node("Gemm", ["r", "B"], ["t"]),
        node("Sigmoid", ["t"], ["y"]),
    ]
    constants = {"A": weights(3, 6), "B": weights(6, 2, seed=2), "shape": np.array([1, 6])}
    network = loaded(build(nodes, inputs={"x": (1, 3)}, constants=constants), tmp_path)
    assert network.sigmoid_stripped
    assert network.ir.enclosed == {"sigmoid"}
    assert network.ir.counts["smooth activations"] == 6
    for x in np.random.default_rng(0).normal(size=(5, 3)):
        expected = np.log(network.evaluate(x)) - np.log1p(-network.evaluate(x))
        np.testing.assert_allclose(network.ir.evaluate(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("operands", [["h", "s"], ["s", "h"]])
def test_a_silu_is_one_node(tmp_path: Path, operands: list[str]) -> None:
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node("Sigmoid", ["h"], ["s"]),
        node("Mul", operands, ["g"]),
        node("Gemm", ["g", "B"], ["y"]),
    ]
    constants = {"A": weights(3, 6), "a": weights(6, seed=1), "B": weights(6, 2, seed=2)}
    network = loaded(build(nodes, inputs={"x": (1, 3)}, constants=constants), tmp_path)
    assert network.ir.enclosed == {"silu"}
    assert kinds(network) == ["Affine", "Smooth", "Affine"]
    assert_agrees(network)


def test_a_silu_may_come_first(tmp_path: Path) -> None:
    nodes = [
        node("Sigmoid", ["x"], ["s"]),
        node("Mul", ["x", "s"], ["g"]),
        node("Gemm", ["g", "B"], ["y"]),
    ]
    network = loaded(build(nodes, inputs={"x": (1, 3)}, constants={"B": weights(3, 2)}), tmp_path)
    assert network.ir.enclosed == {"silu"}
    assert_agrees(network)


def test_a_sigmoid_that_gates_something_else_is_a_factor(tmp_path: Path) -> None:
    nodes = [
        node("Gemm", ["x", "A"], ["h"]),
        node("Gemm", ["x", "C"], ["k"]),
        node("Sigmoid", ["h"], ["s"]),
        node("Mul", ["k", "s"], ["y"], name="gate"),
    ]
    constants = {"A": weights(3, 2), "C": weights(3, 2, seed=5)}
    network = loaded(build(nodes, inputs={"x": (1, 3)}, constants=constants), tmp_path)
    assert "Product" in kinds(network)
    assert_agrees(network)


def test_a_sum_of_a_sigmoid_and_its_argument(tmp_path: Path) -> None:
    nodes = [
        node("Gemm", ["x", "A"], ["h"]),
        node("Sigmoid", ["h"], ["s"]),
        node("Sub", ["one", "s"], ["c"]),
        node("Concat", ["c", "h"], ["k"], axis=1),
        node("Gemm", ["k", "B"], ["y"]),
    ]
    constants = {"A": weights(3, 2), "one": np.array(1.0), "B": weights(4, 2, seed=3)}
    assert_agrees(loaded(build(nodes, inputs={"x": (1, 3)}, constants=constants), tmp_path))
