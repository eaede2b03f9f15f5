"""Deeper bounds serve the checks of balls inside their own, and no others."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem, check, explain
from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle import ball_bounds
from milp_verix.oracle.attacks import pulled_in
from milp_verix.oracle.ball_bounds import SmallerBalls, prepared
from milp_verix.oracle.engines.engine import Deeper
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from tests.support.brute_force_cases import case
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import branched_bounds, crown_bounds

_SIZE = 5


def _problem(tmp_path: Path, seed: int, norm: str = "linf") -> Problem:
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, (_SIZE, 12, 12, 12, 3))
    network = dense_network(layers, tmp_path)
    x = np.full(network.input_shape, 0.5, network.dtype)
    return Problem(network, x, epsilon=0.4, norm=norm)


def _asked_of_many_balls(problem: Problem, seed: int, radii: Sequence[float]) -> int:
    """Check bounds over balls with random free coordinates; return how many had a ceiling."""
    known = prepared(problem, Tolerances(), NO_LIMIT)
    balls = SmallerBalls(crown_bounds, persistent=False, deepens=True)
    rng, within = np.random.default_rng(seed), 0
    assert known.left is not None
    margins = known.left.margins
    for _ in range(8):
        free, radius = np.flatnonzero(rng.random(_SIZE) < 0.6), rng.choice(radii)
        ball = problem.at(radius).ball
        region = ball.region(free)
        whole = known.left if radius == 0.4 else None
        found = balls.bounds(margins, region, whole, NO_LIMIT)
        within += found.depth == 2
        box = region.box
        for start in box.lower + (box.upper - box.lower) * rng.random((60, _SIZE)):
            point = pulled_in(region, start)
            for value, interval in zip(margins.values(point), found.bounds, strict=True):
                assert np.all(value >= interval.lower - 1e-9)
                assert np.all(value <= interval.upper + 1e-9)
        deep = branched_bounds(margins, region, within=found.bounds)
        assert balls.deepened(region, Deeper(deep, 2), found.bounds) is deep
    return within


@pytest.mark.slow
@pytest.mark.parametrize(
    ("norm", "radii"),
    [("linf", (0.4,)), *((norm, (0.2, 0.3, 0.4)) for norm in ("linf", "l1", "l2"))],
)
def test_a_ceiling_serves_the_balls_inside_it(
    norm: str, radii: Sequence[float], tmp_path: Path
) -> None:
    assert _asked_of_many_balls(_problem(tmp_path, 0, norm), 0, radii)


@pytest.mark.parametrize("radii", [(0.4,), (0.1, 0.3, 0.4)])
def test_a_ceiling_that_is_too_small_is_seen(
    radii: Sequence[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ball_bounds, "_inside", lambda inner, outer: True)
    # bounds that contradict each other are no interval
    with pytest.raises((AssertionError, ValueError)):
        _asked_of_many_balls(_problem(tmp_path, 0), 0, radii)


def _wrong_at_radii(seed: int, folder: Path) -> int:
    """Check all features at radii that share ceilings; return how many answers are wrong."""
    small = case(seed)
    options = {**small.options, "epsilon": small.epsilon}
    problem = Problem(small.network(folder), small.x, **options)
    search = Search(solver="beta")
    balls, wrong = SmallerBalls.of(problem, search), 0
    every = np.arange(small.x.size)
    for share in (1.0, 0.5, 0.7, 0.9, 1.2):
        brute = replace(small.brute, epsilon=share * small.epsilon, _worst={})
        posed = problem.at(share * small.epsilon)
        with Oracle(posed, replace(search, reuse=False), balls) as oracle:
            verdict = oracle.check(every)
        # networks so small are decided before engines deepen their bounds
        region = posed.ball.region(every)
        deep = branched_bounds(posed.margins, region)
        balls.deepened(region, Deeper(deep, 2), deep)
        wrong += verdict.holds != brute.holds(range(len(small.groups)))
    return wrong


@pytest.mark.parametrize("seed", range(12))
def test_checks_that_share_ceilings_at_several_radii_are_those_of_brute_force(
    seed: int, tmp_path: Path
) -> None:
    assert not _wrong_at_radii(seed, tmp_path)


def test_a_ceiling_over_too_small_a_radius_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ball_bounds, "_inside", lambda inner, outer: True)
    with pytest.raises((AssertionError, ValueError)):
        assert not sum(_wrong_at_radii(seed, tmp_path) for seed in range(4))


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
