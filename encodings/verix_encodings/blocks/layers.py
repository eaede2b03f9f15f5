"""Layers as rows and columns: affine maps, ReLUs and maxima of pairs.

**Affine maps**: substitution, and rows that define columns for their values.

    z = Σ_k M_k v_k + b,  v_k = C_k w_{J_k} + k_k   ⇒   z = Σ_k (M_k C_k) w_{J_k} + Σ_k M_k k_k + b

Substitution alone adds no rows. The argument of a nonlinear operator gets a column ``z_i`` and the
row ``z_i − (C w_J)_i = k_i``, so that the dense row of an affine map stands in the program once and
not once for every row that mentions ``z_i``.

**ReLUs** ``a = max(z, 0)`` with ``z ∈ [l, u]``, aware of the phases that the bounds leave.

    l ≥ 0 (active)        a = z             z gets a column, a is the same one
    u ≤ 0 (inactive)      a = 0             no column
    l < 0 < u (unstable)  a = max(z, 0)     here formulations differ

**Big-M.**

    a ≥ z,   a ≤ z − l (1 − d),   a ≤ u d,   a ≥ 0,   d ∈ {0, 1}

``d = 1`` is the active phase: ``a = z``; ``d = 0`` the inactive one: ``a = 0``. The two big-Ms are
``−l`` and ``u``, the tightest that the bounds allow for each neuron (Tjeng, Xiao, Tedrake, ICLR
2019, eqs. 6–7). They are at least ``10⁻⁷``, since solvers drop smaller coefficients, and with them
the choice between the phases.

**Indicator constraints.**

    a ≥ z,   0 ≤ a ≤ u,   d = 1  ⇒  a ≤ z,   d = 0  ⇒  a ≤ 0,   d ∈ {0, 1}

(Bonami, Lodi, Tramontani, Wiese, *On mathematical programming with indicator constraints*,
Mathematical Programming 151, 2015; for ReLUs Fischetti, Jo, *Constraints* 23, 2018, §2.) No
constant multiplies a binary: with ``d`` within the integrality tolerance of 0 or 1 the implication
holds in full. The relaxation without the implications would be a box; so the row of the
**triangle**, a facet of the convex hull of the graph over ``[l, u]`` (Ehlers, ATVA 2017, §3), is
added:

    a ≤ s z + r,   s = u / (u − l),   r = max(−s l, u − s u)

With ``a ≥ z`` and ``a ≥ 0`` the relaxation is that of the big-M formulation. ``r`` is above zero
by as much as ``s`` may be rounded. A name such as ``"indicator:plain"`` leaves the row out.

A solver may still turn an implication into a row, with a big-M from the bounds of
the columns: then the integrality tolerance leaks as it does with big-Ms. So ``z`` and ``a`` have
the same bounds here as there.

**Complementarity.**

    a − s = z,   0 ≤ a ≤ u,   0 ≤ s ≤ −l,   {a, s} SOS1

``a`` is the positive and ``s`` the negative part of ``z``, and at most one of them is not zero:
``a s = 0`` (Fischetti, Jo, as above, with the set in place of the implications). There is neither a
binary nor a big-M, and ``z`` needs no column of its own: its affine map stands in the row. A solver
branches on the set; the row of the triangle, ``(1 − s) a + s s_i ≤ r`` in these columns, gives the
relaxation what ``a ≤ u`` and ``s_i ≤ −l`` do not.

**General constraints.**

    a = max(z, 0),   z ∈ [l, u],   0 ≤ a ≤ u

The solver makes binaries and big-Ms of it in its presolve, from its own bounds of ``z`` and ``a``
(Gurobi, *Reference manual*, simple general constraints). The program's own relaxation, without the
constraint, gets ``a ≥ z`` and the row of the triangle.

**Maxima** ``a = max(z_p, z_q)`` of pairs with ``d = z_q − z_p ∈ [l, u]``, big-M formulation.

    l ≥ 0             a = z_q                                                        no binary
    u ≤ 0             a = z_p                                                        no binary
    l < 0 < u         a ≥ z_p,   a ≥ z_q,   a ≤ z_p + u δ,   a ≤ z_q − l (1 − δ),   δ ∈ {0, 1}

``δ = 1`` says that ``z_q`` is the maximum. This is the ReLU of ``d``, shifted
by ``z_p``: the two big-Ms are the tightest that the bounds on ``d`` allow, and they are at least
``10⁻⁷``. They hold for the difference, which bounds by linear forms see shrink where the two
entries rise together; bounds of each entry alone give ``u = u_q − l_p`` (Tjeng, Xiao, Tedrake, ICLR
2019, §4.1; Anderson, Huchette, Ma, Tjandraatmadja, Vielma, Mathematical Programming 183, 2020).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    count_of_entries,
    placed,
    stored,
)
from verix_encodings.bounds.interval import Interval, Late, Pair, Range
from verix_encodings.program import LEAST_BIG_M, Expressions, ProgramBuilder

_ENTRIES_AT_ONCE = 1 << 22
"""Entries of a matrix that are multiplied between two looks at the time, half a second."""


def substitute(
    terms: Sequence[tuple[int, Matrix]],
    bias: FloatArray,
    values: Sequence[Expressions],
    late: Late,
) -> Expressions:
    """Return ``Σ_k M_k v_k + b``, ``terms`` and ``bias``, in the columns of ``values``.

    Raises ``TimeoutError`` once ``late()``.
    """
    constant: FloatArray = bias.copy()
    blocks, columns = [], []
    for source, matrix in terms:
        constant += matrix @ values[source].constant
        blocks.append(_substituted(matrix, values[source].matrix, late))
        columns.append(values[source].columns)
    if not blocks:
        empty = sp.csr_array((bias.size, 0))
        return Expressions(np.zeros(0, dtype=np.intp), empty, constant)
    if len(blocks) == 1:
        return Expressions(columns[0], blocks[0], constant)
    joined = sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return Expressions(np.concatenate(columns), joined, constant)


def _substituted(matrix: Matrix, inner: Matrix, late: Late) -> Matrix:
    """Return ``matrix @ inner``, of large ones block by block."""
    rows = max(_ENTRIES_AT_ONCE * matrix.shape[0] // max(count_of_entries(matrix), 1), 1)
    if isinstance(matrix, np.ndarray) or rows >= matrix.shape[0]:
        return stored(matrix) @ inner
    parts = []
    for first in range(0, matrix.shape[0], rows):
        if late():
            raise TimeoutError("time is up before the program is complete")
        parts.append(sp.csr_array(matrix[first : first + rows] @ inner))
    return sp.csr_array(sp.vstack(parts, format="csr"))


def define(
    builder: ProgramBuilder,
    name: str,
    expressions: Expressions,
    interval: Interval,
    which: IntArray,
) -> IntArray:
    """Add a column ``name_i`` and its defining row for each expression ``i`` in ``which``."""
    columns = builder.add_columns(name, which, interval.lower[which], interval.upper[which])
    right = expressions.constant[which]
    terms = [(1.0, columns), (-expressions.matrix[which, :], expressions.columns)]
    builder.add_rows(f"define_{name}", which, terms, right, right)
    return columns


def single(
    builder: ProgramBuilder,
    name: str,
    expressions: Expressions,
    interval: Interval,
    which: IntArray,
) -> Expressions:
    """Return the expressions ``which`` as multiples of one column each; other rows mean nothing."""
    matrix, constant = expressions.matrix[which, :], expressions.constant[which]
    if not constant.any() and np.all(np.asarray((matrix != 0).sum(axis=1)) <= 1):
        return expressions
    columns = define(builder, name, expressions, interval, which)
    size = expressions.constant.size
    selection = placed(1.0, which, np.arange(which.size), (size, which.size))
    return Expressions(columns, selection, np.zeros(size))


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Numbers of the neurons that are ``active`` or ``unstable``, of ``size`` in all."""

    active: IntArray
    unstable: IntArray
    size: int


