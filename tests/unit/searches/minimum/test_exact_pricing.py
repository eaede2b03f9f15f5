"""The worst perturbation of a selection is the one of brute force, and it is in the ball."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.errors import SolverError
from milp_verix.oracle.attacks import PerturbationSet, perturbation_set
from milp_verix.searches.minimum.incumbent import Adversary, ExactPricing
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.solvers import Session, SolveResult, SolveStatus, Targets, open_session
from tests.support.brute_force import BruteForce
from tests.support.brute_force_norms import worst_margin
from tests.support.clocks import WorkClock, slice_of
from tests.support.fake_session import FakeSolver
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import Layer, dense_network, random_layers
from verix_encodings import Program
from verix_encodings.arrays import FloatArray
from verix_encodings.work import UNITS_PER_SECOND

_COUNT = 5
_NEAR = 1e-6
LIMITS = SearchLimits()


@dataclass(frozen=True, slots=True, eq=False)
class Posed:
    """Perturbations of a random network, shares of its inputs, and what they are at worst."""

    perturbations: PerturbationSet
    selection: FloatArray
    worst: float


def _posed(seed: int, norm: str, folder: Path) -> Posed:
    rng = np.random.default_rng([seed, 71])
    layers = random_layers(rng, (_COUNT, 5, 4, 3), DOUBLE)
    x = rng.random(_COUNT)
    epsilon = float(rng.uniform(0.2, 0.8)) * (1.0 if norm == "linf" else 2.0)
    problem = Problem(dense_network(layers, folder, DOUBLE), x, epsilon=epsilon, norm=norm)
    p = perturbation_set(problem)
    # some are felt wholly, some not at all, the others in part
    selection = np.clip(rng.uniform(-0.5, 1.5, _COUNT), 0.0, 1.0)
    brute = _scaled(layers, x, selection, p)
    everything = range(_COUNT)
    if norm == "linf":
        worst = float(np.max(brute.worst(everything)))
    else:
        worst = worst_margin(brute, everything, int(norm[1]), epsilon)
    return Posed(p, selection, worst)


def _scaled(
    layers: tuple[Layer, ...], x: FloatArray, selection: FloatArray, p: PerturbationSet
) -> BruteForce:
    """Return the margins as a network of the perturbation alone."""
    (matrix, bias), *rest = layers
    first = matrix * (1.0 - selection), matrix @ x + bias
    groups = [[i] for i in range(_COUNT)]
    widest = float(np.max(np.abs([p.moves.box.lower, p.moves.box.upper])))
    return BruteForce(
        (first, *rest), np.zeros(_COUNT), widest, groups, p.moves.box.lower, p.moves.box.upper
    )


def _session() -> Session:
    return open_session("highs")


def _adversary(p: PerturbationSet) -> Adversary:
    return Adversary(p, LIMITS, exact=ExactPricing(p, LIMITS, _session))


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_worst_there_is(seed: int, norm: str, tmp_path: Path) -> None:
    posed = _posed(seed, norm, tmp_path)
    p = posed.perturbations
    delta = ExactPricing(p, LIMITS, _session).worst(posed.selection, -1e3, NO_LIMIT)
    assert delta is not None
    assert np.all((p.moves.box.lower <= delta) & (delta <= p.moves.box.upper))
    if norm == "l1":
        assert np.abs(delta).sum() <= p.region.radius
    reached = float(np.max(p.margins_at(p.weight(posed.selection), delta[:, None])))
    assert reached == pytest.approx(posed.worst, abs=_NEAR)


@pytest.mark.parametrize("seed", range(10))
def test_there_is_nothing_beyond_the_worst(seed: int, tmp_path: Path) -> None:
    posed = _posed(seed, "linf", tmp_path)
    search = ExactPricing(posed.perturbations, LIMITS, _session)
    assert search.worst(posed.selection, posed.worst + _NEAR, NO_LIMIT) is None
    assert search.worst(posed.selection, posed.worst - 10 * _NEAR, NO_LIMIT) is not None


@pytest.mark.nightly
def test_the_adversary_finds_what_a_search_by_gradients_does_not(tmp_path: Path) -> None:
    missed = 0
    for seed in range(60):
        posed = _posed(seed, "linf", tmp_path)
        adversary = _adversary(posed.perturbations)
        _, values = adversary.attack(posed.selection)
        delta, value = adversary.worst(posed.selection, NO_LIMIT)
        assert value >= np.max(values)
        if posed.worst > 0:
            assert value == pytest.approx(posed.worst, abs=2 * _NEAR)
            missed += bool(np.max(values) < posed.worst - 1e-3)
        p = posed.perturbations
        # another margin may be larger there
        assert np.max(p.margins_at(p.weight(posed.selection), delta[:, None])) >= value - _NEAR
    assert missed


def test_balls_in_the_l2_norm_are_left_to_the_search(tmp_path: Path) -> None:
    problem = Problem(
        dense_network(random_layers(np.random.default_rng(3), (_COUNT, 4, 3), DOUBLE), tmp_path),
        np.full(_COUNT, 0.5, dtype=np.float32),
        epsilon=0.5,
        norm="l2",
    )
    solver = FakeSolver(lambda *_: pytest.fail("no program is asked for"))
    search = ExactPricing(perturbation_set(problem), LIMITS, solver)
    assert search.worst(np.zeros(_COUNT), -1e3, NO_LIMIT) is None
    assert not solver.opened


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    solver = FakeSolver(lambda *_: pytest.fail("no program is asked for"))
    limits = SearchLimits(without=frozenset({"exact pricing"}))
    search = ExactPricing(_posed(0, "linf", tmp_path).perturbations, limits, solver)
    assert search.worst(np.zeros(_COUNT), -1e3, NO_LIMIT) is None
    assert not solver.opened


def test_a_solver_that_fails_is_not_asked_again(tmp_path: Path) -> None:
    def fail(*_: object) -> SolveResult:
        raise SolverError("no licence")

    solver = FakeSolver(fail)
    search = ExactPricing(_posed(0, "linf", tmp_path).perturbations, LIMITS, solver)
    for _ in range(3):
        assert search.worst(np.zeros(_COUNT), -1e3, NO_LIMIT) is None
    assert [session.closed for session in solver.opened] == [True]


def test_it_takes_no_more_than_its_share_of_the_work(tmp_path: Path) -> None:
    asked: list[float] = []

    def slow(_program: Program, _cost: FloatArray, targets: Targets) -> SolveResult:
        asked.append(targets.work / UNITS_PER_SECOND)
        targets.deadline().use_up()
        return SolveResult(SolveStatus.TIME_LIMIT)

    search = ExactPricing(_posed(0, "linf", tmp_path).perturbations, LIMITS, FakeSolver(slow))
    selection, clock = np.zeros(_COUNT), WorkClock()
    assert search.worst(selection, -1e3, NO_LIMIT) is None
    # what bounds and the like take is little
    assert sum(asked) == pytest.approx(2.0, rel=0.02)
    # a quarter of what has gone by
    assert search.worst(selection, -1e3, NO_LIMIT) is None
    assert sum(asked) == pytest.approx(2.5, rel=0.02)
    clock.now += 100.0
    assert search.worst(selection, -1e3, slice_of(1.0)) is None
    assert sum(asked) == pytest.approx(3.5, rel=0.02)
