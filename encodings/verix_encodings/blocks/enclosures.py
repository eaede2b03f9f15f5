"""Piecewise-linear enclosures: of smooth activations, and of sums of products.

**Smooth activations** ``a = σ(z)`` with ``z ∈ [l, u]``.

With breakpoints ``l = p_0 ≤ … ≤ p_K = u`` and, for each segment, a strip around the graph,
``s_k x + b⁻_k ≤ σ(x) ≤ s_k x + b⁺_k`` on ``[p_{k−1}, p_k]``, the multiple-choice formulation of the
union of the strips (Vielma, Ahmed, Nemhauser, Operations Research 58(2), 2010, §3):

    d_k = e_{k−1} − e_k ≥ 0,   e_0 = 1,   e_K = 0     one segment, of those in order
    e_k ∈ {0, 1}, 0 < k < K                           e_k = 1: z lies beyond p_k
    Σ_k z_k = z,   p_{k−1} d_k ≤ z_k ≤ p_k d_k        z lies in it
    Σ_k (s_k z_k + b⁻_k d_k) ≤ a ≤ Σ_k (s_k z_k + b⁺_k d_k)

Its linear relaxation is the convex hull of the union. The binaries are the ``e_k`` and not the
``d_k``, so that a branch halves the interval instead of excluding one segment from it. (Differences
of intercepts, rounded, multiply ``e_k``: the slack in the lines covers this rounding.)

A neuron whose single strip is thin, of a height of at most ``0.01 / K²``, gets no binary, and
neither does any with ``K = 1``:

    s⁻ z + b⁻ ≤ a ≤ s⁺ z + b⁺,   s z + b⁻' ≤ a ≤ s z + b⁺'       the best lines, and the strip

The program holds the network's values and more: a bound on it holds for the network, but a point of
it may not be a run of the network. The lines are those of ``bounds.strips``.

**Sums of products** ``v_i = Σ_k x_p y_q``: McCormick's envelope, on segments of one factor.

With ``x ∈ [l, u]`` and ``y ∈ [c, d]``, a column ``w`` for each product, and

    w ≥ l y + c x − l c,   w ≥ u y + d x − u d           McCormick, Math. Programming 10, 1976
    w ≤ u y + c x − u c,   w ≤ l y + d x − l d
    v_i = Σ_k w_k

For the factor ``x`` in segments ``p_0 = l < p_1 < … < p_K = u``, the union of the envelopes
(Karuppiah, Grossmann, Computers & Chemical Engineering 30, 2006): with ``d_s`` as above,
shared by all products of ``x``, and ``y = Σ_s y_s``,
``c d_s ≤ y_s ≤ d d_s``, ``x = Σ_s x_s``, ``p_{s−1} d_s ≤ x_s ≤ p_s d_s``,

    w ≥ Σ_s (p_{s−1} y_s + c x_s − p_{s−1} c d_s),   and so for the other three

Many products get no segments, and even more get the two parallel planes of ``kinds.product``.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.blocks.layers import define
from verix_encodings.bounds.curves import SmoothFunction
from verix_encodings.bounds.interval import Interval, Late, never
from verix_encodings.bounds.strips import (
    best_lines,
    breakpoints,
    chord_slope,
    intercepts,
    value_range,
)
from verix_encodings.program import Expressions, ProgramBuilder

_THIN = 0.01
# segments that are added in about a tenth of a second
_PIECES = 2**15


def enclose_smooth(
    builder: ProgramBuilder,
    label: str,
    function: SmoothFunction,
    z: Expressions,
    interval: Interval,
    *,
    segments: int,
    late: Late = never,
) -> Expressions:
    """Enclose ``σ`` of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i`` and ``a_label_i`` for neuron ``i``, ``zs_label_k`` and
    ``e_label_k`` for segments, numbered through. Raises ``TimeoutError`` once ``late()``, which is
    called for each block of neurons.
    """
    everything = np.arange(interval.lower.size)
    z_columns = define(builder, f"z_{label}", z, interval, everything)
    l, u = interval.lower, interval.upper
    a_columns = builder.add_columns(f"a_{label}", everything, *value_range(function, l, u))
    slope = chord_slope(function, l, u)
    below, above = intercepts(function, l, u, slope)
    thin = (above - below <= _THIN / segments**2) | (segments == 1)
    single, several = np.flatnonzero(thin), np.flatnonzero(~thin)
    s_low, b_low, s_high, b_high = best_lines(function, l[single], u[single])
    none = np.full(single.size, np.inf)
    for name, s, lower, upper in (
        ("below", s_low, b_low, none),
        ("above", s_high, -none, b_high),
        ("strip", slope[single], below[single], above[single]),
    ):
        terms = [(1.0, a_columns[single]), (-s, z_columns[single])]
        builder.add_rows(f"smooth_{name}_{label}", single, terms, lower, upper)
    at_once = max(1, _PIECES // segments)
    for first in range(0, several.size, at_once):
        if late():
            raise TimeoutError("time is up before the program is complete")
        block = several[first : first + at_once]
        points, start = breakpoints(function, l[block], u[block], segments), first * segments
        own = z_columns[block], a_columns[block]
        _multiple_choice(
            builder, label, function, points=points, neurons=block, columns=own, first=start
        )
    return Expressions.of_columns(a_columns)


def _between(count: int, segments: int) -> tuple[IntArray, sp.csr_array, FloatArray]:
    """Return which of ``count`` segments have one behind them, and the ``d = f + E e`` of all."""
    numbers = np.arange(count)
    beyond = np.flatnonzero((numbers + 1) % segments)
    ones, entries, shape = np.ones(beyond.size), np.arange(beyond.size), (count, beyond.size)
    ending = sp.csr_array((ones, (beyond, entries)), shape)
    starting = sp.csr_array((ones, (beyond + 1, entries)), shape)
    return beyond, starting - ending, (numbers % segments == 0).astype(np.float64)


def _sums(count: int, width: int) -> sp.csr_array:
    """Return the matrix of the sums of so many groups, of the same width."""
    numbers = np.arange(count * width)
    entries = np.ones(numbers.size), (numbers // width, numbers)
    return sp.csr_array(entries, shape=(count, numbers.size))


def _pieces(
    builder: ProgramBuilder, name: str, points: FloatArray, first: int = 0
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the ends of segments between ``points``, entry by entry, and a column in each."""
    start, end = points[:-1].T.reshape(-1), points[1:].T.reshape(-1)
    ends = np.minimum(start, 0.0), np.maximum(end, 0.0)
    return start, end, builder.add_columns(name, first + np.arange(start.size), *ends)


