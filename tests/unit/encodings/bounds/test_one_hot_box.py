"""Bounds over boxes with one-hot blocks: valid for every point, and reached by one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.support.random_networks import network_of, random_layers
from verix_encodings import Interval, crown_bounds, interval_bounds
from verix_encodings.batch_crown import BatchCrown
from verix_encodings.bounds.boxes import Boxes, OneHotBox, one_hot_box, root_boxes
from verix_encodings.bounds.mixed_domain import MixedDomain

pytestmark = pytest.mark.usefixtures("matrix_storage")

BLOCKS = (np.array([0, 3, 4]), np.array([6, 2]))
INTEGRAL = np.array([True, False, True, True, True, True, True])
DOMAIN = MixedDomain(INTEGRAL, (), BLOCKS)


def random_box(rng: np.random.Generator) -> Interval:
    """Return a box of two blocks, a real number and a whole one; some ends of blocks are fixed."""
    lower, upper = np.array([0.0, -0.7, 0, 0, 0, -2, 0]), np.array([1, 0.4, 1, 1, 1, 3, 1])
    upper[rng.choice(7, 2)] = rng.choice([0.0, 1.0], 2)
    return Interval(np.minimum(lower, upper), upper)


def corners(box: Interval) -> np.ndarray:
    """Return the points of the box whose blocks are unit vectors, other coordinates at ends."""
    every = np.array(list(product(*zip(box.lower, box.upper, strict=True))))
    units = [np.all(every[:, b] % 1 == 0, axis=1) & (every[:, b].sum(axis=1) == 1) for b in BLOCKS]
    return np.unique(every[np.logical_and.reduce(units)], axis=0)


@pytest.mark.parametrize("seed", range(40))
def test_the_largest_value_of_a_form_is_that_of_a_corner(seed: int) -> None:
    rng = np.random.default_rng(seed)
    box = random_box(rng)
    points = corners(box)
    lower, upper, kept = DOMAIN.cut(box.lower[None], box.upper[None])
    assert kept[0] == bool(len(points))
    if not kept[0]:
        return
    region = one_hot_box(Interval(lower[0], upper[0]), BLOCKS)
    matrix = rng.normal(size=(30, 7)) * 10.0 ** rng.integers(-3, 9, size=(30, 7))
    lower, upper = region.extremes(matrix)
    boxes = root_boxes(region)
    assert np.array_equal(region.greatest(matrix), upper)
    in_batch = boxes.greatest(matrix, np.zeros(30, dtype=np.intp))
    for row, low, high, batch in zip(matrix, lower, upper, in_batch, strict=True):
        values = [
            sum(Fraction(float(c)) * Fraction(float(v)) for c, v in zip(row, point, strict=True))
            for point in points
        ]
        size = np.abs(row).sum() * 4
        assert low <= min(values) <= low + Fraction(1e-12 * size)
        assert max(values) <= min(high, batch)
        assert max(high, batch) <= max(values) + Fraction(1e-12 * size)
    best = (matrix @ points.T).max(axis=1)
    for found in (region.farthest(matrix.T).T, boxes[np.zeros(30, dtype=int)].farthest(matrix)):
        assert all(np.any(np.all(point == points, axis=1)) for point in found)
        assert np.einsum("rd,rd->r", matrix, found) == pytest.approx(best)


def test_a_box_without_a_choice_is_left_as_it_is() -> None:
    box = Interval(np.array([0.0, -1, 0, 0, 1, 0, 0]), np.array([0.0, 1, 1, 0, 1, 2, 0]))
    assert type(one_hot_box(box, BLOCKS)) is Interval
    assert isinstance(one_hot_box(Interval(np.zeros(7), np.ones(7)), BLOCKS), OneHotBox)


@pytest.mark.parametrize("seed", range(30))
def test_boxes_are_cut_around_the_unit_vectors_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 2, size=(2, 60, 7)).astype(float), axis=0)
    lower, upper, kept = DOMAIN.cut(*ends)
    for row in range(60):
        points = corners(Interval(ends[0, row], ends[1, row]))
        assert kept[row] == bool(len(points))
        if kept[row]:
            within = np.concatenate(BLOCKS)
            assert np.array_equal(lower[row, within], points.min(axis=0)[within])
            assert np.array_equal(upper[row, within], points.max(axis=0)[within])


def test_blocks_that_go_back_as_a_whole_tie_nothing_together() -> None:
    assert not DOMAIN.coupled
    clauses = MixedDomain(INTEGRAL, (), (np.array([0, 5]),)).clauses
    assert MixedDomain(INTEGRAL, clauses, BLOCKS).coupled


@pytest.mark.parametrize("seed", range(10))
def test_bounds_hold_at_every_point_and_gain_on_the_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(random_layers(rng, (7, 8, 6, 2)))
    box = Interval(np.array([0, -0.7, 0, 0, 0, -2, 0]), np.array([1, 0.4, 1, 1, 1, 3, 1]))
    region = one_hot_box(box, BLOCKS)
    points = corners(box)
    between = rng.random((200, 1))
    some = points[rng.integers(len(points), size=(2, 200))]
    # bounds hold for the convex hull
    points = np.concatenate([points, between * some[0] + (1 - between) * some[1]])
    batch = BatchCrown(network, crown_bounds(network, box))
    found = batch.bounds(root_boxes(region), {})
    for bounds in (interval_bounds(network, region), crown_bounds(network, region)):
        for point in points:
            for value, interval in zip(network.values(point)[1:], bounds[1:], strict=True):
                assert np.all(interval.lower <= value + 1e-12)
                assert np.all(value <= interval.upper + 1e-12)
    for point in points:
        for value, (low, high) in zip(network.values(point)[1:-1], found[1:], strict=True):
            assert np.all((low[0] <= value + 1e-12) & (value <= high[0] + 1e-12))
    assert np.all(
        interval_bounds(network, region)[-1].upper < interval_bounds(network, box)[-1].upper
    )
    plain = batch.bounds(Boxes(box.lower[None], box.upper[None]), {})
    assert np.all(found[1][1] <= plain[1][1])
    assert np.any(found[1][1] < plain[1][1] - 0.1)
