"""Trees in ONNX files give the scores and labels of onnxruntime, at both sides of thresholds."""

import time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from milp_verix import load_network
from milp_verix.base.errors import ModelError, UnsupportedOperatorError
from milp_verix.models.trees.tree_network import TreeNetwork
from tests.support.tree_models import Array, at_thresholds

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
WIDTH = 3


def tree(rng: np.random.Generator, number: int, modes: tuple[str, ...]) -> dict[str, list[Any]]:
    """Return the columns of a full tree of depth 3 with the number ``number``."""
    inner = 7
    leaves = inner + 1
    mode = str(rng.choice(modes))
    return {
        "nodes_treeids": [number] * (inner + leaves),
        "nodes_nodeids": [*range(inner + leaves)],
        "nodes_featureids": [*rng.integers(0, WIDTH, inner).tolist(), *[0] * leaves],
        "nodes_modes": [mode] * inner + ["LEAF"] * leaves,
        "nodes_values": [
            *rng.choice([-1.0, 0.0, 0.5, 1.1], inner).astype(np.float32).tolist(),
            *[0.0] * leaves,
        ],
        "nodes_truenodeids": [*(2 * k + 1 for k in range(inner)), *[0] * leaves],
        "nodes_falsenodeids": [*(2 * k + 2 for k in range(inner)), *[0] * leaves],
        "nodes_missing_value_tracks_true": [0] * (inner + leaves),
    }


def version_3(
    rng: np.random.Generator, classes: int, modes: tuple[str, ...] = MODES, **given: Any
) -> onnx.NodeProto:
    """Return a classifier, or a regressor of two targets for no classes."""
    columns: dict[str, list[Any]] = {}
    kind, values = ("class", classes) if classes else ("target", 2)
    weights: dict[str, list[Any]] = {f"{kind}_{name}": [] for name in _WEIGHTS}
    for number in range(3):
        for name, column in tree(rng, number, modes).items():
            columns.setdefault(name, []).extend(column)
        for leaf in range(7, 15):
            for score in range(1 if values == 2 and classes else values):
                entry = (number, leaf, score, float(np.float32(rng.normal())))
                for name, one in zip(_WEIGHTS, entry, strict=True):
                    weights[f"{kind}_{name}"].append(one)
    labels = {"classlabels_int64s": [*range(classes)]} if classes else {"n_targets": 2}
    name = "TreeEnsembleClassifier" if classes else "TreeEnsembleRegressor"
    outputs = ["label", "scores"] if classes else ["scores"]
    attributes = {**columns, **weights, **labels, **given}
    return helper.make_node(name, ["x"], outputs, domain="ai.onnx.ml", **attributes)


_WEIGHTS = ("treeids", "nodeids", "ids", "weights")


def version_5(rng: np.random.Generator, kind: type = np.float32, **given: Any) -> onnx.NodeProto:
    """Return three stumps with sets and thresholds, of two targets."""
    modes = rng.integers(0, 7, 3).astype(np.uint8)
    sets = [np.nan if k % 3 == 2 else float(k) for k in range(9)][: 3 * int((modes == 6).sum())]
    attributes = {
        "n_targets": 2,
        "tree_roots": [0, 1, 2],
        "nodes_featureids": rng.integers(0, WIDTH, 3).tolist(),
        "nodes_modes": numpy_helper.from_array(modes, "modes"),
        "nodes_splits": numpy_helper.from_array(rng.choice([0.0, 1.0, 1.1], 3).astype(kind), "s"),
        "nodes_truenodeids": [0, 2, 4],
        "nodes_trueleafs": [1, 1, 1],
        "nodes_falsenodeids": [1, 3, 5],
        "nodes_falseleafs": [1, 1, 1],
        "leaf_targetids": rng.integers(0, 2, 6).tolist(),
        "leaf_weights": numpy_helper.from_array(rng.normal(size=6).astype(kind), "w"),
        **given,
    }
    if sets:
        members = numpy_helper.from_array(np.array(sets, dtype=kind), "m")
        attributes["membership_values"] = members
    return helper.make_node("TreeEnsemble", ["x"], ["scores"], domain="ai.onnx.ml", **attributes)


