"""Random networks: as plain weights, as data to encode, and as ONNX files to run."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from milp_verix.models.onnx.onnx_network import OnnxNetwork
from tests.support.onnx_models import DOUBLE, FLOAT, build, loaded, node, weights
from verix_encodings import (
    SMOOTH_FUNCTIONS,
    Affine,
    Interval,
    Max,
    Network,
    Node,
    Relu,
    Smooth,
    pairwise_maxima,
)

Layer: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A matrix, shape (outputs, inputs), and a bias; a ReLU stands between one layer and the next."""


def random_layers(
    rng: np.random.Generator, sizes: Sequence[int], elem: int = FLOAT
) -> tuple[Layer, ...]:
    """Return layers between ``sizes``, rounded to ``elem``: the file holds exactly these numbers.

    Pre-activations straddle zero around the middle of the unit cube.
    """
    stored = np.float32 if elem == FLOAT else np.float64
    layers = []
    for inputs, outputs in pairwise(sizes):
        matrix = rng.uniform(-1, 1, (outputs, inputs)).astype(stored)
        bias = (rng.uniform(-0.3, 0.3, outputs) - matrix.sum(axis=1) / 2).astype(stored)
        layers.append((matrix.astype(np.float64), bias.astype(np.float64)))
    return tuple(layers)


def network_of(layers: Sequence[Layer]) -> Network:
    """Return the network of ``layers``."""
    nodes: list[Node] = []
    for matrix, bias in layers:
        nodes += [Affine(((len(nodes), matrix),), bias), Relu(len(nodes) + 1)]
    return Network((layers[0][0].shape[1],), tuple(nodes[:-1]))


def dense_model(
    layers: Sequence[Layer], elem: int = FLOAT, activation: str = "Relu", opset: int = 17
) -> onnx.ModelProto:
    """Return the ONNX model of ``layers``, with input shape (1, d) and an output of scores.

    ``activation`` is the operator between them.
    """
    nodes, constants, current = [], {}, "x"
    for k, (matrix, bias) in enumerate(layers):
        constants |= {f"W{k}": matrix, f"b{k}": bias}
        result = "scores" if k == len(layers) - 1 else f"z{k}"
        nodes.append(node("Gemm", [current, f"W{k}", f"b{k}"], [result], transB=1))
        if result != "scores":
            current = f"a{k}"
            nodes.append(node(activation, [result], [current]))
    inputs = {"x": (1, layers[0][0].shape[1])}
    return build(
        nodes, inputs=inputs, outputs=["scores"], constants=constants, elem=elem, opset=opset
    )


def dense_network(layers: Sequence[Layer], folder: Path, elem: int = FLOAT) -> OnnxNetwork:
    """Return the network of ``layers``, through an ONNX file in ``folder``."""
    return loaded(dense_model(layers, elem), folder)


def as_layers(*pairs: tuple[ArrayLike, ArrayLike]) -> tuple[Layer, ...]:
    """Return layers from nested lists."""
    return tuple((np.array(m, dtype=float), np.array(b, dtype=float)) for m, b in pairs)


def convolutional(folder: Path, seed: int = 0) -> OnnxNetwork:
    """Return a network of a 4 × 4 grey image: two convolutions, then three scores."""
    nodes = [
        node("Conv", ["x", "K"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Relu", ["c"], ["r"]),
        node("Conv", ["r", "L"], ["e"], kernel_shape=[1, 1]),
        node("Relu", ["e"], ["s"]),
        node("Flatten", ["s"], ["f"]),
        node("Gemm", ["f", "B"], ["y"]),
    ]
    constants = {
        "K": weights(3, 1, 2, 2, seed=seed),
        "L": weights(2, 3, 1, 1, seed=seed + 1),
        "B": weights(8, 3, seed=seed + 2),
    }
    return loaded(build(nodes, inputs={"x": (1, 1, 4, 4)}, constants=constants, elem=FLOAT), folder)


def pooled(folder: Path, seed: int = 0) -> OnnxNetwork:
    """Return a network with padding, dilation, groups, a pool, a transposition and a Softmax."""
    nodes = [
        node("Conv", ["x", "K", "k"], ["c"], kernel_shape=[2, 2], pads=[1, 0, 0, 1], group=2),
        node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[1, 2], pads=[0, 1, 1, 0]),
        node("Relu", ["p"], ["r"]),
        node("Conv", ["r", "L"], ["d"], dilations=[2, 1], strides=[2, 1]),
        node("Transpose", ["d"], ["t"], perm=[0, 2, 3, 1]),
        node("Shape", ["t"], ["s"]),
        node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "axes"], ["m"]),
        node("Concat", ["m", "rest"], ["to"], axis=0),
        node("Reshape", ["t", "to"], ["f"]),
        node("MatMul", ["f", "B"], ["g"]),
        node("Sub", ["g", "b"], ["h"]),
        node("Softmax", ["h"], ["y"]),
    ]
    constants = {
        "K": weights(4, 1, 2, 2, seed=seed),
        "k": weights(4, seed=seed + 3),
        "L": weights(3, 4, 2, 2, seed=seed + 1),
        "B": weights(12, 3, seed=seed + 2),
        "b": weights(3, seed=seed + 4),
        "zero": np.array(0),
        "axes": np.array([0]),
        "rest": np.array([-1]),
    }
    return loaded(build(nodes, inputs={"x": (1, 2, 5, 5)}, constants=constants, elem=FLOAT), folder)


