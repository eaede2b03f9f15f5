"""Perturbations lie in the ball, exactly, whichever features are fixed."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.oracle.attacks import PerturbationSet, perturbation_set
from tests.support.brute_force_cases import case
from tests.support.random_networks import network_of, random_layers
from verix_encodings import Interval, NormBall


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("seed", range(12))
def test_perturbations_stay_in_the_ball_whatever_is_fixed(
    seed: int, norm: str, tmp_path: Path
) -> None:
    problem = case(seed)
    options = {**problem.options, "epsilon": problem.epsilon * 1.5, "norm": norm}
    posed = Problem(problem.network(tmp_path), problem.x, **options)
    found = perturbation_set(posed)
    rng = np.random.default_rng(seed)
    starts = np.zeros((problem.x.size, 1))
    at_start = found.margins_at(np.ones(problem.x.size), starts)[:, 0]
    for selection in (np.zeros(len(problem.groups)), rng.random(len(problem.groups)).round()):
        weight = found.weight(selection)
        deltas, values = found.worst(weight, starts, 3)
        # the box of the L∞ ball is rounded outward
        order = {"linf": np.inf, "l1": 1, "l2": 2}[norm]
        sizes = [np.linalg.norm(delta, ord=order) for delta in deltas.T]
        assert max(sizes) <= posed.ball.epsilon * (1 + 1e-12)
        assert np.all(deltas >= found.moves.box.lower[:, None])
        assert np.all(deltas <= found.moves.box.upper[:, None])
        reached = found.margins_at(weight, deltas)
        np.testing.assert_allclose(np.diagonal(reached), values, atol=1e-12)
        assert np.all(values >= at_start - 1e-12)


def _exact_length(delta: np.ndarray, norm: int) -> Fraction:
    """Return ``‖δ‖₁``, or ``‖δ‖₂²``."""
    return sum((abs(Fraction(float(d))) ** norm for d in delta), Fraction(0))


def _ball(rng: np.random.Generator, size: int, radius: float, norm: int) -> PerturbationSet:
    """Return the ball around a random input, some coordinates of which are at an end of a box."""
    centre = rng.normal(size=size) * 10.0 ** rng.integers(-3, 4, size)
    low = centre - radius * rng.choice([0.0, 0.3, 1.0, 2.0], size)
    high = centre + radius * rng.choice([0.0, 0.3, 1.0, 2.0], size)
    margins = network_of(random_layers(rng, (size, 5, 3)))
    region = NormBall(Interval(low, high), centre, radius, norm)
    return PerturbationSet(margins, centre, region, np.arange(size))


@pytest.mark.parametrize("radius", [1e-9, 1e-4, 0.3, 20.0])
@pytest.mark.parametrize("norm", [1, 2])
def test_the_worst_perturbations_lie_in_the_ball_exactly(norm: int, radius: float) -> None:
    moved = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, norm])
        size = int(rng.integers(2, 40))
        p = _ball(rng, size, radius, norm)
        selection = np.clip(rng.uniform(-0.5, 1.5, size), 0.0, 1.0)
        starts = np.zeros((size, 1))
        for _ in range(3):
            deltas, _ = p.worst(p.weight(selection), starts, 3)
            starts = np.concatenate([starts, deltas], axis=1)
        for delta in starts.T:
            assert _exact_length(delta, norm) <= Fraction(radius) ** norm
            assert np.all((p.moves.box.lower <= delta) & (delta <= p.moves.box.upper))
            moved += bool(np.any(delta))
    assert moved > 60
