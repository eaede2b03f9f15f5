"""The ReLU ``a = max(z, 0)`` with ``z ∈ [l, u]``, big-M formulation, aware of phases.

    l ≥ 0 (active)        a = z                                            no binary
    u ≤ 0 (inactive)      a = 0                                            no binary
    l < 0 < u (unstable)  a ≥ z,   a ≤ z − l (1 − d),   a ≤ u d,   a ≥ 0,   d ∈ {0, 1}

``d = 1`` is the active phase: ``a = z``; ``d = 0`` the inactive one: ``a = 0``. The two big-Ms are
``−l`` and ``u``, the tightest that the bounds allow for each neuron (Tjeng, Xiao, Tedrake, ICLR
2019, eqs. 6–7). They are at least ``10⁻⁷``, since solvers drop smaller coefficients, and with them
the choice between the phases.
"""

import numpy as np

from verix_encodings.blocks.relu_phases import activations, phase_columns, phases_of
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import LEAST_BIG_M, Expressions


def big_m_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
) -> Expressions:
    """Encode the ReLU of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i``, ``a_label_i`` and ``d_label_i`` for neuron ``i``.
    """
    phases = phases_of(interval)
    z_active, z_columns, a_columns, d_columns = phase_columns(builder, label, z, interval, phases)

    unstable = phases.unstable
    l, u = interval.lower[unstable], interval.upper[unstable]
    # valid as any larger big-M is
    l, u = np.minimum(l, -LEAST_BIG_M), np.maximum(u, LEAST_BIG_M)
    one = np.ones(unstable.size)
    a_minus_z, a_below = [(one, a_columns), (-one, z_columns)], [(one, a_columns), (-u, d_columns)]
    builder.add_rows(f"relu_above_z_{label}", unstable, a_minus_z, 0.0, np.inf)
    below_z = [*a_minus_z, (-l, d_columns)]
    builder.add_rows(f"relu_active_{label}", unstable, below_z, -np.inf, -l)
    builder.add_rows(f"relu_inactive_{label}", unstable, a_below, -np.inf, 0.0)
    return activations(phases, z_active, a_columns)
