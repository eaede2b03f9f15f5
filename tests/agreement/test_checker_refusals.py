"""Uses of operators, and files, that the checker refuses to read."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.support.onnx_models import FLOAT, build, node, weights
from verix_checker import neurons

_ONE = 2**600 * (3 * 5 * 7) ** 6


def refused(model: onnx.ModelProto, reason: str) -> None:
    """Assert that a model is refused for a reason."""
    with pytest.raises(neurons.UnreadableError, match=reason):
        neurons.Network(model.SerializeToString(), _ONE, model.graph.output[0].name)


@pytest.mark.parametrize(
    ("opset", "nodes", "reason"),
    [
        (17, [node("Relu", ["x"], ["y"], axis=0)], "Relu has the attribute axis"),
        (17, [node("LeakyRelu", ["x"], ["y"], alpha=1)], "LeakyRelu has the attribute alpha"),
        (6, [node("Relu", ["x"], ["y"])], "versions"),
        (99, [node("Relu", ["x"], ["y"])], "versions"),
        (9, [node("MaxPool", ["i"], ["y"], kernel_shape=[1, 1], dilations=[1, 1])], "dilations"),
        (9, [node("Slice", ["x"], ["y"], starts=[0], ends=[1])], "Slice of version 9"),
        (17, [node("Slice", ["x"], ["y"], starts=[0], ends=[1])], "Slice with inputs"),
        (10, [node("Pad", ["x"], ["y"], pads=[0, 0, 0, 0])], "Pad of version 10"),
        (17, [node("Pad", ["x", "four"], ["y"], mode="edge")], "Pad has mode = edge"),
        (17, [node("Pad", ["x", "two"], ["y"])], "no list of integers that fits"),
        (17, [node("Pad", ["x", "four", "half"], ["y"])], "Pad with a number"),
        (17, [node("Gemm", ["x", "A"], ["y"], beta=0.5)], "Gemm has beta = 0.5"),
        (17, [node("Gemm", ["x", "A", "wide"], ["y"])], "shapes do not fit"),
        (17, [node("PRelu", ["x", "wide"], ["y"])], "shapes do not fit"),
        (17, [node("Conv", ["i", "K"], ["y"], auto_pad="VALID", pads=[1, 1, 1, 1])], "beside"),
        (17, [node("Conv", ["i", "K"], ["y"], kernel_shape=[1, 3])], "shapes"),
        (17, [node("Conv", ["i", "K"], ["y"], pads=[-1, 0, 0, 0])], "pads"),
        (17, [node("ConvTranspose", ["i", "K"], ["y"], kernel_shape=[1, 3])], "shapes"),
        (17, [node("ConvTranspose", ["i", "K"], ["y"], output_shape=[4, 4])], "output_shape"),
        (17, [node("MaxPool", ["i"], ["y"], kernel_shape=[2, 2], ceil_mode=1)], "ceil_mode = 1"),
        (17, [node("MaxPool", ["i"], ["y"])], "MaxPool lacks"),
        (17, [node("MaxPool", ["i"], ["y"], kernel_shape=[1, 1], storage_order=1)], "storage"),
        (17, [node("Squeeze", ["x", "none"], ["y"])], "axes"),
        (17, [node("Squeeze", ["x", "two"], ["y"])], "axes|axis"),
        (17, [node("Transpose", ["x"], ["y"], perm=[1, 1])], "Transpose by"),
        (17, [node("Concat", ["x", "i"], ["y"], axis=1)], "shapes do not fit"),
        (17, [node("Concat", ["x"], ["y"], axis=2)], "axis 2 of 2"),
        (17, [node("Reshape", ["x", "two"], ["y"], allowzero=2)], "allowzero = 2"),
        (17, [node("Gather", ["x", "two"], ["y"])], "an index beyond"),
        (17, [node("Clip", ["x", "", "c"], ["y"], min=0.5)], "the attribute min"),
        (17, [node("Clip", ["x", "", "one"], ["y"])], "the ends of a Clip"),
        (17, [node("ReduceSum", ["x"], ["y"], noop_with_empty_axes=1)], "noop_with_empty_axes"),
        (13, [node("Split", ["x"], ["y", "z"], axis=1)], "parts that differ"),
        (17, [node("Shape", ["x"], ["s"], start=1), node("Reshape", ["x", "s"], ["y"])], "start"),
        (17, [node("Softmax", ["i"], ["y"], axis=1)], "Softmax of this kind"),
        (17, [node("Mul", ["x", "x"], ["y"])], "a Mul of two tensors that depend on the input"),
        (17, [node("Div", ["x", "x"], ["y"])], "a Div of two tensors that depend on the input"),
        (17, [node("Div", ["A", "x"], ["y"])], "a Div by a tensor that depends on the input"),
        (17, [node("MatMul", ["x", "x"], ["y"])], "a MatMul of two tensors that depend on the"),
        (17, [node("Exp", ["x"], ["y"])], "the operator Exp is not known"),
        (17, [node("Floor", ["x"], ["y"])], "the operator Floor is not known"),
        (11, [node("Softmax", ["column"], ["y"], axis=1)], "Softmax of this kind"),
        (17, [node("Cast", ["c"], ["k"], to=1), node("Add", ["x", "k"], ["y"])], "a Cast"),
        (17, [node("Cast", ["x"], ["y"], to=7)], "a Cast"),
        (17, [node("Cast", ["x"], ["y"], to=10)], "Cast has to = 10"),
        (17, [node("Constant", [], ["k"], value_float=2.0), node("Add", ["x", "k"], ["y"])], "lue"),
        (17, [node("Resize", ["i", "", "by"], ["y"], mode="linear")], "mode = linear"),
        (17, [node("Resize", ["i", "", "by"], ["y"], nearest_mode="floor")], "Resize of this kind"),
        (17, [node("Pad", ["x", "huge"], ["y"])], "beyond 10000000 entries"),
        (17, [node("Resize", ["x", "", "", "wide to"], ["y"])], "beyond 10000000 entries"),
        (17, [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])], "given twice"),
        (17, [node("Relu", ["x"], ["c"]), node("Neg", ["c"], ["y"])], "given twice"),
        (17, [node("Relu", ["x"], ["y"], domain="com.microsoft")], "is not known"),
        (
            17,
            [
                node("Softmax", ["x"], ["p"]),
                node("Sigmoid", ["x"], ["s"]),
                node("Concat", ["p", "s"], ["y"], axis=1),
            ],
            "before a Concat",
        ),
    ],
)
def test_what_the_table_does_not_list_is_refused(
    opset: int, nodes: list[onnx.NodeProto], reason: str
) -> None:
    constants = {
        "c": np.array(1.0),
        "one": np.array([1.0]),
        "half": np.array(0.5),
        "A": weights(3, 3),
        "wide": weights(2, 3),
        "K": weights(1, 1, 1, 2),
        "two": np.array([-1, 3]),
        "four": np.zeros(4, dtype=np.int64),
        "none": np.zeros(0, dtype=np.int64),
        "image": np.array([0, 1]),
        "square": np.array([1, 1, 1, 3]),
        "flat": np.array([3, 1]),
        "by": np.array([1.0, 1, 1, 2]),
        "huge": np.array([0, 0, 0, 10**12]),
        "wide to": np.array([1, 3 * 10**12]),
    }
    made = [node("Reshape", ["x", "square"], ["i"]), node("Reshape", ["x", "flat"], ["column"])]
    refused(build([*made, *nodes], inputs={"x": (1, 3)}, constants=constants, opset=opset), reason)


def changed_model(change: Callable[[onnx.ModelProto], object]) -> onnx.ModelProto:
    """Return a model of one layer, changed."""
    nodes = [node("MatMul", ["x", "A"], ["h"]), node("Relu", ["h"], ["y"])]
    model = build(nodes, inputs={"x": (1, 3)}, constants={"A": weights(3, 2)}, elem=FLOAT)
    change(model)
    return model


def _function(model: onnx.ModelProto) -> None:
    opset = [helper.make_opsetid("", 17)]
    body = [node("Neg", ["a"], ["b"])]
    model.functions.append(helper.make_function("", "Relu", ["a"], ["b"], body, opset))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda model: model.opset_import.append(helper.make_opsetid("ai.onnx", 9)), "several"),
        (lambda model: model.opset_import.pop(), "no version"),
        (_function, "functions"),
        (lambda model: model.graph.initializer.append(model.graph.initializer[0]), "given twice"),
        (lambda model: model.graph.sparse_initializer.add(), "functions"),
        (lambda model: model.graph.node[0].input.append("A"), "MatMul with inputs"),
        (lambda model: model.graph.node[0].input.pop(), "MatMul with inputs"),
        (lambda model: model.graph.node[1].attribute.add(name="alpha"), "the attribute alpha"),
        (lambda model: model.graph.input[0].type.tensor_type.ClearField("shape"), "an input"),
        (lambda model: setattr(model.graph.input[0].type.tensor_type, "elem_type", 7), "an input"),
        (lambda model: setattr(model.graph.initializer[0], "data_type", 10), "table|cannot|Error"),
        (lambda model: setattr(model.graph.initializer[0], "data_location", 1), "Error"),
    ],
)
def test_files_with_two_meanings_are_refused(change: Any, reason: str) -> None:
    neurons.Network(changed_model(lambda model: None).SerializeToString(), _ONE, "y")
    refused(changed_model(change), reason)


def test_a_part_without_a_name_is_no_input_that_is_left_out() -> None:
    nodes = [
        node("Split", ["x"], ["", "b"], axis=1, num_outputs=2),
        node("ReduceSum", ["b"], ["s"]),
        node("Clip", ["s", "", "c"], ["y"]),
    ]
    constants = {"c": np.array(2.0)}
    model = build(nodes, inputs={"x": (1, 2)}, constants=constants, opset=18, elem=FLOAT)
    network = neurons.Network(model.SerializeToString(), _ONE, "y")
    assert network.values([_ONE, 0, -_ONE], network.forms) == [-1]
