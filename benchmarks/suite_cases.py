"""The cases of the suite: networks of every kind, inputs, and what is asked of them.

A case is prepared as a request in JSON, which holds everything that ``explain`` is given, so that
any checkout can be asked the same.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from suite_networks import MAKERS, ROOT, SHARED, made

from milp_verix import OnnxNetwork, load_network
from milp_verix.inputs.input_files import read_input, scale_bytes

COLUMNS = "columns"


@dataclass(frozen=True)
class Case:
    """A prediction to explain.

    ``network`` is a name in ``MAKERS``, or a file in the shared folder or in this repository; ``x``
    is a row ``FILE:KEY[INDEX]`` of an archive there, or the numbers themselves. ``domain`` may be
    ``COLUMNS``, the ranges of the archive's columns. ``label`` is the class that the network must
    predict, None for a regression. ``options`` are arguments of ``explain``, of those that commit
    19beb5c has.
    """

    name: str
    network: str
    x: str | tuple[float, ...]
    epsilon: float
    label: int | None
    domain: str | tuple[Any, Any] = (0.0, 1.0)
    pixels: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A prepared case: arguments for ``explain``, how many features, and a digest of all that."""

    name: str
    arguments: Mapping[str, Any]
    features: int
    digest: str


MNIST = "data/mnist_test.npz:images"
SIGNS = "data/gtsrb10.npz:test_images"
DIGITS = "examples/digits.npz:images"
CENSUS = "data/adult.npz:X"
CREDIT = "data/german_credit.npz:X"
RUNWAY = "data/taxinet.npz:images"
WINE = (14.23, 1.71, 2.43, 15.6, 127.0, 2.8, 3.06, 0.28, 2.29, 5.64, 1.04, 3.92, 1065.0)
WINES = (
    (11.03, 0.74, 1.36, 10.6, 70.0, 0.98, 0.34, 0.13, 0.41, 1.28, 0.48, 1.27, 278.0),
    (14.83, 5.8, 3.23, 30.0, 162.0, 3.88, 5.08, 0.66, 3.58, 13.0, 1.71, 4.0, 1680.0),
)
"""A wine and the ranges of all, in the columns of scikit-learn."""
WIDE = 1e5
"""A radius beyond every column's range: the ball is the domain."""

_L1, _L2, _METRE = {"norm": "l1"}, {"norm": "l2"}, {"delta": 1.0}
_ADAPTIVE = {"order": "adaptive"}

_EVERY_CASE = (
    Case("mnist-10x2", "models/mnist-10x2.onnx", f"{MNIST}[10]", 0.05, 0),
    Case("mnist-10x2-wide", "models/mnist-10x2.onnx", f"{MNIST}[17]", 0.1, 7),
    Case("mnist-10x2-l2", "models/mnist-10x2.onnx", f"{MNIST}[35]", 1.0, 2, options=_L2),
    Case("gtsrb-10x2", "models/gtsrb-10x2.onnx", f"{SIGNS}[7]", 0.02, 9, pixels=True),
    Case("fame-mnist-cnn", "models/fame-mnist-cnn.onnx", f"{MNIST}[18]", 0.05, 3),
    Case("fame-gtsrb-cnn", "models/fame-gtsrb-cnn.onnx", f"{SIGNS}[9]", 0.01, 6, pixels=True),
    Case("vnncomp-mnist-256x2", "models/vnncomp-mnist-256x2.onnx", f"{MNIST}[24]", 0.05, 4),
    Case("adult-AC-4", "models/adult-AC-4.onnx", f"{CENSUS}[7]", WIDE, 0, COLUMNS),
    Case(
        "adult-AC-4-adaptive",
        "models/adult-AC-4.onnx",
        f"{CENSUS}[0]",
        WIDE,
        0,
        COLUMNS,
        options=_ADAPTIVE,
    ),
    Case("adult-AC-1", "models/adult-AC-1.onnx", f"{CENSUS}[5]", WIDE, 1, COLUMNS),
    Case("german-GC-2", "models/german-GC-2.onnx", f"{CREDIT}[1]", WIDE, 0, COLUMNS),
    Case("acasxu-1-1", "models/acasxu-1-1.onnx", (-0.2, 0.1, -0.1, 0.1, -0.3), 0.3, 3, (-1.0, 1.0)),
    Case("digits-maxpool-cnn", "models/digits-maxpool-cnn.onnx", f"{DIGITS}[3]", 0.05, 5),
    Case("digits-maxpool-cnn-close", "models/digits-maxpool-cnn.onnx", f"{DIGITS}[14]", 0.05, 6),
    Case("marabou-cnn-max", "models/marabou-cnn_max_mninst2.onnx", f"{MNIST}[21]", 0.03, 6),
    Case("marabou-fc1", "models/marabou-fc1.onnx", (0.5, 0.5), 0.5, 0, (-1.0, 1.0)),
    Case("cifar-base-kw", "models/cifar-base-kw.onnx", f"{SIGNS}[13]", 0.06, 2, pixels=True),
    Case("digits-l1", "examples/digits.onnx", f"{DIGITS}[6]", 1.0, 8, options=_L1),
    Case("digits-pooled", "digits-pooled", f"{DIGITS}[6]", 0.05, 8),
    Case("digits-residual", "digits-residual", f"{DIGITS}[5]", 0.1, 7),
    Case("digits-tanh", "digits-tanh", f"{DIGITS}[7]", 0.1, 9),
    Case("digits-4x64", "digits-4x64", f"{DIGITS}[4]", 0.1, 6),
    Case("mnist-leaky-5x20", "mnist-leaky-5x20", f"{MNIST}[11]", 0.05, 6),
    Case("mnist-4x256", "mnist-4x256", f"{MNIST}[22]", 0.03, 6),
    Case("gtsrb-convolutions", "gtsrb-convolutions", f"{SIGNS}[26]", 0.02, 9, pixels=True),
    Case("wine-20x20", "wine-20x20", WINE, WIDE, 0, WINES),
    Case("adult-64-32-16-8-4", "adult-64-32-16-8-4", f"{CENSUS}[5]", WIDE, 1, COLUMNS),
    Case("runway-regression", "runway-regression", f"{RUNWAY}[20]", 0.02, None, options=_METRE),
)