def _multiple_choice(
    builder: ProgramBuilder,
    label: str,
    function: SmoothFunction,
    *,
    points: FloatArray,
    neurons: IntArray,
    columns: tuple[IntArray, IntArray],
    first: int,
) -> None:
    """Add the segments between ``points`` of ``neurons``, whose ``z`` and ``a`` are ``columns``."""
    segments = points.shape[0] - 1
    start, end, parts = _pieces(builder, f"zs_{label}", points, first)
    slope = chord_slope(function, start, end)
    below, above = intercepts(function, start, end, slope)
    numbers = np.arange(start.size)
    beyond, chosen, constant = _between(start.size, segments)
    e_columns = builder.add_columns(f"e_{label}", first + beyond, 0.0, 1.0, integer=True)
    z_columns, a_columns = columns
    total = _sums(neurons.size, segments)
    inner = beyond[beyond % segments > 0]
    builder.add_rows(f"order_{label}", first + inner, [(chosen[inner, :], e_columns)], 0.0, np.inf)
    builder.add_rows(f"split_{label}", neurons, [(total, parts), (-1.0, z_columns)], 0.0, 0.0)
    for name, point, lower, upper in (("start", start, 0.0, np.inf), ("end", end, -np.inf, 0.0)):
        terms = [(1.0, parts), (-sp.diags_array(point) @ chosen, e_columns)]
        shift = point * constant
        builder.add_rows(
            f"segment_{name}_{label}", first + numbers, terms, lower + shift, upper + shift
        )
    sides = ("below", below, 0.0, np.inf), ("above", above, -np.inf, 0.0)
    for name, intercept, lower, upper in sides:
        terms = [
            (1.0, a_columns),
            (-total @ sp.diags_array(slope), parts),
            (-total @ sp.diags_array(intercept) @ chosen, e_columns),
        ]
        shift = total @ (intercept * constant)
        builder.add_rows(f"segments_{name}_{label}", neurons, terms, lower + shift, upper + shift)


# products up to which each one has segments; beyond, an LP takes seconds
_SEGMENTED = 400
# the slack of a row, relative to the magnitude of its terms: three roundings
_SLACK = 2.0**-50


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """One side of products: the expressions and bounds of its value, and entries (size, terms)."""

    values: Expressions
    interval: Interval
    indices: IntArray


def enclose_products(
    builder: ProgramBuilder,
    label: str,
    columns: IntArray,
    one: Factors,
    other: Factors,
    *,
    segments: int,
    late: Late,
) -> Expressions:
    """Let ``columns`` enclose sums of products; return them. ``TimeoutError`` once ``late()``."""
    if late():
        raise TimeoutError("time is up before the program is complete")
    size, terms = one.indices.shape
    # the segments are those of the factor with fewer entries
    if np.unique(one.indices).size > np.unique(other.indices).size:
        one, other = other, one
    x, x_place = _defined(builder, f"x_{label}", one)
    y, y_place = _defined(builder, f"y_{label}", other)
    p, q = x_place[one.indices].reshape(-1), y_place[other.indices].reshape(-1)
    l, u, c, d = (
        end[side.indices.reshape(-1)]
        for side in (one, other)
        for end in (side.interval.lower, side.interval.upper)
    )
    numbers = np.arange(p.size)
    corners = np.stack([l * c, l * d, u * c, u * d])
    low, high = corners.min(axis=0), corners.max(axis=0)
    wider = _SLACK * np.maximum(np.abs(low), np.abs(high))
    w = builder.add_columns(f"w_{label}", numbers, low - wider, high + wider)
    sums = [(1.0, columns), (-_sums(size, terms), w)]
    builder.add_rows(f"sum_{label}", np.arange(size), sums, 0.0, 0.0)
    slack = _SLACK * 4.0 * np.abs(corners).max(axis=0)
    for name, a, b, sense in _envelope(l, u, c, d):
        # sense (w − a y − b x + a b) ≥ 0
        terms_ = [(1.0, w), (-a, y[q]), (-b, x[p])]
        least = -a * b - slack if sense > 0 else np.full(p.size, -np.inf)
        most = np.full(p.size, np.inf) if sense > 0 else -a * b + slack
        builder.add_rows(f"product_{name}_{label}", numbers, terms_, least, most)
    if segments > 1 and p.size <= _SEGMENTED:
        _segmented(builder, label, (x, p, one), (y, q), w=w, ends=(l, u, c, d), segments=segments)
    return Expressions.of_columns(columns)


