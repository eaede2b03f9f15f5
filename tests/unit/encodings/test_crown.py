"""CROWN encloses what interval arithmetic encloses, and is tighter."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.support.exact_values import assert_encloses, examples, inside, seeds
from tests.support.random_networks import (
    as_layers,
    boxed_graph,
    cube,
    network_of,
    random_box,
    random_layers,
)
from verix_encodings import (
    Affine,
    Interval,
    Network,
    Node,
    NormBall,
    Region,
    Relu,
    alpha_bounds,
    crown,
    crown_bounds,
    interval_bounds,
    pairwise_maxima,
)
from verix_encodings.arrays import dense
from verix_encodings.bounds.lines import Lines
from verix_encodings.crown import upper_form

pytestmark = pytest.mark.usefixtures("matrix_storage")


@pytest.mark.nightly
@examples(300, seeds, st.integers(4, 10))
def test_random_graphs_are_enclosed_in_exact_arithmetic(seed: int, nodes: int) -> None:
    network, box, rng = boxed_graph(seed, nodes=nodes)
    for _ in range(3):
        assert_encloses(network, box, inside(box, rng), crown_bounds)


@pytest.mark.slow
@examples(200, seeds, st.floats(0.01, 0.5))
def test_dense_networks_are_enclosed_in_exact_arithmetic(seed: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(random_layers(rng, (4, 5, 4, 3)))
    centre = rng.random(4)
    box = Interval(centre - radius, centre + radius)
    for _ in range(3):
        assert_encloses(network, box, inside(box, rng), crown_bounds)


def test_products_of_weights_that_cancel_are_off_by_their_rounding() -> None:
    rng = np.random.default_rng(0)
    box, below = Interval(np.ones(1), np.ones(1)), 0
    for first, weight, other in rng.uniform(0.5, 1.0, (100, 3)):
        second = first * weight / other
        hidden = Affine(((0, np.array([[first], [second]])),), np.zeros(2))
        difference = Affine(((1, np.array([[weight, -other]])),), np.zeros(1))
        network = Network((1,), (hidden, difference))
        bounds = interval_bounds(network, box)
        exact = Fraction(weight) * Fraction(first) - Fraction(other) * Fraction(second)
        for sign in (1, -1):
            (above,) = upper_form(network, bounds, 2, np.array([[float(sign)]])).greatest(box)
            assert Fraction(float(above)) >= sign * exact
        below += exact != 0
    assert below > 50


@pytest.mark.parametrize("seed", range(50))
def test_bounds_lie_inside_those_of_interval_arithmetic(seed: int) -> None:
    network, box, _ = boxed_graph(seed, size=4, nodes=9)
    for tight, wide in zip(crown_bounds(network, box), interval_bounds(network, box), strict=True):
        rounding = 1e-12 * (1 + wide.magnitude)
        assert np.all(tight.lower >= wide.lower - rounding)
        assert np.all(tight.upper <= wide.upper + rounding)


def test_bounds_of_outputs_are_tighter_on_dense_networks() -> None:
    ratios = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        network = network_of(random_layers(rng, (6, 8, 8, 3)))
        box = Interval(np.full(6, 0.4), np.full(6, 0.6))
        tight, wide = (m(network, box)[-1] for m in (crown_bounds, interval_bounds))
        ratios.append(np.mean(tight.upper - tight.lower) / np.mean(wide.upper - wide.lower))
    assert np.median(ratios) < 0.7


def test_a_difference_of_equal_neurons_is_seen() -> None:
    # relu(x) − relu(x) = 0: interval arithmetic cannot know, linear bounds almost can
    layers = as_layers(([[1.0], [1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0]))
    network = network_of(layers)
    box = Interval(np.array([1.0]), np.array([3.0]))
    assert interval_bounds(network, box)[-1].upper[0] == pytest.approx(2.0)
    assert crown_bounds(network, box)[-1].upper[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_one_hidden_layer_with_the_upper_relaxation_equals_its_linear_program(seed: int) -> None:
    """With non-negative output weights only λ z + β matters, and CROWN solves that LP exactly."""
    rng = np.random.default_rng(seed)
    (first, bias), _ = random_layers(rng, (4, 5, 1))
    output = rng.random((1, 5))
    network = network_of(((first, bias), (output, np.zeros(1))))
    box = cube(4)
    bounds = crown_bounds(network, box)
    l, u = bounds[1].lower, bounds[1].upper
    unstable = (l < 0) & (u > 0)
    slope = np.where(unstable, u / (u - l), l >= 0)
    intercept = np.where(unstable, -slope * l, 0.0)
    lines = output[0] * slope
    solved = linprog(-(lines @ first), bounds=[(0, 1)] * 4)
    expected = -solved.fun + lines @ bias + output[0] @ intercept
    assert upper_form(network, bounds, 3, np.eye(1)).greatest(box)[0] == pytest.approx(
        expected, abs=1e-9
    )


def test_coefficients_that_overflow_leave_the_known_bounds() -> None:
    layers = as_layers(
        ([[1e150]], [0.0]), ([[1e150], [-1e150]], [-1.0, -1.0]), ([[1.0, -1.0]], [0.0])
    )
    network = network_of(layers)
    box = Interval(np.array([-1e-160]), np.array([1e-160]))
    for tight, wide in zip(crown_bounds(network, box), interval_bounds(network, box), strict=True):
        assert np.all((wide.lower <= tight.lower) & (tight.lower <= tight.upper))
        assert np.all(tight.upper <= wide.upper)


def test_bounds_beyond_float64_are_an_overflow() -> None:
    network = network_of(as_layers(([[1e200]], [0.0]), ([[1e200]], [0.0]), ([[1.0]], [0.0])))
    with pytest.raises(OverflowError, match="overflow"):
        crown_bounds(network, Interval(np.array([-1.0]), np.array([1.0])))


@pytest.mark.slow
@pytest.mark.parametrize("norm", [None, 1, 2])
def test_sparse_coefficients_give_the_bounds_of_dense_ones(norm: int | None) -> None:
    compared = 0
    for seed in range(40):
        network, box, rng = boxed_graph(seed, size=4, nodes=9)
        region: Region = box
        if norm is not None:
            region = NormBall(box, box.lower / 2 + box.upper / 2, 0.4, norm)
        bounds = crown_bounds(network, region)
        for value in range(1, len(bounds)):
            rows = np.concatenate([np.eye(network.sizes[value]), -np.eye(network.sizes[value])])
            rows[:, rng.random(rows.shape[1]) < 0.3] = 0.0
            dense = upper_form(network, bounds, value, rows).greatest(region)
            sparse = upper_form(network, bounds, value, sp.csr_array(rows)).greatest(region)
            np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-12)
            compared += rows.shape[0]
    assert compared > 1000


def test_sparse_coefficients_count_the_rounding_errors_of_dense_ones_and_stay_as_they_were() -> (
    None
):
    network = network_of(random_layers(np.random.default_rng(0), (60, 90, 80, 3)))
    bounds = crown_bounds(network, cube(60))
    rows = np.zeros((160, network.sizes[4]))
    rows[np.arange(160), np.arange(160) % 80] = np.repeat([1.0, -1.0], 80)
    given_ = sp.csr_array(rows)
    dense, sparse = (upper_form(network, bounds, 4, c) for c in (rows, given_))
    np.testing.assert_allclose(sparse.error, dense.error, rtol=1e-9)
    np.testing.assert_array_equal(given_.toarray(), rows)


def in_blocks(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Let each block have so many rows."""
    monkeypatch.setattr(crown, "_BLOCK", 1)
    monkeypatch.setattr(crown, "_LEAST_ROWS", rows)


