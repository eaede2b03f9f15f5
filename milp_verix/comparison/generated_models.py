"""Networks and trees made of random numbers, so that instances need no data and no training.

Inputs are images of 8×8 numbers in [0, 1]: one of ten smooth patterns, with noise. The hidden
layers of a network keep random weights (He et al. 2015); its last layer is fitted by least squares,
as in extreme learning machines (Huang et al. 2006). Trees take the best of a few random splits
(Geurts et al. 2006). Weights are rounded to multiples of 2⁻¹⁶: the last bits of a sum, which differ
between machines, do not reach them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from verix_encodings.arrays import FloatArray, IntArray

SIDE, CLASSES = 8, 10
_SAMPLES, _NOISE, _RIDGE, _UNIT = 600, 0.12, 1e-2, 2.0**-16


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """An ONNX ``model`` as bytes, some ``inputs`` for it, and ``how`` it was made, in words."""

    model: bytes
    inputs: FloatArray
    how: str


@dataclass(slots=True, eq=False)
class _Graph:
    """The nodes of a network so far, from the input ``x`` of ``shape`` (without the batch)."""

    rng: np.random.Generator
    shape: tuple[int, ...]
    last: str = "x"
    nodes: list[Any] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)

    def add(self, operator: str, *more: str, **attributes: Any) -> str:
        """Add a node that reads the last value, and ``more``; its value is the last one then."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [self.last, *more], [name], **attributes))
        self.last = name
        return name

    def constant(self, values: FloatArray) -> str:
        """Add ``values``, rounded, and return their name."""
        rounded = (np.round(values / _UNIT) * _UNIT).astype(np.float32)
        self.weights.append(numpy_helper.from_array(rounded, f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def dense(self, width: int) -> None:
        """Add an affine layer of random weights."""
        inside = prod(self.shape)
        if len(self.shape) > 1:
            self.add("Flatten")
        weights = self.rng.normal(size=(inside, width)) * np.sqrt(2 / inside)
        bias = self.rng.normal(size=width) * 0.1
        self.add("Gemm", self.constant(weights), self.constant(bias))
        self.shape = (width,)

    def convolution(self, channels: int) -> None:
        """Add a 3×3 convolution of random weights that keeps height and width."""
        inside, height, width = self.shape
        weights = self.rng.normal(size=(channels, inside, 3, 3)) * np.sqrt(2 / (9 * inside))
        bias = self.constant(self.rng.normal(size=channels) * 0.1)
        self.add("Conv", self.constant(weights), bias, pads=[1, 1, 1, 1])
        self.shape = channels, height, width

    def model(self, output: str) -> bytes:
        """Return the network up to the value ``output``."""
        ends = (("x", (1, SIDE, SIDE)), (output, self.shape))
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", *s]) for n, s in ends]
        return _model(helper.make_graph(self.nodes, "g", values[:1], values[1:], self.weights))


def _model(graph: Any, *domains: tuple[str, int]) -> bytes:
    opsets = [helper.make_opsetid(name, version) for name, version in (("", 17), *domains)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="milp-verix")
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString(deterministic=True))


def _dense(graph: _Graph, widths: Sequence[int]) -> None:
    for width in widths:
        graph.dense(width)
        graph.add("Relu")


def _smooth(graph: _Graph, widths: Sequence[int]) -> None:
    for number, width in enumerate(widths):
        graph.dense(width)
        graph.add("Tanh" if number % 2 else "Sigmoid")


def _residual(graph: _Graph, widths: Sequence[int]) -> None:
    _dense(graph, widths[:1])
    for width in widths[1:]:
        before = graph.last
        graph.dense(width)
        graph.add("Relu")
        graph.dense(widths[0])
        graph.add("Add", before)
        graph.add("Relu")


def _pooled(graph: _Graph, widths: Sequence[int]) -> None:
    for number, channels in enumerate(widths):
        graph.convolution(channels)
        graph.add("Relu")
        if not number:
            graph.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
            graph.shape = (channels, SIDE // 2, SIDE // 2)


_NETWORKS: dict[str, tuple[Callable[[_Graph, Sequence[int]], None], str]] = {
    "dense": (_dense, "dense ReLU layers"),
    "residual": (_residual, "a dense layer and residual blocks"),
    "pooled": (_pooled, "3×3 convolutions, the first with 2×2 max-pooling"),
    "smooth": (_smooth, "dense layers, sigmoid and tanh in turns"),
}
_TREES = {"forest": "a forest that votes", "boosted": "boosted trees, a regressor"}
KINDS = (*_NETWORKS, *_TREES)


def generated(kind: str, widths: Sequence[int], seed: int) -> Generated:
    """Return a model of a ``kind``, one of ``KINDS``, and inputs for it.

    ``widths`` are those of the layers, or the number of trees and their depth.
    """
    rng = np.random.default_rng(seed)
    images, labels = _patterns(rng)
    if kind in _TREES:
        how = f"{_TREES[kind]}: {widths[0]} trees of depth {widths[1]}, seed {seed}"
        model = _forest(rng, images, labels, *widths, boosted=kind == "boosted")
        return Generated(model, images.reshape(-1, SIDE * SIDE), how)
    build, words = _NETWORKS[kind]
    graph = _Graph(rng, (1, SIDE, SIDE))
    build(graph, widths)
    if len(graph.shape) > 1:
        graph.add("Flatten")
        graph.shape = (prod(graph.shape),)
    session = onnxruntime.InferenceSession(
        graph.model(graph.last), providers=["CPUExecutionProvider"]
    )
    hidden = session.run(None, {"x": images})[0].astype(np.float64)
    terms = np.column_stack([hidden, np.ones(len(hidden))])
    squares = terms.T @ terms + _RIDGE * len(terms) * np.eye(terms.shape[1])
    fitted = np.linalg.solve(squares, terms.T @ np.eye(CLASSES)[labels])
    # margins of about 1, as logits have
    fitted *= 4
    graph.add("Gemm", graph.constant(fitted[:-1]), graph.constant(fitted[-1]))
    graph.shape = (CLASSES,)
    said = "-".join(map(str, widths))
    return Generated(graph.model(graph.last), images, f"{words}, widths {said}, seed {seed}")


def _patterns(rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return images, shape (samples, 1, 8, 8) float32, and the numbers of their patterns."""
    wave = np.cos(np.pi * np.outer(np.arange(4), np.arange(SIDE) + 0.5) / SIDE)
    drawn = wave.T @ rng.normal(size=(CLASSES, 4, 4)) @ wave
    patterns = 0.5 + 0.4 * drawn / np.abs(drawn).max(axis=(1, 2), keepdims=True)
    labels = np.arange(_SAMPLES) % CLASSES
    noisy = patterns[labels] + rng.normal(size=(_SAMPLES, SIDE, SIDE)) * _NOISE
    # as of 256 grey levels
    grey = np.round(np.clip(noisy, 0, 1) * 255) / 255
    return grey.astype(np.float32)[:, None], labels


_Node: TypeAlias = tuple[int, float, int, int, FloatArray]
"""A node: feature (-1 of a leaf), threshold, children, and the mean of its targets."""


def _forest(
    rng: np.random.Generator,
    images: FloatArray,
    labels: IntArray,
    trees: int,
    depth: int,
    *,
    boosted: bool,
) -> bytes:
    x = images.reshape(-1, SIDE * SIDE)
    wanted = np.eye(CLASSES)[labels] if not boosted else labels[:, None] / CLASSES
    step, grown = 0.3 if boosted else 1.0, list[list[_Node]]()
    for _ in range(trees):
        chosen = rng.permutation(len(x))[: len(x) * 2 // 3]
        nodes: list[_Node] = []
        _grow(rng, nodes, x[chosen], wanted[chosen] * step, depth)
        if boosted:
            wanted = wanted - np.array([_value(nodes, row) for row in x])
        grown.append(nodes)
    return _ensemble(grown, boosted=boosted)


def _grow(
    rng: np.random.Generator, nodes: list[_Node], x: FloatArray, wanted: FloatArray, depth: int
) -> int:
    """Add a tree for the samples ``x``; return the number of its root."""
    number = len(nodes)
    nodes.append((-1, 0.0, 0, 0, wanted.mean(axis=0)))
    best: tuple[float, int, float] | None = None
    for feature in rng.integers(x.shape[1], size=8 if depth and len(x) > 4 else 0).tolist():
        low, high = x[:, feature].min(), x[:, feature].max()
        # between two grey levels
        threshold = (np.floor(rng.uniform(low, high) * 255) + 0.5) / 255
        left = x[:, feature] <= threshold
        if left.all() or not left.any():
            continue
        spread = sum(wanted[side].var(axis=0).sum() * side.sum() for side in (left, ~left))
        if best is None or spread < best[0]:
            best = float(spread), feature, float(threshold)
    if best is not None:
        _, feature, threshold = best
        left = x[:, feature] <= threshold
        first, second = (_grow(rng, nodes, x[s], wanted[s], depth - 1) for s in (left, ~left))
        nodes[number] = (feature, threshold, first, second, nodes[number][4])
    return number


def _value(nodes: Sequence[_Node], row: FloatArray) -> FloatArray:
    at = 0
    while nodes[at][0] >= 0:
        feature, threshold, left, right, _ = nodes[at]
        at = left if row[feature] <= threshold else right
    return nodes[at][4]


def _ensemble(grown: Sequence[Sequence[_Node]], *, boosted: bool) -> bytes:
    """Return the trees as an ONNX file: scores of classes, or one number if ``boosted``."""
    where = [
        (tree, number, node) for tree, of in enumerate(grown) for number, node in enumerate(of)
    ]
    leaves = [
        (
            tree,
            number,
            target,
            float(np.round(value / _UNIT) * _UNIT) / (1 if boosted else len(grown)),
        )
        for tree, number, (feature, *_, mean) in where
        if feature < 0
        for target, value in enumerate(mean)
    ]
    kind, what = (
        ("TreeEnsembleRegressor", "target") if boosted else ("TreeEnsembleClassifier", "class")
    )
    names = (f"{what}_treeids", f"{what}_nodeids", f"{what}_ids", f"{what}_weights")
    attributes: dict[str, Any] = dict(zip(names, map(list, zip(*leaves, strict=True)), strict=True))
    attributes |= {
        "nodes_treeids": [tree for tree, _, _ in where],
        "nodes_nodeids": [number for _, number, _ in where],
        "nodes_featureids": [max(node[0], 0) for _, _, node in where],
        "nodes_values": [node[1] for _, _, node in where],
        "nodes_modes": ["LEAF" if node[0] < 0 else "BRANCH_LEQ" for _, _, node in where],
        "nodes_truenodeids": [node[2] for _, _, node in where],
        "nodes_falsenodeids": [node[3] for _, _, node in where],
    }
    floats, outputs = TensorProto.FLOAT, ["y"] if boosted else ["label", "y"]
    attributes |= {"n_targets": 1} if boosted else {"classlabels_int64s": [*range(CLASSES)]}
    node = helper.make_node(kind, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    ends = [helper.make_tensor_value_info("y", floats, ["N", 1 if boosted else CLASSES])]
    if not boosted:
        ends.insert(0, helper.make_tensor_value_info("label", TensorProto.INT64, ["N"]))
    start = helper.make_tensor_value_info("x", floats, ["N", SIDE * SIDE])
    return _model(helper.make_graph([node], "g", [start], ends), ("ai.onnx.ml", 3))
