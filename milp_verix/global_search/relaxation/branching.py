"""The choice of the phase to branch on: the one whose fixing raises the bound the most.

A phase is wrong by its distance from both of its values, with all other columns as they are. That
distance times the duals of its big-M rows is the gain of the bound where the phase is fixed, to
first order.
"""

import numpy as np

from milp_verix.solvers.phase.warm_lp import LpResult
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.program.program import Program

_WRONG = 1e-8
_TIE = 1e-3


class PhaseBranching:
    """The entries of the phases, ``columns``, in the rows of ``program``: their big-Ms.

    Phases are the integer columns behind the first ones, which are ``features``.
    """

    def __init__(self, program: Program, features: int) -> None:
        integer = program.integer.copy()
        integer[:features] = False
        self.columns: IntArray = np.flatnonzero(integer)
        entries = program.matrix[:, self.columns].tocsc()
        in_column = np.diff(entries.indptr)
        self._phase, self._row = np.repeat(np.arange(self.columns.size), in_column), entries.indices
        self._data: FloatArray = entries.data
        self._matrix = program.matrix[self._row]
        sides = program.row_lower[self._row], program.row_upper[self._row]
        self._low_side = np.where(self._data > 0, *sides)
        self._high_side = np.where(self._data > 0, *reversed(sides))
        self._held = np.flatnonzero(in_column)
        self._starts = entries.indptr[self._held]
        self._size = np.zeros(self.columns.size)
        self._size[self._held] = np.maximum.reduceat(np.abs(self._data), self._starts)

    def best(self, result: LpResult, fixed: IntArray) -> int | None:
        """Return the column to branch on; None where each phase has a value that its rows allow."""
        assert result.point is not None
        distance = self._distances(result.point)
        distance[np.isin(self.columns, fixed)] = 0.0
        wrong = distance * self._size
        if not np.any(wrong > _WRONG):
            return None
        # where the duals tell nothing apart, the big-Ms alone do
        gain = _TIE * wrong
        if result.multipliers is not None:
            duals = np.abs(self._data * result.multipliers[self._row])
            gain += distance * np.bincount(self._phase, duals, minlength=self.columns.size)
        return int(self.columns[np.argmax(np.where(wrong > _WRONG, gain, -1.0))])

    def _distances(self, point: FloatArray) -> FloatArray:
        """Return how far each phase is from 0 and from 1, whichever is nearer, by its rows."""
        others = self._matrix @ point - self._data * point[self.columns[self._phase]]
        low, high = np.zeros(self.columns.size), np.ones(self.columns.size)
        # each row alone asks for a range of the phase, with all other columns as they are
        asked = (self._low_side - others) / self._data, (self._high_side - others) / self._data
        low[self._held] = np.maximum.reduceat(asked[0], self._starts)
        high[self._held] = np.minimum.reduceat(asked[1], self._starts)
        nearest: FloatArray = np.maximum(np.minimum(low, 1.0 - high), 0.0)
        return nearest