def model(node: onnx.NodeProto, elem: int = TensorProto.FLOAT) -> onnx.ModelProto:
    outputs = [
        helper.make_tensor_value_info(
            name, TensorProto.INT64 if name == "label" else TensorProto.FLOAT, None
        )
        for name in node.output
    ]
    if node.op_type == "TreeEnsemble":
        outputs = [helper.make_tensor_value_info("scores", elem, None)]
    source = helper.make_tensor_value_info("x", elem, [None, WIDTH])
    graph = helper.make_graph([node], "trees", [source], outputs)
    version = 5 if node.op_type == "TreeEnsemble" else 3
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def require_same(found: onnx.ModelProto, rng: np.random.Generator) -> None:
    network = load_network(found)
    assert isinstance(network, TreeNetwork)
    ensemble = network.ensemble
    rows: Array = np.concatenate(
        [
            rng.choice([-1.0, 0.0, 0.5, 1.0, 1.1, 4.0, 7.0], (40, WIDTH)),
            at_thresholds([ensemble], rng.normal(size=(5, WIDTH)), rng),
        ]
    )
    outputs = network.outputs(rows)
    scores = ensemble.value([rows.T]).T
    if network.sigmoid_stripped:
        scores = 1 / (1 + np.exp(-scores))
    elif network.softmax_stripped:
        scores = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(outputs, scores, atol=3e-6)
    classes = network.runner.classes(rows)
    if classes is not None and scores.shape[1] > 1:
        best = scores.max(axis=1) - scores[np.arange(len(rows)), classes]
        assert (best < 3e-6).all()


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize(
    ("classes", "given"),
    [
        (0, {}),
        (0, {"aggregate_function": "AVERAGE", "base_values": [0.5, -1.25]}),
        (2, {}),
        (2, {"post_transform": "LOGISTIC", "base_values": [0.125]}),
        (3, {}),
        (3, {"post_transform": "SOFTMAX", "base_values": [0.5, 0.25, -1.0]}),
        (3, {"post_transform": "LOGISTIC"}),
    ],
)
def test_all_modes_of_nodes(classes: int, given: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    require_same(model(version_3(rng, classes, **given)), rng)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("elem", [TensorProto.FLOAT, TensorProto.DOUBLE])
@pytest.mark.parametrize("aggregate", [0, 1])
def test_opset_5_with_sets(aggregate: int, elem: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = np.float32 if elem == TensorProto.FLOAT else np.float64
    require_same(model(version_5(rng, kind, aggregate_function=aggregate), elem), rng)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("classes", [0, 3])
def test_branches_that_meet_again(classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    node = version_3(rng, classes)
    for attribute in node.attribute:
        if attribute.name == "nodes_truenodeids":
            for at in (0, 15, 30):  # one step down in each tree: a leaf, and a node with leaves
                attribute.ints[at + 3], attribute.ints[at + 1] = 9, 5
    require_same(model(node), rng)


def one_tree(leaves: dict[int, float], **columns: Any) -> onnx.NodeProto:
    """Return a tree over feature 0 with one target; ``leaves`` have weights by their numbers."""
    size, none = len(columns["modes"]), [0] * len(leaves)
    columns |= {"treeids": [0] * size, "nodeids": [*range(size)], "featureids": [0] * size}
    targets = {"target_treeids": none, "target_nodeids": [*leaves], "target_ids": none}
    attributes = {f"nodes_{name}": column for name, column in columns.items()} | targets
    return helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["scores"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_missing_value_tracks_true=[0] * size,
        target_weights=[*leaves.values()],
        **attributes,
    )


def test_a_long_chain_of_equalities_with_one_shared_leaf() -> None:
    count = 1200  # exporters write a set of categories like that
    node = one_tree(
        {count: 1.0, count + 1: -1.0},
        modes=["BRANCH_EQ"] * count + ["LEAF"] * 2,
        values=[*np.arange(count, dtype=float), 0.0, 0.0],
        truenodeids=[count] * count + [0, 0],
        falsenodeids=[*range(1, count), count + 1, 0, 0],
    )
    started = time.process_time()
    require_same(model(node), np.random.default_rng(0))
    assert time.process_time() - started < 3.0  # NumPy took longer for each pair


def test_branches_that_meet_again_all_the_way_are_refused() -> None:
    node = one_tree(
        {30: 1.0},
        modes=["BRANCH_LEQ"] * 30 + ["LEAF"],
        values=[0.0] * 31,
        truenodeids=[*range(1, 31), 0],
        falsenodeids=[*range(1, 31), 0],
    )
    with pytest.raises(UnsupportedOperatorError, match="meet again have more than 1000000 nodes"):
        load_network(model(node))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("second", ["opposite", "alone"])
def test_two_classes_of_one_weight(second: str, post: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    node = version_3(rng, 2, post_transform=post)
    columns = {attribute.name: attribute for attribute in node.attribute}
    if second == "alone":
        columns["class_ids"].ints[:] = [1] * len(columns["class_ids"].ints)
        require_same(model(node), rng)
        return
    for name in ("class_treeids", "class_nodeids"):
        columns[name].ints.extend(list(columns[name].ints))
    columns["class_ids"].ints.extend([1] * len(columns["class_ids"].ints))
    columns["class_weights"].floats.extend([-v for v in columns["class_weights"].floats])
    require_same(model(node), rng)


@pytest.mark.parametrize("seed", range(20))
def test_scalers_before_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = version_3(rng, 2, ("BRANCH_LEQ",))
    trees.input[0] = "scaled"
    scaler = helper.make_node(
        "Scaler",
        ["x"],
        ["scaled"],
        domain="ai.onnx.ml",
        offset=rng.normal(size=WIDTH).tolist(),
        scale=(rng.uniform(0.1, 9, WIDTH) * rng.choice([-1, 1], WIDTH)).tolist(),
    )
    found = model(trees)
    found.graph.node.insert(0, scaler)
    require_same(found, rng)


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (version_3(np.random.default_rng(0), 0, aggregate_function="MAX"), "takes the MAX"),
        (version_3(np.random.default_rng(0), 2, post_transform="PROBIT"), "PROBIT"),
        (version_3(np.random.default_rng(0), 2, base_values=[0.5, 0.25]), "otherwise than ONNX"),
        (version_3(np.random.default_rng(0), 2, base_values=[0.0, 0.0]), "otherwise than ONNX"),
    ],
)
def test_other_sums_are_refused_by_name(node: onnx.NodeProto, told: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=told):
        load_network(model(node))


@pytest.mark.parametrize("base", [[0.3], [0.1, 0.4], [0.0, 0.0]])
@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_base_values_of_the_second_class_are_refused_by_name(base: list[float], post: str) -> None:
    node = version_3(np.random.default_rng(0), 2, post_transform=post, base_values=base)
    columns = {attribute.name: attribute for attribute in node.attribute}
    columns["class_ids"].ints[:] = [1] * len(columns["class_ids"].ints)
    with pytest.raises(UnsupportedOperatorError, match="base_values that onnxruntime adds to"):
        load_network(model(node))


@pytest.mark.parametrize("labels", [{"classlabels_int64s": [7]}, {"classlabels_strings": ["a"]}])
def test_a_single_class_is_refused_before_it_ends_the_process(labels: dict[str, Any]) -> None:
    node = version_3(np.random.default_rng(0), 1, post_transform="LOGISTIC")
    kept = [one for one in node.attribute if not one.name.startswith("classlabels")]
    kept += [helper.make_attribute(name, values) for name, values in labels.items()]
    del node.attribute[:]
    node.attribute.extend(kept)
    found = model(node)
    if "classlabels_strings" in labels:
        found.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
    with pytest.raises(UnsupportedOperatorError, match="has a single class, which nothing changes"):
        load_network(found)


def test_a_label_of_onnxruntime_that_is_none_of_the_file_is_told() -> None:
    node = version_3(np.random.default_rng(0), 2, post_transform="LOGISTIC")
    columns = {attribute.name: attribute for attribute in node.attribute}
    columns["classlabels_int64s"].ints[:] = [5, 8]
    for name in ("class_treeids", "class_nodeids"):
        columns[name].ints.extend(list(columns[name].ints))
    columns["class_ids"].ints.extend([1] * len(columns["class_ids"].ints))
    columns["class_weights"].floats.extend([-v for v in columns["class_weights"].floats])
    with pytest.raises(ModelError, match=r"gives the label [01], .* none of those .* 5, 8"):
        load_network(model(node))


@pytest.mark.parametrize("place", [0, 99])  # a circle, and nowhere
def test_damaged_attributes_are_told(place: int) -> None:
    node = version_3(np.random.default_rng(0), 3)
    for attribute in node.attribute:
        if attribute.name == "nodes_truenodeids":
            attribute.ints[0] = place
    with pytest.raises(ModelError, match="malformed"):
        load_network(model(node))
