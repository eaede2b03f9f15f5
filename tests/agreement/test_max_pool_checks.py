"""Checks and explanations of small networks with max-pools are those of brute force.

Brute force knows no maxima: of two numbers that are not negative, ``max(a, b)`` is
``relu(a − b) + relu(b)``, so a pool of pairs behind a ReLU is one more layer to it.
"""

from pathlib import Path

import numpy as np
import pytest

from milp_verix import OnnxNetwork, check, explain
from milp_verix.problem.question import Classification
from tests.support.brute_force import BruteForce
from tests.support.onnx_models import FLOAT, build, loaded, node
from tests.support.random_networks import random_layers
from tests.support.scipy_reference import extremes, over
from verix_encodings import BoundMethod, Interval, crown_bounds, interval_bounds

INPUTS, HIDDEN, CLASSES = 4, 4, 3


def pooled(seed: int, folder: Path) -> tuple[OnnxNetwork, BruteForce]:
    """Return a network with a pool of two pairs, and its oracle."""
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


def method(seed: int) -> BoundMethod:
    return interval_bounds if seed % 2 else crown_bounds


@pytest.mark.parametrize("seed", range(30))
def test_verdicts(seed: int, tmp_path: Path) -> None:
    network, brute = pooled(seed, tmp_path)
    assert network.ir.max_count == HIDDEN // 2
    np.testing.assert_allclose(network.evaluate(brute.x), brute.evaluate(brute.x), atol=1e-5)
    for free in ([0, 1, 2, 3], [0, 2], [3]):
        x = brute.x.astype(np.float32)
        verdict = check(network, x, free, epsilon=brute.epsilon, bounds=method(seed))
        assert (verdict.holds, verdict.violated) == (brute.holds(free), not brute.holds(free))
        if verdict.holds:
            assert verdict.bound is not None
            assert verdict.bound >= np.max(brute.worst(free)) - 1e-9


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_explanations(seed: int, tmp_path: Path) -> None:
    network, brute = pooled(seed, tmp_path)
    x = brute.x.astype(np.float32)
    found = explain(network, x, epsilon=brute.epsilon, order="sequential", bounds=method(seed))
    assert found.explanation == brute.explanation(range(INPUTS))
    assert found.replay(network) == ()


def test_optima_of_the_margins(tmp_path: Path) -> None:
    binaries = 0
    for seed in range(20):
        network, brute = pooled(seed, tmp_path)
        label = int(np.argmax(brute.evaluate(brute.x)))
        margins = Classification(label, CLASSES).margins(network.ir)
        low, high = brute.x - brute.epsilon, brute.x + brute.epsilon
        encoding = over(margins, Interval(np.clip(low, 0, 1), np.clip(high, 0, 1)))
        binaries += sum(name.startswith("d_") for name in encoding.program.column_names)
        for index, worst in enumerate(brute.worst(range(INPUTS))):
            _, greatest = extremes(encoding.program, encoding.output, index)
            assert greatest == pytest.approx(worst, abs=1e-6)
    assert binaries > 100