def phases_of(interval: Interval) -> Phases:
    """Return the phases of neurons whose arguments lie in ``interval``."""
    lower, upper = interval.lower, interval.upper
    active = np.flatnonzero(lower >= 0)
    return Phases(active, np.flatnonzero((lower < 0) & (upper > 0)), lower.size)


def phase_columns(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval, phases: Phases
) -> tuple[IntArray, IntArray, IntArray]:
    """Add ``z`` and ``a ∈ [0, u]``; return active ``z``, and ``z`` and ``a`` of unstable ones."""
    modelled = np.sort(np.concatenate([phases.active, phases.unstable]))
    z_of = np.full(phases.size, -1)
    z_of[modelled] = define(builder, f"z_{label}", z, interval, modelled)
    a = builder.add_columns(f"a_{label}", phases.unstable, 0.0, interval.upper[phases.unstable])
    return z_of[phases.active], z_of[phases.unstable], a


def activations(phases: Phases, active: IntArray, unstable: IntArray) -> Expressions:
    """Return ``a`` of the whole layer: a column for each modelled neuron, 0 for the others.

    ``active`` and ``unstable`` are the columns of these neurons.
    """
    neurons = np.concatenate([phases.active, phases.unstable])
    selection = placed(1.0, neurons, np.arange(neurons.size), (phases.size, neurons.size))
    return Expressions(np.concatenate([active, unstable]), selection, np.zeros(phases.size))


