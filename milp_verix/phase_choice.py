"""Which phase to split a node at: the one that the relaxation gains most by getting wrong.

Two measures, of which the geometric mean decides:

- how far the phase is from both of its values, with all else as it is, times what its big-Ms are
  worth to the row duals: by so much the bound gains where the phase is fixed, to first order;
- by how much the neuron lowers the worst margin of its scenario by being above ``max(z, 0)``:
  ``−∂m/∂a (a − max(z, 0))``. A neuron of a scenario that the shares survive has no such part in it.
"""

import numpy as np

from milp_verix.solvers.live_lp import LpResult
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.program import Program
from verix_encodings.scenario import PhaseTable

_WRONG = 1e-8
_TIE = 1e-3


class PhaseChoice:
    """The phases of ``program``: its integer columns, but for the ``features``."""

    def __init__(self, program: Program, features: IntArray, table: PhaseTable) -> None:
        integer = program.integer.copy()
        integer[features] = False
        self.columns: IntArray = np.flatnonzero(integer)
        self._program = program
        self._entries = program.matrix[:, self.columns].tocoo()
        self._with_phase = program.matrix[self._entries.row]
        self._table = table
        self._place = np.searchsorted(self.columns, table.phase)

    def worst(self, result: LpResult, fixed: IntArray, slopes: FloatArray) -> int | None:
        """Return the column to split at; None where each may be what its rows want.

        ``slopes`` are those of the margins in the activations of the table, zero for all that do
        not matter.
        """
        wrong, gain = self._first_order(result)
        wrong[np.isin(self.columns, fixed)] = 0.0
        open_ = np.flatnonzero(wrong > _WRONG)
        if not open_.size:
            return None
        both = np.sqrt(gain * self._gained(result, slopes))[open_]
        # the gain of one that is wrong is above zero
        measure = both if both.any() else gain[open_]
        return int(self.columns[open_[np.argmax(measure)]])

    def _first_order(self, result: LpResult) -> tuple[FloatArray, FloatArray]:
        """Return how wrong each phase is, and what the bound gains by its being right."""
        entries, program, point = self._entries, self._program, result.point
        assert point is not None
        rows, weight = entries.row, np.abs(entries.data)
        others = self._with_phase @ point - entries.data * point[self.columns[entries.col]]
        ends = np.stack([program.row_lower[rows] - others, program.row_upper[rows] - others])
        ends = np.sort(ends / entries.data, axis=0)
        count = self.columns.size
        low, high, size = np.zeros(count), np.ones(count), np.zeros(count)
        np.maximum.at(low, entries.col, ends[0])
        np.minimum.at(high, entries.col, ends[1])
        np.maximum.at(size, entries.col, weight)
        distance = np.maximum(np.minimum(low, 1.0 - high), 0.0)
        wrong = distance * size
        worth = np.zeros(count)
        if result.multipliers is not None:
            np.add.at(worth, entries.col, weight * np.abs(result.multipliers[rows]))
        # where the duals tell nothing apart, the big-Ms alone do
        return wrong, distance * worth + _TIE * wrong

    def _gained(self, result: LpResult, slopes: FloatArray) -> FloatArray:
        """Return by how much each neuron lowers the worst margin of its scenario."""
        assert result.point is not None
        gained = np.zeros(self.columns.size)
        z, a = result.point[self._table.argument], result.point[self._table.activation]
        gained[self._place] = np.maximum(-slopes, 0.0) * np.maximum(a - np.maximum(z, 0.0), 0.0)
        return gained
