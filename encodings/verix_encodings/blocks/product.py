"""Sums of products ``v_i = Σ_k x_p y_q``: McCormick's envelope, on segments of one factor.

With ``x ∈ [l, u]`` and ``y ∈ [c, d]``, a column ``w`` for each product, and

    w ≥ l y + c x − l c,   w ≥ u y + d x − u d           McCormick, Math. Programming 10, 1976
    w ≤ u y + c x − u c,   w ≤ l y + d x − l d
    v_i = Σ_k w_k

For the factor ``x`` in segments ``p_0 = l < p_1 < … < p_K = u``, the union of the envelopes
(Karuppiah, Grossmann, Computers & Chemical Engineering 30, 2006): with ``d_s`` as in
``blocks.smooth_enclosure``, shared by all products of ``x``, and ``y = Σ_s y_s``,
``c d_s ≤ y_s ≤ d d_s``, ``x = Σ_s x_s``, ``p_{s−1} d_s ≤ x_s ≤ p_s d_s``,

    w ≥ Σ_s (p_{s−1} y_s + c x_s − p_{s−1} c d_s),   and so for the other three

Many products get no segments, and even more get the two parallel planes of ``kinds.product``.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.blocks.affine import define
from verix_encodings.bounds.interval import Interval, Late
from verix_encodings.program import Expressions, ProgramBuilder

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
    """Let ``columns`` enclose the sums of products of ``one`` and ``other``; return them.

    Raises ``TimeoutError`` once ``late()``.
    """
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
    w = builder.add_columns(
        f"w_{label}", numbers, *_widened(corners.min(axis=0), corners.max(axis=0))
    )
    total = sp.csr_array((np.ones(p.size), (numbers // terms, numbers)), shape=(size, p.size))
    builder.add_rows(
        f"sum_{label}", np.arange(size), [(np.ones(size), columns), (-total, w)], 0.0, 0.0
    )
    slack = _SLACK * 4.0 * np.abs(corners).max(axis=0)
    for name, a, b, sense in (
        ("low", l, c, 1),
        ("high", u, d, 1),
        ("over", u, c, -1),
        ("above", l, d, -1),
    ):
        # sense (w − a y − b x + a b) ≥ 0
        terms_ = [(np.ones(p.size), w), (-a, y[q]), (-b, x[p])]
        least = -a * b - slack if sense > 0 else np.full(p.size, -np.inf)
        most = np.full(p.size, np.inf) if sense > 0 else -a * b + slack
        builder.add_rows(f"product_{name}_{label}", numbers, terms_, least, most)
    if segments > 1 and p.size <= _SEGMENTED:
        _segmented(builder, label, (x, p, one), (y, q), w=w, ends=(l, u, c, d), segments=segments)
    return Expressions.of_columns(columns)


def _defined(builder: ProgramBuilder, name: str, side: Factors) -> tuple[IntArray, IntArray]:
    """Return columns for the entries that a side reads, and the place of each entry among them."""
    which = np.unique(side.indices)
    place = np.zeros(side.interval.lower.size, dtype=np.intp)
    place[which] = np.arange(which.size)
    return define(builder, name, side.values, side.interval, which), place


def _widened(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    slack = _SLACK * np.maximum(np.abs(low), np.abs(high))
    return low - slack, high + slack


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
    start, end = points[:-1].T.reshape(-1), points[1:].T.reshape(-1)
    numbers = np.arange(start.size)
    parts = builder.add_columns(
        f"xs_{label}", numbers, np.minimum(start, 0.0), np.maximum(end, 0.0)
    )
    share = builder.add_columns(f"d_{label}", numbers, 0.0, 1.0)
    beyond = np.flatnonzero((numbers + 1) % k)
    e = builder.add_columns(f"e_{label}", beyond, 0.0, 1.0, integer=True)
    each, whole = np.ones(numbers.size), np.arange(x.size)
    ending = sp.csr_array(
        (np.ones(beyond.size), (beyond, np.arange(beyond.size))), (numbers.size, beyond.size)
    )
    starting = sp.csr_array(
        (np.ones(beyond.size), (beyond + 1, np.arange(beyond.size))), (numbers.size, beyond.size)
    )
    first = (numbers % k == 0).astype(np.float64)
    builder.add_rows(
        f"share_{label}", numbers, [(each, share), (ending - starting, e)], first, first
    )
    total = sp.csr_array((each, (numbers // k, numbers)), shape=(x.size, numbers.size))
    builder.add_rows(f"split_x_{label}", whole, [(total, parts), (-np.ones(x.size), x)], 0.0, 0.0)
    builder.add_rows(f"start_x_{label}", numbers, [(each, parts), (-start, share)], 0.0, np.inf)
    builder.add_rows(f"end_x_{label}", numbers, [(each, parts), (-end, share)], -np.inf, 0.0)
    # parts of y for each product
    l, u, c, d = ends
    pieces = np.arange(p.size * k)
    of = np.repeat(np.arange(p.size), k)
    place = np.repeat(p, k) * k + np.tile(np.arange(k), p.size)
    ys = builder.add_columns(f"ys_{label}", pieces, np.minimum(c, 0.0)[of], np.maximum(d, 0.0)[of])
    gather = sp.csr_array((np.ones(pieces.size), (of, pieces)), shape=(p.size, pieces.size))
    products, one_each = np.arange(p.size), np.ones(pieces.size)
    builder.add_rows(
        f"split_y_{label}", products, [(gather, ys), (-np.ones(p.size), y[q])], 0.0, 0.0
    )
    builder.add_rows(
        f"start_y_{label}", pieces, [(one_each, ys), (-c[of], share[place])], 0.0, np.inf
    )
    builder.add_rows(
        f"end_y_{label}", pieces, [(one_each, ys), (-d[of], share[place])], -np.inf, 0.0
    )
    magnitude = np.maximum(np.abs(l), np.abs(u)) * np.maximum(np.abs(c), np.abs(d))
    slack = _SLACK * 4.0 * (k + 1) * magnitude
    for name, a, b, sense in (
        ("low", start, c, 1),
        ("high", end, d, 1),
        ("over", end, c, -1),
        ("above", start, d, -1),
    ):
        # sense (w − Σ_s (a_s y_s + b x_s − a_s b d_s)) ≥ 0
        at, by = a[place], b[of]
        scaled = [sp.csr_array((v, (of, pieces)), shape=gather.shape) for v in (-at, -by, at * by)]
        terms = [
            (np.ones(p.size), w),
            (scaled[0], ys),
            (scaled[1], parts[place]),
            (scaled[2], share[place]),
        ]
        least, most = (-slack, np.inf) if sense > 0 else (-np.inf, slack)
        builder.add_rows(f"pieces_{name}_{label}", products, terms, least, most)
