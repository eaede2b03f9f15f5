"""The maximum ``a = max(z_p, z_q)`` of a pair with ``d = z_q − z_p ∈ [l, u]``, big-M formulation.

    l ≥ 0             a = z_q                                                        no binary
    u ≤ 0             a = z_p                                                        no binary
    l < 0 < u         a ≥ z_p,   a ≥ z_q,   a ≤ z_p + u δ,   a ≤ z_q − l (1 − δ),   δ ∈ {0, 1}

``δ = 1`` says that ``z_q`` is the maximum. This is the ReLU of ``d`` (``blocks.layers``), shifted
by ``z_p``: the two big-Ms are the tightest that the bounds on ``d`` allow, and they are at least
``10⁻⁷``. They hold for the difference, which bounds by linear forms see shrink where the two
entries rise together; bounds of each entry alone give ``u = u_q − l_p`` (Tjeng, Xiao, Tedrake, ICLR
2019, §4.1; Anderson, Huchette, Ma, Tjandraatmadja, Vielma, Mathematical Programming 183, 2020).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, IntArray, placed
from verix_encodings.blocks.layers import define, phases_of, single
from verix_encodings.bounds.interval import Interval
from verix_encodings.program import LEAST_BIG_M, Expressions, ProgramBuilder


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
    l = np.minimum(difference.lower[unstable], -LEAST_BIG_M)
    u = np.maximum(difference.upper[unstable], LEAST_BIG_M)
    one = np.ones(unstable.size)
    above_p = [(one, a), (-z.matrix[p, :], z.columns)]
    above_q = [(one, a), (-z.matrix[q, :], z.columns)]
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
) -> Expressions:
    """Encode the maxima as :func:`big_m_max` does, by ``a = max(z_p, z_q)`` as it stands.

    Every entry read has a column ``z_label_j``, and there are no binaries: the solver makes them,
    see ``blocks.layers``.
    """
    order, size = _order(pairs, difference), z.constant.size
    unstable, read = order.unstable, order.read
    columns = define(builder, f"z_{label}", z, entries, read)
    a = _results(builder, label, pairs, entries, unstable)
    column_of = np.full(size, -1)
    column_of[read] = columns
    members = np.column_stack([column_of[order.first], column_of[order.second]])
    builder.add_maxima(f"max_{label}", unstable, a, members)
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
