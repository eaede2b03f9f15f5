"""Bounds by programs: inside CROWN's, around every value, and the true range where exact."""

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Explanation, Problem
from milp_verix.api.calls import explain
from milp_verix.base.clock import deadline_in
from milp_verix.base.errors import InputError, SolverError, SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.ball_bounds import BOUNDS, lp_bounds, milp_bounds, resolve_bounds
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from milp_verix.solvers import SOLVERS, SolveResult, SolveStatus, Targets
from milp_verix.solvers.backends.highs import HighsSession
from tests.support.brute_force import BruteForce
from tests.support.exact_values import assert_encloses, examples, inside, seeds
from tests.support.random_networks import (
    boxed_graph,
    cube,
    dense_network,
    network_of,
    random_layers,
)
from verix_encodings import Interval, Network, NormBall, Relu, crown_bounds, interval_bounds
from verix_encodings.arrays import FloatArray


def small_box(rng: np.random.Generator, size: int, radius: float = 0.3) -> Interval:
    centre = rng.random(size)
    return Interval(centre - radius, centre + radius)


@pytest.mark.nightly
@examples(40, seeds)
def test_random_graphs_are_enclosed_in_exact_arithmetic(seed: int) -> None:
    network, box, rng = boxed_graph(seed, nodes=8)
    for method in (lp_bounds(), milp_bounds()):
        for _ in range(3):
            assert_encloses(network, box, inside(box, rng), method)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_over_a_norm_ball_hold_in_it_and_are_tighter(norm: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(random_layers(rng, (4, 6, 6, 3)))
    ball = NormBall(cube(4), np.full(4, 0.5), 0.4, norm)
    crown, boxed = crown_bounds(network, ball), lp_bounds()(network, small_box_of(ball))
    for method in (lp_bounds(), milp_bounds()):
        found = method(network, ball)
        assert np.sum(found[-1].upper) < min(np.sum(crown[-1].upper), np.sum(boxed[-1].upper))
        for direction in rng.normal(size=(200, 4)):
            step = direction / np.linalg.norm(direction, norm) * 0.4 * rng.random() ** 0.25
            for interval, value in zip(found, network.values(0.5 + step), strict=True):
                assert np.all(interval.lower <= value + 1e-12)
                assert np.all(value <= interval.upper + 1e-12)


def small_box_of(ball: NormBall) -> Interval:
    return Interval(ball.centre - ball.radius, ball.centre + ball.radius)


@pytest.mark.nightly
@examples(40, seeds)
def test_each_method_encloses_the_next(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(random_layers(rng, (4, 6, 6, 5, 3)))
    box = small_box(rng, 4)
    read = [node.source for node in network.nodes if isinstance(node, Relu)]
    found = [BOUNDS[name]()(network, box) for name in ("interval", "crown", "alpha", "lp", "milp")]
    for wide, tight in pairwise(found):
        for value in [*read, len(network.nodes)]:
            slack = 3e-6 + 1e-8 * wide[value].magnitude
            assert np.all(tight[value].lower >= wide[value].lower - slack)
            assert np.all(tight[value].upper <= wide[value].upper + slack)


@pytest.mark.nightly
def test_each_method_is_tighter_on_the_whole() -> None:
    widths = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        network = network_of(random_layers(rng, (4, 8, 8, 8, 3)))
        box = small_box(rng, 4)
        unstable = crown_bounds(network, box)[5]
        rows = (unstable.lower < 0) & (unstable.upper > 0)
        found = [BOUNDS[name]()(network, box)[5] for name in ("crown", "lp", "milp")]
        widths.append([np.mean((b.upper - b.lower)[rows]) for b in found])
    crown, lp, milp = np.median(widths, axis=0)
    assert lp < 0.97 * crown
    assert milp < 0.97 * lp


@pytest.mark.parametrize("seed", range(8))
def test_milp_bounds_are_the_true_range_of_unstable_neurons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, (3, 4, 4, 2))
    network = network_of(layers)
    box = cube(3)
    known = crown_bounds(network, box)
    tight = milp_bounds()(network, box)
    unstable = np.flatnonzero((known[3].lower < 0) & (known[3].upper > 0))
    assert unstable.size
    lowest, highest = true_range(layers[:2], box)
    np.testing.assert_allclose(tight[3].lower[unstable], lowest[unstable], rtol=0, atol=3e-6)
    np.testing.assert_allclose(tight[3].upper[unstable], highest[unstable], rtol=0, atol=3e-6)
    assert np.all(tight[3].lower[unstable] <= lowest[unstable] + 1e-12)
    assert np.all(tight[3].upper[unstable] >= highest[unstable] - 1e-12)


@pytest.mark.slow
def test_a_solvers_own_bounds_are_widened_by_what_separates_a_proof_from_noise() -> None:
    widened = 0
    for seed in range(8):
        layers = random_layers(np.random.default_rng(seed), (3, 4, 4, 2))
        network, box = network_of(layers), cube(3)
        lp, milp = (method()(network, box)[3] for method in (lp_bounds, milp_bounds))
        lowest, highest = true_range(layers[:2], box)
        for better, room in (
            (milp.lower > lp.lower + 1e-5, lowest - milp.lower),
            (milp.upper < lp.upper - 1e-5, milp.upper - highest),
        ):
            assert np.all(room[better] > 0.9e-6)
            widened += int(better.sum())
    assert widened > 10


def test_big_ms_beyond_trust_leave_the_bounds_of_relaxations() -> None:
    network = network_of(random_layers(np.random.default_rng(0), (3, 4, 4, 2)))
    strict = milp_bounds(tolerances=Tolerances(largest_big_m=1e-3))
    found, lp, milp = (
        method(network, cube(3))[3] for method in (strict, lp_bounds(), milp_bounds())
    )
    np.testing.assert_allclose(found.lower, lp.lower, atol=1e-9)
    np.testing.assert_allclose(found.upper, lp.upper, atol=1e-9)
    assert np.max(lp.upper - milp.upper) > 1e-3


def true_range(layers: tuple, box: Interval) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest of each output, from every pattern of the ReLUs."""
    centre = (box.lower + box.upper) / 2
    radius = float((box.upper - box.lower).max() / 2)
    groups = [[i] for i in range(centre.size)]
    brute = BruteForce(layers, centre, radius, groups, box.lower, box.upper, delta=0.0)
    # the margins of a regression with δ = 0 are ±(f_k(x') − f_k(x))
    moves = brute.worst(range(centre.size))
    at_centre = brute.evaluate(centre)
    count = at_centre.size
    return at_centre - moves[count:], at_centre + moves[:count]


def test_a_budget_of_nothing_leaves_the_bounds_of_crown() -> None:
    rng = np.random.default_rng(0)
    network = network_of(random_layers(rng, (4, 6, 6, 3)))
    box = small_box(rng, 4)
    for method in (lp_bounds(seconds=0.0), milp_bounds(seconds=0.0)):
        assert_same(method(network, box), crown_bounds(network, box))


def test_the_widest_neurons_come_first() -> None:
    rng = np.random.default_rng(1)
    network = network_of(random_layers(rng, (4, 6, 8, 3)))
    box = small_box(rng, 4)
    crown = crown_bounds(network, box)[3]
    widths = np.where((crown.lower < 0) & (crown.upper > 0), crown.upper - crown.lower, 0)
    tight = milp_bounds(neurons=2)(network, box)[3]
    moved = np.flatnonzero((tight.upper < crown.upper) | (tight.lower > crown.lower))
    assert 0 < moved.size <= 2
    assert set(moved) <= set(np.argsort(-widths)[:2])


def test_a_solver_that_fails_leaves_what_was_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> SolveResult:
        raise SolverError("out of order")

    rng = np.random.default_rng(0)
    network = network_of(random_layers(rng, (4, 6, 6, 3)))
    box = small_box(rng, 4)
    monkeypatch.setattr(HighsSession, "minimise", failing)
    assert_same(lp_bounds()(network, box), crown_bounds(network, box))


def test_a_solver_that_lies_beyond_the_other_end_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lying(_self: HighsSession, _cost: FloatArray, _targets: Targets) -> SolveResult:
        return SolveResult(SolveStatus.OPTIMAL, bound=1e6)

    rng = np.random.default_rng(0)
    network = network_of(random_layers(rng, (4, 6, 6, 3)))
    box = small_box(rng, 4)
    monkeypatch.setattr(HighsSession, "minimise", lying)
    assert_same(milp_bounds()(network, box), crown_bounds(network, box))


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_gives_the_same_bounds(solver: str) -> None:
    if reason := SOLVERS[solver].unavailable():
        pytest.skip(reason)
    rng = np.random.default_rng(2)
    network = network_of(random_layers(rng, (3, 4, 4, 2)))
    box = small_box(rng, 3)
    for method in (lp_bounds, milp_bounds):
        for found, expected in zip(
            method(solver)(network, box), method("highs")(network, box), strict=True
        ):
            np.testing.assert_allclose(found.lower, expected.lower, rtol=0, atol=1e-4)
            np.testing.assert_allclose(found.upper, expected.upper, rtol=0, atol=1e-4)


def test_names_and_functions_are_bound_methods() -> None:
    assert resolve_bounds("crown") == ("crown", crown_bounds)
    assert resolve_bounds(interval_bounds) == ("interval", interval_bounds)
    assert resolve_bounds("lp") == ("lp", lp_bounds())
    assert resolve_bounds(milp_bounds(seconds=1.0))[0] == "milp"
    with pytest.raises(InputError, match="unknown bounds 'cron'; choose one of interval, crown"):
        resolve_bounds("cron")
    with pytest.raises(InputError, match="a name or a function"):
        resolve_bounds(7)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown solver"):
        lp_bounds("nosuch")


def test_a_solver_that_is_missing_shows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HighsSession, "lacking", lambda: "it is not here")
    with pytest.raises(SolverUnavailableError, match="it is not here"):
        resolve_bounds("lp")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_explanations_are_the_same_by_every_method(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = dense_network(random_layers(rng, (5, 6, 6, 3)), tmp_path)
    x = rng.random(5)
    found = {
        name: explain(network, x, epsilon=0.15, order="sequential", bounds=name)
        for name in ("interval", "crown", "alpha", "lp", "milp")
    }
    assert len({(e.explanation, e.unknown) for e in found.values()}) == 1
    for name, explanation in found.items():
        assert explanation.bounds == name
        assert Explanation.from_json(explanation.to_json()).bounds == name


def test_bounds_keep_to_the_time_limit_of_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def slow(_self: HighsSession, _cost: FloatArray, targets: Targets) -> SolveResult:
        begun.append(targets.seconds)
        time.sleep(min(targets.seconds, 0.2))
        return SolveResult(SolveStatus.TIME_LIMIT)

    rng = np.random.default_rng(1)
    network = dense_network(random_layers(rng, (5, 12, 12, 3)), tmp_path)
    problem = Problem(network, rng.random(5), epsilon=0.5)
    monkeypatch.setattr(HighsSession, "minimise", slow)
    with Oracle(problem, Search(solver="highs", bounds="milp", reuse=False)) as oracle:
        verdict = oracle.check(np.arange(5), deadline_in(0.5))
    # each solve sleeps for a fifth of a second: none begins after the limit
    assert len(begun) <= 4
    assert verdict.reason == "time limit"


def assert_same(found: tuple[Interval, ...], expected: tuple[Interval, ...]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.lower, other.lower)
        np.testing.assert_array_equal(one.upper, other.upper)


def test_a_network_can_end_at_any_of_its_values() -> None:
    network = network_of(random_layers(np.random.default_rng(0), (3, 4, 2)))
    x = np.array([0.1, 0.5, 0.9])
    for value in (1, 2, 3):
        np.testing.assert_array_equal(network.up_to(value).evaluate(x), network.values(x)[value])
    for value in (0, 4):
        with pytest.raises(ValueError, match=f"no value {value}"):
            network.up_to(value)


def test_a_network_without_freedom_needs_no_program() -> None:
    network: Network = network_of(random_layers(np.random.default_rng(0), (3, 4, 2)))
    x = np.array([0.1, 0.5, 0.9])
    box = Interval(x, x)
    assert_same(lp_bounds()(network, box), crown_bounds(network, box))
