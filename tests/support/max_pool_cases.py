"""Networks with max-pools, and their brute force."""

from pathlib import Path

import numpy as np

from milp_verix import OnnxNetwork
from tests.support.brute_force import BruteForce
from tests.support.onnx_models import FLOAT, build, loaded, node
from tests.support.random_networks import random_layers

INPUTS, HIDDEN, CLASSES = 4, 4, 3


def pooled(seed: int, folder: Path) -> tuple[OnnxNetwork, BruteForce]:
    """Return a network with a pool of two pairs, through a file in ``folder``, and its oracle."""
    if seed not in _MADE:
        _MADE[seed] = _pooled(seed, folder)
    return _MADE[seed]


_MADE: dict[int, tuple[OnnxNetwork, BruteForce]] = {}


def _pooled(seed: int, folder: Path) -> tuple[OnnxNetwork, BruteForce]:
    rng = np.random.default_rng(seed)
    (A, a), (B, b) = random_layers(rng, (INPUTS, HIDDEN, CLASSES))
    B = B[:, : HIDDEN // 2]
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"], transB=1),
        node("Relu", ["h"], ["r"]),
        node("Unsqueeze", ["r", "first"], ["u"]),
        node("MaxPool", ["u"], ["p"], kernel_shape=[2], strides=[2]),
        node("Squeeze", ["p", "first"], ["q"]),
        node("Gemm", ["q", "B", "b"], ["y"], transB=1),
    ]
    constants = {"A": A, "a": a, "B": B, "b": b, "first": np.array([0])}
    model = build(nodes, inputs={"x": (1, INPUTS)}, constants=constants, elem=FLOAT)
    even, odd = np.eye(HIDDEN)[::2], np.eye(HIDDEN)[1::2]
    layers = [(A, a), (np.vstack([even - odd, odd]), np.zeros(HIDDEN)), (np.hstack([B, B]), b)]
    x = rng.random(INPUTS).astype(np.float32).astype(np.float64)
    groups = [[i] for i in range(INPUTS)]
    epsilon = float(rng.uniform(0.1, 0.6))
    return loaded(model, folder), BruteForce(
        layers, x, epsilon, groups, np.zeros(INPUTS), np.ones(INPUTS)
    )
