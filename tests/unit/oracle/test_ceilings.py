"""Deeper bounds serve the checks of parts of their ball, and no others."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem, check, explain
from milp_verix.clock import NO_LIMIT
from milp_verix.oracle.engines.claim import Deeper
from milp_verix.oracle.preparation import prepared
from milp_verix.oracle.smaller_balls import SmallerBalls, _Ceiling
from milp_verix.tolerances import Tolerances
from tests.support.brute_force_cases import case
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import branched_bounds, crown_bounds

_SIZE = 5


def _problem(tmp_path: Path, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, (_SIZE, 12, 12, 12, 3))
    network = dense_network(layers, tmp_path)
    x = np.full(network.input_shape, 0.5, network.dtype)
    return Problem(network, x, epsilon=0.4)


def _asked_of_all_sets(problem: Problem, seed: int) -> int:
    """Check bounds over the balls of random sets of coordinates; return how many had a ceiling."""
    known = prepared(problem, Tolerances(), NO_LIMIT)
    balls = SmallerBalls(crown_bounds, persistent=False, deepens=True)
    rng, within = np.random.default_rng(seed), 0
    assert known.left is not None
    margins, left = known.margins, known.left
    for _ in range(12):
        free = np.flatnonzero(rng.random(_SIZE) < 0.6)
        region = problem.ball.region(free)
        found = balls.bounds(margins, region, free, left, NO_LIMIT)
        within += found.within > 0
        box = region.box
        for point in box.lower + (box.upper - box.lower) * rng.random((60, _SIZE)):
            for value, interval in zip(margins.values(point), found.bounds, strict=True):
                assert np.all(value >= interval.lower - 1e-9)
                assert np.all(value <= interval.upper + 1e-9)
        deep = branched_bounds(margins, region, within=found.bounds)
        assert balls.deepened(free, Deeper(deep, 2), found.bounds) is deep
    return within


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_ceiling_serves_the_parts_of_its_ball(seed: int, tmp_path: Path) -> None:
    assert _asked_of_all_sets(_problem(tmp_path, seed), seed)


def test_a_ceiling_that_misses_a_feature_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Ceiling, "covers", lambda self, free: True)
    # bounds that contradict each other are no interval
    with pytest.raises((AssertionError, ValueError)):
        _asked_of_all_sets(_problem(tmp_path, 0), 0)


@pytest.mark.parametrize("seed", range(6))
def test_checks_by_deeper_bounds_are_those_of_brute_force(seed: int, tmp_path: Path) -> None:
    small = case(seed)
    network, given = small.network(tmp_path), small.options
    free = list(range(len(small.groups)))
    for chosen in (free, free[1:], free[::2]):
        verdict = check(network, small.x, chosen, solver="beta", bounds="branched", **given)
        assert verdict.holds == small.brute.holds(chosen)
        assert verdict.violated != verdict.holds


@pytest.mark.slow
def test_a_result_names_the_deepest_stage(tmp_path: Path) -> None:
    problem = _problem(tmp_path, 1)
    found = explain(problem.network, problem.x.reshape(problem.network.input_shape), epsilon=0.4)
    assert found.bounds == "crown"
    stages = {stage.stage: stage.features for stage in found.statistics.stages}
    assert stages["trees of phases"] == 0
