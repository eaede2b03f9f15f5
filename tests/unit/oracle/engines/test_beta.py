"""Branching on phases: verdicts of brute force, proven bounds, and limits."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Answer, Problem, check, explain
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.oracle.engines.beta import PhaseSplit
from milp_verix.oracle.engines.beta_search import PhaseNodes, PhaseSearch
from milp_verix.oracle.engines.engine import Claim
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT
from milp_verix.problem.search import Search
from tests.support.brute_force_cases import case
from tests.support.brute_force_norms import NORMS, radius, worst_margin
from tests.support.known_radius_network import CRITICAL, checked, valley
from tests.support.max_pool_cases import pooled
from tests.support.open_claims import open_claim
from tests.support.random_networks import (
    cube,
    dense_network,
    network_of,
    random_layers,
    smooth_network,
)
from verix_encodings import NormBall, crown_bounds, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.network import batch_values


@pytest.mark.nightly
def test_max_pools_are_decided_as_by_brute_force(tmp_path: Path) -> None:
    asked = 0
    for seed in range(24):
        network, brute = pooled(seed, tmp_path)
        for free in ([0, 1, 2, 3], [0, 1, 2], [1, 3]):
            given = {"epsilon": brute.epsilon, "bounds": "interval", "solver": "beta"}
            verdict = check(network, brute.x, free, **given)
            assert verdict.holds if brute.holds(free) else verdict.violated
            asked += verdict.effort.solves
    assert asked >= 4


@pytest.mark.parametrize("seed", [1, 2])
def test_smooth_neurons_are_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = smooth_network(random_layers(rng, (4, 6, 5, 3)), ["sigmoid", "tanh"])
    root = crown_bounds(network, cube(4))
    points = rng.random((4, 20_000))
    points[:, ::2] = points[:, ::2] < 0.5
    reached = batch_values(network, points)[-1].max(axis=1)
    # the margins hold by a third of the distance that bounds leave open
    goal = reached + (root[-1].upper - reached) / 3
    moved = network.then(np.eye(3), -goal)
    needed = np.full(3, 1e-9)
    search = PhaseSearch(moved, cube(4), root, root[-1].upper - goal, needed, lambda _: False)
    assert search.run()
    assert np.all(reached - goal <= search.upper)
    assert np.all(search.upper < 0)
    assert search.nodes > 10


@pytest.mark.parametrize("seed", range(6))
def test_bounds_by_the_deadline_hold_and_tighten(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_of(random_layers(rng, (4, 14, 12, 3))), cube(4)
    root = interval_bounds(network, box)
    reached = batch_values(network, rng.random((4, 20_000)))[-1].max(axis=1)
    needed = np.full(3, 1e-6) - reached - 0.05
    # margins hold where they stay below the values reached, and a little more
    uppers = []
    search = PhaseSearch(network, box, root, root[-1].upper, needed, lambda _: False)
    for batches in (0, 1, 2, 5):
        left = iter(range(batches))
        search.run(lambda left=left: next(left, None) is None)
        assert np.all(search.upper >= reached)
        uppers.append(search.upper.sum())
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[-1] < uppers[1] < uppers[0]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_phases_of_all_neurons_bound_margins_over_balls_by_their_maxima(
    seed: int, norm: int
) -> None:
    rng = np.random.default_rng(seed)
    network, centre = network_of(random_layers(rng, (4, 6, 3))), np.full(4, 0.5)
    ball = NormBall(cube(4), centre, 0.4, norm)
    inside = ball.farthest(rng.normal(size=(4, 2000)))
    highest = batch_values(network, inside)[-1].max(axis=1)
    network, needed = network.then(np.eye(3), -highest), np.full(3, 1e-6)
    root = interval_bounds(network, ball.box)
    search = PhaseSearch(network, ball, root, root[-1].upper, needed, lambda _: False)
    assert not search.run()
    # a bound that an input attains is the maximum
    assert np.all(search.upper - search.tried.reached < 1e-6)
    assert np.all(search.upper > 0)


@pytest.mark.parametrize(("epsilon", "answer"), [(0.2, Answer.HOLDS), (0.3, Answer.VIOLATED)])
def test_a_known_radius(epsilon: float, answer: Answer, tmp_path: Path) -> None:
    assert checked(valley(tmp_path), epsilon, solver="beta").answer is answer


def test_a_margin_of_zero_is_not_split_for_ever(tmp_path: Path) -> None:
    verdict = checked(valley(tmp_path), CRITICAL - 1e-9, solver="beta", seconds=20)
    assert verdict.answer is Answer.UNKNOWN
    assert "phases are split" in str(verdict.reason)


def posed(tmp_path: Path, deadline: Deadline = NO_LIMIT) -> tuple[PhaseSplit, Claim]:
    """Return the engine, and a claim about a network of six inputs that bounds leave open."""
    problem, claim = open_claim(tmp_path, deadline)
    return PhaseSplit(problem), claim


def test_a_claim_asked_again_goes_on_where_it_stopped(tmp_path: Path) -> None:
    engine, claim = posed(tmp_path, Deadline(0.0))
    late = engine.decide(claim)
    assert late.verdict.reason == TIME_LIMIT
    assert np.array_equal(late.upper, claim.upper)
    whole = engine.decide(replace(claim, deadline=NO_LIMIT))
    assert whole.verdict.holds
    assert np.all(whole.upper < -claim.needed)
    assert whole.verdict.effort.nodes > 2
    assert engine.decide(replace(claim, deadline=NO_LIMIT)).verdict.effort.nodes == 0


def test_margins_proven_elsewhere_are_left_as_they_are(tmp_path: Path) -> None:
    engine, claim = posed(tmp_path)
    one = replace(claim, open_=claim.open_[:1])
    decision = engine.decide(one)
    other = claim.open_[1]
    assert decision.upper[other] == claim.upper[other]
    assert decision.upper[claim.open_[0]] < 0
    assert decision.verdict.holds


def test_an_explanation_is_that_of_another_solver(tmp_path: Path) -> None:
    layers = random_layers(np.random.default_rng(5), (4, 6, 5, 3))
    network, x = dense_network(layers, tmp_path), np.full(4, 0.5, dtype=np.float32)
    given = {"epsilon": 0.45, "order": "sequential", "bounds": "interval"}
    found = explain(network, x, solver="beta", **given)
    assert found.explanation == explain(network, x, solver="highs", **given).explanation
    assert found.solver == "beta"


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(24))
def test_claims_in_a_row_are_decided_as_by_every_phase(
    seed: int, norm: str, tmp_path: Path
) -> None:
    posed = case(seed)
    epsilon = radius(posed, norm)
    options = {**posed.options, "epsilon": epsilon, "norm": norm}
    problem = Problem(posed.network(tmp_path), posed.x, **options)
    search = Search(solver="beta", bounds=interval_bounds, reuse=False)
    with Oracle(problem, search) as oracle:
        # from small sets to large ones and back: nodes of each serve the next
        for free in (*posed.subsets(8), *posed.subsets(8)[::-1]):
            worst = worst_margin(posed.brute, free, NORMS[norm], epsilon)
            verdict = oracle.check(problem.features.coordinates(free))
            assert verdict.answer is (Answer.HOLDS if worst < 0 else Answer.VIOLATED), free
            assert verdict.violated or (verdict.bound or 0.0) >= worst - 1e-6


def claims_about(
    problem: Problem, sets: Sequence[Sequence[int]], spare: float | None = None
) -> Iterator[Claim]:
    """Yield claims with each of the ``sets`` free.

    With ``spare`` each is about some of the margins, which must stay below it and values reached.
    """
    rng, network = np.random.default_rng(0), problem.margins
    for free in map(np.array, sets):
        region = problem.ball.region(free)
        bounds = interval_bounds(network, region)
        top, needed = bounds[-1].upper, np.full(network.output_size, 1e-6)
        open_ = np.arange(needed.size)
        if spare is not None:
            needed = -batch_values(network, points_of(region, free))[-1].max(axis=1) - spare
            open_ = open_[np.roll([True, rng.random() < 0.5], rng.integers(2))]
        yield Claim(network, free, region, bounds, open_, needed, top, NO_LIMIT)


def points_of(ball: NormBall, free: IntArray, inside: bool = False) -> FloatArray:
    """Return inputs at the edge of a ball around ½, or inside of it; shape (6, 2000)."""
    rng, ways = np.random.default_rng(1), np.zeros((6, 2000))
    ways[free] = rng.normal(size=(free.size, 2000))
    points = ball.farthest(ways)
    return 0.5 + rng.random(2000) * (points - 0.5) if inside else points


def satisfied(search: PhaseSearch, nodes: PhaseNodes, points: FloatArray) -> BoolArray:
    """Return whether the phases of ``nodes`` hold at ``points``, shape (nodes, points)."""
    values = batch_values(search.network, points)
    held = np.ones((len(nodes), points.shape[1]), dtype=bool)
    for layer in search.relaxed.layers:
        for place, neuron in enumerate(layer.free):
            sign = nodes.signs[:, layer.places][:, place]
            held &= sign[:, None] * values[layer.source][neuron] >= 0
    return held


def held_by_margin(nodes: PhaseNodes, held: BoolArray) -> IntArray:
    """Return how many nodes of each margin hold at each point, (margins, points)."""
    return np.array([held[nodes.margin == m].sum(axis=0) for m in np.unique(nodes.margin)])


@pytest.mark.parametrize("norm", [1, 2])
def test_nodes_cover_every_input_wherever_a_search_stops(norm: int) -> None:
    rng, centre, every = np.random.default_rng(norm), np.full(6, 0.5), np.arange(6)
    network, ball = network_of(random_layers(rng, (6, 8, 8, 3))), NormBall(cube(6), centre, 1, norm)
    reached = batch_values(network, points_of(ball, every))[-1].max(axis=1)
    # the first margin holds, the second is open up to phases of all neurons
    network = network.then(np.eye(3), -reached - [0.2, -0.02, 0.1])
    root, needed = interval_bounds(network, ball.box), np.full(3, 1e-6)
    search = PhaseSearch(network, ball, root, root[-1].upper, needed, lambda _: False, proof=[])
    sizes = []
    for batches in (1, 2, 3, 5, 200):
        left = iter(range(batches))
        search.wanted = np.array([batches != 3, True, True])
        search.run(lambda left=left: next(left, None) is None)
        nodes = search.cover
        assert nodes is not None
        assert set(nodes.margin) == {0, 1, 2}
        held = satisfied(search, nodes, points_of(ball, every, inside=True))
        assert held_by_margin(nodes, held).min() > 0
        sizes.append(len(nodes))
    assert sizes == sorted(sizes)
    assert search.stuck > 0


def dense_claims(
    tmp_path: Path, norm: str, sets: Sequence[Sequence[int]], spare: float | None = None
) -> tuple[PhaseSplit, Iterator[Claim]]:
    """Return an engine, and claims about a network that is branched on with all inputs free."""
    layers = random_layers(np.random.default_rng(1), (6, 20, 20, 3))
    network, x = dense_network(layers, tmp_path), np.full(6, 0.5, dtype=np.float32)
    problem = Problem(network, x, epsilon=0.35 * {"l1": 2, "l2": 1}[norm], norm=norm)
    return PhaseSplit(problem), claims_about(problem, sets, spare)


@pytest.mark.parametrize("norm", NORMS)
def test_nodes_that_are_inherited_cover_every_input(norm: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    sets = [np.sort(rng.permutation(6)[:size]).tolist() for size in (6, 1, 5, 2, 6, 1, 4, 1, 2, 1)]
    engine, claims = dense_claims(tmp_path, norm, sets, 0.1)
    inherited = seen_lost = 0
    for claim in claims:
        engine.decide(claim)
        search = engine._recent[0].search
        nodes = search.inherited
        if nodes is None or not len(nodes):
            continue
        held = satisfied(search, nodes, points_of(claim.region, claim.free, inside=True))
        counts = held_by_margin(nodes, held)
        assert counts.min() > 0
        inherited += len(nodes)
        # a node that alone holds somewhere would be missed
        alone = counts[np.searchsorted(np.unique(nodes.margin), nodes.margin)] == 1
        seen_lost += np.count_nonzero((held & alone).any(axis=1))
    assert inherited > 50
    assert seen_lost > inherited / 10


@pytest.mark.parametrize("norm", NORMS)
def test_a_claim_in_other_bounds_takes_the_leaves_of_the_last_alone(
    norm: str, tmp_path: Path
) -> None:
    engine, claims = dense_claims(tmp_path, norm, [range(6), range(6)])
    first, again = (engine.decide(claim).verdict for claim in claims)
    assert first.holds
    assert again.holds
    # each leaf of a binary tree is bounded once: half of all nodes
    assert again.effort.nodes < 0.6 * first.effort.nodes
