"""The trees in the attributes of ``TreeEnsembleClassifier``, ``-Regressor`` and ``TreeEnsemble``.

A node of ONNX goes to its true branch, the left one here, where ``z`` and its value satisfy its
mode: ``<=``, ``<``, ``>=``, ``>``, ``==``, ``!=``, or membership of a set. Branches may meet again
in one node, as exporters write sets of categories: each has a copy of what is below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import ModelError, UnsupportedOperatorError
from milp_verix.models.trees.branching import Branching, Sides, of_members
from verix_encodings.arrays import BoolArray, FloatArray, IntArray

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "MEMBER")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_MOST_NODES = 10**6
"""Nodes of a tree with copies of what its branches share: Gigabytes by some 10⁷."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredEnsemble:
    """Trees of one node of ONNX: ``base + Σ_t w_t``, or the mean of ``w_t``.

    ``given``, shape (trees, scores), is True where every leaf of a tree has a value for a score.
    """

    trees: tuple[Branching, ...]
    base: FloatArray
    average: bool
    post: str
    given: BoolArray
    lowest: float
    targets: tuple[int, ...]


def ensemble_of(node: onnx.NodeProto, precision: np.dtype[Any], scores: int) -> StoredEnsemble:
    """Return the trees of ``node``, which compares numbers of the type ``precision``.

    Raises ``UnsupportedOperatorError`` for minima and maxima over trees, and ``ModelError`` for
    attributes that do not fit together.
    """
    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    label = f"{node.op_type} {node.name!r}"
    try:
        listed = _version_5(values) if node.op_type == "TreeEnsemble" else _version_3(values)
        nodes, leaves, aggregate, post = listed
        base = _array(values, "base_values").astype(np.float64)
        if aggregate not in ("SUM", "AVERAGE"):
            raise UnsupportedOperatorError(
                f"{label} takes the {aggregate} of its trees, which is no sum: export the model "
                "with aggregate_function SUM or AVERAGE"
            )
        trees, given = _built(nodes, leaves, precision, scores)
        base, average = base if base.size else np.zeros(1), aggregate == "AVERAGE"
        lowest, targets = float(leaves[2].min(initial=0.0)), tuple(np.unique(leaves[1]).tolist())
        return StoredEnsemble(trees, base, average, post, given, lowest, targets)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise ModelError(f"{label} is malformed: its attributes do not fit together") from error


@dataclass(frozen=True, slots=True, eq=False)
class _Nodes:
    """Nodes of all trees: ``yes`` and ``no`` are the children, -1 for leaves."""

    roots: IntArray
    feature: IntArray
    mode: Sequence[str]
    split: FloatArray
    yes: IntArray
    no: IntArray
    members: Mapping[int, FloatArray]


def _array(values: Mapping[str, Any], name: str) -> Any:
    """Return a list of numbers; that of float64, if there is one."""
    tensor = values.get(f"{name}_as_tensor", values.get(name, ()))
    if isinstance(tensor, onnx.TensorProto):
        return onnx.numpy_helper.to_array(tensor)
    return np.asarray(tensor)


_Leaves = tuple[IntArray, IntArray, FloatArray]
"""For each value of a leaf: the node, the score, the value."""


def _version_3(values: Mapping[str, Any]) -> tuple[_Nodes, _Leaves, str, str]:
    kind = "class" if "class_ids" in values else "target"
    keys = list(zip(values["nodes_treeids"], values["nodes_nodeids"], strict=True))
    place = {key: k for k, key in enumerate(keys)}
    mode = [word.decode() for word in values["nodes_modes"]]
    inner = np.array([word != "LEAF" for word in mode])
    yes, no = (
        np.array(
            [
                place[tree, child] if branches else -1
                for (tree, _), child, branches in zip(keys, values[name], inner, strict=True)
            ]
        )
        for name in ("nodes_truenodeids", "nodes_falsenodeids")
    )
    first = dict[int, int]()  # as onnxruntime, which begins a tree at the node listed first
    for k, (tree, _) in enumerate(keys):
        first.setdefault(tree, k)
    roots = np.array([*first.values()], dtype=np.intp)
    feature, split = np.asarray(values["nodes_featureids"]), _array(values, "nodes_values")
    nodes = _Nodes(roots, feature, mode, split.astype(np.float64), yes, no, {})
    at = zip(values[f"{kind}_treeids"], values[f"{kind}_nodeids"], strict=True)
    leaves = (
        np.array([place[key] for key in at], dtype=np.intp),
        np.asarray(values[f"{kind}_ids"], dtype=np.intp),
        _array(values, f"{kind}_weights").astype(np.float64),
    )
    aggregate = values.get("aggregate_function", b"SUM").decode()
    return nodes, leaves, aggregate, values.get("post_transform", b"NONE").decode()


