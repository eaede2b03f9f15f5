"""A lower bound on a linear program that rests on arithmetic alone, not on a solver's tolerances.

For any row multipliers ``y`` whatever, and any ``v`` with ``r⁻ ≤ A v ≤ r⁺``, ``l ≤ v ≤ u``:

    c·v = y·(A v) + (c − Aᵀy)·v ≥ Σ_i min(y_i r⁻_i, y_i r⁺_i) + Σ_j min(d_j l_j, d_j u_j),
    d = c − Aᵀy

(Neumaier, Shcherbina, *Safe bounds in linear and mixed-integer linear programming*, Mathematical
Programming 99, 2004.) With a solver's optimal duals the bound is the optimum, up to rounding; with
bad ones it is weaker and still valid. Every sum is computed in float64 and lowered by the rounding
error that it can have made.

The rows of an encoding are themselves rounded: ``M_k C_k`` and ``M_k k_k`` of
:mod:`~verix_encodings.affine` are products in float64. :func:`encoding_error` bounds by how much a
true trajectory of the network can miss a row for that reason; the rows are widened by it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verix_encodings.arrays import FloatArray, Matrix
from verix_encodings.bounds import Bounds, relative_error
from verix_encodings.network import Affine, Network
from verix_encodings.program import Program

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class SafeBound:
    """The bound over the linear relaxation of ``program``, for many costs and multipliers.

    What depends on the program alone is computed once. With ``R_j = max(|l_j|, |u_j|)``, the
    reduced costs as computed are off by no more than ``γ (|c_j| + Σ_i |A_ij| |y_i|)``, which costs
    the bound at most ``γ (|c|·R + |y|·|A| R)``.
    """

    program: Program

    @cached_property
    def _transposed(self) -> Matrix:
        return self.program.matrix.T

    @cached_property
    def _reach(self) -> FloatArray:
        return np.maximum(np.abs(self.program.column_lower), np.abs(self.program.column_upper))

    @cached_property
    def _row_reach(self) -> FloatArray:
        """``|A| R``; infinite for a row with a column that has an infinite end."""
        with np.errstate(invalid="ignore"):
            reach: FloatArray = abs(self.program.matrix) @ self._reach
        return np.where(np.isnan(reach), np.inf, reach)

    def lower(
        self,
        cost: FloatArray,
        multipliers: FloatArray,
        row_error: float = 0.0,
        ends: tuple[FloatArray, FloatArray] | None = None,
    ) -> float:
        """Bound ``cost·v`` from below by the multipliers ``y`` of any origin, shape (rows,).

        ``row_error`` widens every row on both sides; ``ends`` are column bounds to use instead of
        the program's, and not outside them. The bound is -inf where a column that it needs has an
        infinite end.
        """
        program = self.program
        y = _usable(program, multipliers)
        size = np.abs(y)
        used, weighted = y != 0.0, cost != 0.0
        reach = float(
            size[used] @ self._row_reach[used] + np.abs(cost[weighted]) @ self._reach[weighted]
        )
        if not reach < np.inf:
            return -np.inf
        reduced = cost - self._transposed @ y
        side = np.where(y > 0, program.row_lower, program.row_upper)[used]
        low, high = (program.column_lower, program.column_upper) if ends is None else ends
        # a column with an infinite end has no cost here and is in no row used
        low, high = np.where(reduced, low, 0.0), np.where(reduced, high, 0.0)
        bound = float(y[used] @ side + np.minimum(reduced * low, reduced * high).sum())
        total = float(
            size[used] @ np.abs(side) + np.abs(reduced) @ np.maximum(np.abs(low), np.abs(high))
        )
        reduced_error = relative_error(program.rows + 1) * reach
        lost = (
            relative_error(program.rows + program.columns) * (total + reduced_error) + reduced_error
        )
        lost += row_error * float(size.sum()) + _TINY * (program.rows + program.columns)
        return float(bound - lost * (1 + 1e-9))


def safe_lower_bound(
    program: Program, cost: FloatArray, multipliers: FloatArray, row_error: float = 0.0
) -> float:
    """Bound ``cost·v`` from below over the linear relaxation of ``program``, as :class:`SafeBound`.

    ``multipliers`` is ``y``, shape (rows,), of any origin; ``row_error`` widens every row on both
    sides. The bound is -inf where a column that it needs has an infinite end.
    """
    return SafeBound(program).lower(cost, multipliers, row_error)


def encoding_error(network: Network, bounds: Bounds) -> float:
    """Bound the rounding error in any expression that encoding ``network`` forms.

    ``bounds`` must be valid: the values of the input and of activations lie within them.
    """
    reaches, errors = [bounds[0].magnitude], [np.zeros(network.input_size)]
    for value, node in enumerate(network.nodes, start=1):
        if not isinstance(node, Affine):
            reaches.append(bounds[value].magnitude)
            errors.append(np.zeros(network.sizes[value]))
            continue
        reach, error = np.abs(node.bias), np.zeros(node.bias.size)
        terms = 1
        for source, matrix in node.terms:
            weight = abs(matrix)
            reach = reach + weight @ reaches[source]
            error = error + weight @ errors[source]
            terms += matrix.shape[1]
        reaches.append(reach)
        errors.append((error + relative_error(terms) * reach) * (1 + 1e-9))
    return max(float(np.max(error, initial=0.0)) for error in errors)


def _usable(program: Program, multipliers: FloatArray) -> FloatArray:
    """Return the multipliers, zero where they point at an infinite side or are no numbers."""
    y = np.where(np.isfinite(multipliers), multipliers, 0.0)
    y = np.where((y > 0) & ~np.isfinite(program.row_lower), 0.0, y)
    return np.where((y < 0) & ~np.isfinite(program.row_upper), 0.0, y)
