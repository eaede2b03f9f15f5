"""Margins under perturbations as linear forms in the selection, exact near one selection.

    m_r(A) = h_r + G_r·A,    G_rf = − Σ_{i ∈ f} ∂m_r/∂x_i δ_i

where each row ``r`` stands for one margin under one perturbation ``δ``.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, linprog

from milp_verix.oracle.perturbation_set import PerturbationSet
from verix_encodings.arrays import FloatArray
from verix_encodings.network.batch import batch_outputs, batch_slopes

_ROWS = 150  # largest margins in a program
_FIRST_ROWS = 20  # it begins with: an LP takes 16 ms, with all rows 58 ms (`8cf2761`)
_PROGRESS = 1e-6  # of a row that counts as violated


@dataclass(frozen=True, slots=True, eq=False)
class LinearMargins:
    """Linear forms ``h + G A``: ``constant`` is ``h``, shape (rows,), ``matrix`` is ``G``."""

    constant: FloatArray
    matrix: FloatArray

    def at(self, selection: FloatArray) -> FloatArray:
        """Return the margins at ``selection``, shape (rows,)."""
        values: FloatArray = self.constant + self.matrix @ selection
        return values


def linear_margins(
    perturbations: PerturbationSet, deltas: FloatArray, selection: FloatArray
) -> LinearMargins:
    """Return linear forms of the largest margins at ``selection``, the largest first.

    Margins under all ``deltas``, shape (d, N), compete for a fixed number of rows.
    """
    margins = perturbations.margins
    weight = perturbations.weight(selection)
    inputs = perturbations.centre[:, None] + weight[:, None] * deltas
    reached = batch_outputs(margins, inputs)
    nearest = np.argsort(-reached, axis=None, kind="stable")[:_ROWS]
    outputs, columns = np.unravel_index(nearest, reached.shape)
    slopes = batch_slopes(margins, inputs[:, columns], outputs) * deltas[:, columns]
    matrix = np.zeros((outputs.size, selection.size))
    np.subtract.at(matrix.T, perturbations.feature_of, slopes)
    constant = reached[outputs, columns] - matrix @ selection
    # where the network is undefined, there is no row
    known = np.isfinite(constant) & np.isfinite(matrix).all(axis=1)
    return LinearMargins(constant[known], matrix[known])


def largest_margin(
    perturbations: PerturbationSet, deltas: FloatArray, selection: FloatArray
) -> float:
    """Return the largest margin at ``selection`` under any of ``deltas``, shape (d, N).

    It is -inf under none: every selection survives these.
    """
    margins = perturbations.margins_at(perturbations.weight(selection), deltas)
    return float(np.max(margins, initial=-np.inf))


def minimised(
    cost: FloatArray,
    rows: tuple[FloatArray, FloatArray],
    bounds: tuple[FloatArray, FloatArray],
    always: tuple[FloatArray, FloatArray] | None = None,
) -> OptimizeResult:
    """Minimise ``cost·v`` subject to ``G v ≤ g`` for the pairs ``rows`` and ``always`` of ``G, g``.

    Few of the ``rows`` bind: the program begins with the first ones, and violated rows are added
    until none is left. The rows in ``always`` are in it from the start.
    """
    matrix, upper = rows
    last = (np.zeros((0, cost.size)), np.zeros(0)) if always is None else always
    held = np.arange(upper.size) < _FIRST_ROWS
    while True:
        found = linprog(
            cost,
            A_ub=np.vstack([matrix[held], last[0]]),
            b_ub=np.append(upper[held], last[1]),
            bounds=np.column_stack(bounds),
            method="highs-ds",
        )
        if found.x is None:
            return found
        violated = ~held & (matrix @ found.x > upper + _PROGRESS)
        if not violated.any():
            return found
        held |= violated