def residual(folder: Path, seed: int = 0, elem: int = DOUBLE) -> OnnxNetwork:
    """Return a network of five inputs and three scores with a connection that skips two layers."""
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("Gemm", ["r", "B"], ["g"]),
        node("Add", ["g", "x"], ["s"]),
        node("Relu", ["s"], ["t"]),
        node("Gemm", ["t", "C"], ["y"]),
    ]
    constants = {
        "A": weights(5, 6, seed=seed),
        "a": weights(6, seed=seed + 1),
        "B": weights(6, 5, seed=seed + 2),
        "C": weights(5, 3, seed=seed + 3),
    }
    return loaded(build(nodes, inputs={"x": (1, 5)}, constants=constants, elem=elem), folder)


def random_graph(rng: np.random.Generator, size: int = 3, nodes: int = 7) -> Network:
    """Return a random graph: ReLUs, maxima, affine maps of one to three values, some sparse."""
    made: list[Node] = []
    sizes = [size]
    for index in range(nodes):
        kind = rng.random()
        if kind < 0.2 and index < nodes - 1:
            source = int(rng.integers(len(sizes)))
            for node in random_maxima(rng, len(sizes), source, sizes[source]):
                made.append(node)
                sizes.append(node.first.size if isinstance(node, Max) else node.bias.size)
            continue
        if kind < 0.5 and index < nodes - 1:
            source = int(rng.integers(len(sizes)))
            made.append(Relu(source))
            sizes.append(sizes[source])
            continue
        rows = int(rng.integers(1, 5))
        sources = rng.choice(len(sizes), size=min(len(sizes), int(rng.integers(1, 4))))
        terms = tuple((int(s), _random_matrix(rng, rows, sizes[s])) for s in sources)
        made.append(Affine(terms, rng.normal(size=rows)))
        sizes.append(rows)
    return Network((size,), tuple(made))


def random_maxima(
    rng: np.random.Generator, number: int, source: int, size: int
) -> tuple[Node, ...]:
    """Return maxima of one to three random groups, which may overlap and repeat an entry.

    They are nodes of pairs; the first one gets the value number ``number``.
    """
    lengths = rng.integers(1, 5, int(rng.integers(1, 4)))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    indices = rng.integers(size, size=lengths.sum())
    return pairwise_maxima(number, source, size, indices, starts)


def _random_matrix(
    rng: np.random.Generator, rows: int, columns: int
) -> NDArray[np.float64] | sp.csr_array:
    if rng.random() < 0.5:
        return rng.normal(size=(rows, columns))
    return sp.random_array((rows, columns), density=0.2, rng=rng, format="csr")


def random_box(rng: np.random.Generator, size: int) -> Interval:
    """Return a random box, with about a quarter of the coordinates fixed."""
    lower = rng.normal(size=size)
    width = rng.exponential(size=size) * (rng.random(size) < 0.75)
    return Interval(lower, lower + width)


def boxed_graph(
    seed: int, size: int = 3, nodes: int = 7
) -> tuple[Network, Interval, np.random.Generator]:
    """Return a random graph, a random box of its inputs, and the generator that drew both."""
    rng = np.random.default_rng(seed)
    return random_graph(rng, size, nodes), random_box(rng, size), rng


def cube(size: int) -> Interval:
    """Return the unit cube."""
    return Interval(np.zeros(size), np.ones(size))


def drawn() -> tuple[Network, Interval]:
    """Two free inputs of three, four neurons (active, dead, twice unstable), then one unstable.

    x0 ∈ [0, 1], x1 = ½, x2 ∈ [0, 1]:
      z0 = x0 + 1 ∈ [1, 2]        active
      z1 = −x0 − 1 ∈ [−2, −1]     dead
      z2 = x0 − x2 ∈ [−1, 1]      unstable
      z3 = x1 + x2 − 1 ∈ [−½, ½]  unstable
      y  = max(a0 + a1 − a2 − 2 a3 − ½, 0), whose argument is in [−3/2, 3/2]
    """
    first = ([[1, 0, 0], [-1, 0, 0], [1, 0, -1], [0, 1, 1]], [1, -1, 0, -1])
    second = ([[1, 1, -1, -2]], [-0.5])
    network = network_of(as_layers(first, second, ([[1]], [0])))
    return network, Interval(np.array([0, 0.5, 0]), np.array([1, 0.5, 1]))


def smooth_network(layers: tuple[Layer, ...], names: list[str]) -> Network:
    """Return the network of ``layers`` with one function after each but the last."""
    nodes: list[Node] = []
    for k, (matrix, bias) in enumerate(layers):
        nodes.append(Affine(((len(nodes), matrix),), bias))
        if k < len(layers) - 1:
            nodes.append(Smooth(len(nodes), SMOOTH_FUNCTIONS[names[k % len(names)]]))
    return Network((layers[0][0].shape[1],), tuple(nodes))
