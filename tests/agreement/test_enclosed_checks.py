"""Checks of networks of curves, products, norms, attention and steps, against onnxruntime."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import check
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from tests.support.onnx_models import FLOAT, build, loaded, node

Layer = tuple[list[onnx.NodeProto], dict[str, np.ndarray]]

LAYERS: dict[str, list[onnx.NodeProto]] = {
    "gelu": [
        node("Div", ["h", "root"], ["d"]),
        node("Erf", ["d"], ["e"]),
        node("Add", ["e", "one"], ["o"]),
        node("Mul", ["h", "o"], ["m"]),
        node("Mul", ["m", "half"], ["g"]),
    ],
    "layer norm": [node("LayerNormalization", ["h", "ones"], ["g"])],
    "gate": [node("Sigmoid", ["k"], ["s"]), node("Mul", ["h", "s"], ["g"])],
    "square": [node("Mul", ["h", "h"], ["g"])],
    "quotient": [
        node("Exp", ["k"], ["e"]),
        node("Add", ["e", "one"], ["o"]),
        node("Div", ["h", "o"], ["g"]),
    ],
    "attention": [
        node("Reshape", ["h", "tokens"], ["q"]),
        node("Reshape", ["k", "tokens"], ["v"]),
        node("Transpose", ["v"], ["t"], perm=[1, 0]),
        node("MatMul", ["q", "t"], ["s"]),
        node("Softmax", ["s"], ["p"], axis=1),
        node("MatMul", ["p", "v"], ["w"]),
        node("Reshape", ["w", "flat"], ["g"]),
    ],
    "steps": [node("Mul", ["h", "two"], ["d"]), node("Floor", ["d"], ["g"])],
    "choice": [node("Greater", ["h", "k"], ["b"]), node("Where", ["b", "h", "k"], ["g"])],
    "waves": [node("Mul", ["h", "two"], ["d"]), node("Sin", ["d"], ["g"])],
    "norm": [node("LpNormalization", ["h"], ["g"])],
}


def network_with(layer: str, rng: np.random.Generator, folder: Path) -> OnnxNetwork:
    """Two maps of four inputs to six values, the layer, and three scores."""
    constants = {
        "A": rng.normal(size=(4, 6)),
        "a": rng.normal(size=6) / 2,
        "B": rng.normal(size=(4, 6)),
        "C": rng.normal(size=(6, 3)),
        "c": rng.normal(size=3) / 4,
        "root": np.array(np.sqrt(2.0)),
        "one": np.array(1.0),
        "half": np.array(0.5),
        "two": np.array(2.0),
        "ones": np.ones(6),
        "tokens": np.array([3, 2]),
        "flat": np.array([1, 6]),
    }
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node("MatMul", ["x", "B"], ["k"]),
        *LAYERS[layer],
        node("Gemm", ["g", "C", "c"], ["y"]),
    ]
    used = {name: constants[name] for n in nodes for name in n.input if name in constants}
    return loaded(build(nodes, inputs={"x": (1, 4)}, constants=used, elem=FLOAT), folder)


@pytest.mark.parametrize(
    "solver", ["auto", *(pytest.param(name, marks=pytest.mark.slow) for name in ("split", "highs"))]
)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("seed", range(12))
def test_no_check_claims_what_onnxruntime_contradicts(
    layer: str, solver: str, seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    network = network_with(layer, rng, tmp_path)
    x = rng.uniform(-1, 1, 4).astype(np.float32)
    free = [0, 2, 3][: 1 + seed % 3]
    for epsilon in (0.02, 0.3):
        verdict = check(
            network, x, free, epsilon=epsilon, solver=solver, domain=(-2, 2), time_limit=2
        )
        shares = np.vstack([rng.uniform(-1, 1, (150, 4)), rng.choice([-1.0, 1.0], (50, 4))])
        points = np.repeat(x[None].astype(float), len(shares), axis=0)
        points[:, free] = np.clip(points[:, free] + epsilon * shares[:, free], -2, 2)
        label = np.argmax(network.evaluate(x))
        changed = np.argmax(network.evaluate_many(points), axis=1) != label
        if verdict.holds:
            assert not changed.any()
        if verdict.violated:
            assert np.argmax(network.evaluate(verdict.witness)) != label