def _envelope(
    l: FloatArray, u: FloatArray, c: FloatArray, d: FloatArray
) -> tuple[tuple[str, FloatArray, FloatArray, int], ...]:
    """Return the names, the ends ``a`` and ``b``, and the senses of McCormick's four rows."""
    return ("low", l, c, 1), ("high", u, d, 1), ("over", u, c, -1), ("above", l, d, -1)


def _defined(builder: ProgramBuilder, name: str, side: Factors) -> tuple[IntArray, IntArray]:
    """Return columns for the entries that a side reads, and the place of each entry among them."""
    which = np.unique(side.indices)
    place = np.zeros(side.interval.lower.size, dtype=np.intp)
    place[which] = np.arange(which.size)
    return define(builder, name, side.values, side.interval, which), place


def _segmented(
    builder: ProgramBuilder,
    label: str,
    one: tuple[IntArray, IntArray, Factors],
    other: tuple[IntArray, IntArray],
    *,
    w: IntArray,
    ends: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    segments: int,
) -> None:
    """Add the union of the envelopes on segments of the first factor."""
    (x, p, side), (y, q) = one, other
    which = np.unique(side.indices)
    lower, upper = side.interval.lower[which], side.interval.upper[which]
    points = lower + (upper - lower) * np.linspace(0.0, 1.0, segments + 1)[:, None]
    points[-1] = upper
    points = np.maximum.accumulate(np.clip(points, lower, upper), axis=0)
    k = segments
    # parts of x, entry by entry, and the binaries between them
    start, end, parts = _pieces(builder, f"xs_{label}", points)
    numbers = np.arange(start.size)
    share = builder.add_columns(f"d_{label}", numbers, 0.0, 1.0)
    beyond, chosen, first = _between(start.size, k)
    e = builder.add_columns(f"e_{label}", beyond, 0.0, 1.0, integer=True)
    builder.add_rows(f"share_{label}", numbers, [(1.0, share), (-chosen, e)], first, first)
    terms = [(_sums(x.size, k), parts), (-1.0, x)]
    builder.add_rows(f"split_x_{label}", np.arange(x.size), terms, 0.0, 0.0)
    builder.add_rows(f"start_x_{label}", numbers, [(1.0, parts), (-start, share)], 0.0, np.inf)
    builder.add_rows(f"end_x_{label}", numbers, [(1.0, parts), (-end, share)], -np.inf, 0.0)
    # parts of y for each product
    l, u, c, d = ends
    pieces = np.arange(p.size * k)
    of = np.repeat(np.arange(p.size), k)
    place = np.repeat(p, k) * k + np.tile(np.arange(k), p.size)
    ys = builder.add_columns(f"ys_{label}", pieces, np.minimum(c, 0.0)[of], np.maximum(d, 0.0)[of])
    gather, products = _sums(p.size, k), np.arange(p.size)
    terms = [(gather, ys), (-1.0, y[q])]
    builder.add_rows(f"split_y_{label}", products, terms, 0.0, 0.0)
    for name, end_y, low, high in (("start", c, 0.0, np.inf), ("end", d, -np.inf, 0.0)):
        terms = [(1.0, ys), (-end_y[of], share[place])]
        builder.add_rows(f"{name}_y_{label}", pieces, terms, low, high)
    magnitude = np.maximum(np.abs(l), np.abs(u)) * np.maximum(np.abs(c), np.abs(d))
    slack = _SLACK * 4.0 * (k + 1) * magnitude
    for name, a, b, sense in _envelope(start, end, c, d):
        # sense (w − Σ_s (a_s y_s + b x_s − a_s b d_s)) ≥ 0
        at, by = a[place], b[of]
        scaled = [sp.csr_array((v, (of, pieces)), shape=gather.shape) for v in (-at, -by, at * by)]
        columns = ys, parts[place], share[place]
        terms = [(1.0, w), *zip(scaled, columns, strict=True)]
        least, most = (-slack, np.inf) if sense > 0 else (-np.inf, slack)
        builder.add_rows(f"pieces_{name}_{label}", products, terms, least, most)
