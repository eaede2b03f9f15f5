"""The choice of the phase to branch on: the phase whose fixing raises the bound the most.

With all other columns at the optimum, the big-M rows of a phase allow it a range. Its distance is
how far that range is from 0 and from 1, whichever is nearer. The distance times the duals of these
rows estimates, to first order, how much fixing the phase raises the bound.
"""

import numpy as np

from milp_verix.solvers.phase.warm_lp import LpResult
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.program.program import Program

_WRONG = 1e-8  # distance of a phase from its value, beyond the tolerance of an LP
# weight of that distance beside the duals; the sum of both was not measured (`9107551`)
_TIE = 1e-3


class PhaseBranching:
    """Chooses a phase of ``program`` by its big-M rows; ``columns`` are the phases.

    Phases are the integer columns after the first ``features`` columns.
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
        """Return the phase to branch on, as a column that is not ``fixed``.

        None if the rows of every phase allow it to be 0 or 1.
        """
        assert result.point is not None
        distance = self._distances(result.point)
        distance[np.isin(self.columns, fixed)] = 0.0
        wrong = distance * self._size
        if not np.any(wrong > _WRONG):
            return None
        # the big-Ms break ties between equal duals
        gain = _TIE * wrong
        if result.multipliers is not None:
            duals = np.abs(self._data * result.multipliers[self._row])
            gain += distance * np.bincount(self._phase, duals, minlength=self.columns.size)
        return int(self.columns[np.argmax(np.where(wrong > _WRONG, gain, -1.0))])

    def _distances(self, point: FloatArray) -> FloatArray:
        """Return the distance of each phase from the nearer of 0 and 1, by its rows, (phases,)."""
        others = self._matrix @ point - self._data * point[self.columns[self._phase]]
        low, high = np.zeros(self.columns.size), np.ones(self.columns.size)
        # each row allows a range of the phase, with all other columns at the optimum
        asked = (self._low_side - others) / self._data, (self._high_side - others) / self._data
        low[self._held] = np.maximum.reduceat(asked[0], self._starts)
        high[self._held] = np.minimum.reduceat(asked[1], self._starts)
        nearest: FloatArray = np.maximum(np.minimum(low, 1.0 - high), 0.0)
        return nearest