def big_m_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
) -> Expressions:
    """Encode the ReLU of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i``, ``a_label_i`` and ``d_label_i`` for neuron ``i``.
    """
    phases = phases_of(interval)
    z_active, z_columns, a_columns = phase_columns(builder, label, z, interval, phases)
    unstable = phases.unstable
    d_columns = builder.add_columns(f"d_{label}", unstable, 0.0, 1.0, integer=True)
    l, u = big_ms(interval, unstable)
    a_minus_z = [(1.0, a_columns), (-1.0, z_columns)]
    builder.add_rows(f"relu_above_z_{label}", unstable, a_minus_z, 0.0, np.inf)
    below_z, below_u = [*a_minus_z, (-l, d_columns)], [(1.0, a_columns), (-u, d_columns)]
    builder.add_rows(f"relu_active_{label}", unstable, below_z, -np.inf, -l)
    builder.add_rows(f"relu_inactive_{label}", unstable, below_u, -np.inf, 0.0)
    return activations(phases, z_active, a_columns)


def big_ms(interval: Interval, which: IntArray) -> Range:
    """Return ``l`` and ``u`` of these entries, or what is valid as well and not too small."""
    l, u = interval.lower[which], interval.upper[which]
    return np.minimum(l, -LEAST_BIG_M), np.maximum(u, LEAST_BIG_M)


def triangle(interval: Interval, unstable: IntArray) -> Pair:
    """Return ``s`` and ``r`` of the rows ``a ≤ s z + r`` of ``unstable`` neurons."""
    l, u = big_ms(interval, unstable)
    slope = u / (u - l)
    # both ends of the graph lie below the line, whatever slope and 1 - slope are rounded to
    return slope, np.maximum(-slope * l, u - slope * u) + 4 * np.finfo(float).eps * (u - l)


def indicator_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval, *, facet: bool = True
) -> Expressions:
    """Encode the ReLU as :func:`big_m_relu` does; without ``facet`` there is no triangle's row."""
    phases = phases_of(interval)
    z_active, z_columns, a_columns = phase_columns(builder, label, z, interval, phases)
    unstable = phases.unstable
    if facet:
        slope, right = triangle(interval, unstable)
        facets = [(1.0, a_columns), (-slope, z_columns)]
        builder.add_rows(f"relu_triangle_{label}", unstable, facets, -np.inf, right)
    d_columns = builder.add_columns(f"d_{label}", unstable, 0.0, 1.0, integer=True)
    a_minus_z = [(1.0, a_columns), (-1.0, z_columns)]
    builder.add_rows(f"relu_above_z_{label}", unstable, a_minus_z, 0.0, np.inf)
    for name, terms, value in (("active", a_minus_z, 1), ("inactive", [(1.0, a_columns)], 0)):
        prefix = f"relu_{name}_{label}"
        builder.add_indicators(prefix, unstable, d_columns, terms, value=value, upper=0.0)
    return activations(phases, z_active, a_columns)


