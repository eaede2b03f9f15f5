"""Bounds with optimised slopes enclose all values, inside CROWN's bounds, and may be exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.support.brute_force import _Affine
from tests.support.brute_force_norms import _largest_l1, _largest_l2
from tests.support.exact_values import assert_encloses, examples, inside, seeds
from tests.support.random_networks import (
    Layer,
    as_layers,
    boxed_graph,
    cube,
    network_of,
    random_box,
    random_graph,
    random_layers,
    smooth_network,
)
from verix_encodings import Affine, Interval, Network, NormBall, Relu, alpha_bounds, crown_bounds
from verix_encodings.alpha import least, lowered
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.crown import upper_form
from verix_encodings.row_slopes import Layer as RowLayer, Relaxed, RowSlopes

pytestmark = pytest.mark.usefixtures("matrix_storage")


@pytest.mark.slow
@examples(150, seeds, st.integers(4, 10))
def test_random_graphs_are_enclosed_in_exact_arithmetic(seed: int, nodes: int) -> None:
    network, box, rng = boxed_graph(seed, nodes=nodes)
    found = alpha_bounds(network, box)
    for _ in range(3):
        assert_encloses(network, box, inside(box, rng), lambda *_: found)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_points_of_a_norm_ball_are_enclosed(seed: int, norm: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["sigmoid", "tanh", "elu"]
    for network in (
        network_of(random_layers(rng, (4, 9, 7, 6, 3))),
        smooth_network(random_layers(rng, (4, 6, 5, 3)), names),
        random_graph(rng, size=4, nodes=9),
    ):
        ball = NormBall(cube(4), np.full(4, 0.5), 0.4, norm)
        found = alpha_bounds(network, ball)
        for direction in rng.normal(size=(200, 4)):
            step = direction / np.linalg.norm(direction, norm) * 0.4 * rng.random() ** 0.25
            for interval, value in zip(found, network.values(0.5 + step), strict=True):
                assert np.all(interval.lower <= value + 1e-12)
                assert np.all(value <= interval.upper + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_bounds_lie_inside_those_of_crown(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for network in (random_graph(rng, size=4, nodes=9), network_of(random_layers(rng, (4, 8, 3)))):
        box = random_box(rng, 4)
        for tight, wide in zip(alpha_bounds(network, box), crown_bounds(network, box), strict=True):
            assert np.all((wide.lower <= tight.lower) & (tight.upper <= wide.upper))


def test_outputs_of_deep_networks_are_tighter_than_by_crown() -> None:
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        network = network_of(random_layers(rng, (6, 12, 12, 12, 3)))
        box = Interval(np.full(6, 0.3), np.full(6, 0.7))
        tight, wide = (m(network, box)[-1] for m in (alpha_bounds, crown_bounds))
        ratios.append(np.mean(tight.upper - tight.lower) / np.mean(wide.upper - wide.lower))
    assert max(ratios) < 0.8


def one_neuron() -> tuple[Network, Interval]:
    """``y = 3x/4 − max(x, 0)`` on [−2, 1]: the greatest value is 0, at 0.

    CROWN's slope for x ∈ [−2, 1] is α = 0, so that 3x/4 − αx ≤ 3/4. With α = 3/4 the bound is 0.
    """
    nodes = (
        Affine(((0, np.ones((1, 1))),), np.zeros(1)),
        Relu(1),
        Affine(((0, np.array([[0.75]])), (2, np.array([[-1.0]]))), np.zeros(1)),
    )
    return Network((1,), nodes), Interval(np.array([-2.0]), np.array([1.0]))


def test_a_slope_gives_the_bound_worked_out_by_hand() -> None:
    network, box = one_neuron()
    bounds = crown_bounds(network, box)
    assert bounds[-1].upper[0] == pytest.approx(0.75, abs=1e-12)
    for share in range(9):
        slope = Fraction(share, 8)
        form = upper_form(
            network, bounds, 3, np.ones((1, 1)), slopes={2: np.full((1, 1), float(slope))}
        )
        tilt = Fraction(3, 4) - slope
        exact = max(tilt * -2, tilt * 1)
        (above,) = form.greatest(box)
        assert exact <= Fraction(float(above)) <= exact + Fraction(1, 10**12)


def test_the_best_slope_of_one_neuron_is_found() -> None:
    network, box = one_neuron()
    upper = alpha_bounds(network, box)[-1].upper[0]
    assert 0 <= upper < 0.2


def test_blocks_of_rows_give_the_same_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(random_layers(np.random.default_rng(1), (4, 9, 7, 3)))
    whole = alpha_bounds(network, cube(4))
    monkeypatch.setattr("verix_encodings.alpha._ENTRIES", 40)
    for one, other in zip(alpha_bounds(network, cube(4)), whole, strict=True):
        np.testing.assert_allclose(one.lower, other.lower, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(one.upper, other.upper, rtol=1e-9, atol=1e-9)


def test_a_pass_that_ends_early_is_valid_and_inside_what_was_known() -> None:
    network = network_of(random_layers(np.random.default_rng(1), (4, 9, 7, 3)))
    known, widths = crown_bounds(network, cube(4)), []
    for units in (0, 1, 5, 12, 100):
        looks = 0

        def late(units: int = units) -> bool:
            nonlocal looks
            looks += 1
            return looks > units

        found = alpha_bounds(network, cube(4), late, within=known)
        for one, most in zip(found, known, strict=True):
            assert np.all((most.lower <= one.lower) & (one.upper <= most.upper))
        point = inside(cube(4), np.random.default_rng(0))
        assert_encloses(network, cube(4), point, lambda *_, b=found: b)
        widths.append(sum(float(np.sum(one.upper - one.lower)) for one in found))
    assert widths[0] == sum(float(np.sum(one.upper - one.lower)) for one in known)
    assert np.all(np.diff(widths) <= 0)
    assert widths[-1] < widths[0]


def test_coefficients_that_overflow_leave_crowns_bounds() -> None:
    layers = as_layers(
        ([[1e150]], [0.0]), ([[1e150], [-1e150]], [-1.0, -1.0]), ([[1.0, -1.0]], [0.0])
    )
    network = network_of(layers)
    box = Interval(np.array([-1e-160]), np.array([1e-160]))
    for tight, wide in zip(alpha_bounds(network, box), crown_bounds(network, box), strict=True):
        assert np.all((wide.lower <= tight.lower) & (tight.upper <= wide.upper))


def where_supposed(layers: tuple[Layer, ...], phases: list[IntArray]) -> _Affine:
    """Return the network where all neurons have these ``phases``, 1 or -1, layer by layer."""
    size = layers[0][0].shape[1]
    A, b, walls, ends = np.eye(size), np.zeros(size), [np.zeros((0, size))], [np.zeros(0)]
    for (matrix, bias), signs in zip(layers, [*phases, None], strict=True):
        A, b = matrix @ A, matrix @ b + bias
        if signs is not None:
            walls.append(-signs[:, None] * A)
            ends.append(signs * b)
            A, b = np.where(signs[:, None] > 0, A, 0.0), np.where(signs > 0, b, 0.0)
    return _Affine(A, b, np.concatenate(walls), np.concatenate(ends))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_a_leaf_over_a_ball_is_bounded_by_its_maximum(seed: int, norm: int) -> None:
    rng = np.random.default_rng(seed)
    layers, centre = random_layers(rng, (5, 6, 4, 2)), np.full(5, 0.4)
    network, ball = network_of(layers), NormBall(cube(5), centre, 0.35 * norm, norm)
    relaxed = Relaxed.of(network, crown_bounds(network, ball))
    exact, empty = 0, 0
    for number in range(12):
        inside = ball.farthest(rng.normal(size=5))
        values = network.values(inside)
        # at every third place phases are drawn, which no input has as a rule
        hidden = [values[layer.source] for layer in relaxed.layers]
        if number % 3 == 0:
            hidden = [rng.normal(size=z.size) for z in hidden]
        signs = np.concatenate(
            [np.sign(z)[one.free] for z, one in zip(hidden, relaxed.layers, strict=True)]
        )[None]
        phases = [settled(relaxed, one, signs[0]) for one in relaxed.layers]
        way = rng.normal(size=(1, 2))
        piece = where_supposed(layers, phases)
        largest = _largest_l1 if norm == 1 else _largest_l2
        box = np.zeros(5), np.ones(5)
        best = largest(way[0] @ piece.A, piece, centre, box, ball.radius)
        best += float(way[0] @ piece.b)
        dials = np.where(signs != 0, 0.0, relaxed.first_dials(1))
        rows = RowSlopes(relaxed, way, dials, signs)
        # just above the maximum, which nothing can prove, or far below it where there is none
        goal = np.array([best + 1e-5 if np.isfinite(best) else -30.0])
        found = least(rows, ball, lowered(rows, ball, np.array([np.inf]), goal, (0,)), goal, 300)
        bound = float(found.upper[0])
        assert bound >= best - 1e-9
        if bound >= goal[0]:
            # elsewhere in the ball a value is above the goal: nothing proves that none is
            assert norm == 2
            assert rows.reached()[0] >= goal[0]
            continue
        exact, empty = exact + np.isfinite(best), empty + np.isinf(best)
    assert exact >= 6
    assert empty >= 1


def test_a_leaf_over_an_l1_ball_has_the_point_of_its_maximum() -> None:
    network, ball = (
        network_of(random_layers(np.random.default_rng(4), (5, 6, 4, 2))),
        NormBall(cube(5), np.full(5, 0.4), 0.7, 1),
    )
    relaxed = Relaxed.of(network, crown_bounds(network, ball))
    values = network.values(np.full(5, 0.45))
    signs = np.concatenate([np.sign(values[one.source][one.free]) for one in relaxed.layers])[None]
    rows = RowSlopes(relaxed, np.ones((1, 2)), np.zeros(signs.shape), signs)
    goal = np.array([-30.0])
    found = least(rows, ball, lowered(rows, ball, np.array([np.inf]), goal, (0,)), goal, 300)
    assert found.upper[0] == pytest.approx(rows.reached()[0], abs=1e-7)
    assert np.abs(rows.points[0] - ball.centre).sum() <= 0.7 + 1e-9


def settled(relaxed: Relaxed, layer: RowLayer, signs: FloatArray) -> IntArray:
    """Return the phase of each neuron of a layer: the one supposed, or the only one it has."""
    result = np.where(relaxed.bounds[layer.source].lower >= 0, 1, -1)
    result[layer.free] = signs[layer.places]
    return result
