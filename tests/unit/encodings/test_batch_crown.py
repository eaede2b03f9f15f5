"""Bounds of many boxes at once enclose what happens in each, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.support.exact_values import exact_values, examples, inside, seeds
from tests.support.random_networks import (
    as_layers,
    cube,
    network_of,
    random_box,
    random_graph,
    random_layers,
    random_maxima,
    smooth_network,
)
from verix_encodings import (
    Affine,
    Interval,
    Max,
    Network,
    NormBall,
    Relu,
    crown_bounds,
    interval_bounds,
)
from verix_encodings.batch_crown import BatchCrown, slope_ranges
from verix_encodings.bounds.boxes import Boxes
from verix_encodings.crown import upper_form
from verix_encodings.network import batch_gradients, batch_values

pytestmark = pytest.mark.usefixtures("matrix_storage")


def parts(box: Interval, rng: np.random.Generator, count: int = 4) -> Boxes:
    """Return random boxes inside ``box``, the first being the box itself."""
    ends = np.sort(rng.random((2, count, box.lower.size)), axis=0)
    ends[:, 0] = [[0.0], [1.0]]
    lower, upper = (box.lower + share * (box.upper - box.lower) for share in ends)
    return Boxes(np.maximum(lower, box.lower), np.minimum(upper, box.upper))


def all_margins(
    crown: BatchCrown, boxes: Boxes, *, backward: bool = True
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Return the bounds of every value but the last, and upper bounds on the outputs, (N, m)."""
    found = crown.bounds(boxes, {}, *(() if backward else (None,)))
    count = crown.network.output_size
    owner, margin = np.divmod(np.arange(len(boxes) * count), count)
    return found, crown.margins(boxes, found, owner, margin).upper.reshape(-1, count)


def maximum_network(rng: np.random.Generator) -> Network:
    """Return maxima between affine maps: groups that overlap, and repeat entries."""
    first = Affine(((0, rng.normal(size=(6, 3))),), rng.normal(size=6))
    maxima = random_maxima(rng, 2, 1, 6)
    greatest = maxima[-1]
    assert isinstance(greatest, Max)
    weights = rng.normal(size=(2, greatest.first.size))
    last = Affine(((1 + len(maxima), weights),), rng.normal(size=2))
    return Network((3,), (first, *maxima, last))


def assert_boxes_enclose(
    network: Network, box: Interval, rng: np.random.Generator, *, backward: bool
) -> None:
    boxes = parts(box, rng)
    crown = BatchCrown(network, crown_bounds(network, box))
    found, upper = all_margins(crown, boxes, backward=backward)
    for n in range(len(boxes)):
        point = inside(Interval(boxes.lower[n], boxes.upper[n]), rng)
        *values, last = exact_values(network, point)
        for (low, high), exact in zip(found, values, strict=True):
            for l, v, u in zip(low[n], exact, high[n], strict=True):
                assert Fraction(float(l)) <= v <= Fraction(float(u))
        assert all(v <= Fraction(float(u)) for v, u in zip(last, upper[n], strict=True))


@pytest.mark.slow
@examples(150, seeds, st.integers(4, 10), st.booleans())
def test_random_graphs_are_enclosed_in_exact_arithmetic(
    seed: int, nodes: int, backward: bool
) -> None:
    rng = np.random.default_rng(seed)
    network = random_graph(rng, nodes=nodes)
    assert_boxes_enclose(network, random_box(rng, network.input_size), rng, backward=backward)


@pytest.mark.slow
@examples(150, seeds)
def test_dense_networks_and_maxima_are_enclosed_in_exact_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert_boxes_enclose(network_of(random_layers(rng, (4, 5, 4, 3))), cube(4), rng, backward=True)
    assert_boxes_enclose(maximum_network(rng), cube(3), rng, backward=True)


@pytest.mark.parametrize("seed", range(20))
def test_margins_are_bounded_as_one_box_at_a_time_is_or_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, dense = random_graph(rng, size=4, nodes=9), network_of(random_layers(rng, (4, 6, 5, 3)))
    for network in (graph, dense, maximum_network(rng)):
        box = random_box(rng, network.input_size)
        bounds = crown_bounds(network, box)
        outputs = np.arange(network.output_size)
        expected = upper_form(network, bounds, len(network.nodes), np.eye(outputs.size)).greatest(
            box
        )
        found = [(interval.lower[None], interval.upper[None]) for interval in bounds[:-1]]
        forms = BatchCrown(network, bounds).margins(
            Boxes(*found[0]), found, np.zeros_like(outputs), outputs
        )
        assert np.all(forms.upper <= expected + 1e-9 * (1 + np.abs(expected)))
        if not any(isinstance(node, Relu) for node in network.nodes):
            np.testing.assert_allclose(forms.upper, expected, rtol=1e-9, atol=1e-9)


def test_the_flat_lower_line_helps_where_slopes_at_the_input_cost_more() -> None:
    # −relu(x + ½) over [−1, 1]: at most −x − ½ by the slope one, and 0 by the slope zero
    layers = as_layers(([[1.0]], [0.5]), ([[-1.0]], [0.0]))
    network, box = network_of(layers), Interval(np.array([-1.0]), np.array([1.0]))
    bounds = crown_bounds(network, box)
    assert upper_form(network, bounds, 3, np.eye(1)).greatest(box)[0] == pytest.approx(0.5)
    found = [(interval.lower[None], interval.upper[None]) for interval in bounds[:-1]]
    zero = np.zeros(1, dtype=np.intp)
    forms = BatchCrown(network, interval_bounds(network, box)).margins(
        Boxes(*found[0]), found, zero, zero
    )
    assert forms.upper[0] == pytest.approx(0.0, abs=1e-12)
    assert forms.coefficients[0, 0] == 0.0