def sos1_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval, *, facet: bool = True
) -> Expressions:
    """Encode the ReLU as :func:`indicator_relu` does, by pairs.

    Columns are named ``z_label_i`` for an active neuron ``i``, ``a_label_i`` and ``s_label_i`` for
    an unstable one.
    """
    phases = phases_of(interval)
    z_active = define(builder, f"z_{label}", z, interval, phases.active)

    unstable = phases.unstable
    a_columns = builder.add_columns(f"a_{label}", unstable, 0.0, interval.upper[unstable])
    s_columns = builder.add_columns(f"s_{label}", unstable, 0.0, -interval.lower[unstable])
    terms = [(1.0, a_columns), (-1.0, s_columns), (-z.matrix[unstable, :], z.columns)]
    right = z.constant[unstable]
    builder.add_rows(f"relu_parts_{label}", unstable, terms, right, right)
    builder.add_sos1(f"relu_one_{label}", unstable, np.column_stack([a_columns, s_columns]))
    if facet:
        slope, right = triangle(interval, unstable)
        parts = [(1 - slope, a_columns), (slope, s_columns)]
        builder.add_rows(f"relu_triangle_{label}", unstable, parts, -np.inf, right)
    return activations(phases, z_active, a_columns)


def general_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval, *, facet: bool = True
) -> Expressions:
    """Encode the ReLU as :func:`big_m_relu` does, without binaries.

    Without ``facet`` the rows ``a ≥ z`` and of the triangle are left out.
    """
    phases = phases_of(interval)
    z_active, z_columns, a = phase_columns(builder, label, z, interval, phases)
    if facet:
        above = [(1.0, a), (-1.0, z_columns)]
        builder.add_rows(f"relu_above_z_{label}", phases.unstable, above, 0.0, np.inf)
        slope, right = triangle(interval, phases.unstable)
        facets = [(1.0, a), (-slope, z_columns)]
        builder.add_rows(f"relu_triangle_{label}", phases.unstable, facets, -np.inf, right)
    builder.add_maxima(f"relu_{label}", phases.unstable, a, z_columns[:, None], 0.0)
    return activations(phases, z_active, a)


def big_m_max(
    builder: ProgramBuilder,
    label: str,
    pairs: tuple[IntArray, IntArray],
    z: Expressions,
    *,
    entries: Interval,
    difference: Interval,
) -> Expressions:
    """Encode the maxima of ``pairs`` of entries of ``z``; return ``a``.

    ``pairs`` are the numbers ``p`` and ``q``; ``entries`` bound ``z``, ``difference`` bounds ``d``.

    Columns are named ``z_label_j`` for entry ``j`` of ``z``, unless it is one column anyway, and
    ``a_label_i`` and ``d_label_i`` for pair ``i``.
    """
    order = _order(pairs, difference)
    unstable, p, q = order.unstable, order.first, order.second
    z = single(builder, f"z_{label}", z, entries, order.read)
    a = _results(builder, label, pairs, entries, unstable)
    d = builder.add_columns(f"d_{label}", unstable, 0.0, 1.0, integer=True)
    l, u = big_ms(difference, unstable)
    above_p = [(1.0, a), (-z.matrix[p, :], z.columns)]
    above_q = [(1.0, a), (-z.matrix[q, :], z.columns)]
    builder.add_rows(f"max_above_first_{label}", unstable, above_p, 0.0, np.inf)
    builder.add_rows(f"max_above_second_{label}", unstable, above_q, 0.0, np.inf)
    builder.add_rows(f"max_active_{label}", unstable, [*above_q, (-l, d)], -np.inf, -l)
    builder.add_rows(f"max_inactive_{label}", unstable, [*above_p, (-u, d)], -np.inf, 0.0)
    return _joined(order, z, a)


