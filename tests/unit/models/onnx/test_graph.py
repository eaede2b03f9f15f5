"""Nodes may come in any order, as onnxruntime takes them."""

from itertools import permutations
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from milp_verix import ModelError
from tests.support.onnx_models import assert_agrees, build, kinds, loaded, node, traced, weights
from verix_encodings.arrays import dense

NODES = [
    node("Constant", [], ["W"], value=numpy_helper.from_array(weights(3, 3)), name="weights"),
    node("MatMul", ["x", "W"], ["h"], name="first"),
    node("Relu", ["h"], ["r"], name="relu"),
    node("Add", ["r", "h"], ["y"], name="last"),
]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_nodes_in_any_order(order: tuple[int, ...], tmp_path: Path) -> None:
    network = loaded(build([NODES[i] for i in order], inputs={"x": (1, 3)}), tmp_path)
    assert kinds(network) == ["Affine", "Relu", "Affine"]
    assert_agrees(network)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_labels_of_nodes_in_any_order(order: tuple[int, ...], tmp_path: Path) -> None:
    nodes = [node("ArgMax", ["y"], ["label"], axis=1, keepdims=0), *(NODES[i] for i in order)]
    model = build(nodes, inputs={"x": (1, 3)})
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("label", TensorProto.INT64, None))
    network = loaded(model, tmp_path)
    assert network.scores_name == "y"
    assert_agrees(network)


def test_a_valid_order_is_kept(tmp_path: Path) -> None:
    # two branches that take turns: another valid order would number the network's values otherwise
    nodes = [
        node("Mul", ["x", "b"], ["p"]),
        node("Mul", ["x", "a"], ["q"]),
        node("Relu", ["p"], ["r"]),
        node("Relu", ["q"], ["s"]),
        node("Sub", ["s", "r"], ["y"]),
    ]
    constants = {"a": weights(3), "b": weights(3, seed=5)}
    network = loaded(build(nodes, inputs={"x": (3,)}, constants=constants), tmp_path)
    ((_, matrix),) = network.ir.nodes[0].terms
    np.testing.assert_array_equal(dense(matrix).diagonal(), constants["b"])


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Add", ["x", "y"], ["y"], name="self")], "Add 'self' reads 'y'"),
        (
            [
                node("Relu", ["b"], ["y"], name="end"),
                node("Add", ["x", "c"], ["b"], name="one"),
                node("Relu", ["b"], ["c"], name="two"),
            ],
            "Add 'one' reads 'c'",
        ),
    ],
)
def test_a_cycle(nodes: list[onnx.NodeProto], message: str) -> None:
    model = build(nodes, inputs={"x": (3,)})
    with pytest.raises(ModelError, match=f"{message} before it is computed: the nodes form a cycl"):
        traced(model)
