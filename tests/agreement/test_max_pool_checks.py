"""Checks and explanations of small networks with max-pools are those of brute force.

Brute force knows no maxima: of two numbers that are not negative, ``max(a, b)`` is
``relu(a − b) + relu(b)``, so a pool of pairs behind a ReLU is one more layer to it.
"""

from pathlib import Path

import numpy as np
import pytest

from milp_verix import check, explain
from milp_verix.problem.question import Classification
from tests.support.max_pool_cases import CLASSES, HIDDEN, INPUTS, pooled
from tests.support.scipy_reference import extremes, over
from verix_encodings import BoundMethod, Interval, crown_bounds, interval_bounds


def method(seed: int) -> BoundMethod:
    return interval_bounds if seed % 2 else crown_bounds


@pytest.mark.parametrize("seed", range(30))
def test_verdicts(seed: int, tmp_path: Path) -> None:
    network, brute = pooled(seed, tmp_path)
    assert network.ir.counts.get("maxima", 0) == HIDDEN // 2
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


@pytest.mark.slow
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
    assert binaries > 80
