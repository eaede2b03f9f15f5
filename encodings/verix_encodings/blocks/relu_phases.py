"""The phases of ReLUs that the bounds ``z ∈ [l, u]`` leave, and columns that formulations share.

l ≥ 0 (active)        a = z                   z gets a column, a is the same one
u ≤ 0 (inactive)      a = 0                   no column
l < 0 < u (unstable)  a = max(z, 0)           here formulations differ
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from verix_encodings.arrays import IntArray, placed
from verix_encodings.blocks.affine import define
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Numbers of the neurons that are ``active`` or ``unstable``, of ``size`` in all."""

    active: IntArray
    unstable: IntArray
    size: int

    @property
    def modelled(self) -> IntArray:
        """Neurons that are not always zero, ascending."""
        return np.sort(np.concatenate([self.active, self.unstable]))


def phases_of(interval: Interval) -> Phases:
    """Return the phases of neurons whose arguments lie in ``interval``."""
    lower, upper = interval.lower, interval.upper
    active = np.flatnonzero(lower >= 0)
    return Phases(active, np.flatnonzero((lower < 0) & (upper > 0)), lower.size)


class PhaseColumns(NamedTuple):
    """Columns of a layer whose formulation decides phases by binaries.

    ``z_active`` are those of the active neurons; ``z``, ``a`` and ``d`` those of the unstable ones.
    """

    z_active: IntArray
    z: IntArray
    a: IntArray
    d: IntArray


def phase_columns(
    builder: ProgramBuilder, label: str, z: Expressions, interval: Interval, phases: Phases
) -> PhaseColumns:
    """Add ``z`` for each modelled neuron, ``a ∈ [0, u]`` and a binary ``d`` for the unstable ones.

    Columns are named ``z_label_i``, ``a_label_i`` and ``d_label_i`` for neuron ``i``.
    """
    unstable, z_of = phases.unstable, np.full(phases.size, -1)
    z_of[phases.modelled] = define(builder, f"z_{label}", z, interval, phases.modelled)
    a = builder.add_columns(f"a_{label}", unstable, 0.0, interval.upper[unstable])
    d = builder.add_columns(f"d_{label}", unstable, 0.0, 1.0, integer=True)
    return PhaseColumns(z_of[phases.active], z_of[unstable], a, d)


def activations(phases: Phases, active: IntArray, unstable: IntArray) -> Expressions:
    """Return ``a`` of the whole layer: a column for each modelled neuron, 0 for the others.

    ``active`` and ``unstable`` are the columns of these neurons.
    """
    neurons = np.concatenate([phases.active, phases.unstable])
    selection = placed(1.0, neurons, np.arange(neurons.size), (phases.size, neurons.size))
    return Expressions(np.concatenate([active, unstable]), selection, np.zeros(phases.size))
