"""The guard that compares our reading of a network with onnxruntime before anything is claimed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import ModelError, OnnxNetwork, check, explain, load_network
from milp_verix.models.onnx import registry
from milp_verix.models.onnx.registry import NodeContext
from milp_verix.models.onnx.symbol import Symbol, Tensor
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.ball import make_ball
from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    FLOAT16,
    build,
    dense,
    loaded,
    node,
    saved,
    weights,
)
from tests.support.published_data import shared_file

MODELS = [
    "acasxu-1-1",
    "adult-AC-4",
    "cifar-base-kw",
    "digits-maxpool-cnn",
    "fame-gtsrb-cnn",
    "german-GC-4",
    "marabou-cnn_max_mninst2",
    "marabou-fc1",
    "mnist-10x2",
    "vnncomp-mnist-256x2",
]


def convolutional(elem: int = FLOAT) -> onnx.ModelProto:
    """Return a convolution, a normalisation, a pool, a leaky ReLU and two dense layers."""
    nodes = [
        node("Conv", ["x", "K", "k"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "g", "h", "m", "v"], ["n"], name="norm"),
        node("LeakyRelu", ["n"], ["l"], name="leaky", alpha=0.1),
        node("AveragePool", ["l"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"], name="flat"),
        node("Gemm", ["f", "A", "a"], ["d"], name="dense"),
        node("Relu", ["d"], ["r"], name="relu"),
        node("Gemm", ["r", "B"], ["s"], name="last"),
        node("Softmax", ["s"], ["y"], name="probabilities"),
    ]
    constants = {
        "K": weights(3, 1, 3, 3),
        "k": weights(3, seed=1),
        "g": weights(3, seed=2),
        "h": weights(3, seed=3),
        "m": weights(3, seed=4),
        "v": abs(weights(3, seed=5)),
        "A": weights(27, 5, seed=6),
        "a": weights(5, seed=7),
        "B": weights(5, 4, seed=8),
    }
    return build(nodes, inputs={"x": (1, 1, 6, 6)}, constants=constants, elem=elem)


def misread(monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[[Symbol], Symbol]) -> None:
    """Let the operator ``name`` be read as what ``wrong`` makes of its result."""
    entry = registry.every_operator()[name]

    def function(node: NodeContext, *inputs: Tensor) -> Tensor:
        result = entry.function(node, *inputs)
        return wrong(Symbol.of(result if not isinstance(result, tuple) else result[0]))

    monkeypatch.setitem(registry.operators, name, replace(entry, function=function))


def nudged(x: Symbol) -> Symbol:
    """Return ``x``, a thousandth too large."""
    return x * 1.001


@pytest.mark.parametrize(
    ("operator", "wrong", "named"),
    [
        ("Conv", nudged, "Conv 'conv'"),
        ("Conv", lambda x: x.rearrange(lambda i: i.swapaxes(2, 3)), "Conv 'conv'"),
        ("BatchNormalization", nudged, "BatchNormalization 'norm'"),
        ("LeakyRelu", nudged, "LeakyRelu 'leaky'"),
        ("AveragePool", lambda x: x * (4 / 3), "AveragePool 'pool'"),
        ("Flatten", lambda x: x.rearrange(lambda i: i[:, ::-1]), "Flatten 'flat'"),
        ("Gemm", nudged, "Gemm 'dense'"),
        ("Relu", nudged, "Relu 'relu'"),
        ("Softmax", lambda x: -x, "the output"),
    ],
)
def test_a_network_that_is_misread_is_refused_by_its_first_node(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    operator: str,
    wrong: Callable[[Symbol], Symbol],
    named: str,
) -> None:
    path = saved(convolutional(), tmp_path)
    x = np.random.default_rng(0).random((6, 6))
    assert explain(path, x, epsilon=0.01, exactness="bounds").size <= 36
    misread(monkeypatch, operator, wrong)
    with pytest.raises(ModelError, match="not read as onnxruntime runs it") as refused:
        check(path, x, free=[0], epsilon=0.01)
    assert f"it: {named}" in str(refused.value)


def test_a_shape_that_is_misread_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        node("Transpose", ["x"], ["t"], name="turn", perm=[0, 2, 1]),
        node("ReduceMax", ["t"], ["y"], name="most", axes=[2], keepdims=0),
    ]
    path = saved(build(nodes, inputs={"x": (1, 2, 3)}), tmp_path)
    misread(monkeypatch, "Transpose", lambda x: x.rearrange(lambda i: i.swapaxes(1, 2)))
    with pytest.raises(ModelError, match=r"Transpose 'turn', of shape \(1, 2, 3\)"):
        check(path, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], free=[0], epsilon=0.01)


def agrees(network: OnnxNetwork, seed: int, spread: float = 1.0) -> None:
    """Run the guard around a random input."""
    x = np.random.default_rng(seed).uniform(-spread, spread, network.input_size)
    require_agreement(network, make_ball(network.as_input(x), spread / 10, "linf", (-1e9, 1e9)))


@pytest.mark.parametrize("elem", [FLOAT16, FLOAT, DOUBLE])
@pytest.mark.parametrize("seed", range(8))
def test_rounding_is_no_disagreement(tmp_path: Path, elem: int, seed: int) -> None:
    # onnxruntime has no convolution of float64
    for model in (dense(elem=elem), *([convolutional(elem)] if elem != DOUBLE else [])):
        agrees(loaded(model, tmp_path), seed, spread=10.0 ** (seed - 4 if elem != FLOAT16 else 0))


@pytest.mark.parametrize("name", MODELS)
def test_published_networks_are_read_as_they_are_run(name: str) -> None:
    network = load_network(shared_file(f"models/{name}.onnx"))
    for seed in range(3):
        agrees(network, seed)


def test_every_layer_is_compared_with_onnxruntime_itself(tmp_path: Path) -> None:
    network = loaded(convolutional(), tmp_path)
    named = {anchor.tensor: anchor.value for anchor in network.anchors}
    x = np.random.default_rng(3).random(36)
    values = network.ir.values(x)
    # what the leaky ReLU and the ReLU take, what the ReLU gives, and the scores
    assert set(named) == {"n", "d", "r", "s"}
    for anchor, seen in zip(network.anchors, network.tensors(x), strict=True):
        np.testing.assert_allclose(values[anchor.value], seen, rtol=1e-4, atol=1e-5)
