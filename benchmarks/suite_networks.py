"""Networks that the suite makes itself, of kinds that nobody publishes for tests; seeds are fixed.

A network is a body, whose weights are random or given, and a head of dense layers that scikit-learn
fits to the body's values. Networks are kept as ONNX files, so that every checkout reads the same.
"""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import ArrayLike, NDArray
from tables import ROOT

sys.path.insert(0, str(ROOT))

from milp_verix.base.files import write_atomically
from tests.support.onnx_models import FLOAT, build, node, weights

SHARED = ROOT.parent / "shared"
"""Published networks and data, where they are present."""

Dense = Sequence[tuple[NDArray[Any], NDArray[Any]]]
"""Matrices, shape (inputs, outputs), and biases, as scikit-learn has them."""

_OPERATORS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "leaky": "LeakyRelu"}


@dataclass(frozen=True)
class Data:
    """Inputs, shape (n, ...) in float32, and classes or values, to train on and to test on."""

    train_x: NDArray[Any]
    train_y: NDArray[Any]
    test_x: NDArray[Any]
    test_y: NDArray[Any]


@dataclass(frozen=True)
class Body:
    """Nodes from the input ``x`` to the value ``end``, with their constants."""

    nodes: tuple[onnx.NodeProto, ...] = ()
    constants: Mapping[str, ArrayLike] | None = None
    end: str = "x"


def digits() -> Data:
    """Return scikit-learn's digits, shape (n, 1, 8, 8), split as in the example."""
    sys.path.insert(0, str(ROOT / "examples"))
    import train_digits

    split = train_digits.load_split()
    train, test = (x.reshape(-1, 1, 8, 8) for x in (split.train_images, split.test_images))
    return Data(train, split.train_labels, test, split.test_labels)


def wine() -> Data:
    """Return scikit-learn's wines: 13 quantities of very different ranges, three classes."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return _every_fifth_held(X.astype(np.float32), y)


def shared(file: str, inputs: str, targets: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two arrays of a shared archive, bytes scaled to [0, 1]."""
    with np.load(SHARED / "data" / file) as data:
        X, y = data[inputs], data[targets]
    scale = np.float32(255 if X.dtype == np.uint8 else 1)
    return X.astype(np.float32) / scale, y


def mnist() -> Data:
    """Return MNIST test images, shape (n, 1, 28, 28): the first 1000 are left for explanations."""
    X, y = shared("mnist_test.npz", "images", "labels")
    X = X[:, None]
    return Data(X[1000:], y[1000:], X[:1000], y[:1000])


def gtsrb() -> Data:
    """Return traffic signs, shape (n, 32, 32, 3)."""
    train, test = (shared("gtsrb10.npz", f"{s}_images", f"{s}_labels") for s in ("train", "test"))
    return Data(*train, *test)


def adult() -> Data:
    """Return rows of the census, shape (n, 13)."""
    return _every_fifth_held(*shared("adult.npz", "X", "y"))


def runway() -> Data:
    """Return runway views, shape (n, 27, 54), with the distance to the centre line in metres."""
    return _every_fifth_held(*shared("taxinet.npz", "images", "distance_to_centerline_m"))


def _every_fifth_held(X: NDArray[Any], y: NDArray[Any]) -> Data:
    held = np.arange(len(X)) % 5 == 0
    return Data(X[~held], y[~held], X[held], y[held])


def fitted(
    data: Data,
    hidden: Sequence[int],
    body: Body | None = None,
    *,
    activation: str = "relu",
    **options: Any,
) -> tuple[onnx.ModelProto, str]:
    """Return ``body`` with dense layers fitted to its values, and how good it is on test inputs.

    Classes are integers; other targets are values, and the network is a regression. Two classes
    have one output, a probability.
    """
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    body = body or Body()
    classes = data.train_y.dtype.kind in "iu"
    flat = _extended(body, [node("Flatten", [body.end], ["flat"])])
    dense = (MLPClassifier if classes else MLPRegressor)(
        hidden_layer_sizes=hidden, activation=activation, random_state=0, **options
    )
    with warnings.catch_warnings(action="ignore"):  # of few iterations
        dense.fit(_values(_model(flat, data), data.train_x), data.train_y)
    whole = _with_dense(flat, list(zip(dense.coefs_, dense.intercepts_, strict=True)), activation)
    two = classes and dense.n_outputs_ == 1
    if two:
        whole = _extended(whole, [node("Sigmoid", [whole.end], ["probability"])])
    model = _model(whole, data)
    found = _values(model, data.test_x)
    if not classes:
        error = np.mean(np.abs(found[:, 0] - data.test_y))
        return model, f"off by {error:.2f} on average"
    predicted = found[:, 0] > 0.5 if two else np.argmax(found, axis=1)
    return model, f"{np.mean(predicted == data.test_y):.1%} of test inputs right"


def _extended(
    body: Body, nodes: Sequence[onnx.NodeProto], constants: Mapping[str, ArrayLike] | None = None
) -> Body:
    end = nodes[-1].output[0]
    return Body((*body.nodes, *nodes), {**(body.constants or {}), **(constants or {})}, end)