@pytest.mark.parametrize("names", [["sigmoid"], ["tanh", "gelu"], ["silu"]])
def test_sampled_points_of_smooth_networks_lie_inside(names: list[str]) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        network = smooth_network(random_layers(rng, (3, 5, 4, 2)), names)
        boxes = parts(cube(3), rng)
        found, upper = all_margins(BatchCrown(network, crown_bounds(network, cube(3))), boxes)
        for n in range(len(boxes)):
            inputs = rng.uniform(boxes.lower[n], boxes.upper[n], (200, 3)).T
            *values, last = batch_values(network, inputs)
            for (low, high), value in zip(found, values, strict=True):
                assert np.all(low[n][:, None] - 1e-12 <= value)
                assert np.all(value <= high[n][:, None] + 1e-12)
            assert np.all(last <= upper[n][:, None] + 1e-12)


@pytest.mark.parametrize("norm", [1, 2])
def test_points_of_a_ball_and_a_box_lie_inside(norm: int) -> None:
    tighter = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        network, centre = network_of(random_layers(rng, (4, 6, 5, 3))), rng.random(4)
        ball = NormBall(cube(4), centre, float(rng.uniform(0.2, 0.8)), norm)
        crown = BatchCrown(network, crown_bounds(network, ball))
        plain = parts(cube(4), rng, 12)
        boxes, meets = Boxes(plain.lower, plain.upper, ball).cut()
        moves = rng.normal(size=(3000, 4)) * rng.exponential(0.3, size=(3000, 1))
        moves = moves[np.linalg.norm(moves, ord=norm, axis=1) <= ball.radius]
        points = (centre + moves)[np.all(np.abs(centre + moves - 0.5) <= 0.5, axis=1)]
        inside_ = np.all(
            (plain.lower[:, None] <= points) & (points <= plain.upper[:, None]), axis=2
        )
        assert not inside_[~meets].any()
        _, upper = all_margins(crown, boxes)
        _, without = all_margins(crown, Boxes(boxes.lower, boxes.upper))
        tighter += int(np.sum(upper < without - 1e-6))
        for n, place in enumerate(np.flatnonzero(meets)):
            reached = batch_values(network, points[inside_[place]].T)[-1]
            assert np.all(reached <= upper[n][:, None] + 1e-9)
    assert tighter > 50


@pytest.mark.parametrize("norm", [None, 1, 2])
def test_the_farthest_point_lies_in_the_set_and_nearly_reaches_the_bound(norm: int | None) -> None:
    rng = np.random.default_rng(0)
    ball = None if norm is None else NormBall(cube(4), np.full(4, 0.3), 0.5, norm)
    boxes, _ = Boxes(*np.sort(rng.random((2, 30, 4)), axis=0), ball).cut()
    assert len(boxes) > 5
    ways = rng.normal(size=(len(boxes), 4))
    points = boxes.farthest(ways)
    assert np.all((boxes.lower <= points) & (points <= boxes.upper))
    bound = boxes.greatest(ways, np.arange(len(boxes)))
    reached = np.einsum("nd,nd->n", ways, points)
    assert np.all(reached <= bound)
    if norm != 2:  # around the point of the box next to the centre, an L2 ball is larger
        np.testing.assert_allclose(reached, bound, rtol=1e-9, atol=1e-9)
    if norm == 1:
        assert np.all(np.abs(points - 0.3).sum(axis=1) <= 0.5 + 1e-9)


def test_integral_inputs_are_rounded_inward() -> None:
    boxes = Boxes(np.array([[0.2, 0.2], [0.2, 1.0]]), np.array([[0.8, 2.5], [1.0, 1.0]]))
    cut, left = boxes.cut(np.array([True, False]))
    assert left.tolist() == [False, True]
    assert (cut.lower.tolist(), cut.upper.tolist()) == ([[1.0, 1.0]], [[1.0, 1.0]])


@pytest.mark.parametrize("seed", range(10))
def test_gradients_lie_in_the_ranges_of_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = network_of(random_layers(rng, (3, 5, 4, 2)))
    smooth = smooth_network(random_layers(rng, (3, 5, 2)), ["tanh"])
    for network in (dense, smooth, maximum_network(rng), random_graph(rng, nodes=9)):
        boxes = parts(cube(3), rng)
        found, _ = all_margins(BatchCrown(network, crown_bounds(network, cube(3))), boxes)
        outputs = np.zeros(len(boxes), dtype=np.intp)
        middle, half = slope_ranges(network, found, outputs)
        for n in range(len(boxes)):
            inputs = rng.uniform(boxes.lower[n], boxes.upper[n], (100, 3)).T
            there = batch_values(network, inputs)
            slopes = batch_gradients(network, there, np.zeros(100, dtype=np.intp))
            assert np.all(np.abs(slopes - middle[n][:, None]) <= half[n][:, None] + 1e-9)
