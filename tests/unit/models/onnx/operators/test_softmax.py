"""A final Softmax is left out; anywhere else it is a node."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix.base.errors import UnsupportedOperatorError
from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    assert_agrees,
    build,
    dense,
    loaded,
    node,
    weights,
)
from verix_encodings import Softmax

GEMM = node("Gemm", ["x", "A"], ["h"])
CONSTANTS = {
    "A": weights(3, 4),
    "W": weights(4, 4, seed=1),
    "column": np.array([4, 1]),
    "image": np.array([1, 4, 1, 1]),
    "square": np.array([2, 2]),
    "first": np.array([0]),
    "ratio": np.array(0.5),
}


def model(*nodes: onnx.NodeProto, opset: int = 13, elem: int = DOUBLE) -> onnx.ModelProto:
    return build([GEMM, *nodes], inputs={"x": (1, 3)}, constants=CONSTANTS, opset=opset, elem=elem)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (11, {}),
        (11, {"axis": 0}),
        (11, {"axis": 1}),
        (11, {"axis": -1}),
        (13, {}),
        (13, {"axis": 1}),
    ],
)
def test_a_final_softmax_is_left_out(
    tmp_path: Path, operator: str, opset: int, attributes: dict[str, int]
) -> None:
    softmax = node(operator, ["h"], ["y"], **attributes)
    network = loaded(model(softmax, opset=opset), tmp_path)
    assert network.softmax_stripped
    for x in np.random.default_rng(0).normal(size=(5, 3)):
        scores = network.ir.evaluate(x)
        np.testing.assert_allclose(scores, x @ CONSTANTS["A"])
        expected = scores - np.log(np.exp(scores).sum())
        returned = network.evaluate(x)
        np.testing.assert_allclose(
            returned if operator == "LogSoftmax" else np.log(returned), expected
        )


def test_no_softmax_is_reported_where_there_is_none(tmp_path: Path) -> None:
    assert not loaded(dense(), tmp_path).softmax_stripped


@pytest.mark.parametrize(("opset", "axis"), [(11, 1), (13, 1)])
def test_softmax_over_channels_of_an_image(tmp_path: Path, opset: int, axis: int) -> None:
    reshape = node("Reshape", ["h", "image"], ["i"])
    network = loaded(
        model(reshape, node("Softmax", ["i"], ["y"], axis=axis), opset=opset), tmp_path
    )
    assert network.softmax_stripped
    assert network.evaluate([1.0, 2.0, 3.0]).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("opset", "shape", "axis", "normalised"),
    [
        (13, "column", -1, 1),
        (13, "image", 2, 1),
        (13, "square", -1, 2),
        (13, "square", 0, 2),
        (11, "square", 1, 2),
        (11, "column", 1, 1),
    ],
)
def test_softmax_over_a_part_is_a_node(
    tmp_path: Path, opset: int, shape: str, axis: int, normalised: int
) -> None:
    nodes = [
        node("Reshape", ["h", shape], ["i"]),
        node("Softmax", ["i"], ["s"], axis=axis, name="part"),
        node("Flatten", ["s"], ["y"], axis=0),
    ]
    network = loaded(model(*nodes, opset=opset), tmp_path)
    assert not network.softmax_stripped
    assert [n.entries.shape[1] for n in network.ir.nodes if isinstance(n, Softmax)] == [normalised]
    assert_agrees(network)


def test_old_softmax_normalises_everything_after_its_axis(tmp_path: Path) -> None:
    nodes = [
        node("Reshape", ["h", "square"], ["i"]),
        node("Softmax", ["i"], ["s"], axis=0),
        node("Flatten", ["s"], ["y"], axis=0),
    ]
    network = loaded(model(*nodes, opset=11), tmp_path)
    assert network.softmax_stripped
    assert network.evaluate([1.0, 2.0, 3.0]).sum() == pytest.approx(1)


def test_softmax_over_a_single_score_is_refused(tmp_path: Path) -> None:
    softmax = build(
        [node("MatMul", ["x", "w"], ["h"]), node("Softmax", ["h"], ["y"], name="lonely")],
        inputs={"x": (1, 3)},
        constants={"w": weights(3, 1)},
    )
    with pytest.raises(UnsupportedOperatorError, match="'lonely' is not supported: over a single"):
        loaded(softmax, tmp_path)


@pytest.mark.parametrize(
    "follower",
    [
        node("Identity", ["s"], ["y"]),
        node("Flatten", ["s"], ["y"]),
        node("Reshape", ["s", "column"], ["y"]),
        node("Squeeze", ["s", "first"], ["y"]),
        node("Unsqueeze", ["s", "first"], ["y"]),
        node("Dropout", ["s", "ratio"], ["y"]),
        node("Cast", ["s"], ["y"], to=DOUBLE),
    ],
    ids=lambda follower: follower.op_type,
)
def test_what_may_follow_a_softmax(tmp_path: Path, follower: onnx.NodeProto) -> None:
    network = loaded(model(node("Softmax", ["h"], ["s"]), follower), tmp_path)
    assert network.softmax_stripped
    assert network.evaluate([1.0, 2.0, 3.0]).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "follower",
    [
        node("Relu", ["s"], ["y"]),
        node("Gemm", ["s", "W"], ["y"]),
        node("MatMul", ["s", "W"], ["y"]),
        node("Add", ["s", "ratio"], ["y"]),
        node("Add", ["h", "s"], ["y"]),
        node("Sub", ["ratio", "s"], ["y"]),
        node("Softmax", ["s"], ["y"]),
        node("Transpose", ["s"], ["y"]),
    ],
    ids=lambda follower: follower.op_type,
)
@pytest.mark.parametrize("between", [False, True])
def test_a_softmax_before_anything_else_is_a_node(
    tmp_path: Path, follower: onnx.NodeProto, between: bool
) -> None:
    nodes = [node("Softmax", ["h"], ["i" if between else "s"], name="inner")]
    if between:
        nodes.append(node("Identity", ["i"], ["s"]))
    network = loaded(model(*nodes, follower), tmp_path)
    assert sum(isinstance(n, Softmax) for n in network.ir.nodes) == 1
    assert network.softmax_stripped == (follower.op_type == "Softmax")
    if not network.softmax_stripped:
        assert_agrees(network)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("shape", [(4,), (1, 1, 4), (4, 1), (2, 2), (1, 2, 1, 2)])
def test_a_softmax_of_all_scores_stays_so_in_another_shape(
    tmp_path: Path, operator: str, opset: int, shape: tuple[int, ...]
) -> None:
    made = build(
        [
            GEMM,
            node(operator, ["h"], ["s"], axis=1),
            node("Reshape", ["s", "shape"], ["r"]),
            node("Mul", ["r", "factors"], ["m"]),
            node("Reshape", ["m", "row"], ["y"]),
        ],
        inputs={"x": (1, 3)},
        constants={
            "A": CONSTANTS["A"],
            "shape": np.array(shape),
            "factors": weights(4).reshape(shape),
            "row": np.array([1, 4]),
        },
        opset=opset,
        elem=DOUBLE,
    )
    assert_agrees(loaded(made, tmp_path))


def test_the_argmax_survives(tmp_path: Path) -> None:
    network = loaded(model(node("Softmax", ["h"], ["y"]), elem=FLOAT), tmp_path)
    points = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    before = [int(np.argmax(network.ir.evaluate(x))) for x in points]
    assert before == np.argmax(network.evaluate_many(points), axis=1).tolist()
    assert len(set(before)) > 1
