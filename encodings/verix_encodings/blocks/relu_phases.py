"""What every formulation of a ReLU shares: the phases that the bounds ``z ∈ [l, u]`` leave.

l ≥ 0 (active)        a = z                   z gets a column, a is the same one
u ≤ 0 (inactive)      a = 0                   no column
l < 0 < u (unstable)  a = max(z, 0)           what formulations differ in
"""

from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import IntArray, placed
from verix_encodings.bounds.interval import Interval
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


def activations(phases: Phases, active: IntArray, unstable: IntArray) -> Expressions:
    """Return ``a`` of the whole layer: a column for each modelled neuron, 0 for the others.

    ``active`` and ``unstable`` are the columns of these neurons.
    """
    neurons = np.concatenate([phases.active, phases.unstable])
    selection = placed(1.0, neurons, np.arange(neurons.size), (phases.size, neurons.size))
    return Expressions(np.concatenate([active, unstable]), selection, np.zeros(phases.size))
