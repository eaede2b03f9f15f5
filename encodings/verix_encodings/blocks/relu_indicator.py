"""The ReLU ``a = max(z, 0)`` with ``z ∈ [l, u]``, by indicator constraints.

    l ≥ 0 (active)        a = z                                            no binary
    u ≤ 0 (inactive)      a = 0                                            no binary
    l < 0 < u (unstable)  a ≥ z,   0 ≤ a ≤ u,
                          d = 1  ⇒  a ≤ z,
                          d = 0  ⇒  a ≤ 0,                                 d ∈ {0, 1}

(Bonami, Lodi, Tramontani, Wiese, *On mathematical programming with indicator constraints*,
Mathematical Programming 151, 2015; for ReLUs Fischetti, Jo, *Constraints* 23, 2018, §2.) No
constant multiplies a binary: with ``d`` within the integrality tolerance of 0 or 1 the implication
holds in full.

A solver may still turn an implication into a row, with a big-M from the bounds of the columns: then
the integrality tolerance leaks as it does in ``blocks.relu``. So ``z`` and ``a`` have the same
bounds here as there.
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.blocks.relu_phases import activations, phase_columns, phases_of
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions


def indicator_relu(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
) -> Expressions:
    """Encode the ReLU of the expressions ``z``, which lie in ``interval``; return ``a``.

    Columns are named ``z_label_i``, ``a_label_i`` and ``d_label_i`` for neuron ``i``.
    """
    phases = phases_of(interval)
    z_active, z_columns, a_columns, d_columns = phase_columns(builder, label, z, interval, phases)

    unstable = phases.unstable
    one = sp.eye_array(unstable.size, format="csr")
    a_minus_z = [(one, a_columns), (-one, z_columns)]
    builder.add_rows(f"relu_above_z_{label}", unstable, a_minus_z, 0.0, np.inf)
    builder.add_indicators(
        f"relu_active_{label}", unstable, d_columns, a_minus_z, value=1, upper=0.0
    )
    builder.add_indicators(
        f"relu_inactive_{label}", unstable, d_columns, [(one, a_columns)], value=0, upper=0.0
    )
    return activations(phases, z_active, a_columns)
