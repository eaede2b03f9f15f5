"""Networks of the kinds that OMLT and gurobi-machinelearning show in their examples.

Each is trained or drawn here, with a fixed seed, and written as ONNX in the way that OMLT's reader
takes: every node has a name, every ``Gemm`` its factors, and the batch has any size.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Maximise ``direction · f(x)`` over a box. The model is ONNX, or trees of scikit-learn."""

    name: str
    model: Any
    low: Array
    high: Array
    direction: Array


def cases() -> list[Case]:
    """Return the cases, the smallest first."""
    return [
        fitted("1-3-1", (3,), lambda x: np.abs(x[:, 0]), [(-1, 1)]),
        fitted("one peak", (20, 20), lambda x: np.sin(3 * x[:, 0]) + x[:, 0] ** 2, [(-1, 1)]),
        fitted("admission", (10, 10), admission, [(0, 1), (0, 1), (0, 1)]),
        fitted("reformer", (10, 10, 10), reformer, [(0.1, 0.8), (1.1, 1.3)], weights=[1, -0.5]),
        fitted("prices", (16, 16), prices, [(0, 2), (0, 1), (0, 1), (0, 1), (0, 1)]),
        fitted("peak 2D", (20, 20), peaks, [(-2, 2), (-2, 2)]),
        digits("digits, ε = 0.05", 0.05),
        digits("digits, ε = 0.15", 0.15),
        drawn("convolution", [0, 0, 0, 0], bias=0.0),
        drawn("convolution with bias", [0, 0, 0, 0]),
        drawn("padded convolution", [1, 1, 0, 0]),
        drawn("max-pool", [0, 0, 0, 0], pool=True),
        drawn("LeakyReLU", [0, 0, 0, 0], activation="LeakyRelu"),
        residual(),
        trees("forest", RandomForestRegressor(8, max_depth=5, random_state=0)),
        trees("boosted trees", GradientBoostingRegressor(n_estimators=30, max_depth=3)),
    ]


def admission(x: Array) -> Array:
    """A chance by grades, tests and help, as in "student enrolment"."""
    return 1 / (1 + np.exp(-6 * (0.5 * x[:, 0] + 0.3 * x[:, 1] + 0.4 * x[:, 2] ** 2 - 0.6)))


def reformer(x: Array) -> Array:
    """Hydrogen and rest by bypass and steam, as in "auto-thermal reformer"."""
    hydrogen = (1 - x[:, 0]) * np.tanh(2 * x[:, 1] - 1) + 0.1 * np.sin(8 * x[:, 0])
    return np.column_stack([hydrogen, x[:, 0] ** 2 + 0.2 * x[:, 1]])


def prices(x: Array) -> Array:
    """Demand by price and season, as in "price optimisation"."""
    return np.exp(-x[:, 0]) * (1 + x[:, 1:] @ np.array([0.5, -0.3, 0.2, 0.1])) * 2


def peaks(x: Array) -> Array:
    """The function of "surrogate models": peaks and valleys of two variables."""
    a, b = x.T
    return (
        3 * (1 - a) ** 2 * np.exp(-(a**2) - (b + 1) ** 2)
        - 10 * (a / 5 - a**3 - b**5) * np.exp(-(a**2) - b**2)
        - 1 / 3 * np.exp(-((a + 1) ** 2) - b**2)
    )


