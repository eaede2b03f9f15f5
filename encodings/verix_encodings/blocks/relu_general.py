"""The ReLU ``a = max(z, 0)`` with ``z ∈ [l, u]``, by a constraint that says just this.

    l ≥ 0 (active)        a = z
    u ≤ 0 (inactive)      a = 0
    l < 0 < u (unstable)  a = max(z, 0)    a general constraint,   z ∈ [l, u],   0 ≤ a ≤ u

The solver makes binaries and big-Ms of it in its presolve, from its own bounds of ``z`` and ``a``
(Gurobi, *Reference manual*, simple general constraints). The relaxation that it branches on is the
big-M one of ``blocks.relu`` or a tighter one; the program's own, without the constraint, knows
nothing of the ReLU.
"""

import numpy as np

from verix_encodings.blocks.affine import define
from verix_encodings.blocks.relu_phases import activations, phases_of
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions


def general_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
) -> Expressions:
    """Encode the ReLU of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i`` and ``a_label_i`` for neuron ``i``.
    """
    phases = phases_of(interval)
    z_of = np.full(phases.size, -1)
    z_of[phases.modelled] = define(builder, f"z_{label}", z, interval, phases.modelled)
    unstable = phases.unstable
    a = builder.add_columns(f"a_{label}", unstable, 0.0, interval.upper[unstable])
    builder.add_maxima(f"relu_{label}", unstable, a, z_of[unstable][:, None], 0.0)
    return activations(phases, z_of[phases.active], a)
