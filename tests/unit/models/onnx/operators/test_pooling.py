"""Pooling, reductions, normalisation and transposed convolution agree with onnxruntime."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from milp_verix import ModelError, UnsupportedOperatorError
from tests.support.onnx_models import FLOAT, assert_runs, build, kinds, loaded, node, weights

POOLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1, 2, 9), {"kernel_shape": [3]}),
    ((1, 2, 9), {"kernel_shape": [3], "pads": [2, 1], "strides": [2]}),
    ((2, 2, 6, 7), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ((1, 2, 6, 7), {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1]}),
    ((1, 2, 6, 7), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    ((1, 2, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    (
        (1, 1, 5, 6),
        {"kernel_shape": [3, 3], "strides": [3, 2], "ceil_mode": 1, "pads": [1, 1, 1, 1]},
    ),
    (
        (1, 1, 4, 4),
        {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1, "pads": [0, 0, 1, 1]},
    ),
    ((1, 1, 5, 5), {"kernel_shape": [1, 1], "strides": [3, 3], "ceil_mode": 1}),
    ((1, 2, 7, 6), {"kernel_shape": [4, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((1, 2, 7, 6), {"kernel_shape": [4, 3], "auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ((1, 2, 7, 6), {"kernel_shape": [4, 3], "auto_pad": "VALID", "strides": [2, 1]}),
    (
        (1, 1, 5, 4, 6),
        {"kernel_shape": [2, 3, 2], "pads": [1, 0, 1, 0, 1, 1], "strides": [1, 2, 2]},
    ),
]
DILATED = ((1, 2, 8, 7), {"kernel_shape": [2, 3], "dilations": [3, 2], "pads": [1, 0, 1, 0]})


@pytest.mark.parametrize(("shape", "attributes"), [*POOLS, DILATED])
def test_max_pool(tmp_path: Path, shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    pool = node("MaxPool", ["x"], ["y"], **attributes)
    network = assert_runs(tmp_path, pool, shape=shape, elem=FLOAT)
    assert ("Max" in kinds(network)) == (np.prod(attributes["kernel_shape"]) > 1)


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize(("shape", "attributes"), [*POOLS, DILATED])
def test_average_pool(
    tmp_path: Path, shape: tuple[int, ...], attributes: dict[str, Any], counted: int
) -> None:
    pool = node("AveragePool", ["x"], ["y"], count_include_pad=counted, **attributes)
    network = assert_runs(tmp_path, pool, shape=shape, elem=FLOAT, opset=19)
    assert kinds(network) == ["Affine"]


@pytest.mark.parametrize("operator", ["GlobalMaxPool", "GlobalAveragePool"])
@pytest.mark.parametrize("shape", [(1, 2, 5), (2, 3, 4, 5), (1, 2, 2, 3, 2)])
def test_global_pool(tmp_path: Path, operator: str, shape: tuple[int, ...]) -> None:
    assert_runs(tmp_path, node(operator, ["x"], ["y"]), shape=shape, elem=FLOAT)


def test_where_a_maximum_is_is_not_known(tmp_path: Path) -> None:
    pool = node("MaxPool", ["x"], ["p", "where"], kernel_shape=[2], name="pool")
    assert_runs(tmp_path, pool, node("Identity", ["p"], ["y"]), shape=(1, 1, 4), elem=FLOAT)
    cast = [node("Cast", ["where"], ["w"], to=FLOAT), node("Add", ["p", "w"], ["y"])]
    with pytest.raises(UnsupportedOperatorError, match="'where', the output 2 of MaxPool 'pool'"):
        assert_runs(tmp_path, pool, *cast, shape=(1, 1, 4), elem=FLOAT)


@pytest.mark.parametrize(
    "attributes",
    [{}, {"kernel_shape": [2]}, {"kernel_shape": [0, 1]}, {"kernel_shape": [2, 2], "pads": [1]}],
)
def test_windows_that_do_not_fit(tmp_path: Path, attributes: dict[str, Any]) -> None:
    pool = build([node("MaxPool", ["x"], ["y"], **attributes)], inputs={"x": (1, 1, 3, 3)})
    with pytest.raises(ModelError, match=r"do(es)? not fit"):
        loaded(pool, tmp_path)


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize(
    ("opset", "axes"),
    [*product([11, 18], [None, [0], [-1], [2, 0], [-2, 2], [0, 1, 2]]), (18, [])],
)
@pytest.mark.parametrize("keep", [0, 1])
def test_reduction(
    tmp_path: Path, operator: str, opset: int, axes: list[int] | None, keep: int
) -> None:
    by_input = axes is not None and opset == 18
    attributes: dict[str, Any] = {} if by_input or axes is None else {"axes": axes}
    reduce = node(
        operator, ["x", *(["axes"] if by_input else [])], ["h"], keepdims=keep, **attributes
    )
    # the shape matters: a product broadcasts by it
    shape = (2, 3, 4)
    rest = np.zeros(shape).sum(axis=tuple(axes) if axes else None, keepdims=bool(keep)).shape
    constants = {"W": weights(*rest, seed=3), "axes": np.array(axes or [], dtype=np.int64)}
    mul = node("Mul", ["h", "W"], ["y"])
    assert_runs(tmp_path, reduce, mul, shape=shape, constants=constants, opset=opset, elem=FLOAT)


def test_a_reduction_over_no_axes(tmp_path: Path) -> None:
    reduce = node("ReduceSum", ["x"], ["y"], noop_with_empty_axes=1)
    network = assert_runs(tmp_path, reduce, shape=(2, 3), opset=18, elem=FLOAT)
    assert network.output_size == 6


@pytest.mark.parametrize("shape", [(2, 3), (1, 3, 5), (2, 3, 4, 4)])
@pytest.mark.parametrize("attributes", [{}, {"epsilon": 0.1, "momentum": 0.5}])
def test_batch_normalization(
    tmp_path: Path, shape: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    constants = {
        "scale": weights(3),
        "bias": weights(3, seed=1),
        "mean": weights(3, seed=2),
        "variance": abs(weights(3, seed=3)),
    }
    norm = node("BatchNormalization", ["x", *constants], ["y"], **attributes)
    network = assert_runs(tmp_path, norm, shape=shape, constants=constants, elem=FLOAT)
    assert kinds(network) == ["Affine"]


def test_batch_normalization_in_training_mode(tmp_path: Path) -> None:
    constants = {name: np.ones(3) for name in "abcd"}
    norm = node("BatchNormalization", ["x", *"abcd"], ["y"], training_mode=1)
    with pytest.raises(UnsupportedOperatorError, match="in training mode; export the model in ev"):
        loaded(build([norm], inputs={"x": (1, 3)}, constants=constants), tmp_path)


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes"),
    [
        ((1, 2, 5), (2, 3, 4), {}),
        ((1, 2, 5), (2, 3, 3), {"strides": [2], "pads": [1, 0], "dilations": [2]}),
        ((2, 3, 3, 4), (3, 2, 2, 3), {"strides": [2, 3]}),
        ((1, 3, 3, 4), (3, 2, 2, 3), {"strides": [2, 3], "output_padding": [1, 2]}),
        ((1, 3, 3, 4), (3, 2, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 4, 3, 3), (4, 2, 2, 2), {"group": 2}),
        ((1, 4, 3, 3), (4, 1, 3, 3), {"group": 4, "strides": [2, 2]}),
        ((1, 2, 3, 4), (2, 1, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 3, 4), (2, 1, 3, 4), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((1, 2, 3, 4), (2, 1, 3, 3), {"strides": [2, 2], "output_shape": [6, 8]}),
        ((1, 2, 2, 3, 2), (2, 1, 2, 2, 3), {"strides": [1, 2, 2]}),
    ],
)
def test_conv_transpose(
    tmp_path: Path, shape: tuple[int, ...], kernel: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    channels = kernel[1] * attributes.get("group", 1)
    constants = {"W": weights(*kernel), "b": weights(channels, seed=2)}
    conv = node("ConvTranspose", ["x", "W", "b"], ["y"], **attributes)
    network = assert_runs(tmp_path, conv, shape=shape, constants=constants, elem=FLOAT)
    assert kinds(network) == ["Affine"]


@pytest.mark.parametrize("count", [1, 3])
def test_scaler(tmp_path: Path, count: int) -> None:
    values = {"offset": weights(count).tolist(), "scale": weights(count, seed=1).tolist()}
    scaler = node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", **values)
    model = build([scaler], inputs={"x": (1, 3)}, elem=FLOAT)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    network = loaded(model, tmp_path)
    x = np.array([0.1, -0.2, 0.7], dtype=np.float32)
    np.testing.assert_allclose(network.ir.evaluate(x), network.evaluate(x), rtol=1e-6)