def general_max(
    builder: ProgramBuilder,
    label: str,
    pairs: tuple[IntArray, IntArray],
    z: Expressions,
    *,
    entries: Interval,
    difference: Interval,
    facet: bool = True,
) -> Expressions:
    """Encode the maxima as :func:`big_m_max` does, by ``a = max(z_p, z_q)`` as it stands.

    With ``facet`` rows give the relaxation that of big-Ms: ``a ≥ z_p``, ``a ≥ z_q`` and the
    triangle of ``d``, ``a ≤ (1 − s) z_p + s z_q + r``. Every entry read has a column ``z_label_j``,
    and there are no binaries: the solver makes them, see ``blocks.layers``.
    """
    order, size = _order(pairs, difference), z.constant.size
    unstable, read = order.unstable, order.read
    columns = define(builder, f"z_{label}", z, entries, read)
    a = _results(builder, label, pairs, entries, unstable)
    column_of = np.full(size, -1)
    column_of[read] = columns
    members = np.column_stack([column_of[order.first], column_of[order.second]])
    builder.add_maxima(f"max_{label}", unstable, a, members)
    if facet:
        (slope, right), (p, q) = triangle(difference, unstable), members.T
        for name, entry in (("first", p), ("second", q)):
            above = [(1.0, a), (-1.0, entry)]
            builder.add_rows(f"max_above_{name}_{label}", unstable, above, 0.0, np.inf)
        under = [(1.0, a), (slope - 1, p), (-slope, q)]
        builder.add_rows(f"max_triangle_{label}", unstable, under, -np.inf, right)
    selection = placed(1.0, read, np.arange(read.size), (size, read.size))
    return _joined(order, Expressions(columns, selection, np.zeros(size)), a)


class _Order(NamedTuple):
    """The order of pairs as their differences tell it.

    ``unstable`` are those that may be ordered either way, with entries ``first`` and ``second``;
    the others are ``decided``, a mask, and have a ``winner``. ``read`` are all entries that count.
    """

    unstable: IntArray
    first: IntArray
    second: IntArray
    decided: BoolArray
    winner: IntArray
    read: IntArray


def _order(pairs: tuple[IntArray, IntArray], difference: Interval) -> _Order:
    first, second = pairs
    unstable = phases_of(difference).unstable
    decided = np.ones(first.size, dtype=bool)
    decided[unstable] = False
    winner = np.where(difference.lower >= 0, second, first)
    p, q = first[unstable], second[unstable]
    read = np.unique(np.concatenate([p, q, winner[decided]]))
    return _Order(unstable, p, q, decided, winner, read)


def _results(
    builder: ProgramBuilder,
    label: str,
    pairs: tuple[IntArray, IntArray],
    entries: Interval,
    unstable: IntArray,
) -> IntArray:
    """Add the columns ``a_label_i`` of the ``unstable`` pairs."""
    first, second = pairs
    lower, upper = (np.maximum(end[first], end[second]) for end in (entries.lower, entries.upper))
    return builder.add_columns(f"a_{label}", unstable, lower[unstable], upper[unstable])


def _joined(order: _Order, z: Expressions, a: IntArray) -> Expressions:
    """Return the winners among ``z``, and the columns ``a`` of the pairs that have none."""
    size, decided = order.decided.size, sp.diags_array(order.decided.astype(np.float64))
    kept = decided @ sp.csr_array(z.matrix)[order.winner, :]
    new = placed(1.0, order.unstable, np.arange(a.size), (size, a.size))
    matrix = sp.hstack([kept, sp.csr_array(new)], format="csr")
    return Expressions(np.concatenate([z.columns, a]), matrix, np.zeros(size))
