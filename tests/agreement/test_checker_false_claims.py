"""Hand-made certificates of claims that onnxruntime refutes: the checker refuses each of them.

The same certificate about a network whose score is far enough below zero is verified, so that a
refusal is one of the claim and not of the file.
"""

import hashlib
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.support.onnx_models import FLOAT, build, node
from verix_checker.verification import verify

_LEAF: dict[str, Any] = {"slopes": {}, "multipliers": {}}


def mean(of: str) -> list[onnx.NodeProto]:
    """Return nodes from an image to one score, the mean of its entries less ``c``."""
    nodes = [node("GlobalAveragePool", [of], ["p"]), node("Flatten", ["p"], ["f"])]
    return [*nodes, node("Sub", ["f", "c"], ["y"])]


def added(of: str) -> list[onnx.NodeProto]:
    """Return nodes from a vector to one score, the sum of its entries less ``c``."""
    return [node("ReduceSum", [of, "axis"], ["s"], keepdims=1), node("Sub", ["s", "c"], ["y"])]


# nodes, constants, the version, the shape of x, an input, one in the ball, and c: false and true
CASES: dict[
    str, tuple[list[onnx.NodeProto], dict[str, Any], int, list[float], list[float], float, float]
] = {
    "the default slope of a LeakyRelu": (
        [
            node("LeakyRelu", ["x"], ["a"]),
            node("Neg", ["a"], ["n"]),
            node("Sub", ["n", "c"], ["y"]),
        ],
        {},
        16,
        [0.0],
        [-1.0],
        0.004,
        0.011,
    ),
    "an index twice": (
        [node("Gather", ["x", "at"], ["g"], axis=1), *added("g")],
        {"at": np.array([0, 0, 1]), "axis": np.array([1])},
        13,
        [0.0, 0.0],
        [1.0, 1.0],
        2.5,
        3.5,
    ),
    "a negative index": (
        [node("Gather", ["x", "at"], ["g"], axis=1), *added("g")],
        {"at": np.array([-1, -2]), "axis": np.array([1])},
        13,
        [0.0, 0.0],
        [1.0, 1.0],
        1.5,
        2.5,
    ),
    "an index twice, beside others": (
        [
            node("Concat", ["x", "x"], ["d"], axis=1),
            node("Gather", ["d", "at"], ["g"], axis=1),
            *added("g"),
        ],
        {"at": np.array([0, 3, 3, -1]), "axis": np.array([1])},
        13,
        [0.0, 0.0],
        [1.0, 1.0],
        3.5,
        4.5,
    ),
    "pads of a transposed convolution": (
        [
            node("Unsqueeze", ["x", "axis"], ["i"]),
            node("ConvTranspose", ["i", "w"], ["v"], auto_pad="SAME_UPPER", strides=[3]),
            *mean("v"),
        ],
        {"w": np.array([[[0.0, 0.0, 1.0]]]), "axis": np.array([0])},
        13,
        [0.0] * 4,
        [1.0] * 4,
        0.32,
        0.34,
    ),
}


def claimed(model: bytes, x: list[float]) -> dict[str, Any]:
    """Return a certificate that the only score stays below zero in a ball of radius 1."""
    claim = {
        "sha256": hashlib.sha256(model).hexdigest(),
        "output": "y",
        "input": [int(entry) for entry in x],
        "epsilon": 1,
        "norm": "linf",
        "domain": [-1, 1],
        "features": [[i] for i in range(len(x))],
        "irrelevant": [*range(len(x))],
        "class": 0,
        "minimal": True,
        "bits": 80,
        "odd": 3 * 5 * 7 * 11,
    }
    return {"claim": claim, "trees": [_LEAF], "points": {}}


def made(case: str, limit: float) -> bytes:
    """Return the network of a case, from whose score ``limit`` is taken away."""
    nodes, constants, version, x, *_ = CASES[case]
    model = build(
        nodes,
        inputs={"x": [1, len(x)]},
        constants={**constants, "c": np.array([limit])},
        opset=version,
        elem=FLOAT,
    )
    return model.SerializeToString()


def score(model: bytes, x: list[float]) -> float:
    """Return the score that onnxruntime computes."""
    run = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return run.run(None, {"x": np.array([x], dtype=np.float32)})[0].item()


@pytest.mark.parametrize("case", CASES)
def test_a_false_claim_is_refused(case: str) -> None:
    *_, x, inside, limit, _ = CASES[case]
    model = made(case, limit)
    assert score(model, x) < 0 < score(model, inside)
    with pytest.raises(ValueError, match="proves no more"):
        list(verify(model, claimed(model, x)))


@pytest.mark.parametrize("case", CASES)
def test_the_same_claim_is_verified_where_it_is_true(case: str) -> None:
    *_, x, inside, _, limit = CASES[case]
    model = made(case, limit)
    assert score(model, inside) < 0
    assert list(verify(model, claimed(model, x)))[-1].startswith("VERIFIED")
