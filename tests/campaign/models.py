"""Random models of each kind, as people bring them: ONNX files, and estimators of libraries."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime import InferenceSession

from tests.campaign.operators import CONSTANTS, FAMILIES
from tests.support.onnx_models import FLOAT, build, node
from tests.support.random_networks import dense_model, random_layers
from tests.support.tree_models import LIBRARIES

Array = NDArray[np.float64]
Drawn = Callable[[np.random.Generator, Array], Any]
"""Makes a model for inputs like the rows given, shape (N, d): something ``load_network`` takes."""


def _dense(activation: str, opset: int = 17) -> Drawn:
    def drawn(rng: np.random.Generator, rows: Array) -> Any:
        layers = _scaled(rng, rows, (int(rng.integers(3, 7)), int(rng.integers(2, 6))))
        return dense_model(layers, activation=activation, opset=opset)

    return drawn


def _scaled(rng: np.random.Generator, rows: Array, hidden: tuple[int, ...]) -> Any:
    """Return random layers that take ``rows`` from their range to the unit cube first."""
    low, size = rows.min(axis=0), np.maximum(np.ptp(rows, axis=0), 1.0)
    sizes = (rows.shape[1], *hidden, int(rng.integers(2, 4)))
    (matrix, bias), *others = random_layers(rng, sizes)
    scaled = (2 * matrix / size).astype(np.float32).astype(np.float64)
    moved = (2 * bias - scaled @ low).astype(np.float32).astype(np.float64)
    return ((scaled, moved), *others)


def _max_pool(rng: np.random.Generator, rows: Array) -> Any:
    (first, last) = _scaled(rng, rows, (8,))
    nodes = [
        node("Gemm", ["x", "W", "b"], ["z"], transB=1),
        node("Reshape", ["z", "image"], ["i"]),
        node("MaxPool", ["i"], ["p"], kernel_shape=[1, 2], strides=[1, 2]),
        node("Reshape", ["p", "flat"], ["f"]),
        node("Gemm", ["f", "V", "c"], ["scores"], transB=1),
    ]
    constants = {
        "W": first[0],
        "b": first[1],
        "V": last[0][:, :4],
        "c": last[1],
        "image": np.array([1, 1, 2, 4]),
        "flat": np.array([1, 4]),
    }
    inputs = {"x": (1, rows.shape[1])}
    return build(nodes, inputs=inputs, outputs=["scores"], constants=constants, elem=FLOAT)


def _labels(rng: np.random.Generator, rows: Array) -> NDArray[np.int64]:
    """Return classes of ``rows`` by a random linear score, some of them at random."""
    score = (
        (rows - rows.mean(axis=0))
        / np.maximum(rows.std(axis=0), 1e-9)
        @ rng.normal(size=rows.shape[1])
    )
    classes = int(rng.integers(2, 4))
    found = np.searchsorted(np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]), score)
    noisy = rng.random(len(rows)) < 0.2
    found = np.where(noisy, rng.integers(0, classes, len(rows)), found)
    found[:classes] = range(classes)
    return np.asarray(found, dtype=np.int64)


def _product(rng: np.random.Generator, rows: Array) -> Any:
    """Return ``V (sigmoid(W x + b) ∘ (U x + a)) + c``: a gate, with a product of two values."""
    (gate, *_), (value, last) = _scaled(rng, rows, (3,)), _scaled(rng, rows, (3,))
    nodes = [
        node("Gemm", ["x", "W", "b"], ["z"], transB=1),
        node("Sigmoid", ["z"], ["g"]),
        node("Gemm", ["x", "U", "a"], ["v"], transB=1),
        node("Mul", ["g", "v"], ["p"]),
        node("Gemm", ["p", "V", "c"], ["scores"], transB=1),
    ]
    names = ("W", "b", "U", "a", "V", "c")
    constants = dict(zip(names, (*gate, *value, *last), strict=True))
    inputs = {"x": (1, rows.shape[1])}
    return build(nodes, inputs=inputs, outputs=["scores"], constants=constants, elem=FLOAT)


def _normalised(rng: np.random.Generator, rows: Array) -> Any:
    """Return a hidden layer, a layer normalisation, a GELU by ``Tanh``, and the scores."""
    first, last = _scaled(rng, rows, (4,))
    nodes = [
        node("Gemm", ["x", "W", "b"], ["z"], transB=1),
        node("LayerNormalization", ["z", "scale", "shift"], ["n"], axis=-1),
        node("Gelu", ["n"], ["g"], approximate="tanh"),
        node("Gemm", ["g", "V", "c"], ["scores"], transB=1),
    ]
    constants = {
        "W": first[0],
        "b": first[1],
        "V": last[0],
        "c": last[1],
        "scale": rng.uniform(0.5, 2, 4),
        "shift": rng.uniform(-1, 1, 4),
    }
    return build(
        nodes,
        inputs={"x": (1, rows.shape[1])},
        outputs=["scores"],
        constants=constants,
        elem=FLOAT,
        opset=20,
    )


def _trees(make: Callable[..., Any]) -> Drawn:
    """Return a maker of trees, fitted by ``make`` of a library to 80 of the rows."""

    def drawn(rng: np.random.Generator, rows: Array) -> Any:
        chosen = rows[rng.integers(0, len(rows), 80)]
        return make(rng, chosen, _labels(rng, chosen))

    return drawn


@dataclass(frozen=True, eq=False)
class ExportedTrees:
    """Trees of scikit-learn as an ONNX file, and the labels that onnxruntime gives."""

    model: onnx.ModelProto

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, which are numbers from 0 on."""
        return np.arange(3)

    def predict(self, rows: Array) -> NDArray[Any]:
        """Return the label of each row, (n,)."""
        session = InferenceSession(self.model.SerializeToString())
        (labels,) = session.run(["label"], {"X": rows.astype(np.float32)})
        return np.asarray(labels)


