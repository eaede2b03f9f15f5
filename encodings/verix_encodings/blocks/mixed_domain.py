"""A box with integral coordinates and rules, as columns and rows.

    x_i = l_i + Σ_k 2ᵏ b_ik,   b_ik ∈ {0, 1},   x_i ≤ u_i          an integral coordinate

    Σ_j a_j x_j ≤ b                                                a clause of one half-space

    Σ_j a_j x_j ≤ b + M_h (1 − y_h),   Σ_h y_h ≥ 1,  y_h ∈ {0, 1}  a clause of several

with ``M_h = max Σ_j a_j x_j − b`` over the box. Binaries alone carry integrality, so solvers that
branch on binaries decide integers, too. The rows of an integral coordinate are divided by a power
of two, those of a half-space by one above ``M_h``: no entry of a binary is above 1. A strict
half-space counts as closed. Coordinates whose ends coincide are constants.
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import IntArray, relative_error
from verix_encodings.blocks.input_ball import linf_ball
from verix_encodings.bounds.interval import Interval, Range
from verix_encodings.bounds.mixed_domain import HalfSpace, MixedDomain
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions

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
            _add_row(builder, f"rule_{number}", clause[0], x)
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


def _add_row(builder: ProgramBuilder, name: str, half: HalfSpace, x: Expressions) -> None:
    row = sp.csr_array(half.coefficients[None, :])
    terms = [(row, x.columns[half.coordinates])]
    builder.add_rows(name, np.array([0]), terms, -np.inf, half.upper)


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
        row = sp.csr_array(scale * half.coefficients[None, :])
        terms = [
            (row, x.columns[half.coordinates]),
            (sp.csr_array([[scale * excess]]), chosen[[place]]),
        ]
        upper = scale * (half.upper + excess + 2 * error)
        builder.add_rows(f"either_{number}", np.array([place]), terms, -np.inf, upper)
    ones = sp.csr_array(np.ones((1, chosen.size)))
    builder.add_rows("some", np.array([number]), [(ones, chosen)], 1.0, np.inf)
