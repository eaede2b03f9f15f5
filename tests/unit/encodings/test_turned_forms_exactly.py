"""Turned planes and lines in exact arithmetic: above products and curves, roundings and all."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

from verix_encodings import Affine, Interval, Network, crown_bounds, row_slopes
from verix_encodings.alpha import lowered
from verix_encodings.arrays import FloatArray, IntArray, dense
from verix_encodings.bounds import curves, lines, strips
from verix_encodings.bounds.curves import SMOOTH_FUNCTIONS, SmoothFunction
from verix_encodings.bounds.interval import Range
from verix_encodings.bounds.strips import intercepts
from verix_encodings.interval_bounds import narrowed_forms
from verix_encodings.kinds import elementwise, product
from verix_encodings.kinds.elementwise import Curve, Smooth
from verix_encodings.kinds.node import Node
from verix_encodings.kinds.product import BatchProducts, Product
from verix_encodings.row_slopes import Relaxed, RowSlopes

Exact = Callable[[Fraction], Fraction]

# what products of numbers near the least normal one lose: no margin is that close
UNDERFLOW = Fraction(1, 2**900)
_ROWS = 6


def high(function: Callable[[mpmath.mpf], mpmath.mpf]) -> Exact:
    """Return ``function`` to 80 digits: far below any slack of a line."""

    def found(x: Fraction) -> Fraction:
        with mp.workdps(80):
            value = function(mpmath.mpf(x.numerator) / x.denominator)
            sign, mantissa, exponent, _ = value._mpf_
        # of what underflows fractions would have millions of digits
        mantissa = 0 if exponent < -2000 else mantissa
        whole = Fraction(int(-mantissa if sign else mantissa))
        return Fraction(whole * Fraction(2) ** int(max(exponent, -2000)))

    return found


def gelu(x: mpmath.mpf) -> mpmath.mpf:
    # beyond, ncdf is 0 or 1 to more than 300 digits, and slow
    return x * mpmath.ncdf(x) if abs(x) < 40 else mpmath.mpf(max(x, 0))


def sigmoid(x: mpmath.mpf) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-x))


CURVES: dict[str, tuple[SmoothFunction, Exact]] = {
    "softsign": (SMOOTH_FUNCTIONS["softsign"], lambda x: x / (1 + abs(x))),
    "square": (curves.SQUARE, lambda x: x * x),
    "cube": (curves.power(3.0), lambda x: x * x * x),
    "reciprocal": (curves.RECIPROCAL, lambda x: 1 / x),
    "tanh": (SMOOTH_FUNCTIONS["tanh"], high(mpmath.tanh)),
    "sigmoid": (SMOOTH_FUNCTIONS["sigmoid"], high(sigmoid)),
    "gelu": (SMOOTH_FUNCTIONS["gelu"], high(gelu)),
    "exp": (curves.EXP, high(mpmath.exp)),
    "sqrt": (curves.SQRT, high(mpmath.sqrt)),
    "sin": (curves.SIN, high(mpmath.sin)),
}
POSITIVE = ("reciprocal", "sqrt")


def intervals(rng: np.random.Generator, count: int, least: float, most: float) -> Range:
    """Return intervals of all magnitudes between powers of ten; a third are points, or nearly."""
    middle = rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(least, most, count)
    wide = rng.choice([0.0, 1e-15, 1e-8, 0.1, 1.0, 30.0], count) * np.abs(middle)
    low, upper = middle - rng.random(count) * wide, middle + rng.random(count) * wide
    thin = rng.random(count) < 0.1
    return low, np.where(thin, np.nextafter(low, np.inf), np.maximum(low, upper))


def points_of(low: FloatArray, upper: FloatArray, rng: np.random.Generator) -> list[list[Fraction]]:
    """Return exact points: both ends, corners, and a mixture of the ends on a grid."""
    found = []
    for way in range(8):
        steps = rng.integers(0, 2, low.size) * 8 if way < 5 else rng.integers(0, 9, low.size)
        steps = np.full(low.size, 8 * way) if way < 2 else steps
        pairs = zip(low.tolist(), upper.tolist(), steps.tolist(), strict=True)
        found.append([(Fraction(a) * (8 - n) + Fraction(b) * n) / 8 for a, b, n in pairs])
    return found


def turns_of(rng: np.random.Generator, rows: int, count: int) -> FloatArray:
    """Return turns from 0 to 1, with the ends, the usual one, and the numbers beside it."""
    beside = [0.0, 1.0, 0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), np.nextafter(1, 0), 1e-300]
    return np.where(
        rng.random((rows, count)) < 0.4,
        rng.random((rows, count)),
        rng.choice(beside, (rows, count)),
    )


def dot(c: FloatArray, x: Sequence[Fraction]) -> Fraction:
    return sum((Fraction(k) * z for k, z in zip(c.tolist(), x, strict=True)), Fraction(0))


def sums_of_products(first: IntArray, second: IntArray, x: list[Fraction]) -> list[Fraction]:
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return [sum((x[p] * x[q] for p, q in zip(*one, strict=True)), Fraction(0)) for one in pairs]


def above(
    node: Node,
    whole: Range,
    part: Range,
    exact: Callable[[list[Fraction]], list[Fraction]],
    rng: np.random.Generator,
) -> list[Fraction]:
    """Return how far forms in random turns are above ``c·v`` at points of the range of each row.

    The source lies in the ``whole`` range, and in half of the rows in a ``part`` of it.
    """
    network = Network((whole[0].size,), (node,))
    with np.errstate(all="ignore"):
        bounds = (Interval(*whole), Interval(*node.enclosure(lambda _: whole)))
        narrow = (np.arange(_ROWS) % 2 == 0)[:, None]
        low, high = (np.where(narrow, *ends) for ends in zip(part, whole, strict=True))
        forms = narrowed_forms(network, bounds, {0: (low, high)}, np.arange(_ROWS))[1]
        c = rng.choice([-1.0, 0.0, 1.0], (_ROWS, network.output_size), p=[0.4, 0.2, 0.4])
        c *= 10.0 ** rng.uniform(-6, 6, c.shape)
        turns = turns_of(rng, _ROWS, network.output_size * node.turns)
        shift, lost, ((_, rows),) = forms.replaced(c, turns, None)
        slopes = dense(rows)
    constants = shift.tolist(), lost.tolist()
    found = []
    for row in range(_ROWS):
        constant = sum(Fraction(one[row]) for one in constants) + UNDERFLOW
        points = points_of(low[row], high[row], rng)
        found += [constant + dot(slopes[row], x) - dot(c[row], exact(x)) for x in points]
    return found


def inside(low: FloatArray, upper: FloatArray, rng: np.random.Generator) -> Range:
    """Return intervals inside others; some are the whole, and some are points."""
    ends = np.sort(np.clip(low + rng.random((2, low.size)) * (upper - low), low, upper), axis=0)
    whole, point = rng.random(low.size) < 0.3, rng.random(low.size) < 0.2
    first = np.where(whole, low, ends[0])
    return first, np.where(point, first, np.where(whole, upper, ends[1]))


def products_above(seed: int, least: float = -140.0, most: float = 140.0) -> list[Fraction]:
    """Return how far planes are above sums of products of factors between powers of ten."""
    rng = np.random.default_rng(seed)
    size, terms = (int(n) for n in rng.integers(1, 5, 2))
    first, second = rng.integers(0, 5, (2, size, terms))
    # factors of one value may be one entry, and their magnitudes differ
    centre = rng.uniform(least, most)
    low, upper = intervals(rng, 5, centre - 3.0, centre + 3.0)

    node, exact = Product(0, 0, first, second), partial(sums_of_products, first, second)
    return above(node, (low, upper), inside(low, upper, rng), exact, rng)


def lines_above(name: str, seed: int) -> list[Fraction]:
    """Return how far lines are above a curve on intervals that are small, moderate or large."""
    rng = np.random.default_rng(seed)
    function, exact = CURVES[name]
    least, most = rng.choice([[-12.0, -6.0], [-2.0, 0.5], [-1.0, 1.5], [2.0, 2.5]])
    low, upper = intervals(rng, 5, least, most)
    if name in POSITIVE:
        low, upper = np.abs(low), np.abs(low) + (upper - low)
    if name in ("exp", "sin"):
        low, upper = np.clip(low, -120.0, 120.0), np.clip(upper, -120.0, 120.0)
    node = (Smooth if name in SMOOTH_FUNCTIONS else Curve)(0, function)
    part = inside(low, upper, rng)
    return above(node, (low, upper), part, lambda x: [exact(z) for z in x], rng)


def rows_above(name: str, seed: int) -> list[Fraction]:
    """Return how far bounds of rows are above these at exact points, after steps on turns."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 3, (2, 3, 2))
    node = Product(0, 0, first, second) if name == "product" else Curve(0, curves.SQUARE)
    low = rng.uniform(-1.5, 0.5, 3)
    box = Interval(low, low + rng.uniform(0.2, 2.0, 3))
    matrix, straight = rng.normal(size=(2, 2, 3))
    network = Network((3,), (node, Affine(((1, matrix), (0, straight)), np.zeros(2))))
    relaxed = Relaxed.of(network, crown_bounds(network, box))
    ways = rng.normal(size=(4, 2))
    rows, never = RowSlopes(relaxed, ways, relaxed.first_dials(4)), np.full(4, -np.inf)
    upper = lowered(rows, box, np.full(4, np.inf), never, tuple(range(12))).upper
    found = []
    for x in (*points_of(low, box.upper, rng), *points_of(low, box.upper, rng)):
        v = sums_of_products(first, second, x) if name == "product" else [z * z for z in x]
        outputs = [dot(a, v) + dot(b, x) for a, b in zip(matrix, straight, strict=True)]
        pairs = zip(upper.tolist(), ways, strict=True)
        found += [Fraction(bound) - dot(way, outputs) for bound, way in pairs]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_turned_planes_are_above_products(seed: int) -> None:
    assert min(products_above(seed)) >= 0


