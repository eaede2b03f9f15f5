"""The maximum ``a = max_{j ∈ J} z_j`` with ``z_j ∈ [l_j, u_j]``, big-M formulation.

    K = {b} ∪ {j ∈ J : u_j > l_b}, b = argmax_j l_j      the candidates; the others are dropped
    K = {b}         a = z_b                                                          no binary
    |K| > 1         a ≥ z_j,   a ≤ z_j + (u_{−j} − l_j)(1 − d_j),   d_j ∈ {0, 1}     for j ∈ K
                    Σ_{j∈K} d_j = 1,   u_{−j} = max_{k ∈ K, k ≠ j} u_k

``d_j = 1`` says that ``z_j`` is the maximum. The big-M is the tightest that the bounds allow: where
``d_j = 0`` another candidate is the maximum, so ``a ≤ u_{−j}`` (Tjeng, Xiao, Tedrake, ICLR 2019,
§4.1).
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.blocks.affine import define
from verix_encodings.bounds.dominance import candidates
from verix_encodings.bounds.interval import Interval
from verix_encodings.network.nodes import Max
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import LEAST_BIG_M, Expressions


def big_m_max(
    builder: ProgramBuilder, label: str, node: Max, z: Expressions, interval: Interval
) -> Expressions:
    """Encode the maxima ``node`` of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_j`` for entry ``j`` of the source, ``a_label_i`` for group ``i`` and
    ``d_label_k`` for the ``k``-th entry of ``node.indices``.
    """
    found = candidates(node, interval)
    entries, big_m = _big_ms(node, interval)
    group, source = node.groups[entries], node.indices[entries]
    split = np.unique(group)
    decided = np.setdiff1d(np.arange(node.starts.size), split)
    chosen = node.indices[found.best[decided]]

    modelled = np.union1d(source, chosen)
    z_of = np.full(interval.lower.size, -1)
    z_of[modelled] = define(builder, f"z_{label}", z, interval, modelled)

    lower = node.reduce(interval.lower[node.indices])
    upper = node.reduce(interval.upper[node.indices])
    a_of = np.full(node.starts.size, -1)
    a_of[split] = builder.add_columns(f"a_{label}", split, lower[split], upper[split])
    a_of[decided] = z_of[chosen]
    d_columns = builder.add_columns(f"d_{label}", entries, 0.0, 1.0, integer=True)

    one = sp.eye_array(entries.size, format="csr")
    difference = [(one, a_of[group]), (-one, z_of[source])]
    builder.add_rows(f"max_above_{label}", entries, difference, 0.0, np.inf)
    builder.add_rows(
        f"max_attained_{label}",
        entries,
        [*difference, (sp.diags_array(big_m), d_columns)],
        -np.inf,
        big_m,
    )
    member = np.searchsorted(split, group)
    members = sp.csr_array(
        (np.ones(entries.size), (member, np.arange(entries.size))), (split.size, entries.size)
    )
    builder.add_rows(f"max_one_{label}", split, [(members, d_columns)], 1.0, 1.0)
    return Expressions(a_of, sp.eye_array(a_of.size, format="csr"), np.zeros(a_of.size))


def _big_ms(node: Max, interval: Interval) -> tuple[IntArray, FloatArray]:
    """Return the positions in ``node.indices`` that get a binary, and ``u_{−j} − l_j`` for each."""
    positions = np.flatnonzero(candidates(node, interval).open)
    if not positions.size:
        return positions, np.zeros(0)
    group = node.groups[positions]
    upper = interval.upper[node.indices[positions]]
    lower = interval.lower[node.indices[positions]]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    member = np.cumsum(np.diff(group, prepend=-1) > 0) - 1
    greatest = np.maximum.reduceat(upper, starts)[member]
    # the greatest upper bound of the others: the second greatest where j has the greatest alone
    attains = upper == greatest
    alone = attains & (np.add.reduceat(attains.astype(np.intp), starts)[member] == 1)
    runner_up = np.maximum.reduceat(np.where(attains, -np.inf, upper), starts)[member]
    # rounded up, where the difference is rounded at all; solvers drop coefficients that are tiny
    big_m = np.nextafter(np.where(alone, runner_up, greatest) - lower, np.inf)
    return positions, np.maximum(big_m, LEAST_BIG_M)
