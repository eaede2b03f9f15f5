"""Operators that move elements, and the shape arithmetic around them, agree with onnxruntime."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    FLOAT16,
    assert_agrees,
    assert_runs,
    build,
    loaded,
    node,
    traced,
    weights,
)

# A product with this many columns on the left pins the shape that an operator returns.
PROBE = node("MatMul", ["h", "W"], ["y"])


@pytest.mark.parametrize(
    ("axis", "columns"),
    [(None, 20), (-3, 60), (-2, 20), (-1, 5), (0, 60), (1, 20), (2, 5), (3, 1)],
)
def test_flatten(tmp_path: Path, axis: int | None, columns: int) -> None:
    flatten = node("Flatten", ["x"], ["h"], **({} if axis is None else {"axis": axis}))
    assert_runs(tmp_path, flatten, PROBE, shape=(3, 4, 5), constants={"W": weights(columns, 2)})


@pytest.mark.parametrize(
    ("dims", "columns"),
    [([2, 12], 12), ([0, -1], 12), ([-1, 0], 3), ([0, 0, 2, 2], 2), ([-1], 24), ([4, 6], 6)],
)
def test_reshape(tmp_path: Path, dims: list[int], columns: int) -> None:
    reshape = node("Reshape", ["x", "shape"], ["h"])
    constants = {"shape": np.array(dims), "W": weights(columns, 2)}
    assert_runs(tmp_path, reshape, PROBE, shape=(2, 3, 4), constants=constants)


def test_reshape_with_allowzero(tmp_path: Path) -> None:
    reshape = node("Reshape", ["x", "shape"], ["h"], allowzero=1)
    constants = {"shape": np.array([-1, 8]), "W": weights(8, 2)}
    assert_runs(tmp_path, reshape, PROBE, shape=(2, 3, 4), constants=constants)


def test_reshape_by_attribute() -> None:
    # onnxruntime runs no opset this old.
    nodes = [node("Reshape", ["x"], ["h"], shape=[1, -1]), PROBE]
    model = build(nodes, inputs={"x": (2, 3)}, constants={"W": weights(6, 2)}, opset=4)
    x = weights(2, 3, seed=1)
    expected = x.reshape(1, -1) @ weights(6, 2)
    np.testing.assert_allclose(traced(model).network.evaluate(x), expected[0])


@pytest.mark.parametrize("perm", [None, [0, 1, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
def test_transpose(tmp_path: Path, perm: list[int] | None) -> None:
    transpose = node("Transpose", ["x"], ["y"], **({} if perm is None else {"perm": perm}))
    assert_runs(tmp_path, transpose, shape=(2, 3, 4))


def axes_node(operator: str, axes: list[int] | None, opset: int) -> onnx.NodeProto:
    if axes is None:
        return node(operator, ["x"], ["h"])
    if opset < 13:
        return node(operator, ["x"], ["h"], axes=axes)
    return node(operator, ["x", "axes"], ["h"])


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize(
    ("axes", "columns"), [(None, 4), ([0], 1), ([0, 3], 4), ([-1], 4), ([0, -1], 4), ([-4], 1)]
)
def test_squeeze(tmp_path: Path, opset: int, axes: list[int] | None, columns: int) -> None:
    squeeze = axes_node("Squeeze", axes, opset)
    constants: dict[str, ArrayLike] = {"W": weights(columns, 2), "axes": np.array(axes or [0])}
    assert_runs(tmp_path, squeeze, PROBE, shape=(1, 3, 4, 1), constants=constants, opset=opset)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize(
    ("axes", "columns"), [([0], 3), ([2], 1), ([-1], 1), ([-2], 3), ([0, 3], 1), ([3, 0], 1)]
)
def test_unsqueeze(tmp_path: Path, opset: int, axes: list[int], columns: int) -> None:
    unsqueeze = axes_node("Unsqueeze", axes, opset)
    constants: dict[str, ArrayLike] = {"W": weights(columns, 2), "axes": np.array(axes)}
    assert_runs(tmp_path, unsqueeze, PROBE, shape=(2, 3), constants=constants, opset=opset)


def test_identity(tmp_path: Path) -> None:
    assert_runs(tmp_path, node("Identity", ["x"], ["y"]), shape=(2, 3))


@pytest.mark.parametrize("target", [FLOAT16, FLOAT, DOUBLE])
def test_cast_between_floats(tmp_path: Path, target: int) -> None:
    nodes = [node("Cast", ["x"], ["h"], to=target), node("Cast", ["h"], ["y"], to=DOUBLE)]
    model = build(nodes, inputs={"x": (3,)})
    assert_agrees(loaded(model, tmp_path), {FLOAT16: 1e-3, FLOAT: 1e-7, DOUBLE: 0.0}[target])


@pytest.mark.parametrize(
    ("opset", "inputs", "attributes"),
    [
        (7, ["x"], {"ratio": 0.4}),
        (10, ["x"], {"ratio": 0.4}),
        (12, ["x", "ratio"], {}),
        (12, ["x", "ratio", "no"], {"seed": 3}),
        (13, ["x", "", "no"], {}),
        (22, ["x", "ratio"], {}),
    ],
)
def test_dropout_does_nothing(
    tmp_path: Path, opset: int, inputs: list[str], attributes: dict[str, object]
) -> None:
    dropout = node("Dropout", inputs, ["y", "mask"], **attributes)
    constants: dict[str, ArrayLike] = {"ratio": 0.4, "no": np.array(False)}
    assert_runs(tmp_path, dropout, shape=(2, 3), constants=constants, opset=opset)


def test_old_dropout_that_says_it_is_testing() -> None:
    # onnxruntime runs no opset this old.
    model = build([node("Dropout", ["x"], ["y"], is_test=1)], inputs={"x": (3,)}, opset=6)
    assert traced(model).network.evaluate([1, -2, 3]).tolist() == [1, -2, 3]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [2, 3, 4]),
        ({"start": 1}, [3, 4]),
        ({"end": 2}, [2, 3]),
        ({"start": -2, "end": -1}, [3]),
        ({"start": 1, "end": 9}, [3, 4]),
    ],
)
def test_shape_of_a_computed_tensor(
    tmp_path: Path, attributes: dict[str, int], expected: list[int]
) -> None:
    nodes = [
        node("Shape", ["x"], ["dims"], **attributes),
        node("Cast", ["dims"], ["floats"], to=DOUBLE),
        node("MatMul", ["x", "W"], ["h"]),
        node("Add", ["h", "floats"], ["y"]),
    ]
    constants = {"W": weights(4, len(expected))}
    network = assert_runs(tmp_path, *nodes, shape=(2, 3, 4), constants=constants, opset=15)
    offset = network.ir.evaluate(np.zeros(24)).reshape(6, len(expected))
    assert offset.tolist() == [expected] * 6


@pytest.mark.parametrize(
    "value",
    [
        {"value": numpy_helper.from_array(np.array([0.5, -2.0, 3.0]))},
        {"value": numpy_helper.from_array(np.array(0.5))},
    ],
)
def test_constant_tensor(tmp_path: Path, value: Mapping[str, onnx.TensorProto]) -> None:
    nodes = [node("Constant", [], ["c"], **value), node("Add", ["x", "c"], ["y"])]
    assert_runs(tmp_path, *nodes, shape=(1, 3))


@pytest.mark.parametrize("value", [{"value_float": 0.1}, {"value_floats": [0.1, -2.0, 3.0]}])
def test_constant_float(tmp_path: Path, value: Mapping[str, object]) -> None:
    nodes = [node("Constant", [], ["c"], **value), node("Add", ["x", "c"], ["y"])]
    assert_runs(tmp_path, *nodes, shape=(1, 3), elem=FLOAT)


@pytest.mark.parametrize("value", [{"value_int": -1}, {"value_ints": [1, -1]}])
def test_constant_integer(tmp_path: Path, value: Mapping[str, object]) -> None:
    rank = 1 if "value_int" in value else 2
    nodes = [
        node("Constant", [], ["raw"], **value),
        node("Reshape", ["raw", "vector"], ["shape"]),
        node("Reshape", ["x", "shape"], ["h"]),
        PROBE,
    ]
    constants = {"vector": np.array([-1]), "W": weights(6, rank)}
    assert_runs(tmp_path, *nodes, shape=(2, 3), constants=constants)


# Each computes a vector or matrix of integers ``c``, from constants and the shape (2, 3) of x.
ARITHMETIC = {
    "Gather": [node("Gather", ["dims", "one"], ["c"])],
    "Unsqueeze": [node("Unsqueeze", ["one", "zeros"], ["c"])],
    "Squeeze": [
        node("Unsqueeze", ["dims", "zeros"], ["u"]),
        node("Squeeze", ["u", "zeros"], ["c"]),
    ],
    "Concat": [node("Concat", ["dims", "zeros", "dims"], ["c"], axis=0)],
    "Slice": [node("Slice", ["dims", "zeros", "ones"], ["c"])],
    "Cast": [
        node("Cast", ["dims"], ["f"], to=FLOAT),
        node("Cast", ["f"], ["c"], to=TensorProto.INT64),
    ],
    "ConstantOfShape": [
        node(
            "ConstantOfShape",
            ["dims"],
            ["c"],
            value=numpy_helper.from_array(np.array([7], dtype=np.int64)),
        )
    ],
    "Range": [node("Range", ["zero", "seven", "two"], ["c"])],
    "Reshape": [node("Reshape", ["dims", "square"], ["c"])],
    "Transpose": [
        node("Reshape", ["dims", "square"], ["s"]),
        node("Transpose", ["s"], ["c"], perm=[1, 0]),
    ],
    "Flatten": [node("Flatten", ["dims"], ["c"], axis=0)],
    "Add": [node("Add", ["dims", "seven"], ["c"])],
    "Sub": [node("Sub", ["dims", "seven"], ["c"])],
    "Mul": [node("Mul", ["dims", "seven"], ["c"])],
    "Div": [node("Div", ["seven", "dims"], ["c"])],
    "Neg": [node("Neg", ["dims"], ["c"])],
    "Identity": [node("Identity", ["dims"], ["c"])],
    "ReduceProd": [node("ReduceProd", ["dims"], ["c"], axes=[0])],
    "Shape": [node("Shape", ["dims"], ["c"])],
    "Floor": [
        node("Cast", ["dims"], ["f"], to=DOUBLE),
        node("Div", ["f", "real"], ["d"]),
        node("Floor", ["d"], ["l"]),
        node("Cast", ["l"], ["c"], to=TensorProto.INT64),
    ],
    "Ceil": [
        node("Cast", ["dims"], ["f"], to=DOUBLE),
        node("Div", ["f", "real"], ["d"]),
        node("Ceil", ["d"], ["l"]),
        node("Cast", ["l"], ["c"], to=TensorProto.INT64),
    ],
}


@pytest.mark.parametrize("operator", ARITHMETIC)
def test_shape_arithmetic(tmp_path: Path, operator: str) -> None:
    nodes = [
        node("Shape", ["x"], ["dims"]),
        *ARITHMETIC[operator],
        node("Cast", ["c"], ["offset"], to=DOUBLE),
        node("MatMul", ["x", "W"], ["h"]),
        node("Reshape", ["h", "empty"], ["scalar"]),
        node("Add", ["scalar", "offset"], ["y"]),
    ]
    constants: dict[str, ArrayLike] = {
        "W": weights(3, 1),
        "zero": np.array(0),
        "one": np.array(1),
        "two": np.array(2),
        "seven": np.array(7),
        "real": np.array(1.7),
        "zeros": np.array([0]),
        "ones": np.array([1]),
        "square": np.array([2, -1]),
        "empty": np.array([-1, 1]),
    }
    assert_runs(tmp_path, *nodes, shape=(2, 3), constants=constants)


@pytest.mark.parametrize("opset", [11, 13])
def test_a_computed_reshape_across_opsets(tmp_path: Path, opset: int) -> None:
    unsqueeze = (
        node("Unsqueeze", ["batch"], ["b"], axes=[0])
        if opset < 13
        else node("Unsqueeze", ["batch", "axes"], ["b"])
    )
    nodes = [
        node("Shape", ["x"], ["dims"]),
        node("Gather", ["dims", "index"], ["batch"]),
        unsqueeze,
        node("Concat", ["b", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["h"]),
        PROBE,
    ]
    constants: dict[str, ArrayLike] = {
        "index": np.array(0),
        "axes": np.array([0]),
        "rest": np.array([-1]),
        "W": weights(12, 2),
    }
    assert_runs(tmp_path, *nodes, shape=(1, 3, 4), constants=constants, opset=opset)


def test_slice_by_attribute(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["dims"]),
        node("Slice", ["dims"], ["tail"], starts=[1], ends=[3]),
        node("Reshape", ["x", "tail"], ["h"]),
        PROBE,
    ]
    assert_runs(tmp_path, *nodes, shape=(1, 3, 4), constants={"W": weights(4, 2)}, opset=9)


def test_a_legacy_domain_name_is_the_standard_one(tmp_path: Path) -> None:
    model = build([node("Identity", ["x"], ["y"], domain="ai.onnx")], inputs={"x": (3,)})
    model.opset_import[0].CopyFrom(helper.make_opsetid("ai.onnx", 17))
    assert_agrees(loaded(model, tmp_path))