def _with_dense(body: Body, layers: Dense, activation: str, *, last: bool = False) -> Body:
    """Return ``body`` with dense layers, activations between them and, for ``last``, at the end."""
    start = len(body.nodes)
    for k, (matrix, bias) in enumerate(layers, start):
        body = _extended(
            body,
            [node("Gemm", [body.end, f"W{k}", f"b{k}"], [f"z{k}"])],
            {f"W{k}": matrix, f"b{k}": bias},
        )
        if last or k < start + len(layers) - 1:
            slope = {"alpha": 0.1} if activation == "leaky" else {}
            made = node(_OPERATORS[activation], [body.end], [f"a{k}"], **slope)
            body = _extended(body, [made])
    return body


def _model(body: Body, data: Data) -> onnx.ModelProto:
    inputs = {"x": ["N", *data.train_x.shape[1:]]}
    return build(
        body.nodes, inputs=inputs, outputs=[body.end], constants=body.constants, elem=FLOAT
    )


def _values(model: onnx.ModelProto, X: NDArray[Any]) -> NDArray[Any]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": X})[0])


def _standardised(data: Data) -> Body:
    """Return a body that subtracts each column's mean and divides by its deviation."""
    constants = {"mean": data.train_x.mean(axis=0), "deviation": data.train_x.std(axis=0)}
    nodes = (node("Sub", ["x", "mean"], ["c"]), node("Div", ["c", "deviation"], ["s"]))
    return Body(nodes, constants, "s")


def _digits_pooled() -> tuple[onnx.ModelProto, str]:
    nodes = (
        node("Conv", ["x", "K"], ["c"]),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
    )
    return fitted(digits(), (24,), Body(nodes, {"K": weights(6, 1, 3, 3)}, "p"), alpha=0.1)


def _digits_residual() -> tuple[onnx.ModelProto, str]:
    nodes = (
        node("Conv", ["x", "K"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("Conv", ["r", "L"], ["d"], pads=[1, 1, 1, 1]),
        node("Add", ["r", "d"], ["s"]),
        node("Relu", ["s"], ["t"]),
    )
    kernels = {"K": weights(6, 1, 3, 3), "L": weights(6, 6, 3, 3, seed=2) / 6}
    return fitted(digits(), (20,), Body(nodes, kernels, "t"), alpha=0.1)


def _gtsrb_convolutions() -> tuple[onnx.ModelProto, str]:
    nodes = (
        node("Transpose", ["x"], ["y"], perm=[0, 3, 1, 2]),
        node("Conv", ["y", "K"], ["c"], strides=[2, 2]),
        node("Relu", ["c"], ["r"]),
        node("Conv", ["r", "L"], ["d"], strides=[2, 2]),
        node("Relu", ["d"], ["s"]),
    )
    kernels = {"K": weights(8, 3, 3, 3) / 3, "L": weights(8, 8, 3, 3, seed=2) / 8}
    return fitted(gtsrb(), (20,), Body(nodes, kernels, "s"), max_iter=30, alpha=0.1)


def _mnist_leaky() -> tuple[onnx.ModelProto, str]:
    """Give trained layers another activation, and fit the last one anew."""
    from sklearn.neural_network import MLPClassifier

    data = mnist()
    with warnings.catch_warnings(action="ignore"):
        dense = MLPClassifier((20,) * 5, max_iter=30, random_state=0).fit(
            data.train_x.reshape(len(data.train_x), -1), data.train_y
        )
    layers = list(zip(dense.coefs_, dense.intercepts_, strict=True))[:-1]
    flat = Body((node("Flatten", ["x"], ["pixels"]),), end="pixels")
    return fitted(data, (), _with_dense(flat, layers, "leaky", last=True))


def _standardised_dense(data: Data, *hidden: int, **options: Any) -> tuple[onnx.ModelProto, str]:
    return fitted(data, hidden, _standardised(data), **options)


MAKERS: dict[str, Callable[[], tuple[onnx.ModelProto, str]]] = {
    "digits-pooled": _digits_pooled,
    "digits-residual": _digits_residual,
    "digits-tanh": lambda: fitted(digits(), (32, 16), activation="tanh", alpha=0.1),
    "digits-4x64": lambda: fitted(digits(), (64,) * 4, alpha=0.1),
    "mnist-leaky-5x20": _mnist_leaky,
    "mnist-4x256": lambda: fitted(mnist(), (256,) * 4, max_iter=8),
    "gtsrb-convolutions": _gtsrb_convolutions,
    "wine-20x20": lambda: _standardised_dense(wine(), 20, 20, max_iter=500),
    "adult-64-32-16-8-4": lambda: _standardised_dense(adult(), 64, 32, 16, 8, 4, max_iter=10),
    "runway-regression": lambda: fitted(runway(), (30, 30), max_iter=500, alpha=0.1),
}


def made(name: str, folder: Path) -> Path:
    """Return the ONNX file of a network, made at the first call.

    Raises ``FileNotFoundError`` without the data that it is trained on.
    """
    path = folder / f"{name}.onnx"
    if not path.exists():
        model, told = MAKERS[name]()
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, model.SerializeToString())
        print(f"made {name}: {told}", flush=True)
    return path