def fitted(
    name: str,
    hidden: tuple[int, ...],
    function: Callable[[Array], Array],
    box: Sequence[tuple[float, float]],
    weights: Sequence[float] = (1,),
) -> Case:
    """Return a regression of a function."""
    low, high = np.array(box, dtype=float).T
    x = np.random.default_rng(0).uniform(low, high, (800, low.size))
    net = MLPRegressor(hidden_layer_sizes=hidden, solver="lbfgs", max_iter=300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit(x, function(x))
    return Case(name, dense(net.coefs_, net.intercepts_), low, high, np.array(weights, dtype=float))


def trees(name: str, estimator: Any) -> Case:
    """Return a sum of trees, fitted to the peaks."""
    x = np.random.default_rng(0).uniform(-2, 2, (800, 2)).astype(np.float32)
    estimator.fit(x, peaks(x.astype(np.float64)))
    return Case(name, estimator, np.full(2, -2.0), np.full(2, 2.0), np.ones(1))


def digits(name: str, epsilon: float) -> Case:
    """Return the lead of a rival over a digit's class in a ball around the digit."""
    x, labels = load_digits(return_X_y=True)
    x = x / 16
    net = MLPClassifier(hidden_layer_sizes=(16, 16), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit(x, labels)
    rival, label = np.argsort(net.predict_proba(x[:1])[0])[-2:]
    direction = np.zeros(10)
    direction[rival], direction[label] = 1, -1
    low, high = np.clip(x[0] - epsilon, 0, 1), np.clip(x[0] + epsilon, 0, 1)
    return Case(name, dense(net.coefs_, net.intercepts_), low, high, direction)


def dense(coefficients: Sequence[Array], intercepts: Sequence[Array]) -> onnx.ModelProto:
    """Return dense layers with ReLUs between them."""
    constants: dict[str, Array] = {}
    nodes, current = [], "x"
    for k, (matrix, bias) in enumerate(zip(coefficients, intercepts, strict=True)):
        constants |= {f"W{k}": matrix, f"b{k}": bias}
        last = k == len(coefficients) - 1
        nodes.append(_gemm([current, f"W{k}", f"b{k}"], "y" if last else f"z{k}"))
        if not last:
            current = f"a{k}"
            nodes.append(helper.make_node("Relu", [f"z{k}"], [current]))
    size = coefficients[0].shape[0]
    return _model(nodes, constants, ["batch", size], ["batch", coefficients[-1].shape[1]])


def drawn(
    name: str,
    pads: list[int],
    *,
    pool: bool = False,
    activation: str = "Relu",
    bias: float = 0.1,
) -> Case:
    """Return a random network of a 6 × 6 image: a convolution, perhaps a pool, and a layer.

    ``bias`` is the size of the convolution's.
    """
    rng = np.random.default_rng(1)
    side = 5 + pads[0]
    nodes: list[Any] = [
        helper.make_node(
            "Conv",
            ["x", "K", "k"],
            ["c"],
            kernel_shape=[2, 2],
            pads=pads,
            strides=[1, 1],
            dilations=[1, 1],
            group=1,
        ),
        helper.make_node(activation, ["c"], ["r"]),
    ]
    last = "r"
    if pool:
        nodes.append(helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]))
        last, side = "p", side // 2
    flat = 2 * side * side
    nodes += [
        helper.make_node(
            "Constant", [], ["to"], value=numpy_helper.from_array(np.array([-1, flat]))
        ),
        helper.make_node("Reshape", [last, "to"], ["f"]),
        _gemm(["f", "W", "b"], "h"),
        helper.make_node("Relu", ["h"], ["g"]),
        _gemm(["g", "V", "v"], "y"),
    ]
    constants = {
        "K": rng.normal(size=(2, 1, 2, 2)),
        "k": rng.normal(size=2) * bias,
        "W": rng.normal(size=(flat, 8)) / np.sqrt(flat),
        "b": rng.normal(size=8) * 0.1,
        "V": rng.normal(size=(8, 2)),
        "v": np.zeros(2),
    }
    model = _model(nodes, constants, ["batch", 1, 6, 6], ["batch", 2])
    centre = rng.random(36)
    low, high = np.clip(centre - 0.2, 0, 1), np.clip(centre + 0.2, 0, 1)
    return Case(name, model, low, high, np.array([1.0, -1.0]))


def residual() -> Case:
    """Return a random network with a connection that skips two layers."""
    rng = np.random.default_rng(2)
    nodes = [
        _gemm(["x", "A", "a"], "h"),
        helper.make_node("Relu", ["h"], ["r"]),
        _gemm(["r", "B", "c"], "g"),
        helper.make_node("Add", ["g", "x"], ["s"]),
        helper.make_node("Relu", ["s"], ["t"]),
        _gemm(["t", "C", "d"], "y"),
    ]
    constants = {
        "A": rng.normal(size=(6, 12)),
        "a": rng.normal(size=12),
        "B": rng.normal(size=(12, 6)),
        "c": np.zeros(6),
        "C": rng.normal(size=(6, 1)),
        "d": np.zeros(1),
    }
    model = _model(nodes, constants, ["batch", 6], ["batch", 1])
    return Case("residual", model, -np.ones(6), np.ones(6), np.ones(1))


def _gemm(sources: list[str], result: str) -> onnx.NodeProto:
    return helper.make_node("Gemm", sources, [result], alpha=1.0, beta=1.0, transA=0, transB=0)


def _model(
    nodes: list[onnx.NodeProto],
    constants: dict[str, Array],
    shape: list[str | int],
    result: list[str | int],
) -> onnx.ModelProto:
    for number, node in enumerate(nodes):
        node.name = f"node_{number}"
    number_type = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", number_type, shape)],
        [helper.make_tensor_value_info("y", number_type, result)],
        [numpy_helper.from_array(np.asarray(a, dtype=np.float32), n) for n, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