def test_bounds_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        network = network_of(random_layers(rng, (4, 9, 7, 3)))
        box = random_box(rng, 4)
        whole = crown_bounds(network, box)
        with monkeypatch.context() as patch:
            in_blocks(patch, 2)
            for one, other in zip(crown_bounds(network, box), whole, strict=True):
                np.testing.assert_allclose(one.lower, other.lower, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(one.upper, other.upper, rtol=1e-12, atol=1e-12)


def test_a_pass_that_ends_early_encloses_and_keeps_what_was_tightened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_blocks(monkeypatch, 2)
    network = network_of(random_layers(np.random.default_rng(1), (4, 9, 7, 3)))
    box = cube(4)
    wide, tight = interval_bounds(network, box), crown_bounds(network, box)
    looks = 0
    widths = []
    for units in range(20):
        looks = 0

        def late(units: int = units) -> bool:
            nonlocal looks
            looks += 1
            return looks > units

        found = crown_bounds(network, box, late=late)
        for one, least, most in zip(found, tight, wide, strict=True):
            assert np.all((most.lower <= one.lower) & (one.lower <= least.lower + 1e-12))
            assert np.all((least.upper - 1e-12 <= one.upper) & (one.upper <= most.upper))
        assert_encloses(network, box, inside(box, np.random.default_rng(0)), lambda *_, b=found: b)
        widths.append(sum(float(np.sum(one.upper - one.lower)) for one in found))
        if looks <= units:
            break
    # no block is begun once time is up, and each block that was done counts
    assert looks <= units
    assert units > 4
    assert np.all(np.diff(widths) <= 1e-9)
    assert widths[0] > widths[-1]


@pytest.mark.parametrize("seed", range(20))
def test_bounds_over_a_larger_box_are_kept_where_they_are_tighter(seed: int) -> None:
    network, outer, rng = boxed_graph(seed, size=4, nodes=9)
    middle = outer.lower / 2 + outer.upper / 2
    inner = Interval(middle / 2 + outer.lower / 2, middle / 2 + outer.upper / 2)
    known = alpha_bounds(network, outer)
    found = crown_bounds(network, inner, within=known)
    for tight, wide in zip(found, known, strict=True):
        assert np.all((wide.lower <= tight.lower) & (tight.upper <= wide.upper))
    for _ in range(3):
        assert_encloses(network, inner, inside(inner, rng), lambda *_: found)


def pair(p: Interval, q: Interval) -> tuple[Network, Interval]:
    """Return the maximum of two inputs, and their box."""
    nodes = pairwise_maxima(1, 0, 2, np.array([0, 1]), np.array([0]))
    box = Interval(np.append(p.lower, q.lower), np.append(p.upper, q.upper))
    return Network((2,), nodes), box


def interval(low: float, high: float) -> Interval:
    return Interval(np.array([low]), np.array([high]))


def test_linear_bounds_of_a_decided_pair_are_the_entry() -> None:
    network, box = pair(interval(0, 1), interval(1, 2))
    difference = Affine(((2, np.ones((1, 1))), (0, np.array([[0.0, -1.0]]))), [0.0])
    bounds = crown_bounds(Network((2,), (*network.nodes, difference)), box)
    assert bounds[-1].upper == pytest.approx([0], abs=1e-12)
    assert bounds[-1].lower == pytest.approx([0], abs=1e-12)


@pytest.mark.parametrize(
    ("q", "d", "above", "below"),
    [
        # z_p + (d + 4) / 5 has 2½ in the middle, the ceiling 4; z_p below
        (interval(0, 1), interval(-4, 1), (0.8, 0.2, 0.8), (1.0, 0.0)),
        # z_p + (d + 1) / 4 · 3 has 3 in the middle; z_q below
        (interval(1, 3), interval(-1, 3), (0.25, 0.75, 0.75), (0.0, 1.0)),
        # two equal ranges: the line has 4 in the middle, no less than the ceiling
        (interval(0, 4), interval(-4, 4), (0.0, 0.0, 4.0), (1.0, 0.0)),
        # bounds on d that are tight: the line has 2½ in the middle
        (interval(0, 4), interval(-1, 1), (0.5, 0.5, 0.5), (1.0, 0.0)),
    ],
)
def test_linear_bounds_of_an_open_pair(
    q: Interval, d: Interval, above: tuple[float, float, float], below: tuple[float, float]
) -> None:
    network, box = pair(interval(0, 4), q)
    for sign, expected in ((1.0, above), (-1.0, (-below[0], -below[1], 0.0))):
        form = upper_form(network, (box, d), 2, np.array([[sign]]))
        found = [*dense(form.coefficients).ravel(), *form.constant]
        assert found == pytest.approx(expected, abs=1e-12)


def test_differences_are_bounded_where_the_entries_move_together() -> None:
    # r = relu(x): r − 2 r ∈ [−1, 0] orders two entries whose ranges overlap
    twice = Affine(((1, np.array([[1.0], [2.0]])),), [0.0, 0.0])
    nodes = pairwise_maxima(3, 2, 2, np.array([1, 0]), np.array([0]))
    network = Network((1,), (Relu(0), twice, *nodes))
    assert interval_bounds(network, interval(-1, 1))[3].upper == pytest.approx([1.0])
    assert crown_bounds(network, interval(-1, 1))[3].upper == pytest.approx([0.0], abs=1e-12)


@pytest.mark.parametrize("depth", [5, 40])
def test_each_layer_is_relaxed_once(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(depth)
    nodes: list[Node] = []
    for layer in range(depth):
        nodes += [Affine(((2 * layer, rng.normal(size=(3, 3)) / 2),), np.full(3, 0.1))]
        nodes += [Relu(2 * layer + 1)]
    nodes += [Affine(((2 * depth, np.eye(3)),), np.zeros(3))]
    network, box = Network((3,), tuple(nodes)), Interval(np.full(3, -1.0), np.full(3, 1.0))
    made = []

    def counted(node: Relu, bounds: Sequence[Interval]) -> Lines:
        made.append(node)
        return lines_of(node, bounds)

    lines_of = Relu.relaxation
    monkeypatch.setattr(Relu, "relaxation", counted)
    found = crown_bounds(network, box)
    assert depth / 2 < len(made) <= depth
    monkeypatch.undo()
    # the bounds of each value are those of a pass with a relaxation of its own
    for value in range(2, len(nodes) + 1, 2):
        whole = crown_bounds(network.up_to(value), box)
        assert np.array_equal(whole[value - 1].upper, found[value - 1].upper)
        assert np.array_equal(whole[value - 1].lower, found[value - 1].lower)
