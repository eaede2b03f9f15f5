"""Phases that rows of backward bounds suppose, and the multipliers of these suppositions.

A row that supposes the phase of ``v = max(z, 0)`` replaces ``v`` exactly, and adds a multiple of
its supposition, for any ``β ≥ 0``:

    z ≥ 0     c·v ≤ c z + β z          z ≤ 0     c·v ≤ 0 − β z
    d ≥ 0     c·max(z_p, z_q) ≤ c z_q + β d                                    d = z_q − z_p
    d ≤ 0     c·max(z_p, z_q) ≤ c z_p − β d

The bound of such a row holds wherever all of its suppositions do (β-CROWN: Wang, Zhang, Xu, Lin,
Jana, Hsieh, Kolter, NeurIPS 2021).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.network.nodes import Max, Relu, Smooth


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Suppositions about one activation: ``neurons[k]`` is ``active[k]`` in row ``rows[k]``."""

    rows: IntArray
    neurons: IntArray
    active: BoolArray

    def taken_from(
        self, node: Relu | Max | Smooth, c: FloatArray, size: int
    ) -> tuple[FloatArray, sp.csr_array]:
        """Take the coefficients of these neurons out of ``c``, (R, neurons).

        Returns the coefficients left, and those of the exact values in terms of what ``node``
        reads: ``z``, or the entries of pairs, of the given ``size``.
        """
        assert not isinstance(node, Smooth)
        taken, left = c[self.rows, self.neurons], c.copy()
        left[self.rows, self.neurons] = 0.0
        columns, kept = self.neurons, self.active
        if isinstance(node, Max):
            columns = np.where(self.active, node.second[columns], node.first[columns])
            kept = np.ones_like(self.active)
        places = self.rows[kept], columns[kept]
        return left, sp.csr_array((taken[kept], places), shape=(c.shape[0], size))


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Suppositions by the number of the activation, and multiples of them by that of ``z``.

    ``multipliers`` are the coefficients ``β`` where ``z ≥ 0`` is supposed, ``−β`` where ``z ≤ 0``
    is, and zero elsewhere; shape (R, neurons).
    """

    phases: Mapping[int, Phases] = field(default_factory=dict)
    multipliers: Mapping[int, FloatArray] = field(default_factory=dict)


def entries_of(entries: IntArray, size: int) -> sp.csr_array:
    """Return the matrix that picks ``entries`` of a value of ``size``."""
    shape = entries.size, size
    return sp.csr_array((np.ones(entries.size), entries, np.arange(entries.size + 1)), shape=shape)
