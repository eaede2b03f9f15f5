"""A smooth activation ``a = σ(z)`` with ``z ∈ [l, u]``: a piecewise-linear enclosure.

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
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.blocks.affine import define
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

DEFAULT_SEGMENTS = 6
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
    segments: int = DEFAULT_SEGMENTS,
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
        terms = [
            (sp.eye_array(single.size, format="csr"), a_columns[single]),
            (sp.diags_array(-s, format="csr"), z_columns[single]),
        ]
        builder.add_rows(f"smooth_{name}_{label}", single, terms, lower, upper)
    at_once = max(1, _PIECES // segments)
    for first in range(0, several.size, at_once):
        if late():
            raise TimeoutError("time is up before the program is complete")
        block = several[first : first + at_once]
        _multiple_choice(
            builder,
            label,
            function,
            points=breakpoints(function, l[block], u[block], segments),
            neurons=block,
            columns=(z_columns[block], a_columns[block]),
            first=first * segments,
        )
    return Expressions.of_columns(a_columns)


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
    """Add the segments of ``neurons``, whose ``z`` and ``a`` are ``columns``, numbered from first.

    ``points`` are their ends, see :func:`breakpoints`.
    """
    segments = points.shape[0] - 1
    # one segment after the other, neuron by neuron
    start, end = points[:-1].T.reshape(-1), points[1:].T.reshape(-1)
    slope = chord_slope(function, start, end)
    below, above = intercepts(function, start, end, slope)
    numbers = np.arange(start.size)
    parts = builder.add_columns(
        f"zs_{label}", first + numbers, np.minimum(start, 0.0), np.maximum(end, 0.0)
    )
    beyond = np.flatnonzero((numbers + 1) % segments)
    e_columns = builder.add_columns(f"e_{label}", first + beyond, 0.0, 1.0, integer=True)
    z_columns, a_columns = columns
    one = sp.eye_array(neurons.size, format="csr")
    each = sp.eye_array(numbers.size, format="csr")
    total = sp.csr_array(
        (np.ones(numbers.size), (numbers // segments, numbers)), shape=(neurons.size, numbers.size)
    )
    # d = constant + E e
    entries = np.arange(beyond.size)
    ending = sp.csr_array((np.ones(beyond.size), (beyond, entries)), (numbers.size, beyond.size))
    starting = sp.csr_array(
        (np.ones(beyond.size), (beyond + 1, entries)), (numbers.size, beyond.size)
    )
    chosen = starting - ending
    constant = (numbers % segments == 0).astype(np.float64)
    inner = beyond[beyond % segments > 0]
    builder.add_rows(f"order_{label}", first + inner, [(chosen[inner, :], e_columns)], 0.0, np.inf)
    builder.add_rows(f"split_{label}", neurons, [(total, parts), (-one, z_columns)], 0.0, 0.0)
    for name, point, lower, upper in (
        ("start", start, 0.0, np.inf),
        ("end", end, -np.inf, 0.0),
    ):
        terms = [(each, parts), (-sp.diags_array(point) @ chosen, e_columns)]
        shift = point * constant
        builder.add_rows(
            f"segment_{name}_{label}", first + numbers, terms, lower + shift, upper + shift
        )
    for name, intercept, lower, upper in (
        ("below", below, 0.0, np.inf),
        ("above", above, -np.inf, 0.0),
    ):
        terms = [
            (one, a_columns),
            (-total @ sp.diags_array(slope), parts),
            (-total @ sp.diags_array(intercept) @ chosen, e_columns),
        ]
        shift = total @ (intercept * constant)
        builder.add_rows(f"segments_{name}_{label}", neurons, terms, lower + shift, upper + shift)
