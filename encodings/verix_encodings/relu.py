"""The ReLU ``a = max(z, 0)`` with ``z ∈ [l, u]``, big-M formulation, aware of phases.

    l ≥ 0 (active)        a = z                                            no binary
    u ≤ 0 (inactive)      a = 0                                            no binary
    l < 0 < u (unstable)  a ≥ z,   a ≤ z − l (1 − d),   a ≤ u d,   a ≥ 0,   d ∈ {0, 1}

``d = 1`` is the active phase: ``a = z``; ``d = 0`` the inactive one: ``a = 0``. The two big-Ms are
``−l`` and ``u``, the tightest that the bounds allow for each neuron (Tjeng, Xiao, Tedrake, ICLR
2019, eqs. 6–7).
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.affine import define
from verix_encodings.bounds import Interval
from verix_encodings.program import Expressions, ProgramBuilder


def big_m_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
) -> Expressions:
    """Encode the ReLU of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i``, ``a_label_i`` and ``d_label_i`` for neuron ``i``.
    """
    lower, upper = interval.lower, interval.upper
    active = np.flatnonzero(lower >= 0)
    unstable = np.flatnonzero((lower < 0) & (upper > 0))
    live = np.union1d(active, unstable)

    z_columns = define(builder, f"z_{label}", z, interval, live)
    z_of = np.full(lower.size, -1)
    z_of[live] = z_columns

    l, u = lower[unstable], upper[unstable]
    a_columns = builder.add_columns(f"a_{label}", unstable, 0.0, u)
    d_columns = builder.add_columns(f"d_{label}", unstable, 0.0, 1.0, integer=True)
    z_unstable = z_of[unstable]
    one = sp.eye_array(unstable.size, format="csr")
    builder.add_rows(
        f"relu_above_z_{label}", unstable, [(one, a_columns), (-one, z_unstable)], 0.0, np.inf
    )
    builder.add_rows(
        f"relu_active_{label}",
        unstable,
        [(one, a_columns), (-one, z_unstable), (sp.diags_array(-l), d_columns)],
        -np.inf,
        -l,
    )
    builder.add_rows(
        f"relu_inactive_{label}",
        unstable,
        [(one, a_columns), (sp.diags_array(-u), d_columns)],
        -np.inf,
        0.0,
    )

    rows = np.concatenate([active, unstable])
    columns = np.concatenate([z_of[active], a_columns])
    selection = sp.csr_array(
        (np.ones(rows.size), (rows, np.arange(rows.size))), shape=(lower.size, rows.size)
    )
    return Expressions(columns, selection, np.zeros(lower.size))
