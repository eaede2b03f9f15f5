"""Bounds contain every value of a network, in real arithmetic, and are no wider than they must."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.support.exact_values import assert_encloses, examples, inside, seeds
from tests.support.random_networks import (
    as_layers,
    boxed_graph,
    network_of,
    random_box,
    random_graph,
    random_layers,
)
from verix_encodings import Affine, Interval, Network, Relu, interval_bounds
from verix_encodings.kinds.node import Cut

pytestmark = pytest.mark.usefixtures("matrix_storage")

# no products that underflow: float64 loses them without a relative error bound
reals = st.floats(-8, 8, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-60)


@examples(150, seeds)
def test_random_graphs_are_enclosed_in_exact_arithmetic(seed: int) -> None:
    network, box, rng = boxed_graph(seed)
    assert_encloses(network, box, inside(box, rng))


@pytest.mark.nightly
@examples(150, seeds)
def test_sampled_activations_of_random_graphs_lie_within_the_bounds(seed: int) -> None:
    network, box, rng = boxed_graph(seed, size=4, nodes=9)
    bounds = interval_bounds(network, box)
    for x in rng.uniform(box.lower, box.upper, (50, 4)):
        for interval, value in zip(bounds, network.values(x), strict=True):
            # the samples are rounded, so they may lie outside by about as much
            slack = 1e-12 * (1 + interval.magnitude)
            assert np.all(interval.lower - slack <= value)
            assert np.all(value <= interval.upper + slack)


@examples(150, st.lists(st.tuples(reals, reals), min_size=1, max_size=6), reals)
def test_a_point_box_encloses_the_exact_value(pairs: list[tuple[float, float]], b: float) -> None:
    row, x = zip(*pairs, strict=True)
    network = network_of(as_layers(([row], [b]), ([[1.0]], [0.0])))
    assert_encloses(network, Interval(np.array(x), np.array(x)), [Fraction(v) for v in x])


def test_rounding_is_outward_where_float64_is_wrong() -> None:
    # 1e16 + 1 − 1e16 is 0 in float64 and 1 in fact
    network = network_of(as_layers(([[1.0, 1.0, -1.0]], [0.0])))
    x = np.array([1e16, 1.0, 1e16])
    assert network.evaluate(x) != 1.0
    assert_encloses(network, Interval(x, x), [Fraction(float(v)) for v in x])


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_an_affine_map_are_its_exact_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(random_layers(rng, (4, 3)))
    box = random_box(rng, 4)
    corners = [
        network.evaluate(np.array(c)) for c in product(*zip(box.lower, box.upper, strict=True))
    ]
    output = interval_bounds(network, box)[-1]
    np.testing.assert_allclose(output.lower, np.min(corners, axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(output.upper, np.max(corners, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_over_a_point_are_its_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_graph(rng)
    x = rng.normal(size=3)
    for interval, value in zip(
        interval_bounds(network, Interval(x, x)), network.values(x), strict=True
    ):
        np.testing.assert_allclose(interval.lower, value, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(interval.upper, value, rtol=1e-10, atol=1e-12)


def test_a_relu_clips_both_ends() -> None:
    relu = Network((3,), (Relu(0),))
    output = interval_bounds(relu, Interval(np.array([-2.0, -1, 1]), np.array([-1.0, 2, 3])))[-1]
    assert output.lower.tolist() == [0, 0, 1]
    assert output.upper.tolist() == [0, 2, 3]


def test_a_constant_has_a_point_for_its_bounds() -> None:
    constant = Network((2,), (Affine((), np.array([0.0, 1.5])),))
    output = interval_bounds(constant, Interval(np.zeros(2), np.ones(2)))[-1]
    np.testing.assert_allclose(output.lower, [0.0, 1.5], atol=1e-14)
    np.testing.assert_allclose(output.upper, [0.0, 1.5], atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_takes_no_sum_below_zero_whose_terms_are_not_negative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 1, (3, 4)) * [1, 1, -1, -1] * 10.0 ** rng.integers(-9, 9, (3, 4))
    low, high = np.array([0.0, 0.0, -2.0, -3.0]), np.array([1.0, 4.0, 0.0, 0.0])
    sums = Network((4,), (Affine(((0, weights),), np.array([0.0, 0.0, 0.7])),))
    assert interval_bounds(sums, Interval(low, high))[-1].lower.tolist()[:2] == [0.0, 0.0]
    third = interval_bounds(sums, Interval(low, high))[-1].lower[2]
    assert third == pytest.approx(0.7, abs=1e-5)  # of sums up to 3e8
    # a term may be, and so may the sum
    lower, upper = low - np.array([0.0, 1e-17, 0.0, 0.0]), high + np.array([0.0, 0.0, 1e-17, 0.0])
    assert (interval_bounds(sums, Interval(lower, high))[-1].lower[:2] < 0).all()
    assert (interval_bounds(sums, Interval(low, upper))[-1].lower[:2] < 0).all()
    below = Network((4,), (Affine(((0, weights),), np.full(3, -1e-17)),))
    assert (interval_bounds(below, Interval(low, high))[-1].lower < 0).all()


@pytest.mark.parametrize("off", ["entry", "bias"])
def test_coefficients_that_cancelled_have_no_sign(off: str) -> None:
    """A true coefficient is anywhere within its rounding, as 0.1 + 0.2 - 0.3 is below zero."""
    rounding = [np.full(1, 1e-16), np.zeros(1)][:: 1 if off == "entry" else -1]
    weights, bias = ([[1.0, 1e-17]], 0.0) if off == "entry" else ([[1.0, 1.0]], 1e-17)
    affine = Affine(((0, np.array(weights)),), np.array([bias]), tuple(rounding))
    box = Interval(np.zeros(2), np.ones(2))
    assert interval_bounds(Network((2,), (affine,)), box)[-1].lower[0] <= -0.9e-16
    if off == "entry":  # one that is far above its rounding has its sign
        known = replace(affine, terms=((0, np.array([[1.0, 1e-3]])),))
        assert interval_bounds(Network((2,), (known,)), box)[-1].lower[0] == 0.0


def test_an_absolute_value_is_not_below_its_least() -> None:
    """|x| = 2 relu(x) - x, whose terms alone say less; in networks of parts of the input, too."""
    terms = ((1, 2.0 * np.eye(2)), (0, -np.eye(2)))
    network = Network((2,), (Relu(0), Affine(terms, np.zeros(2), least=0.0)))
    box = Interval(np.array([-1.0, -3.0]), np.array([2.0, 0.5]))
    first = Affine(((0, np.eye(2)),), np.zeros(2))
    behind = Network((2,), (first, *(node.renumbered(lambda k: k + 1) for node in network.nodes)))
    reading = Network(
        (2,),
        (first, Relu(1), Affine(((2, 2.0 * np.eye(2)), (0, -np.eye(2))), np.zeros(2), least=0.0)),
    )
    parts = [one.among(np.arange(2), np.zeros(2)) for one in (network, behind, reading)]
    for whole in (network, behind, reading, *parts):
        bounds = interval_bounds(whole, box)[-1]
        assert bounds.lower.tolist() == [0.0, 0.0]
        assert (bounds.upper >= [2.0, 3.0]).all()
    ends = (np.array([[-1.0, -3.0]]), np.array([[2.0, 0.5]])), (np.zeros((1, 2)), np.ones((1, 2)))
    low = network.nodes[1].over_boxes(ends.__getitem__, lambda _: np.full(2, 3.0))[0]
    assert low.tolist() == [[0.0, 0.0]]
    kept = np.arange(2)
    cut = Cut({0: kept, 1: kept}, {0: 0, 1: 1}, interval_bounds(network, box))
    part = Network((2,), (Relu(0), network.nodes[1].part(np.array([1]), cut)))
    assert interval_bounds(part, box)[-1].lower.tolist() == [0.0]


@pytest.mark.parametrize("weight", [1e200, -1e200])
def test_bounds_beyond_float64_are_an_overflow(weight: float) -> None:
    network = network_of(as_layers(([[weight]], [0.0]), ([[weight]], [0.0]), ([[1.0]], [0.0])))
    with pytest.raises(OverflowError, match=r"linear maps of value 3 .* overflow"):
        interval_bounds(network, Interval(np.array([-1.0]), np.array([1.0])))


def test_opposite_overflows_are_no_bounds() -> None:
    # ∞ − ∞ is no number, and must not pass for a bound
    network = network_of(as_layers(([[1e308, 1e308, -1e308, -1e308]], [0.0])))
    box = Interval(np.full(4, 4.0), np.full(4, 4.0))
    with pytest.raises(OverflowError, match=r"linear maps of value 1 .* overflow"):
        interval_bounds(network, box)


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0, 0.0], [1.0], "two vectors of one size, got shapes (2,) and (1,)"),
        ([[0.0]], [[1.0]], "two vectors of one size"),
        ([0.0, 2.0], [1.0, 1.0], "lower <= upper"),
        ([-np.inf], [0.0], "finite ends"),
        ([0.0], [np.inf], "finite ends"),
        ([np.nan], [0.0], "finite ends"),
    ],
)
def test_intervals_refuse_what_is_no_box(lower: object, upper: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Interval(np.array(lower), np.array(upper))
    assert message in str(caught.value)


def test_intervals_are_copies_that_nobody_can_change() -> None:
    given_lower = np.zeros(2)
    interval = Interval(given_lower, np.ones(2))
    given_lower[0] = -5
    assert interval.lower.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        interval.upper[0] = 2
