"""Trees of neurons and stages of bounds: they enclose all values, and reach the exact ones."""

from collections.abc import Callable

import numpy as np
import pytest

from milp_verix.oracle.ball_bounds import milp_bounds
from tests.support.random_networks import cube, network_of, random_graph, random_layers
from verix_encodings import (
    Bounds,
    Network,
    NormBall,
    Region,
    branched_bounds,
    crown_bounds,
    deepening as neuron_trees,
)
from verix_encodings.bounds.rows import RowSplits
from verix_encodings.deepening import Deepening, Leaves, NeuronTrees
from verix_encodings.row_slopes import Relaxed, RowSlopes

pytestmark = pytest.mark.usefixtures("matrix_storage")

_ROUNDED = 1e-9  # of an evaluation in float64
_MILP = 1e-5  # by which bounds of programs are wider than the truth


def _layered(seed: int) -> Network:
    return network_of(random_layers(np.random.default_rng(seed), (3, 7, 6, 5, 2)))


def _points(region: Region, seed: int, count: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    box = region.box
    points = box.lower + (box.upper - box.lower) * rng.random((count, box.lower.size))
    # corners, where extremes of neurons often are
    corners = rng.random(points.shape) < 0.5
    points[::2] = np.where(corners, box.lower, box.upper)[::2]
    if isinstance(region, NormBall):
        away = points - region.centre
        size = np.linalg.norm(away, region.norm, axis=1, keepdims=True)
        points = region.centre + away * np.minimum(1.0, region.radius / size)
    return points


def _encloses(network: Network, region: Region, bounds: Bounds, seed: int) -> None:
    for point in _points(region, seed):
        for value, interval in zip(network.values(point), bounds, strict=True):
            assert np.all(value >= interval.lower - _ROUNDED)
            assert np.all(value <= interval.upper + _ROUNDED)


def _trees(network: Network, region: Region, bounds: Bounds) -> NeuronTrees:
    outputs = network.output_size
    signs = np.concatenate([np.eye(outputs), -np.eye(outputs)])
    known = np.concatenate([bounds[-1].upper, -bounds[-1].lower])
    return NeuronTrees(Relaxed.of(network, bounds), region, signs, known)


@pytest.mark.parametrize("norm", [None, 1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_each_stage_encloses_all_values_and_is_inside_the_one_before(
    seed: int, norm: int | None
) -> None:
    rng = np.random.default_rng(seed)
    for network in (_layered(seed), random_graph(rng, size=3, nodes=8)):
        region = cube(3) if norm is None else NormBall(cube(3), np.full(3, 0.5), 0.4, norm)
        deepening = Deepening(network, region, crown_bounds(network, region))
        while deepening.depth < 3:
            before = deepening.bounds
            deepening.go_on()
            for known, tight in zip(before, deepening.bounds, strict=True):
                assert np.all(known.lower <= tight.lower)
                assert np.all(tight.upper <= known.upper)
            _encloses(network, region, deepening.bounds, seed)


@pytest.mark.parametrize("seed", range(2))
def test_deep_trees_find_the_exact_ends(seed: int) -> None:
    network, region = _layered(seed), cube(3)
    exact = milp_bounds()(network, region)
    bounds = branched_bounds(network, region, depth=4)
    tight = [0.0, 0.0]
    for place, found in enumerate((crown_bounds(network, region), bounds)):
        for value in (3, 5):
            tight[place] += float(np.sum(found[value].upper - found[value].lower))
            inside = exact[value]
            assert np.all(found[value].lower <= inside.lower + _MILP)
            assert np.all(found[value].upper >= inside.upper - _MILP)
    widest = sum(float(np.sum(exact[value].upper - exact[value].lower)) for value in (3, 5))
    # only neurons with two phases are branched, until the sign is decided
    assert widest <= tight[1] + 12 * _MILP < tight[0]


def test_a_row_is_the_worst_of_its_leaves_and_falls_to_the_exact_maximum() -> None:
    network, region = _layered(1), cube(3)
    bounds = crown_bounds(network, region)
    shifted = network.then(np.eye(2), np.full(2, 50.0))
    raised = (*bounds[:-1], crown_bounds(shifted, region)[-1])
    trees = _trees(shifted, region, raised)
    last = trees.upper
    for _ in range(6):
        assert trees.grow(12)
        assert np.all(trees.upper <= last)
        last = trees.upper
    reached = np.max([shifted.evaluate(point) for point in _points(region, 0, 5_000)], axis=0)
    assert np.all(reached <= last[:2] + _ROUNDED)
    assert np.all(last[:2] - reached < 0.05 * (trees.known[:2] - reached) + 0.05)


def test_trees_that_are_late_keep_valid_bounds() -> None:
    network, region = _layered(2), cube(3)
    for calls in range(8):
        left = calls

        def late() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        deepening = Deepening(network, region, crown_bounds(network, region))
        deepening.go_on(late)
        deepening.go_on(late)
        _encloses(network, region, deepening.bounds, calls)
        assert deepening.depth <= 2


def _leave_a_leaf_out(monkeypatch: pytest.MonkeyPatch) -> None:
    children = NeuronTrees._children

    def one_of_two(self: NeuronTrees, parents: np.ndarray) -> Leaves:
        both = children(self, parents)
        both.upper[parents.size :] = -np.inf
        return both

    monkeypatch.setattr(NeuronTrees, "_children", one_of_two)


def _turn_a_multiplier(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = RowSlopes._splits

    def turned(self: RowSlopes) -> RowSplits:
        found = splits(self)
        return RowSplits(found.phases, {value: -beta for value, beta in found.multipliers.items()})

    monkeypatch.setattr(RowSlopes, "_splits", turned)


def _take_the_best_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    def best(self: NeuronTrees) -> np.ndarray:
        found = np.full(self.known.size, np.inf)
        np.minimum.at(found, self._leaves.row, self._leaves.upper)
        return found

    monkeypatch.setattr(NeuronTrees, "upper", property(best))


@pytest.mark.parametrize("plant", [_leave_a_leaf_out, _turn_a_multiplier, _take_the_best_leaf])
def test_planted_faults_are_seen(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    monkeypatch.setattr(neuron_trees, "_STEPS", (3, 4, 5, 6))
    with pytest.raises((AssertionError, ValueError)):
        _encloses_twelve()


def _encloses_twelve() -> None:
    for seed in range(12):
        network, region = _layered(seed), cube(3)
        _encloses(network, region, branched_bounds(network, region, depth=3), seed)


@pytest.mark.slow
def test_without_a_fault_they_enclose() -> None:
    _encloses_twelve()