def _exported(rng: np.random.Generator, rows: Array, labels: Any) -> ExportedTrees:
    from skl2onnx import to_onnx

    fitted = LIBRARIES["scikit-learn"](rng, rows, labels)
    first = rows[:1].astype(np.float32)
    return ExportedTrees(to_onnx(fitted, first, options={"zipmap": False}))


TREES: dict[str, Drawn] = {
    name: _trees(make) for name, make in {**LIBRARIES, "ONNX trees": _exported}.items()
}
"""A maker of random models for each library of trees."""


def _family(name: str) -> Drawn:
    """Return networks ``W₂ p(W₁ x + b₁) + b₂``, where ``p`` is a part of the family ``name``."""

    def drawn(rng: np.random.Generator, rows: Array) -> Any:
        part = FAMILIES[name][rng.integers(len(FAMILIES[name]))]
        ((matrix, bias), _) = _scaled(rng, rows, (8,))
        constants = {one: CONSTANTS[one](rng) for one in sorted(part.constants)}
        constants |= {"first": matrix, "bias": bias}
        nodes = [node("Gemm", ["x", "first", "bias"], ["z"], transB=1), *part.nodes]
        nodes.append(node("Flatten", ["o"], ["flat"], axis=0))
        options: dict[str, Any] = {"inputs": {"x": (1, rows.shape[1])}, "elem": FLOAT}
        options["opset"] = part.opset
        body = build(nodes, outputs=["flat"], constants=constants, **options)
        session = InferenceSession(body.SerializeToString(), providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"x": rows[:1].astype(np.float32)})
        constants["last"] = rng.normal(size=(found.size, int(rng.integers(2, 4))))
        last = node("MatMul", ["flat", "last"], ["scores"])
        return build([*nodes, last], outputs=["scores"], constants=constants, **options)

    return drawn


KINDS: dict[str, Drawn] = {
    "ReLU": _dense("Relu"),
    "LeakyReLU": _dense("LeakyRelu"),
    "Tanh": _dense("Tanh"),
    "Sigmoid": _dense("Sigmoid"),
    "Gelu": _dense("Gelu", opset=20),
    "max-pool": _max_pool,
    "gate": _product,
    "layer normalisation": _normalised,
    **TREES,
    **{f"operators: {name}": _family(name) for name in FAMILIES},
}
"""A maker of random models for each kind."""
