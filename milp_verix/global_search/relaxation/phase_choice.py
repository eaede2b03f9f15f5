"""Which phase to split a node at: the one that the relaxation gains most by getting wrong.

Two measures, of which the geometric mean decides:

- how far the phase is from both of its values, with all else as it is, times what its big-Ms are
  worth to the row duals: by so much the bound gains where the phase is fixed, to first order;
- by how much the neuron lowers the worst margin of its scenario by being above ``max(z, 0)``:
  ``−∂m/∂a (a − max(z, 0))``. A neuron of a scenario that the shares survive has no such part in it.
"""

import numpy as np

from milp_verix.solvers.phase.warm_lp import LpResult
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.scenario import PhaseTable
from verix_encodings.program.program import Program

_WRONG = 1e-8
_TIE = 1e-3


class PhaseChoice:
    """The phases of ``program``: its integer columns, but for the ``features``."""

    def __init__(self, program: Program, features: IntArray, table: PhaseTable) -> None:
        integer = program.integer.copy()
        integer[features] = False
        self.columns: IntArray = np.flatnonzero(integer)
        self._table = table
        self._place = np.searchsorted(self.columns, table.phase)
        self._entries = _Entries(program, self.columns)

    def worst(self, result: LpResult, fixed: IntArray, slopes: FloatArray) -> int | None:
        """Return the column to split at; None where each may be what its rows want.

        ``slopes`` are those of the margins in the activations of the table, zero for all that do
        not matter.
        """
        assert result.point is not None
        wrong, gain = self._entries.first_order(result.point, result.multipliers)
        is_fixed = np.zeros(result.point.size, dtype=bool)
        is_fixed[fixed] = True
        wrong[is_fixed[self.columns]] = 0.0
        open_ = np.flatnonzero(wrong > _WRONG)
        if not open_.size:
            return None
        both = np.sqrt(gain * self._gained(result.point, slopes))[open_]
        # the gain of one that is wrong is above zero
        measure = both if both.any() else gain[open_]
        return int(self.columns[open_[np.argmax(measure)]])

    def _gained(self, point: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return by how much each neuron lowers the worst margin of its scenario."""
        gained = np.zeros(self.columns.size)
        z, a = point[self._table.argument], point[self._table.activation]
        gained[self._place] = np.maximum(-slopes, 0.0) * np.maximum(a - np.maximum(z, 0.0), 0.0)
        return gained


class _Entries:
    """The entries of phases in the rows of a program, column by column: their big-Ms."""

    def __init__(self, program: Program, columns: IntArray) -> None:
        entries = program.matrix[:, columns].tocsc()
        in_column = np.diff(entries.indptr)
        self._phase, self._row = np.repeat(np.arange(columns.size), in_column), entries.indices
        self._data: FloatArray = entries.data
        self._column = columns[self._phase]
        self._matrix = program.matrix[self._row]
        sides = program.row_lower[self._row], program.row_upper[self._row]
        self._low_side = np.where(self._data > 0, *sides)
        self._high_side = np.where(self._data > 0, *reversed(sides))
        self._count = columns.size
        self._held = np.flatnonzero(in_column)
        self._starts = entries.indptr[self._held]
        self._size = np.zeros(columns.size)
        self._size[self._held] = np.maximum.reduceat(np.abs(self._data), self._starts)

    def first_order(
        self, point: FloatArray, multipliers: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return how wrong each phase is, and what the bound gains by its being right."""
        others = self._matrix @ point - self._data * point[self._column]
        low, high = np.zeros(self._count), np.ones(self._count)
        # what each row alone asks of the phase, all else being as it is
        asked = (self._low_side - others) / self._data, (self._high_side - others) / self._data
        low[self._held] = np.maximum.reduceat(asked[0], self._starts)
        high[self._held] = np.minimum.reduceat(asked[1], self._starts)
        distance = np.maximum(np.minimum(low, 1.0 - high), 0.0)
        wrong = distance * self._size
        worth: FloatArray = np.zeros(self._count)
        if multipliers is not None:
            duals = np.abs(self._data * multipliers[self._row])
            worth += np.bincount(self._phase, weights=duals, minlength=self._count)
        # where the duals tell nothing apart, the big-Ms alone do
        return wrong, distance * worth + _TIE * wrong
