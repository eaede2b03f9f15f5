"""The maximum ``a = max(z_p, z_q)`` of a pair with ``d = z_q − z_p ∈ [l, u]``, big-M formulation.

    l ≥ 0             a = z_q                                                        no binary
    u ≤ 0             a = z_p                                                        no binary
    l < 0 < u         a ≥ z_p,   a ≥ z_q,   a ≤ z_p + u δ,   a ≤ z_q − l (1 − δ),   δ ∈ {0, 1}

``δ = 1`` says that ``z_q`` is the maximum. This is the ReLU of ``d`` (``blocks.relu``), shifted by
``z_p``: the two big-Ms are the tightest that the bounds on ``d`` allow, and they are at least
``10⁻⁷``.  They hold for the difference, which bounds by linear forms see shrink where the two
entries rise together; bounds of each entry alone give ``u = u_q − l_p`` (Tjeng, Xiao, Tedrake, ICLR
2019, §4.1; Anderson, Huchette, Ma, Tjandraatmadja, Vielma, Mathematical Programming 183, 2020).
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import IntArray, placed
from verix_encodings.blocks.affine import single
from verix_encodings.blocks.relu_phases import phases_of
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import LEAST_BIG_M, Expressions


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
    first, second = pairs
    size, unstable = first.size, phases_of(difference).unstable
    decided = np.ones(size, dtype=bool)
    decided[unstable] = False
    winner = np.where(difference.lower >= 0, second, first)
    p, q = first[unstable], second[unstable]
    read = np.unique(np.concatenate([p, q, winner[decided]]))
    z = single(builder, f"z_{label}", z, entries, read)

    lower, upper = (np.maximum(end[first], end[second]) for end in (entries.lower, entries.upper))
    a = builder.add_columns(f"a_{label}", unstable, lower[unstable], upper[unstable])
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

    kept = sp.diags_array(decided.astype(np.float64)) @ sp.csr_array(z.matrix)[winner, :]
    new = placed(1.0, unstable, np.arange(unstable.size), (size, unstable.size))
    return Expressions(
        np.concatenate([z.columns, a]),
        sp.hstack([kept, sp.csr_array(new)], format="csr"),
        np.zeros(size),
    )
