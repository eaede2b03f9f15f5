"""The ReLU ``a = max(z, 0)`` with ``z ∈ [l, u]``, by complementarity.

    l ≥ 0 (active)        a = z
    u ≤ 0 (inactive)      a = 0
    l < 0 < u (unstable)  a − s = z,   0 ≤ a ≤ u,   0 ≤ s ≤ −l,   {a, s} SOS1

``a`` is the positive and ``s`` the negative part of ``z``, and at most one of them is not zero:
``a s = 0`` (Fischetti, Jo, *Constraints* 23, 2018, §2, with the set in place of the
implications). There is neither a binary nor a big-M, and ``z`` needs no column of its own: its
affine map stands in the row. A solver branches on the set; the linear relaxation knows ``a ≤ u``
and ``s ≤ −l``, but not the triangle that the big-M formulation has.
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.blocks.affine import define
from verix_encodings.blocks.relu_phases import activations, phases_of
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions


def sos1_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
) -> Expressions:
    """Encode the ReLU of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i`` for an active neuron ``i``, ``a_label_i`` and ``s_label_i`` for
    an unstable one.
    """
    phases = phases_of(interval)
    z_active = define(builder, f"z_{label}", z, interval, phases.active)

    unstable = phases.unstable
    a_columns = builder.add_columns(f"a_{label}", unstable, 0.0, interval.upper[unstable])
    s_columns = builder.add_columns(f"s_{label}", unstable, 0.0, -interval.lower[unstable])
    one = sp.eye_array(unstable.size, format="csr")
    builder.add_rows(
        f"relu_parts_{label}",
        unstable,
        [(one, a_columns), (-one, s_columns), (-z.matrix[unstable, :], z.columns)],
        z.constant[unstable],
        z.constant[unstable],
    )
    builder.add_sos1(f"relu_one_{label}", unstable, np.column_stack([a_columns, s_columns]))
    return activations(phases, z_active, a_columns)
