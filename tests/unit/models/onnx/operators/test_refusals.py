"""What cannot be encoded exactly, or breaks the specification, is refused by name."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper

from milp_verix.base.errors import ModelError, UnsupportedOperatorError
from milp_verix.models.onnx import symbol
from tests.support.onnx_models import DOUBLE, FLOAT, build, dense, loaded, node, traced, weights

CONSTANTS: Mapping[str, ArrayLike] = {
    "W": weights(3, 4),
    "K": weights(2, 3, 2, 2),
    "yes": np.array(True),
    "ratio": np.array(0.5),
    "pair": np.array([2, 3]),
    "huge": np.array([2**40]),
    "axes": np.array([0]),
    "zero": np.array(0),
    "million": np.arange(1_000_000),
    "column": np.arange(1_000_000)[:, None],
    "floats": weights(2),
    "nan": np.array([1.0, np.nan]),
}


def single(
    operator: str,
    inputs: list[str],
    shape: tuple[int, ...] = (1, 3),
    /,
    opset: int = 17,
    **attributes: object,
) -> onnx.ModelProto:
    """Return a model with the one node ``operator``, called "here", from ``x`` to ``y``."""
    return build(
        [node(operator, inputs, ["y"], name="here", **attributes)],
        inputs={"x": shape},
        constants={name: CONSTANTS[name] for name in inputs if name in CONSTANTS},
        opset=opset,
    )


def refused(model: onnx.ModelProto, kind: type[ModelError], message: str) -> None:
    """Assert that reading ``model`` raises exactly ``kind`` with ``message`` in it."""
    with pytest.raises(kind, match=re.escape(message)) as caught:
        traced(model)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("operator", ["Tan", "Nonsense"])
def test_an_unknown_operator(operator: str) -> None:
    message = f"{operator} 'here' is not supported; supported operators are Abs, Add, And, "
    refused(single(operator, ["x"]), UnsupportedOperatorError, message)


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        ("Hardmax", "it jumps"),
        ("LpPool", "it sums powers over windows"),
        ("ArgMax", "it returns labels; if it ends the model, name the output"),
    ],
)
def test_an_operator_refused_on_purpose(operator: str, reason: str) -> None:
    message = f"{operator} 'here' is not supported: {reason}"
    refused(single(operator, ["x"]), UnsupportedOperatorError, message)


def test_an_unnamed_node_is_told_by_its_output() -> None:
    model = build([node("Tan", ["x"], ["y"])], inputs={"x": (3,)})
    refused(model, UnsupportedOperatorError, "Tan (unnamed, output 'y') is not supported")


def test_control_flow() -> None:
    branch = helper.make_graph(
        [node("Identity", ["x"], ["z"])], "b", [], [helper.make_empty_tensor_value_info("z")]
    )
    model = single("If", ["yes"], then_branch=branch, else_branch=branch)
    refused(model, UnsupportedOperatorError, "If 'here' is not supported")
    model = single("Loop", ["zero", "yes", "x"], body=branch)
    refused(model, UnsupportedOperatorError, "Loop 'here' is not supported")


@pytest.mark.parametrize(
    ("operator", "domain", "reason"),
    [
        ("Scan", "", "export with a fixed number of steps, unrolled"),
        ("Loop", "", "export with a fixed number of steps, unrolled"),
        ("Attention", "com.microsoft", "export with standard ONNX operators"),
        ("MultiHeadAttention", "com.microsoft", "export with standard ONNX operators"),
    ],
)
def test_recurrence_and_attention_say_what_to_do(operator: str, domain: str, reason: str) -> None:
    model = single(operator, ["x"], domain=domain)
    label = f"{domain}.{operator}" if domain else operator
    refused(model, UnsupportedOperatorError, f"{label} 'here' is not supported: ")
    refused(model, UnsupportedOperatorError, reason)


def test_a_custom_domain() -> None:
    model = single("Relu", ["x"], domain="com.example")
    message = "Relu 'here' is not supported: it belongs to the domain 'com.example'"
    refused(model, UnsupportedOperatorError, message)


def test_an_unused_domain_is_no_reason(tmp_path: Path) -> None:
    model = single("Relu", ["x"])
    model.opset_import.append(helper.make_opsetid("com.example", 3))
    assert loaded(model, tmp_path).output_size == 3


def test_a_function_that_redefines_an_operator() -> None:
    model = single("Relu", ["x"])
    model.functions.append(
        helper.make_function("", "Relu", ["a"], ["b"], [node("Neg", ["a"], ["b"])], [])
    )
    refused(model, UnsupportedOperatorError, "Relu 'here' is not supported: it belongs to")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (single("Pow", ["x", "x"]), "its exponent depends on the network's input"),
        (single("Conv", ["x", "x"], (1, 1, 1, 1)), "its weights are not constants"),
        (single("Conv", ["K", "x"], (3, 3, 2, 2)), "its weights are not constants"),
        (single("Reshape", ["pair", "x"], (1,)), "its shape depends on the network's input"),
        (single("Squeeze", ["pair", "x"], (1,)), "its axes depends on the network's input"),
        (single("Cast", ["x"], to=TensorProto.UINT8), "neither floating-point nor signed"),
        (single("Cast", ["x"], to=TensorProto.BFLOAT16), "neither floating-point nor signed"),
        (single("Dropout", ["x", "ratio", "yes"]), "training mode; export the model in eval mode"),
        (single("Dropout", ["x", "ratio", "x"]), "training mode; export the model in eval mode"),
        (single("Dropout", ["x"], opset=6), "training mode; export the model in eval mode"),
        (single("Add", ["x", "W"], opset=6, broadcast=1), "'broadcast' of opset 6 is not"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), blend=1), "attribute 'blend' of opset 17"),
        (single("Sin", ["W"]), "its inputs are all constant"),
        (single("LayerNormalization", ["W", "W"]), "fold the constants of the model"),
        (single("RandomNormal", [], shape_=[1]), "its inputs are all constant"),
    ],
)
def test_an_unsupported_use(model: onnx.ModelProto, message: str) -> None:
    label = f"{model.graph.node[0].op_type} 'here' is not supported: "
    refused(model, UnsupportedOperatorError, label)
    refused(model, UnsupportedOperatorError, message)


def test_the_mask_of_dropout() -> None:
    dropout = node("Dropout", ["x", "ratio"], ["d", "mask"], name="drop")
    nodes = [dropout, node("Cast", ["mask"], ["m"], to=DOUBLE), node("Add", ["d", "m"], ["y"])]
    model = build(nodes, inputs={"x": (3,)}, constants=CONSTANTS)
    message = "reads 'mask', the output 2 of Dropout 'drop', which is not supported"
    refused(model, UnsupportedOperatorError, message)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (single("Gemm", ["x", "W"], (3,)), "multiplies tensors of shapes (3,) and (3, 4)"),
        (single("Gemm", ["x", "W"], (1, 4)), "(3,) weights cannot multiply (4,) values"),
        (single("Gemm", ["x", "W", "pair"]), "mismatch"),
        (single("Gemm", ["x", "W", "column"]), "does not fit a product (1, 4)"),
        (single("Gemm", ["x", "W"], transA="yes"), "attribute 'transA' is not an integer"),
        (single("Gemm", ["x", "W"], alpha=1), "attribute 'alpha' is not a number"),
        (single("Gemm", ["x"]), "it has the inputs ('x',), expected 2 to 3"),
        (single("Gemm", ["", "x"]), "it has the inputs ('', 'x'), expected 2 to 3"),
        (single("Relu", ["x", "x"]), "it has the inputs ('x', 'x'), expected 1 to 1"),
        (single("Concat", ["x", ""]), "it has the inputs ('x', ''), expected 1 or more"),
        (single("MatMul", ["x", "ratio"]), "multiplies a scalar"),
        (single("MatMul", ["x", "W"], (1, 1)), "(3,) weights cannot multiply (1,) values"),
        (single("Add", ["x", "W"], (1, 2)), "mismatch"),
        (single("Flatten", ["x"], axis=3), "axis 3 is not one of a tensor of shape (1, 3)"),
        (single("Flatten", ["x"], axis=-3), "axis -3 is not one of a tensor of shape (1, 3)"),
        (single("Softmax", ["x"], axis=2), "axis 2 is not one of a tensor of shape (1, 3)"),
        (single("Reshape", ["x", "pair"]), "cannot reshape"),
        (single("Reshape", ["x", "floats"]), "its shape is not a list of integers"),
        (single("Reshape", ["x"]), "its shape is None"),
        (single("Reshape", ["x"], opset=4, shape=[-2]), "its shape is [-2]"),
        (single("Reshape", ["x"], opset=4, shape=7), "'shape' is not a list of integers"),
        (single("Transpose", ["x"], perm=[0]), "axes don't match"),
        (single("Transpose", ["x"], perm=[0, 0]), "repeated axis"),
        (single("Squeeze", ["x"], opset=11, axes=[1]), "not equal to one"),
        (single("Squeeze", ["x"], opset=11, axes=[5]), "out of bounds"),
        (single("Unsqueeze", ["x"]), "it has no axes"),
        (single("Unsqueeze", ["x"], opset=11, axes=[0, 0]), "repeated axis"),
        (single("Conv", ["x", "K"], (3, 4)), "do not fit an input (3, 4)"),
        (single("Conv", ["x", "W"], (3, 4)), "do not fit an input (3, 4)"),
        (single("Conv", ["x", "K"], (1, 2, 4, 4)), "in 1 group do not fit an input (1, 2, 4, 4)"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), group=0), "in 0 groups do not fit"),
        (single("Conv", ["x", "K"], (1, 9, 4, 4), group=3), "in 3 groups do not fit"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), kernel_shape=[3, 3]), "kernel_shape disagrees"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), pads=[1, 1]), "pads [1, 1] do not fit 2"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), pads=[0, 0, 0, -1]), "do not fit 2 spatial"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), strides=[0, 1]), "strides [0, 1] do not fit 2"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), dilations=[1]), "dilations [1] do not fit 2"),
        (single("Conv", ["x", "K"], (1, 3, 1, 1)), "window shape cannot be larger"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), auto_pad="SOME"), "auto_pad is 'SOME'"),
        (single("Conv", ["x", "K"], (1, 3, 4, 4), auto_pad=1), "'auto_pad' is not a string"),
        (
            single("Conv", ["x", "K"], (1, 3, 4, 4), auto_pad="VALID", pads=[1, 1, 1, 1]),
            "it has both auto_pad 'VALID' and pads [1, 1, 1, 1]",
        ),
        (single("Conv", ["x", "K", "nan"], (1, 3, 4, 4)), "'nan', an input of Conv 'here', holds"),
        (
            single("Conv", ["x", "K", "W"], (1, 3, 4, 4)),
            "a bias of shape (3, 4) does not fit weights (2, 3, 2, 2)",
        ),
        (single("Add", ["x", "nan"], (1, 2)), "'nan', an input of Add 'here', holds NaN or inf"),
        (single("Gather", ["pair", "huge"]), "Gather 'here' cannot be evaluated: "),
        (single("Div", ["pair", "zero"]), "Div 'here' cannot be evaluated: "),
        (single("Concat", ["pair", "W"], axis=0), "Concat 'here' cannot be evaluated: "),
        (single("ConstantOfShape", ["huge"]), "computes a constant of 1,099,511,627,776 elements"),
        (single("Add", ["million", "column"]), "a constant of 1,000,000,000,000 elements"),
        (single("Gather", ["column", "million"], axis=1), "a constant of 1,000,000,000,000 el"),
        (single("Constant", [], value_string="text"), "the result of Constant 'here' has type"),
    ],
)
def test_a_malformed_node(model: onnx.ModelProto, message: str) -> None:
    refused(model, ModelError, message)
    refused(model, ModelError, f"{model.graph.node[0].op_type} 'here'")


def test_an_endless_range() -> None:
    constants = {"start": np.array(0), "limit": np.array(2**50), "step": np.array(1)}
    nodes = [node("Range", ["start", "limit", "step"], ["y"], name="here")]
    model = build(nodes, inputs={"x": (1,)}, constants=constants)
    refused(model, ModelError, "Range 'here' is malformed: it computes a constant of 1,125,8")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (single("Conv", ["x", "K"], (1, 3, 4, 4), pads=[2**40] * 4), "more than 10,000,000 elem"),
        (single("Add", ["x", "column"], (1, 1_000_000)), "more than 10,000,000 elements"),
        (single("Add", ["x", "million"], (20, 1)), "more than 10,000,000 elements"),
    ],
)
def test_a_huge_tensor(model: onnx.ModelProto, message: str) -> None:
    refused(model, ModelError, f"{model.graph.node[0].op_type} 'here': a tensor of shape (")
    refused(model, ModelError, message)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("MatMul", ["x", "W"], ["y"], name="here")],
        [node("Add", ["x", "copies"], ["h"], name="here"), node("Flatten", ["h"], ["y"], axis=0)],
    ],
    ids=["weights", "copies"],
)
def test_a_huge_matrix(monkeypatch: pytest.MonkeyPatch, nodes: list[onnx.NodeProto]) -> None:
    constants = {"W": weights(3, 4), "copies": np.zeros((4, 1))}
    model = build(nodes, inputs={"x": (1, 3)}, constants=constants)
    monkeypatch.setattr(symbol, "MAX_NONZEROS", 11)
    message = f"{nodes[0].op_type} 'here': its matrix needs 12 entries, more than 11"
    refused(model, ModelError, message)
    monkeypatch.setattr(symbol, "MAX_NONZEROS", 12)
    assert traced(model).network.input_size == 3


def test_a_huge_product_of_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node("MatMul", ["x", "A"], ["h"]), node("MatMul", ["h", "B"], ["y"], name="here")]
    constants = {"A": weights(9, 1), "B": weights(1, 8)}
    model = build(nodes, inputs={"x": (1, 9)}, constants=constants)
    monkeypatch.setattr(symbol, "MAX_NONZEROS", 71)
    refused(model, ModelError, "MatMul 'here': its matrix needs 72 entries, more than 71")
    monkeypatch.setattr(symbol, "MAX_NONZEROS", 72)
    assert traced(model).network.output_size == 8


@pytest.mark.parametrize("size", [1, 20])
def test_weights_that_overflow_when_combined(size: int) -> None:
    # Dense factors for one element, sparse ones for twenty.
    nodes = [node("MatMul", ["x", "A"], ["h"]), node("MatMul", ["h", "A"], ["y"], name="here")]
    model = build(nodes, inputs={"x": (1, size)}, constants={"A": 1e200 * np.eye(size)})
    refused(model, ModelError, "MatMul 'here': its weights overflow, combined with those of")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("elem", [FLOAT, DOUBLE])
def test_weights_that_are_not_finite(bad: float, elem: int) -> None:
    constants = {"A": weights(3, 4), "a": np.array([0, bad, 0, 0]), "B": weights(4, 2)}
    model = dense(constants=constants, elem=elem)
    refused(model, ModelError, "'a', an input of Gemm 'first', holds NaN or infinite values")


@pytest.mark.parametrize(
    ("behind", "mask", "kind", "message"),
    [
        ("Relu", [0.0, -np.inf], UnsupportedOperatorError, "'m', an input of it, holds scores of"),
        ("Softmax", [-np.inf] * 2, ModelError, "a mask hides all scores of a softmax"),
    ],
)
def test_scores_of_minus_infinity_for_anything_but_some_of_a_softmax(
    behind: str, mask: list[float], kind: type[ModelError], message: str
) -> None:
    nodes = [
        node("Add", ["x", "mask"], ["m"]),
        node(behind, ["m"], ["p"], name="here"),
        node("Exp", ["p"], ["y"]),
    ]
    model = build(nodes, inputs={"x": (1, 2)}, constants={"mask": np.array([mask])})
    refused(model, kind, message)


def test_a_factor_that_is_not_finite() -> None:
    model = single("Gemm", ["x", "W"], alpha=float("nan"))
    refused(model, ModelError, "Gemm 'here': its weights overflow")


def test_a_cycle() -> None:
    nodes = [node("Add", ["x", "b"], ["a"], name="one"), node("Relu", ["a"], ["b"], name="two")]
    model = build(nodes, inputs={"x": (3,)}, outputs=["b"])
    refused(model, ModelError, "Add 'one' reads 'b' before it is computed: the nodes form a cycle")


@pytest.mark.parametrize("source", ["x", "W"])
def test_a_part_without_a_name(source: str, tmp_path: Path) -> None:
    # onnxruntime crashes on it, with the process that it runs in
    nodes = [node("Split", [source], ["", "p"], name="here"), node("Relu", ["x"], ["y"])]
    model = build(nodes, inputs={"x": (4, 2)}, constants={"W": weights(4, 2)})
    with pytest.raises(ModelError, match="Split 'here' is malformed: it has an output without a n"):
        loaded(model, tmp_path)


def test_an_undefined_tensor() -> None:
    message = "Add 'here' reads 'ghost', which nothing in the model defines"
    refused(single("Add", ["x", "ghost"]), ModelError, message)


def test_an_undefined_output() -> None:
    model = build([node("Relu", ["x"], ["z"])], inputs={"x": (3,)})
    refused(model, ModelError, "the model returns 'y', which nothing in the model defines")


@pytest.mark.parametrize("name", ["x", "W", "h"])
def test_a_tensor_defined_twice(name: str) -> None:
    nodes = [node("Relu", ["x"], ["h"]), node("Relu", ["h"], [name], name="again")]
    model = build(nodes, inputs={"x": (3,)}, outputs=["h"], constants=CONSTANTS)
    refused(model, ModelError, f"Relu 'again' defines {name!r} a second time")


def test_no_opset() -> None:
    model = dense()
    del model.opset_import[:]
    refused(model, ModelError, "does not say which version of the ONNX operators it uses")


def test_an_attribute_that_refers_to_a_function() -> None:
    model = single("Gemm", ["x", "W"], alpha=0.5)
    model.graph.node[0].attribute[0].ref_attr_name = "outer"
    refused(model, ModelError, "attribute 'alpha' of Gemm 'here': ")


def sparse(*, used: bool) -> onnx.ModelProto:
    model = build(
        [node("Add", ["x", "S"], ["a"], name="here"), node("Relu", ["x"], ["b"])],
        inputs={"x": (3,)},
        outputs=["a" if used else "b"],
    )
    values = numpy_helper.from_array(np.array([2.0]), "S")
    indices = numpy_helper.from_array(np.array([1]), "i")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))
    return model


def test_a_sparse_initializer() -> None:
    message = "Add 'here' reads the sparse initializer 'S', which is not supported; store it dense"
    refused(sparse(used=True), UnsupportedOperatorError, message)
    assert traced(sparse(used=False)).network.output_size == 3


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([1 + 2j])])
def test_an_initializer_that_is_not_real_numbers(values: np.ndarray) -> None:
    model = single("Add", ["x", "t"])
    model.graph.initializer.append(numpy_helper.from_array(values, "t"))
    refused(model, ModelError, "initializer 't' has type")


def test_an_initializer_whose_data_does_not_fill_its_shape() -> None:
    model = dense()
    model.graph.initializer[0].dims[0] = 2**40
    refused(model, ModelError, "initializer 'A' cannot be read: ")
