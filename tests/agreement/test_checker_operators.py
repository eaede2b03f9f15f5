"""Operators as the checker reads them, in exact arithmetic, against onnxruntime."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from milp_verix.api.calls import explain
from milp_verix.models.onnx.onnx_network import load_network
from tests.support.onnx_models import FLOAT, build, node, weights
from tests.support.repository import ROOT
from verix_checker import neurons
from verix_checker.verification import verify

FIXTURES = ROOT / "tests" / "fixtures"
_ONE = 2**600 * (3 * 5 * 7) ** 6
IMAGE = (1, 2, 5, 4)
VECTOR = (1, 6)

CASES: dict[str, tuple[tuple[int, ...], list[Any], dict[str, Any]]] = {
    "divided": (VECTOR, [node("Div", ["x", "d"], ["y"])], {"d": np.array([3.0, 5, 7, 1, 2, 6])}),
    "scaled": (VECTOR, [node("Mul", ["m", "x"], ["y"])], {"m": weights(3, 1)}),
    "from a number": (VECTOR, [node("Sub", ["c", "x"], ["y"])], {"c": np.array(0.75)}),
    "negative": (VECTOR, [node("Neg", ["x"], ["y"])], {}),
    "leaky": (VECTOR, [node("LeakyRelu", ["x"], ["y"], alpha=0.25)], {}),
    "sloped": (VECTOR, [node("PRelu", ["x", "s"], ["y"])], {"s": weights(6)}),
    "absolute": (VECTOR, [node("Abs", ["x"], ["y"])], {}),
    "clipped": (
        VECTOR,
        [node("Clip", ["x", "a", "b"], ["y"])],
        {"a": np.array(-0.5), "b": np.array(0.25)},
    ),
    "clipped above": (VECTOR, [node("Clip", ["x", "", "b"], ["y"])], {"b": np.array(0.25)}),
    "greatest": (VECTOR, [node("Max", ["x", "c", "d"], ["y"])], {"c": weights(6), "d": weights(1)}),
    "least": (VECTOR, [node("Min", ["x", "c"], ["y"])], {"c": weights(2, 1)}),
    "means": (IMAGE, [node("ReduceMean", ["x", "at"], ["y"])], {"at": np.array([2, -1])}),
    "sums": (
        IMAGE,
        [node("ReduceSum", ["x", "at"], ["y"], keepdims=0)],
        {"at": np.array([1])},
    ),
    "maxima": (IMAGE, [node("ReduceMax", ["x", "at"], ["y"], keepdims=0)], {"at": np.array([3])}),
    "minima": (IMAGE, [node("ReduceMin", ["x"], ["y"])], {}),
    "global mean": (IMAGE, [node("GlobalAveragePool", ["x"], ["y"])], {}),
    "global maximum": (IMAGE, [node("GlobalMaxPool", ["x"], ["y"])], {}),
    "mean pool": (
        IMAGE,
        [node("AveragePool", ["x"], ["y"], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])],
        {},
    ),
    "mean pool with its pads": (
        IMAGE,
        [
            node(
                "AveragePool",
                ["x"],
                ["y"],
                kernel_shape=[3, 3],
                pads=[1, 1, 1, 1],
                count_include_pad=1,
            )
        ],
        {},
    ),
    "same padding": (
        IMAGE,
        [node("Conv", ["x", "K"], ["y"], auto_pad="SAME_UPPER", strides=[2, 3])],
        {"K": weights(3, 2, 2, 3)},
    ),
    "same padding below": (
        IMAGE,
        [node("Conv", ["x", "K"], ["y"], auto_pad="SAME_LOWER")],
        {"K": weights(3, 2, 2, 2)},
    ),
    "transposed convolution": (
        IMAGE,
        [
            node(
                "ConvTranspose",
                ["x", "K", "k"],
                ["y"],
                strides=[2, 1],
                pads=[1, 0, 0, 1],
                output_padding=[1, 0],
                group=2,
            )
        ],
        {"K": weights(2, 3, 2, 3), "k": weights(6, seed=1)},
    ),
    "resized": (
        IMAGE,
        [node("Resize", ["x", "", "by"], ["y"], mode="nearest")],
        {"by": np.array([1.0, 1, 2, 3], dtype=np.float32)},
    ),
    "padded": (
        IMAGE,
        [node("Pad", ["x", "by"], ["y"])],
        {"by": np.array([0, 0, 1, 0, 0, 1, 0, 2])},
    ),
    "joined": (
        IMAGE,
        [node("Neg", ["x"], ["n"]), node("Concat", ["x", "n", "x"], ["y"], axis=-2)],
        {},
    ),
    "split": (
        IMAGE,
        [
            node("Split", ["x", "at"], ["p", "q"], axis=2),
            node("ReduceMax", ["p"], ["r"]),
            node("Add", ["r", "q"], ["y"]),
        ],
        {"at": np.array([2, 3])},
    ),
    "sliced": (
        IMAGE,
        [node("Slice", ["x", "from", "to", "axes", "by"], ["y"])],
        {
            "from": np.array([-1, 1]),
            "to": np.array([-100, 4]),
            "axes": np.array([2, 3]),
            "by": np.array([-2, 1]),
        },
    ),
    "gathered": (IMAGE, [node("Gather", ["x", "at"], ["y"], axis=3)], {"at": np.array([0, 2])}),
    "squeezed": (
        IMAGE,
        [node("Squeeze", ["x", "zero"], ["s"]), node("Unsqueeze", ["s", "last"], ["y"])],
        {"zero": np.array([0]), "last": np.array([1, -1])},
    ),
}


def model_of(case: str) -> onnx.ModelProto:
    """Return the model of a case."""
    shape, nodes, constants = CASES[case]
    return build(nodes, inputs={"x": shape}, constants=constants, opset=18, elem=FLOAT)


def compared(network: neurons.Network, model: Any, x: Any, output: str) -> None:
    """Assert that both compute the same at some inputs of the type and shape of ``x``."""
    session = onnxruntime.InferenceSession(model)
    name = session.get_inputs()[0].name
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.uniform(-1, 1, x.shape).astype(x.dtype)
        point = [network.one, *map(network.number, x.ravel().tolist())]
        ours = np.array([float(value) for value in network.values(point, network.forms)])
        theirs = session.run([output], {name: x})[0]
        if isinstance(theirs, list):
            theirs = list(theirs[0].values())
        theirs = np.asarray(theirs).ravel()
        if network.ordered:
            assert np.argmax(ours) == np.argmax(theirs)
            assert ours.shape == theirs.shape
        else:
            assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_operators_are_read_as_onnxruntime_runs_them(case: str) -> None:
    model = model_of(case).SerializeToString()
    network = neurons.Network(model, _ONE, "y")
    compared(network, model, np.zeros(CASES[case][0], dtype=np.float32), "y")


@pytest.mark.parametrize(
    "file", sorted(set(FIXTURES.glob("*.onnx")) - {FIXTURES / "keras-style.onnx"}), ids=str
)
def test_files_of_exporters_are_read_as_onnxruntime_runs_them(file: Path) -> None:
    network = load_network(file)
    beside = {path.name: path.read_bytes() for path in FIXTURES.glob("*.bin")}
    exact = neurons.Network(file.read_bytes(), _ONE, network.scores_name, beside)
    shown = onnx.load(file, load_external_data=False).graph.output
    output = network.scores_name if network.scores_name in {o.name for o in shown} else None
    compared(exact, file, np.zeros(network.input_shape, network.dtype), output or shown[-1].name)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("Sigmoid", ["x"], ["s"]), node("Mul", ["s", "c"], ["y"])], "a Sigmoid before a Mul"),
        ([node("Softmax", ["x"], ["s"]), node("Sub", ["c", "s"], ["y"])], "a Softmax before a Sub"),
        ([node("Sigmoid", ["x"], ["s"]), node("Sub", ["s", "c"], ["y"])], "Sigmoid"),
        ([node("Sigmoid", ["x"], ["s"]), node("Sub", ["half", "s"], ["y"])], "a difference"),
        (
            [node("Sigmoid", ["x"], ["s"]), node("Concat", ["s", "x"], ["y"], axis=1)],
            "beside a Sigmoid",
        ),
        (
            [node("Softmax", ["x"], ["s"]), node("Concat", ["s", "s"], ["y"], axis=1)],
            "a Softmax before a Concat",
        ),
        (
            [node("Sigmoid", ["x"], ["s"]), node("Softmax", ["s"], ["y"])],
            "a Sigmoid before a Softmax",
        ),
        ([node("Div", ["c", "x"], ["y"])], "a Div by a tensor"),
        ([node("Mul", ["x", "x"], ["y"])], "a Mul of two tensors"),
        ([node("LeakyRelu", ["x"], ["y"], beta=0.5)], "LeakyRelu has"),
        ([node("Erf", ["x"], ["y"])], "the operator Erf is not known"),
        ([node("Clip", ["x", "c", "half"], ["y"])], "ends of a Clip"),
    ],
)
def test_other_uses_are_refused(nodes: list[onnx.NodeProto], reason: str) -> None:
    constants = {"c": np.array(1.0), "half": np.array(0.5)}
    model = build(nodes, inputs={"x": (1, 3)}, constants=constants).SerializeToString()
    with pytest.raises(neurons.UnreadableError, match=reason):
        neurons.Network(model, _ONE, "y")


def test_only_outputs_of_the_file_may_be_claimed_about() -> None:
    nodes = [node("Relu", ["x"], ["h"]), node("Neg", ["h"], ["y"])]
    model = build(nodes, inputs={"x": (1, 3)}, constants={}).SerializeToString()
    with pytest.raises(neurons.NoOutputError, match="no output 'h'"):
        neurons.Network(model, _ONE, "h")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "external-data",
        "torchscript-residual",
        "sklearn-binary-zipmap",
        "sklearn-scaled-multiclass-zipmap",
    ],
)
def test_explanations_of_exported_networks_are_certified(name: str) -> None:
    file = FIXTURES / f"{name}.onnx"
    network = load_network(file)
    x = np.random.default_rng(1).uniform(0.3, 0.7, network.input_size).astype(network.dtype)
    explanation = explain(network, x, epsilon=0.1)
    certificate = explanation.certify(network)
    assert certificate.proven, certificate.reason
    assert not certificate.unproven
    data = json.loads(certificate.to_json(), parse_float=Fraction)
    beside = {path: (FIXTURES / path).read_bytes() for path in data["claim"].get("beside", {})}
    assert list(verify(file.read_bytes(), data, beside))[-1].startswith("VERIFIED")
    for odd in (0, -1, -data["claim"].get("odd", 1), 1.5):
        with pytest.raises(ValueError, match="odd"):
            list(verify(file.read_bytes(), changed_unit(data, odd), beside))
    for path, content in beside.items():
        other = bytes([content[0] ^ 1, *content[1:]])
        with pytest.raises(ValueError, match="are others"):
            list(verify(file.read_bytes(), data, {path: other}))
        with pytest.raises(ValueError, match="are others"):
            list(verify(file.read_bytes(), data))


def changed_unit(data: Any, odd: Any) -> Any:
    """Return a certificate with another unit of its numbers."""
    return {**data, "claim": {**data["claim"], "odd": odd}}
