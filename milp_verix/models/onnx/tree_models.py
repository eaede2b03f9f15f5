"""ONNX files that end in trees: ``TreeEnsembleClassifier``, ``-Regressor`` and ``TreeEnsemble``.

Sums are those of ONNX's specification, as onnxruntime computes them: in float32 for inputs of
float32. What stands before the trees must compute each of their numbers from one entry of the
input, as scalers do; thresholds are pulled back to the input through onnxruntime's own numbers. Of
what stands behind them, casts, shapes and labels are understood.

Of two classes with weights for the first alone, ``s``, the scores are ``(1 − s, s)`` if no weight
is negative, else ``(−s, s)``; and these where each leaf has ``−v`` and ``v`` for the two.

A node of a tree goes to its true branch, the left one here, where ``z`` and its value satisfy its
mode: ``<=``, ``<``, ``>=``, ``>``, ``==``, ``!=``, or membership of a set. Branches may meet again
in one node, as exporters write sets of categories: each has a copy of what is below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix.base.errors import ModelError, UnsupportedOperatorError, listed
from milp_verix.inputs.fitted import Column, TableEncoding
from milp_verix.models.loaded_model import KnownFacts
from milp_verix.models.onnx.model_file import NODES_OF_TREES, Signature, cut, opened, serialised
from milp_verix.models.onnx.trace import trace
from milp_verix.models.trees.behind_table import Conditions
from milp_verix.models.trees.branching import Branching, Sides, largest_values, single_precision
from milp_verix.models.trees.readers import Link, ReadTrees
from milp_verix.models.trees.table_columns import TableColumns
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, relative_error

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
        sides[k] = Sides.of_members(members.astype(precision), every, otherwise=False)
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


_BEHIND = ("ArrayFeatureExtractor", "Cast", "Flatten", "Identity", "Reshape", "Squeeze", "ZipMap")
_LINKED = 1e-6
"""A distance of scores, from which on a float32 sigmoid or softmax tells them apart."""


def read_onnx_trees(
    model: onnx.ModelProto, signature: Signature, path: Path | None, sha256: str
) -> ReadTrees:
    """Read a model whose scores are those of trees; ``UnsupportedOperatorError`` for others."""
    node = _only(model.graph, signature)
    classes = _classes(node)
    count = len(classes) or next((a.i for a in node.attribute if a.name == "n_targets"), 1)
    columns = _Entries(model, signature, node.input[0])
    stored = ensemble_of(node, columns.precision, max(count, 1))
    matrix, shift, link = _combined(node, stored, len(classes))
    average = 1.0 / len(stored.trees) if stored.average else 1.0
    trees = tuple(
        replace(tree, value=tree.value @ matrix.T * average).as_thresholds()
        for tree in Conditions(columns, stored.trees).trees()
    )
    base = np.asarray(matrix @ np.broadcast_to(stored.base, count) + shift)
    reach = np.abs(base) + largest_values(trees, base.size) + 1.0
    unit = single_precision if columns.precision == np.float32 else relative_error
    return ReadTrees(
        trees=trees,
        base=base,
        inputs=columns.size,
        rounding=unit(len(trees) + 8) * reach + _LINKED * (link != "identity"),
        runner=_runner(model, node, signature, link, classes),
        facts=KnownFacts(
            "TreeEnsembleRegressor" if node.op_type == "TreeEnsembleRegressor" else None,
            () if classes == tuple(map(str, range(len(classes)))) else classes,
        ),
        library=f"onnxruntime {onnxruntime.__version__}",
        link=link,
        path=path,
        sha256=sha256,
    )


def _only(graph: onnx.GraphProto, signature: Signature) -> onnx.NodeProto:
    """Return the node of trees that the scores come from."""
    producers = {name: node for node in graph.node for name in node.output}
    node: onnx.NodeProto | None = producers.get(signature.scores_name)
    while node is not None and node.op_type not in NODES_OF_TREES and node.op_type in _BEHIND:
        node = producers.get(node.input[0])
    if node is None or node.op_type not in NODES_OF_TREES:
        text = "what computes the scores" if node is None else f"{node.op_type} {node.name!r}"
        raise UnsupportedOperatorError(
            f"{text} behind trees is not read: give the model of its own library, or the file of "
            "the trees alone"
        )
    if sum(other.op_type in NODES_OF_TREES for other in graph.node) > 1:
        raise UnsupportedOperatorError(
            "the file has several nodes of trees: give the model of its own library"
        )
    return node


def _classes(node: onnx.NodeProto) -> tuple[str, ...]:
    for attribute in node.attribute:
        if attribute.name == "classlabels_int64s" and attribute.ints:
            return tuple(map(str, attribute.ints))
        if attribute.name == "classlabels_strings" and attribute.strings:
            return tuple(word.decode() for word in attribute.strings)
    return ()


def _combined(
    node: onnx.NodeProto, stored: StoredEnsemble, classes: int
) -> tuple[FloatArray, FloatArray, Link]:
    """Return ``W``, ``c`` and the link: the scores are ``W s + c`` of the sums ``s``."""
    label = f"{node.op_type} {node.name!r}"
    count = stored.trees[0].value.shape[1]
    if classes == 1:
        raise UnsupportedOperatorError(
            f"{label} has a single class, which nothing changes: give a classifier of two or more"
        )
    read = ("NONE", "SOFTMAX", "LOGISTIC") if classes else ("NONE",)
    if stored.post not in read:
        raise UnsupportedOperatorError(
            f"{label} has post_transform {stored.post}, which is not read: export scores with NONE"
        )
    if stored.base.size not in (1, count):
        raise ModelError(f"{label} is malformed: it has {stored.base.size} base_values")
    if classes != 2:
        if classes and stored.lowest < 0 and not stored.given.any(axis=0).all():
            raise UnsupportedOperatorError(
                f"{label} gives some classes no score at some inputs: write a weight for each class"
            )
        link: Link = "softmax" if stored.post == "SOFTMAX" else "identity"
        return np.eye(count), np.zeros(count), link
    half, first = stored.lowest >= 0, stored.targets == (0,)
    if stored.base.size > 1 or (stored.base.any() and not first):
        raise UnsupportedOperatorError(
            f"{label} has base_values that onnxruntime adds to the scores of two classes otherwise "
            "than ONNX says: add them to the leaves of a tree, or give the model of its own library"
        )
    # onnxruntime's label turns elsewhere than its scores in all other cases
    opposed = stored.given.all() and all(
        np.array_equal(tree.value[:, 0], -tree.value[:, 1]) for tree in stored.trees
    )
    second = stored.targets == (1,) and not half
    if not (first or second or opposed) or (half and stored.post != "NONE"):
        raise UnsupportedOperatorError(
            f"{label} has two classes whose label and scores do not agree in onnxruntime: give the "
            "model of its own library"
        )
    chosen = np.eye(2)[1 if opposed else stored.targets[0]]
    if stored.post == "LOGISTIC":
        return chosen[None], np.zeros(1), "sigmoid"
    link = "softmax" if not first and stored.post == "SOFTMAX" else "identity"
    if not first and not opposed:
        return np.stack([0 * chosen, chosen]), np.zeros(2), link
    return np.stack([-chosen, chosen]), np.array([float(half), 0.0]), link


class _Entries(TableColumns):
    """The steps before the trees, as functions of single entries of the input."""

    def __init__(self, model: onnx.ModelProto, signature: Signature, tensor: str) -> None:
        size = int(np.prod(signature.input_shape))
        if tensor == signature.input_name:
            self._session, matrix, offsets = None, sp.eye_array(size), np.zeros(size)
            self.precision = signature.dtype
        else:
            traced = trace(model, replace(signature, output_name=tensor, scores_name=tensor))
            if len(traced.network.nodes) != 1 or traced.stripped:
                raise UnsupportedOperatorError(
                    "what stands before the trees is no affine map of the input: give the model "
                    "of its own library"
                )
            offsets = traced.network.evaluate(np.zeros(size))
            matrix = np.stack([traced.network.evaluate(one) - offsets for one in np.eye(size)])
            self._session = _Session(cut(model, [tensor]), signature)
            made = self._session.run([tensor], np.zeros((1, size)))[0]
            self.precision = np.dtype(made.dtype.type)
        names = tuple(Column(f"x{place}") for place in range(size))
        super().__init__(
            None, TableEncoding(names, sp.csr_array(matrix), offsets, {}), lambda rows: rows
        )
        self._tensor, self._dtype = tensor, signature.dtype

    def numbers(self, rows: FloatArray) -> FloatArray:
        """Return the numbers that the trees read."""
        with np.errstate(over="ignore"):
            if self._session is None:
                return rows.astype(self._dtype).astype(np.float64)
        return self._session.run([self._tensor], rows)[0].astype(np.float64)


class _Session:
    """A model in onnxruntime, run at rows; it can be pickled."""

    def __init__(self, model: onnx.ModelProto, signature: Signature) -> None:
        self._content, self._signature = serialised(model), signature
        self._open: Any = None
        shape = model.graph.input[0].type.tensor_type.shape.dim
        self._single = bool(shape and shape[0].dim_value)

    def run(self, names: Sequence[str], rows: FloatArray) -> list[NDArray[Any]]:
        """Return the tensors ``names``, with a row for each of ``rows``."""
        if self._open is None:
            self._open = opened(self._content)
        with np.errstate(over="ignore"):
            given = rows.astype(self._signature.dtype)
        shape = self._signature.input_shape
        name = self._signature.input_name
        if not self._single:
            return list(self._open.run(names, {name: given.reshape(-1, *shape[1:])}))
        each = [self._open.run(names, {name: row.reshape(shape)}) for row in given]
        return [np.concatenate(part) for part in zip(*each, strict=True)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True, slots=True, eq=False)
class OnnxTreesRunner:
    """A file of trees in onnxruntime, its labels if any, and the file ``unlinked``, with scores."""

    session: _Session
    unlinked: _Session
    names: tuple[str, ...]
    link: Link
    labels: tuple[str, ...]

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the scores, or the probability of the second of two classes."""
        found: NDArray[np.floating] = self.session.run(self.names[:1], rows)[0]
        return found[:, 1:] if self.link == "sigmoid" else found

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the scores before the link."""
        found: NDArray[np.floating] = self.unlinked.run(self.names[:1], rows)[0]
        return found[:, 1:] if self.link == "sigmoid" else found

    def classes(self, rows: FloatArray) -> IntArray | None:
        """Return the numbers of the labels; those of the largest scores in a file without any."""
        if not self.labels:
            return None
        found = [str(label) for label in self.session.run(self.names[1:], rows)[0]]
        if others := {*found} - {*self.labels}:
            raise ModelError(
                f"onnxruntime gives the label {min(others)}, which is none of those in the file, "
                f"{listed(self.labels)}: give the model of its own library"
            )
        return np.array([self.labels.index(label) for label in found], dtype=np.intp)


def _runner(
    model: onnx.ModelProto,
    node: onnx.NodeProto,
    signature: Signature,
    link: Link,
    labels: tuple[str, ...],
) -> OnnxTreesRunner:
    names = (node.output[1], node.output[0]) if labels else (node.output[0],)
    # sigmoids of several classes keep their order
    removed = (b"LOGISTIC",) if link == "identity" else (b"LOGISTIC", b"SOFTMAX")
    copy = cut(model, names)
    for other in copy.graph.node:
        for attribute in other.attribute if other.op_type in NODES_OF_TREES else ():
            if attribute.name == "post_transform" and attribute.s in removed:
                attribute.s = b"NONE"
    plain = _Session(copy, signature)
    run = plain if link == "identity" else _Session(cut(model, names), signature)
    return OnnxTreesRunner(run, plain, names, link, labels)