def _version_5(values: Mapping[str, Any]) -> tuple[_Nodes, _Leaves, str, str]:
    """Read opset 5, in which leaves are counted on their own."""
    codes = _array(values, "nodes_modes").astype(int)
    count, targets = codes.size, np.asarray(values["leaf_targetids"], dtype=np.intp)
    mode = [_MODES[code] for code in codes] + ["LEAF"] * targets.size
    nowhere = np.full(targets.size, -1)
    yes, no = (
        np.concatenate([np.asarray(values[ids]) + count * (np.asarray(values[leaf]) != 0), nowhere])
        for ids, leaf in (
            ("nodes_truenodeids", "nodes_trueleafs"),
            ("nodes_falsenodeids", "nodes_falseleafs"),
        )
    )
    sets, members = _array(values, "membership_values").astype(np.float64), {}
    ends = [0, *(np.flatnonzero(np.isnan(sets)) + 1)]
    for number, k in enumerate(np.flatnonzero(codes == _MODES.index("MEMBER")).tolist()):
        members[k] = np.unique(sets[ends[number] : ends[number + 1] - 1])
    feature = np.concatenate([np.asarray(values["nodes_featureids"]), nowhere])
    split = np.concatenate([_array(values, "nodes_splits").astype(np.float64), 0.0 * targets])
    nodes = _Nodes(np.asarray(values["tree_roots"]), feature, mode, split, yes, no, members)
    weights = _array(values, "leaf_weights").astype(np.float64)
    leaves = (count + np.arange(targets.size), targets, weights)
    aggregate = _AGGREGATES[int(values.get("aggregate_function", 1))]
    return nodes, leaves, aggregate, _POSTS[int(values.get("post_transform", 0))]


def _built(
    nodes: _Nodes, leaves: _Leaves, precision: np.dtype[Any], scores: int
) -> tuple[tuple[Branching, ...], BoolArray]:
    """Return the trees, and for each tree the scores that all its leaves have a value for."""
    at, score, weight = leaves
    value, listed = np.zeros((len(nodes.mode), scores)), np.zeros((len(nodes.mode), scores))
    np.add.at(value, (at, score), weight)
    np.add.at(listed, (at, score), 1)
    split = nodes.split.astype(precision)
    before = np.nextafter(split, precision.type(-np.inf)).astype(np.float64)
    exact, mode = split.astype(np.float64), np.array(nodes.mode)
    # z <= threshold, which is the false branch where nodes are swapped, and other decisions
    threshold = np.where(np.isin(mode, ("BRANCH_LT", "BRANCH_GTE")), before, exact)
    swapped, sides = np.isin(mode, ("BRANCH_GTE", "BRANCH_GT")), dict[int, Sides]()
    for k in np.flatnonzero(np.isin(mode, ("BRANCH_EQ", "BRANCH_NEQ"))).tolist():
        equal = mode[k] == "BRANCH_EQ"
        sides[k] = Sides(np.array([before[k], exact[k]]), np.array([not equal, equal, not equal]))
    for k, members in nodes.members.items():
        every = np.ones(members.size, dtype=bool)
        sides[k] = of_members(members.astype(precision), every, otherwise=False)
    yes, no = np.where(swapped, nodes.no, nodes.yes), np.where(swapped, nodes.yes, nodes.no)
    trees, given = [], []
    for root in nodes.roots.tolist():
        own, left, right = _below(root, yes, no)
        inner = left >= 0
        trees.append(
            Branching(
                feature=np.where(inner, nodes.feature[own], -1),
                threshold=np.where(inner, threshold[own], 0.0),
                left=left,
                right=right,
                value=np.where(inner[:, None], 0.0, value[own]),
                missing_left=np.zeros(own.size, dtype=bool),
                sides={place: sides[k] for place, k in enumerate(own.tolist()) if k in sides},
            )
        )
        given.append((listed[own[~inner]] > 0).all(axis=0))
    return tuple(trees), np.array(given)


def _below(root: int, yes: IntArray, no: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the nodes below ``root``, a copy for each branch, and places of children or -1."""
    found, level, start = list[IntArray](), np.array([root]), 0
    for _ in range(len(yes)):
        inner = level[yes[level] >= 0]
        places = np.full((2, level.size), -1)
        places[:, yes[level] >= 0] = start + level.size + np.arange(2 * inner.size).reshape(2, -1)
        found.append(np.stack([level, *places]))
        if not inner.size:
            own, left, right = np.concatenate(found, axis=1)
            return own, left, right
        start, level = start + level.size, np.concatenate([yes[inner], no[inner]])
        if start + level.size > _MOST_NODES:
            raise UnsupportedOperatorError(
                f"trees whose branches meet again have more than {_MOST_NODES} nodes with a copy "
                "for each branch: give the model of its own library"
            )
    raise ValueError("branches run in a circle")
