"""The formulations of a ReLU by name, and the partition-based one.

``a = max(z, 0)`` with ``z = Σ_i c_i v_i + k ∈ [l, u]``: the terms of the sum are split into ``N``
parts ``S_n``, ``σ_n = Σ_{i ∈ S_n} c_i v_i ∈ [L_n, U_n]`` by interval arithmetic over the bounds of
the columns ``v_i``, rounded outward.

    l ≥ 0 (active)        a = z                                            no binary
    u ≤ 0 (inactive)      a = 0                                            no binary
    l < 0 < u (unstable)  t_n + s_n = σ_n                                  for each part
                          d L_n ≤ t_n ≤ d U_n
                          (1 − d) L_n ≤ s_n ≤ (1 − d) U_n
                          a = Σ_n t_n + d k,   0 ≤ a ≤ u d
                          l (1 − d) ≤ Σ_n s_n + (1 − d) k ≤ 0,             d ∈ {0, 1}

``t_n`` is the part of the sum in the active phase, ``d = 1``, and ``s_n`` in the inactive one:
``Σ_n s_n + (1 − d) k = z − a``. The rows with ``u`` and ``l`` add the bounds of ``z`` itself; with
them one part is the big-M formulation of ``blocks.layers``. With as many parts as terms the linear
relaxation is the convex hull of the neuron's graph over the box of the ``v_i``, and each neuron
takes ``2N + 2`` columns and ``5N + 4`` rows.

(Tsay, Kronqvist, Thebelt, Misener, *Partition-based formulations for mixed-integer optimization of
trained ReLU neural networks*, NeurIPS 2021, §3, with both copies of the partial sums kept. The
paper finds parts of equal size by sorted weight best.)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.blocks.layers import (
    activations,
    big_m_relu,
    big_ms,
    define,
    general_relu,
    indicator_relu,
    phases_of,
    sos1_relu,
)
from verix_encodings.bounds.interval import Interval
from verix_encodings.program import LEAST_BIG_M, Expressions, ProgramBuilder

DEFAULT_PARTS = 2


def partition_relu(
    builder: ProgramBuilder,
    label: str,
    z: Expressions,
    interval: Interval,
    *,
    parts: int = DEFAULT_PARTS,
) -> Expressions:
    """Encode the ReLU of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i`` for an active neuron ``i``; ``a_label_i``, ``d_label_i`` and,
    for part ``n``, ``tn_label_i`` and ``sn_label_i`` for an unstable one. A neuron with fewer than
    ``parts`` terms has a part for each of them.
    """
    phases = phases_of(interval)
    z_active = define(builder, f"z_{label}", z, interval, phases.active)

    unstable = phases.unstable
    (l, u), k = big_ms(interval, unstable), z.constant[unstable]
    a_columns = builder.add_columns(f"a_{label}", unstable, 0.0, interval.upper[unstable])
    d_columns = builder.add_columns(f"d_{label}", unstable, 0.0, 1.0, integer=True)
    one = sp.eye_array(unstable.size, format="csr")
    # Σ_n t_n and Σ_n s_n, subtracted from a and as they are
    active_sum = [(1.0, a_columns), (-k, d_columns)]
    inactive_sum = []
    for n, (present, part) in enumerate(_parts(z, unstable, parts)):
        t, s = _add_part(builder, f"{n}_{label}", unstable[present], part, d_columns[present])
        active_sum.append((-one[:, present], t))
        inactive_sum.append((one[:, present], s))
    builder.add_rows(f"relu_active_{label}", unstable, active_sum, 0.0, 0.0)
    below = [(1.0, a_columns), (-u, d_columns)]
    builder.add_rows(f"relu_inactive_{label}", unstable, below, -np.inf, 0.0)
    above_z = [*inactive_sum, (-k, d_columns)]
    builder.add_rows(f"relu_above_z_{label}", unstable, above_z, -np.inf, -k)
    below_z = [*inactive_sum, (l - k, d_columns)]
    builder.add_rows(f"relu_below_z_{label}", unstable, below_z, l - k, np.inf)
    return activations(phases, z_active, a_columns)


def _add_part(
    builder: ProgramBuilder, label: str, neurons: IntArray, part: Expressions, d_columns: IntArray
) -> tuple[IntArray, IntArray]:
    """Add ``t`` and ``s`` of one part and the rows about them; return their columns."""
    lower, upper = builder.column_bounds(part.columns)
    weights = sp.csr_array(part.matrix)
    low, high = Interval(lower, upper).extremes(weights)
    plus, minus = weights.maximum(0), weights.minimum(0)
    # sums of terms of one sign, so they are zero only where every term is: rounding moves no bound
    # across zero, where solvers would drop it
    below = plus @ np.minimum(lower, 0) + minus @ np.maximum(upper, 0)
    above = plus @ np.maximum(upper, 0) + minus @ np.minimum(lower, 0)
    low, high = _outward(low, below < 0), -_outward(-high, above > 0)
    t = builder.add_columns(f"t{label}", neurons, np.minimum(low, 0.0), np.maximum(high, 0.0))
    s = builder.add_columns(f"s{label}", neurons, np.minimum(low, 0.0), np.maximum(high, 0.0))
    terms = [(1.0, t), (1.0, s), (-part.matrix, part.columns)]
    builder.add_rows(f"part{label}", neurons, terms, 0.0, 0.0)
    builder.add_rows(f"t_lower{label}", neurons, [(1.0, t), (-low, d_columns)], 0.0, np.inf)
    builder.add_rows(f"t_upper{label}", neurons, [(1.0, t), (-high, d_columns)], -np.inf, 0.0)
    builder.add_rows(f"s_lower{label}", neurons, [(1.0, s), (low, d_columns)], low, np.inf)
    builder.add_rows(f"s_upper{label}", neurons, [(1.0, s), (high, d_columns)], -np.inf, high)
    return t, s


def _outward(low: FloatArray, negative: BoolArray) -> FloatArray:
    """Lower tiny bounds to 0, or to ``-LEAST_BIG_M`` if they may be below zero."""
    low = np.where(negative, low, np.maximum(low, 0.0))
    wider = np.where(low < 0, -LEAST_BIG_M, 0.0)
    return np.where(np.abs(low) < LEAST_BIG_M, wider, low)


def _parts(z: Expressions, neurons: IntArray, parts: int) -> Iterator[tuple[IntArray, Expressions]]:
    """Yield, for each part, the ``neurons`` that have it and the sum for each of these."""
    # a column may stand in J more than once: its weights belong into one term
    columns, place = np.unique(z.columns, return_inverse=True)
    gather = sp.csr_array(
        (np.ones(place.size), (np.arange(place.size), place)), shape=(place.size, columns.size)
    )
    weights = sp.csr_array(sp.csr_array(z.matrix[neurons, :]) @ gather)
    weights.eliminate_zeros()
    terms = np.diff(weights.indptr)
    row = np.repeat(np.arange(neurons.size), terms)
    # the rows are stored one after the other, so an order by row and weight keeps them apart
    rank = np.empty(weights.nnz, dtype=np.intp)
    rank[np.lexsort((weights.data, row))] = np.arange(weights.nnz) - weights.indptr[row]
    part_of = rank * np.minimum(parts, terms[row]) // terms[row]
    for n in range(min(parts, int(np.max(terms, initial=0)))):
        inside = part_of == n
        entries = (weights.data[inside], (row[inside], weights.indices[inside]))
        part = sp.csr_array(entries, shape=weights.shape)
        present = np.flatnonzero(terms > n)
        yield present, Expressions(columns, part[present, :], np.zeros(present.size))


ReluEncoding: TypeAlias = Callable[[ProgramBuilder, str, Expressions, Interval], Expressions]


@dataclass(frozen=True, slots=True)
class Formulation:
    """A ReLU encoding with its name and the capabilities that it ``needs`` of a solver.

    They are the ``Program.needs`` of its programs, and ``"partition"`` if the solver must cope with
    the many degenerate rows of that formulation: not every solver does.
    """

    name: str
    relu: ReluEncoding
    needs: frozenset[str] = frozenset()


_PARTITION = frozenset({"partition"})

BIG_M = Formulation("big_m", big_m_relu)

_ALL = (
    BIG_M,
    Formulation("indicator", indicator_relu, frozenset({"indicator"})),
    Formulation("sos1", sos1_relu, frozenset({"sos1"})),
    Formulation("general", general_relu, frozenset({"general"})),
    Formulation("partition", partition_relu, _PARTITION),
)
_WITH_FACET = ("indicator", "sos1", "general")
"""Formulations to whose relaxation the row of the triangle adds something."""
FORMULATIONS: Mapping[str, Formulation] = MappingProxyType({one.name: one for one in _ALL})


def formulation_named(name: str) -> Formulation:
    """Return a formulation; ``"partition:N"`` has N parts; ``ValueError`` for another name.

    ``"sos1:plain"``, ``"indicator:plain"`` and ``"general:plain"`` are those without the triangle.
    """
    family, colon, parts = name.partition(":")
    if parts == "plain" and family in _WITH_FACET:
        full = FORMULATIONS[family]
        plain: Any = full.relu
        return Formulation(name, partial(plain, facet=False), full.needs)
    if colon and family == "partition" and parts.isascii() and parts.isdigit() and int(parts) > 0:
        return Formulation(name, partial(partition_relu, parts=int(parts)), _PARTITION)
    if name not in FORMULATIONS:
        known = ", ".join(FORMULATIONS)
        raise ValueError(
            f"unknown formulation {name!r}; choose one of {known}, partition:N for N parts instead "
            f"of {DEFAULT_PARTS}, or one of {', '.join(_WITH_FACET)} with :plain behind it"
        )
    return FORMULATIONS[name]