CASES = {case.name: case for case in _EVERY_CASE}


def prepare(case: Case, folder: Path) -> Request:
    """Return the request of a case; networks that are made are kept in ``folder``.

    Raises ``FileNotFoundError`` without a file that it needs, and ``ValueError`` where the network
    does not predict what the case says.
    """
    path = made(case.network, folder) if case.network in MAKERS else _file(case.network)
    network = load_network(path)
    x = _row(case.x, network)
    scores = network.evaluate(x)
    predicted = int(scores[0] > 0.5) if scores.size == 1 else int(np.argmax(scores))
    if case.label is not None and predicted != case.label:
        raise ValueError(f"{case.name}: the network predicts {predicted}, not {case.label}")
    lower, upper = _domain(case, network)
    arguments: dict[str, Any] = {
        "x": x.tolist(),
        "epsilon": case.epsilon,
        "domain": [lower, upper],
        **case.options,
    }
    if case.pixels:
        arguments["features"] = _pixels(x.shape).tolist()
    told = hashlib.sha256(path.read_bytes() + json.dumps(arguments, sort_keys=True).encode())
    arguments["network"] = str(path)
    features = x.size // 3 if case.pixels else x.size
    return Request(case.name, arguments, features, told.hexdigest()[:12])


def _file(name: str) -> Path:
    for folder in (SHARED, ROOT):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{name} is not here")


def _row(x: str | tuple[float, ...], network: OnnxNetwork) -> NDArray[Any]:
    """Return an input in the network's own shape and type."""
    shape, dtype = network.input_shape, network.dtype
    if not isinstance(x, str):
        return np.array(x, dtype).reshape(shape)
    file, _, key = x.partition(":")
    array = scale_bytes(read_input(f"{_file(file)}:{key}", shape), (0.0, 1.0), dtype)
    if array.ndim == 3 and array.shape[-1] == shape[1] < shape[-1]:
        array = np.moveaxis(array, -1, 0)
    return array.astype(dtype).reshape(shape)


def _pixels(shape: Sequence[int]) -> NDArray[Any]:
    """Return the number of the pixel of each value of an image with three channels."""
    numbers = np.arange(prod(shape))
    last = shape[-1] == 3 or len(shape) == 2
    return (numbers // 3 if last else numbers % (prod(shape) // 3)).reshape(shape)


def _domain(case: Case, network: OnnxNetwork) -> tuple[Any, Any]:
    """Return the ends of the domain, numbers or nested lists of the input's shape."""
    if case.domain != COLUMNS:
        return case.domain
    file, key = str(case.x).partition("[")[0].split(":")
    with np.load(_file(file)) as data:
        rows = data[key].astype(float)
    ends = rows.min(axis=0), rows.max(axis=0)
    return tuple(end.reshape(network.input_shape).tolist() for end in ends)
