"""Kinds of nodes that say little of themselves: every algorithm is right about them, if loose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.support.batch_enclosures import (
    assert_boxes_enclose,
    assert_parts_agree,
    assert_values_enclosed,
    inputs,
)
from tests.support.random_networks import cube
from tests.support.scipy_reference import optimum
from verix_encodings import (
    RECIPROCAL,
    Affine,
    Curve,
    Elementwise,
    Interval,
    Network,
    Node,
    Product as Products,
    Relu,
    SmoothFunction,
    crown_bounds,
    encode,
    interval_bounds,
    power,
    slope_bounds,
)
from verix_encodings.arrays import FloatArray, relative_error
from verix_encodings.bounds.curves import LOG
from verix_encodings.bounds.interval import Range
from verix_encodings.kinds.node import Ranges
from verix_encodings.network import batch_gradients, batch_values
from verix_encodings.safe_bounds import encoding_error, evaluation_error

pytestmark = pytest.mark.usefixtures("matrix_storage")


@dataclass(frozen=True, slots=True)
class Step(Elementwise):
    """1 where ``z ≥ 0``, 0 elsewhere: no line, no slope, no phase."""

    source: int

    def apply(self, z: FloatArray) -> FloatArray:
        return np.asarray(z >= 0, dtype=np.float64)

    def range_of(self, lower: FloatArray, upper: FloatArray) -> Range:
        return self.apply(lower), self.apply(upper)


@dataclass(frozen=True, slots=True)
class Kink(Elementwise):
    """``min(|z|, 1)`` with lines of slopes ±1, and slopes in [−1, 1]."""

    source: int

    def apply(self, z: FloatArray) -> FloatArray:
        return np.minimum(np.abs(z), 1.0)

    def range_of(self, lower: FloatArray, upper: FloatArray) -> Range:
        ends = self.apply(lower), self.apply(upper)
        least = np.where((lower < 0) & (upper > 0), 0.0, np.minimum(*ends))
        return least, np.maximum(*ends)

    def lines_of(
        self, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        low, high = self.range_of(lower, upper)
        flat = np.zeros_like(low)
        # |z| is above the function; below it is nothing but its least value
        slope = np.where(lower >= 0, 1.0, np.where(upper <= 0, -1.0, 0.0))
        return flat, low, slope, np.where(slope == 0, high, 0.0)

    def slope_range(self, lower: FloatArray, upper: FloatArray) -> Range:
        return np.full_like(lower, -1.0), np.ones_like(upper)


@dataclass(frozen=True, slots=True)
class Product(Node):
    """The products of the entries of two values."""

    one: int
    other: int

    @property
    def sources(self) -> tuple[int, ...]:
        return self.one, self.other

    def size(self, sizes: Sequence[int], nodes: Sequence[Node]) -> int:
        if sizes[self.one] != sizes[self.other]:
            raise ValueError("multiplies values of different sizes")
        return sizes[self.one]

    def value(self, values: Sequence[FloatArray]) -> FloatArray:
        return values[self.one] * values[self.other]

    def enclosure(self, of: Ranges) -> Range:
        ends = np.stack([a * b for a in of(self.one) for b in of(self.other)])
        error = relative_error(1) * np.abs(ends).max(axis=0)
        return ends.min(axis=0) - error, ends.max(axis=0) + error

    def renumbered(self, number: Callable[[int], int]) -> "Product":
        return replace(self, one=number(self.one), other=number(self.other))


KINDS: dict[str, Callable[[int], Node]] = {
    "step": Step,
    "kink": Kink,
    "product": lambda value: Product(value, value - 1),
}


def network_with(kind: str, rng: np.random.Generator) -> Network:
    """Two affine maps and ReLUs, with nodes of the kind behind each, all read by the output."""

    def affine(*sources: int, rows: int = 4) -> Affine:
        terms = ((s, rng.normal(size=(rows, 3 if s == 0 else 4))) for s in sources)
        return Affine(tuple(terms), rng.normal(size=rows) / 2)

    first = [affine(0), Relu(1), KINDS[kind](2)]
    second = [affine(2, 3), KINDS[kind](4) if kind != "product" else Product(4, 3)]
    return Network((3,), (*first, *second, Relu(4), affine(5, 6, rows=2)))


def some_box(rng: np.random.Generator) -> Interval:
    ends = np.sort(rng.uniform(-1.5, 1.5, (2, 3)), axis=0)
    return Interval(*ends)


def off(value: FloatArray) -> FloatArray:
    return np.full(value.shape, 1e-12)


every_run = pytest.mark.parametrize(("kind", "seed"), [*product(KINDS, range(5))])


@every_run
def test_no_value_is_outside_of_its_bounds(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    values = batch_values(network, inputs(box, rng))
    assert_values_enclosed(network, box, values, off)
    one = values[0][:, 7]
    for single, several in zip(network.values(one), values, strict=True):
        np.testing.assert_allclose(single, several[:, 7], atol=1e-12)


@every_run
def test_boxes_in_a_batch_have_bounds_of_their_own(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    assert_boxes_enclose(network, box, rng, off)


@every_run
def test_slopes_hold_or_say_nothing(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    lower, upper = slope_bounds(network, crown_bounds(network, box))
    if kind != "kink":
        assert not np.isfinite(lower).any()
        assert not np.isfinite(upper).any()
        return
    points = inputs(box, rng)
    ends = batch_values(network, points)[-1]
    way = points[:, 1:] - points[:, :-1]
    most = np.maximum(upper @ np.maximum(way, 0), 0) - np.minimum(lower, 0) @ np.maximum(-way, 0)
    moved = np.where(way > 0, upper[..., None] * way, lower[..., None] * way).sum(axis=1)
    assert np.all(ends[:, 1:] - ends[:, :-1] <= np.maximum(most, moved) + 1e-9)
    gradients = batch_gradients(network, batch_values(network, points), np.zeros(300, np.intp))
    assert np.isfinite(gradients).all()


@every_run
def test_a_part_of_the_network_has_its_values(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    assert_parts_agree(network, crown_bounds(network, box), inputs(box, rng), rng)


@every_run
def test_a_program_has_every_run_and_is_never_called_exact(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    bounds = crown_bounds(network, box)
    encoding = encode(network, bounds)
    assert not network.exact
    highest = batch_values(network, inputs(box, rng))[-1].max(axis=1)
    assert encoding_error(network, bounds) < 1e-9
    for output in range(2):
        cost, constant = encoding.output.row(output, encoding.program.columns)
        least, _ = optimum(encoding.program, -cost)
        assert constant - least >= highest[output] - 1e-7
        if kind != "product":  # its program has no lines
            assert constant - least <= bounds[-1].upper[output] + 1e-6


@pytest.mark.parametrize("kind", ["step", "kink"])
def test_the_error_of_an_evaluation_covers_a_jump(kind: str) -> None:
    """An argument that is off by its error may be on the other side of a jump."""
    first = Affine(((0, np.array([[0.1, 0.2, -0.3]])),), np.zeros(1))
    network = Network((3,), (first, KINDS[kind](1)))
    bounds = interval_bounds(network, Interval(np.ones(3), np.ones(3)))
    (error,) = evaluation_error(network, bounds)
    # 0.1 + 0.2 − 0.3 is 5.6e-17 in float64, and −2.8e-17 for the stored numbers
    assert error >= 1.0 if kind == "step" else 0 < error < 1e-12


def test_the_error_of_a_product_covers_those_of_its_factors() -> None:
    weights = [0.1, 0.2, 0.3]
    first = Affine(((0, np.array([weights])),), np.zeros(1))
    network = Network((3,), (first, Product(1, 1)))
    (error,) = evaluation_error(network, interval_bounds(network, Interval(np.ones(3), np.ones(3))))
    exact = sum(map(Fraction, weights)) ** 2
    off = abs(Fraction(float(network.evaluate(np.ones(3))[0])) - exact)
    assert 0 < off <= Fraction(float(error)) < Fraction(1, 10**12)


@pytest.mark.parametrize("function", [power(0.5), power(0.3), power(1.5)])
@pytest.mark.parametrize("low", [0.0, 1e-18, 1e-12, 0.2])
def test_the_error_of_a_root_covers_arguments_next_to_zero(
    function: SmoothFunction, low: float
) -> None:
    off, start, end = 1e-14, np.array([low]), np.array([low + 1.0])
    error = Curve(0, function).evaluation_error([np.array([off])], [Interval(start, end)])
    steps = np.geomspace(1e-20, 1.0, 2000) - 1e-20
    for true in (low + steps, low + 1.0 - steps):
        for computed in (np.maximum(true - off, 0.0), true + off):
            assert np.abs(function.evaluate(computed) - function.evaluate(true)).max() <= error[0]
    assert error[0] <= 10 * off ** min(float({"sqrt": 0.5}.get(function.name, 0.3)), 1.0)


def test_the_error_of_a_logarithm_next_to_zero_has_no_bound() -> None:
    box, off = Interval(np.array([1e-15]), np.ones(1)), [np.array([1e-14])]
    for function in (LOG, RECIPROCAL):
        assert Curve(0, function).evaluation_error(off, [box])[0] == np.inf


def test_rounding_takes_no_product_below_zero() -> None:
    one, other = Interval(np.zeros(2), np.full(2, 0.7)), Interval(np.zeros(2), np.full(2, 3.3))
    pairs = np.array([[0, 1]]), np.array([[1, 0]])
    product = Products(0, 1, *pairs)
    ends = [(side.lower, side.upper) for side in (one, other)]
    assert product.enclosure(ends.__getitem__)[0].tolist() == [0.0]
    ends[1] = np.array([-1e-30, 0.0]), other.upper
    assert product.enclosure(ends.__getitem__)[0][0] < 0


def test_a_node_that_does_not_fit_is_refused_by_its_number() -> None:
    first = Affine(((0, np.ones((2, 3))),), np.zeros(2))
    with pytest.raises(ValueError, match="node 1 multiplies values of different sizes"):
        Network((3,), (first, Product(0, 1)))


def test_counts_are_told_by_kind() -> None:
    network = network_with("step", np.random.default_rng(0))
    assert network.counts == {"ReLUs": 8, "other functions": 8}
    assert network.enclosed == {"step"}
    assert interval_bounds(network, cube(3))[3].upper.max() <= 1.0
