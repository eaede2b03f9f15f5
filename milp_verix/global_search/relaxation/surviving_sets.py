"""The sets of features that satisfy several linear rows ``G A + h ≤ 0`` at once.

They are listed feature by feature, those first that the sum of the rows depends on most. With the
features ``B`` chosen so far, ``λ ≥ 0`` rules out whatever ``B`` can become where

    λ·(h + G B) + Σ_f min(0, λ·G_f) > 0,    f to come

The rows come scaled, so that their sum says what a bound says, and each by itself says something at
the end. In between it is other multipliers that tell: the row duals of

    minimise t   subject to   h + G B + Σ_f G_f A_f ≤ w t,   0 ≤ A_f ≤ 1

for some of the beginnings, whose least ``t`` is above zero where no shares can save them. What
rules out one beginning rules out most of those like it. Any ``λ`` is a proof: nothing rests on the
solver.
"""

from collections.abc import Callable

import numpy as np

from milp_verix.global_search.enumeration.frontier import Frontier
from milp_verix.global_search.enumeration.set_products import CandidateSets
from milp_verix.solvers.interrupt import deferred_interrupt
from milp_verix.solvers.phase.warm_lp import WarmLp
from verix_encodings.arrays import FloatArray
from verix_encodings.program.builder import ProgramBuilder

_ROUNDING = 1e-9
_TINY = float(np.finfo(np.float64).tiny)
_LARGEST = 1e100
_WORTH = 1000
_EVERY = 3
_SAMPLES = 4


def surviving(
    matrix: FloatArray, constant: FloatArray, most: int, another: Callable[[], WarmLp]
) -> CandidateSets | None:
    """Return the sets of features with ``G A + h ≤ 0``, and such as rounding cannot tell from them.

    ``matrix`` is ``G``, shape (rows, features); ``constant`` is ``h``. Rows whose sums may overflow
    rule out nothing. None where more than ``most`` beginnings are to be looked at, at some feature.
    ``another`` makes an empty linear program.
    """
    size = np.abs(constant) + np.abs(matrix).sum(axis=1)
    useful = size < _LARGEST
    matrix, constant, size = matrix[useful], constant[useful], size[useful]
    order = np.argsort(-np.abs(matrix.sum(axis=0)), kind="stable")
    matrix = matrix[:, order]
    # far above what sums in any order can be off by
    constant = constant - _ROUNDING * size
    multipliers = np.concatenate([np.ones((1, constant.size)), np.eye(constant.size)])
    rows = multipliers @ matrix
    frontier = Frontier(-(multipliers @ constant + np.minimum(rows, 0.0).sum(axis=1))[:, None])
    multiplier_lp: _MultiplierLp | None = None
    try:
        for number in range(order.size):
            takes = np.maximum(rows[:, number], 0.0), np.maximum(-rows[:, number], 0.0)
            frontier.choose([(True, takes[0]), (False, takes[1])])
            if frontier.ways > most:
                return None
            if frontier.ways > _WORTH and number % _EVERY == 0:
                multiplier_lp = multiplier_lp or _MultiplierLp(matrix, constant, another())
                further = _ruled_out(frontier, matrix, multiplier_lp)
                rows = np.concatenate([rows, further])
    finally:
        if multiplier_lp is not None:
            multiplier_lp.close()
    sets = frontier.chosen(np.flatnonzero(np.all(frontier.left >= 0.0, axis=0)))
    first, second = np.arange(sets.shape[1]), np.zeros(sets.shape[1], dtype=np.intp)
    return CandidateSets(order, order[:0], sets, np.zeros((0, 1)), first, second)


def _ruled_out(
    frontier: Frontier, matrix: FloatArray, multiplier_lp: "_MultiplierLp"
) -> FloatArray:
    """Rule out beginnings by multipliers for some of them; return the rows that these make.

    Each row by itself has an account, behind that of their sum.
    """
    to_come = matrix[:, frontier.features :]
    reached = -frontier.left[1 : 1 + matrix.shape[0]]
    reached -= np.minimum(to_come, 0.0).sum(axis=1, keepdims=True)
    alive = np.arange(frontier.ways)
    rows, left = [], []
    for sample in range(_SAMPLES):
        if not alive.size:
            break
        some = alive[(2 * sample + 1) * alive.size // (2 * _SAMPLES)]
        y = _usable(multiplier_lp.at(frontier.chosen(np.array([some]))[:, 0]))
        rows.append(y @ matrix)
        least = np.minimum(rows[-1][frontier.features :], 0.0).sum()
        # products may underflow
        left.append(_TINY - (y @ reached + least))
        alive = alive[left[-1][alive] >= 0.0]
    frontier.account(np.array(left))
    return np.array(rows)


def _usable(multipliers: FloatArray) -> FloatArray:
    """Return the multipliers as shares of the largest; zero for what is negative or no number."""
    y = np.where((multipliers > 0.0) & (multipliers < np.inf), multipliers, 0.0)
    largest = float(np.max(y, initial=0.0))
    return y / largest if largest > 0.0 else y


class _MultiplierLp:
    """The linear program above, ``w`` being the largest entry of each row."""

    def __init__(self, matrix: FloatArray, constant: FloatArray, lp: WarmLp) -> None:
        self._lp = lp
        largest = np.abs(matrix).max(axis=1)
        self._size = np.where(largest > 0.0, largest, 1.0)
        rows, features = matrix.shape
        scaled, known = matrix / self._size[:, None], constant / self._size
        farthest = float(np.max(np.abs(known) + np.abs(scaled).sum(axis=1), initial=0.0))
        builder = ProgramBuilder()
        selection = builder.add_columns("A", np.arange(features), 0.0, 1.0)
        t = builder.add_columns("t", np.arange(1), -farthest, farthest)
        terms = [(scaled, selection), (np.full((rows, 1), -1.0), t)]
        builder.add_rows("row", np.arange(rows), terms, -np.inf, -known)
        self._program = builder.build()
        lp.load(self._program)
        lp.set_cost(np.append(np.zeros(features), 1.0))

    def at(self, beginning: FloatArray) -> FloatArray:
        """Return the LP's multipliers for the first features being as in ``beginning``."""
        lower, upper = self._program.column_lower.copy(), self._program.column_upper.copy()
        lower[: beginning.size] = upper[: beginning.size] = beginning
        self._lp.set_bounds(lower, upper)
        with deferred_interrupt() as interrupt:
            result = self._lp.solve(np.inf, np.inf, interrupt)
        if result.multipliers is None:
            return np.ones(self._size.size)
        # those of rows that are bounded from above are negative
        multipliers: FloatArray = -result.multipliers / self._size
        return multipliers

    def close(self) -> None:
        """Free the linear program."""
        self._lp.close()