@pytest.mark.parametrize("seed", range(4))
def test_turned_planes_of_the_least_and_the_greatest_numbers_are_above_products(seed: int) -> None:
    assert min(products_above(seed, -305.0, -300.0)) >= 0
    assert min(products_above(seed, 138.0, 142.0)) >= 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", CURVES)
def test_turned_lines_are_above_curves(name: str, seed: int) -> None:
    assert min(lines_above(name, seed)) >= 0


@pytest.mark.parametrize("name", ["square", "product"])
def test_bounds_after_steps_on_turns_are_above_the_rows(name: str) -> None:
    assert min(min(rows_above(name, seed)) for seed in range(4)) >= 0


def _turn_a_factor_the_wrong_way(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = BatchProducts.replaced
    monkeypatch.setattr(
        BatchProducts, "replaced", lambda self, *rows: replaced(replace(self, r=-self.r), *rows)
    )


def _turn_beyond_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = BatchProducts.replaced
    monkeypatch.setattr(
        BatchProducts,
        "replaced",
        lambda self, row, owner, turns: replaced(self, row, owner, 2.0 * turns - 0.5),
    )


def _take_a_steeper_slope_than_the_tangent(monkeypatch: pytest.MonkeyPatch) -> None:
    def flatter(
        function: SmoothFunction,
        lower: FloatArray,
        upper: FloatArray,
        slope: FloatArray,
        touching: FloatArray,
    ) -> Range:
        return intercepts(function, lower, upper, 0.9 * slope, touching)

    monkeypatch.setattr(elementwise, "intercepts", flatter)


def _leave_out_the_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (product, lines):
        monkeypatch.setattr(module, "relative_error", lambda terms: 0.0)
    monkeypatch.setattr(strips, "_SLACK", 0.0)


def _leave_steps_unclipped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unclipped:
        def __getattr__(self, name: str) -> Any:
            return (lambda array, *ends: array) if name == "clip" else getattr(np, name)

    monkeypatch.setattr(row_slopes, "np", Unclipped())


def _planes() -> None:
    assert min(min(products_above(seed)) for seed in range(12)) >= 0


def _curves() -> None:
    for name in CURVES:
        assert min(min(lines_above(name, seed)) for seed in range(2)) >= 0


def _rows() -> None:
    for name in ("square", "product"):
        assert min(min(rows_above(name, seed)) for seed in range(4)) >= 0


@pytest.mark.parametrize(
    ("plant", "holds"),
    [
        (_turn_a_factor_the_wrong_way, _planes),
        (_turn_a_factor_the_wrong_way, _rows),
        (_turn_beyond_the_end, _planes),
        (_take_a_steeper_slope_than_the_tangent, _curves),
        (_leave_out_the_rounding, _planes),
        (_leave_out_the_rounding, _curves),
        (_leave_steps_unclipped, _rows),
    ],
)
def test_planted_faults_are_seen(
    plant: Callable[[pytest.MonkeyPatch], None],
    holds: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holds()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        holds()
