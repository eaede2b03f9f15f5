"""The inputs as columns: ``x`` over ``{ x : ‖x − x₀‖_p ≤ ε } ∩ [l, u]``, or over a mixed domain.

    p = ∞   x_i ∈ [max(l_i, x₀_i − ε), min(u_i, x₀_i + ε)]      one column with these bounds

    p = 1   x_i = x₀_i + p_i − n_i,   0 ≤ p_i ≤ u_i − x₀_i,   0 ≤ n_i ≤ x₀_i − l_i
            Σ_i p_i + n_i ≤ ε                                   split variables

    p = 2   x_i = x₀_i + e_i,   l_i − x₀_i ≤ e_i ≤ u_i − x₀_i
            Σ_i e_i² ≤ ε²                                       where the solver takes it
       or   Σ_i s_i ≤ n,   s_i ≥ 2 (q/r) e_i − q²,   r = ε/√n   for tangents at points q

The last one is an outer approximation, disaggregated and scaled: ``s_i`` stands for ``(e_i/r)²``,
and each tangent is below that parabola. A bound over it holds over the ball; a point of it may lie
outside. Coordinates whose bounds coincide are constants, with no column.

A box with integral coordinates and rules:

    x_i = l_i + Σ_k 2ᵏ b_ik,   b_ik ∈ {0, 1},   x_i ≤ u_i          an integral coordinate

    Σ_j a_j x_j ≤ b                                                a clause of one half-space

    Σ_j a_j x_j ≤ b + M_h (1 − y_h),   Σ_h y_h ≥ 1,  y_h ∈ {0, 1}  a clause of several

with ``M_h = max Σ_j a_j x_j − b`` over the box. Binaries alone carry integrality, so solvers that
branch on binaries decide integers, too. The rows of an integral coordinate are divided by a power
of two, those of a half-space by one above ``M_h``: no entry of a binary is above 1. A strict
half-space counts as closed.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray, relative_error
from verix_encodings.bounds.interval import Interval, Range, Region
from verix_encodings.bounds.mixed_domain import HalfSpace, MixedDomain
from verix_encodings.bounds.norm_ball import NormBall
from verix_encodings.program import Expressions, ProgramBuilder


def linf_ball(builder: ProgramBuilder, box: Interval) -> Expressions:
    """Add the columns ``x_i`` of the free coordinates; return the input as expressions in them."""
    free = np.flatnonzero(box.lower < box.upper)
    columns = builder.add_columns("x", free, box.lower[free], box.upper[free])
    selection = sp.csr_array(
        (np.ones(free.size), (free, np.arange(free.size))), shape=(box.lower.size, free.size)
    )
    constant = box.lower.copy()
    constant[free] = 0.0
    return Expressions(columns, selection, constant)


def l1_ball(builder: ProgramBuilder, ball: NormBall) -> Expressions:
    """Add the columns ``p_i`` and ``n_i`` and the row of the norm; return the input."""
    down, up = headroom(ball.box, ball.centre)
    above, below = np.flatnonzero(up > 0), np.flatnonzero(down > 0)
    positive = builder.add_columns("p", above, 0.0, up[above])
    negative = builder.add_columns("n", below, 0.0, down[below])
    columns = np.concatenate([positive, negative])
    builder.add_row("norm", 1, [(np.ones(columns.size), columns)], -np.inf, ball.radius)
    signs = np.concatenate([np.ones(above.size), -np.ones(below.size)])
    return _shifted(ball, np.concatenate([above, below]), columns, signs)


def l2_ball(builder: ProgramBuilder, ball: NormBall) -> Expressions:
    """Add the columns ``e_i`` and the quadratic row of the norm; return the input."""
    free, columns = _deviations(builder, ball)
    if _unit(ball):
        builder.add_quadratic_row(columns, ball.radius)
    return _shifted(ball, free, columns, np.ones(free.size))


def l2_tangents(
    builder: ProgramBuilder, ball: NormBall, points: Sequence[FloatArray] = ()
) -> Expressions:
    """Add ``e_i``, ``s_i`` and the tangents of the outer approximation; return the input.

    Each coordinate gets tangents at ``q = ±½, ±1, ±2, ±4``, as far as its bounds reach, and one at
    its value in each of ``points``, inputs of shape (d,).
    """
    free, columns = _deviations(builder, ball)
    expressions = _shifted(ball, free, columns, np.ones(free.size))
    unit = _unit(ball)
    if not unit:
        return expressions
    down, up = headroom(ball.box, ball.centre)
    largest = np.maximum(down, up)[free] / unit
    # the sum is rounded up: what is proven must hold for all of the ball
    squares = builder.add_columns("s", free, 0.0, np.square(largest) * (1 + 1e-9))
    most = free.size * (1 + 1e-12)
    builder.add_row("norm", 2, [(np.ones(free.size), squares)], -np.inf, most)
    given = [(point - ball.centre)[free] / unit for point in points]
    for number, q in enumerate([*_TANGENTS, *given]):
        reached = np.clip(q, -down[free] / unit, up[free] / unit)
        useful = np.flatnonzero(reached)
        terms = [(1.0, squares[useful]), (-2.0 * reached[useful] / unit, columns[useful])]
        label = f"tangent_{number}"
        # below the parabola by rounding, not above it
        lower = -np.square(reached[useful]) * (1 + 1e-12) - 1e-300
        builder.add_rows(label, free[useful], terms, lower, np.inf)
    return expressions


def ball_encoding(
    region: Region, *, quadratic: bool = False, points: Sequence[FloatArray] = ()
) -> Callable[[ProgramBuilder], Expressions]:
    """Return the encoding that adds the inputs in ``region`` to a program.

    ``quadratic`` asks for an L2 ball as a quadratic row; without it, its approximation gets further
    tangents at ``points``.
    """
    if not isinstance(region, NormBall):
        return partial(linf_ball, box=region.box)
    if region.norm == 1:
        return partial(l1_ball, ball=region)
    if quadratic:
        return partial(l2_ball, ball=region)
    return partial(l2_tangents, ball=region, points=points)


def tangent_gaps(
    ball: NormBall, points: Sequence[FloatArray], point: FloatArray
) -> tuple[float, FloatArray]:
    """Return how far ``point`` is outside the ball, and the gap of the tangents at it.

    In scaled units: ``Σ u_i² − n`` for ``u = e/r``, and for each coordinate, shape (d,), ``u_i²``
    less the highest of its tangents there. A coordinate with a gap needs another tangent.
    """
    free = ball.box.lower < ball.box.upper
    unit = _unit(ball)
    if not unit:
        return 0.0, np.zeros_like(point)
    u = np.where(free, (point - ball.centre) / unit, 0.0)
    down, up = headroom(ball.box, ball.centre)
    highest = np.zeros_like(u)
    for q in [*_TANGENTS, *((known - ball.centre) / unit for known in points)]:
        reached = np.clip(q, -down / unit, up / unit)
        highest = np.maximum(highest, 2.0 * reached * u - reached**2)
    return float(np.sum(u**2) - np.count_nonzero(free)), u**2 - highest


_TANGENTS: list[Any] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0]
_SMALLEST_UNIT = 1e-300
_MOST_UNITS = 1e100


def _unit(ball: NormBall) -> float:
    """Return ``r = ε/√n`` of an L2 ball, or 0 if its box alone is the region to encode.

    It is 0 if the box is a single point, and if squares of fractions of ε leave float64: ε is so
    small that the box is wider than the ball by rounding alone, or so large that the ball holds the
    box.
    """
    widest = float(np.max(np.maximum(*headroom(ball.box, ball.centre)), initial=0.0))
    n = int(np.count_nonzero(ball.box.lower < ball.box.upper))
    unit = ball.radius / math.sqrt(max(n, 1))
    resolved = n and unit >= _SMALLEST_UNIT and 1 / _MOST_UNITS <= widest / unit <= _MOST_UNITS
    return unit if resolved else 0.0


def headroom(box: Interval, centre: FloatArray) -> Range:
    """Return how far each coordinate may go below and above the centre, rounded outward."""
    widths = centre - box.lower, box.upper - centre
    down, up = (np.where(width > 0, np.nextafter(width, np.inf), 0.0) for width in widths)
    return down, up


def _deviations(builder: ProgramBuilder, ball: NormBall) -> tuple[IntArray, IntArray]:
    down, up = headroom(ball.box, ball.centre)
    free = np.flatnonzero(ball.box.lower < ball.box.upper)
    return free, builder.add_columns("e", free, -down[free], up[free])


def _shifted(
    ball: NormBall, coordinates: IntArray, columns: IntArray, signs: FloatArray
) -> Expressions:
    """Return ``x = x₀ + Σ ± column``, each column moving one of ``coordinates``."""
    entries = (signs, (coordinates, np.arange(columns.size)))
    matrix = sp.csr_array(entries, shape=(ball.centre.size, columns.size))
    return Expressions(columns, matrix, ball.centre.copy())


_LEAST_EXCESS = 1e-6


def mixed_box(builder: ProgramBuilder, box: Interval, domain: MixedDomain) -> Expressions:
    """Add the points of ``domain`` in ``box`` to a program; return the input.

    The box is finite, the ends of integral coordinates are whole, and coordinates that are fixed
    leave some point of ``domain``.
    """
    x = linf_ball(builder, box)
    free = np.flatnonzero(box.lower < box.upper)
    whole = domain.integral[free]
    _add_bits(builder, free[whole], x.columns[whole], box)
    within = domain.among(free, box.lower)
    ends = box.lower[free], box.upper[free]
    for number, clause in enumerate(within.clauses):
        if len(clause) == 1:
            (half,) = clause
            terms = [(half.coefficients, x.columns[half.coordinates])]
            builder.add_row(f"rule_{number}", 0, terms, -np.inf, half.upper)
        else:
            _add_choice(builder, number, clause, x, ends)
    return x


def _add_bits(
    builder: ProgramBuilder, coordinates: IntArray, columns: IntArray, box: Interval
) -> None:
    if not coordinates.size:
        return
    lower, steps = box.lower[coordinates], (box.upper - box.lower)[coordinates]
    counts = np.array([max(int(step).bit_length(), 1) for step in steps])
    scales = 2.0 ** -(counts - 1)
    bits, weights = [], []
    for coordinate, count, scale in zip(coordinates.tolist(), counts, scales, strict=True):
        every = np.arange(count)
        bits.append(builder.add_columns(f"bit_{coordinate}", every, 0.0, 1.0, integer=True))
        weights.append(-scale * 2.0**every)
    total = np.arange(counts.sum())
    rows = np.repeat(np.arange(counts.size), counts)
    # one matrix for all rows: a matrix for each took a third of the time of the encoding
    matrix = sp.csr_array((np.concatenate(weights), (rows, total)), (counts.size, total.size))
    terms = [(scales, columns), (matrix, np.concatenate(bits))]
    ends = scales * lower
    builder.add_rows("integral", coordinates, terms, ends, ends)


def _add_choice(
    builder: ProgramBuilder, number: int, clause: tuple[HalfSpace, ...], x: Expressions, ends: Range
) -> None:
    chosen = builder.add_columns(f"choice_{number}", np.arange(len(clause)), 0.0, 1.0, integer=True)
    for place, half in enumerate(clause):
        low, high = ends[0][half.coordinates], ends[1][half.coordinates]
        size = np.abs(half.coefficients) * np.maximum(np.abs(low), np.abs(high))
        most = np.maximum(half.coefficients * low, half.coefficients * high).sum()
        error = relative_error(size.size + 2) * (size.sum() + abs(half.upper))
        excess = max(float(most - half.upper + 2 * error), _LEAST_EXCESS)
        # a power of two above the excess: the row is divided without rounding
        scale = 2.0 ** -np.ceil(np.log2(excess))
        row = scale * half.coefficients, x.columns[half.coordinates]
        upper = scale * (half.upper + excess + 2 * error)
        terms = [row, (scale * excess, chosen[[place]])]
        builder.add_row(f"either_{number}", place, terms, -np.inf, upper)
    builder.add_row("some", number, [(np.ones(chosen.size), chosen)], 1.0, np.inf)
