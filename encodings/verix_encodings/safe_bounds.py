"""Bounds that rest on arithmetic alone, not on a solver's tolerances, and proofs by cases.

For any row multipliers ``y``, and any ``v`` with ``r⁻ ≤ A v ≤ r⁺``, ``l ≤ v ≤ u``:

    c·v = y·(A v) + (c − Aᵀy)·v ≥ Σ_i min(y_i r⁻_i, y_i r⁺_i) + Σ_j min(d_j l_j, d_j u_j),
    d = c − Aᵀy

(Neumaier, Shcherbina, *Safe bounds in linear and mixed-integer linear programming*, Mathematical
Programming 99, 2004.) With a solver's optimal duals the bound is the optimum, up to rounding; with
bad ones it is weaker and still valid. Every sum is computed in float64 and lowered by the rounding
error that it can have made.

The rows of an encoding are themselves rounded: ``M_k C_k`` and ``M_k k_k`` of
``blocks.layers`` are products in float64. :func:`encoding_error` bounds how far a true trajectory
of the network can miss a row by this rounding; the rows are widened by it.

Optimality-based bound tightening (OBBT): ranges of expressions over a program, by solving it. Each
entry of an expression vector is minimised and maximised (Tjeng, Xiao, Tedrake, ICLR 2019, §4.2). A
range rests on the bound that each solve proves, not on its optimum.

A proof by cases that a program costs no less than a bound: each leaf of a branch and bound fixes
some integer columns, ``v_j = b_j`` for ``j`` in ``F``, and holds row multipliers ``y``. Over the
relaxation of its case these prove the bound above, with ``l_j = u_j = b_j`` for ``j ∈ F``; with
``c = 0``, a right-hand side above zero shows that the case has no point. The cases together must
cover everything:

    every v ∈ {0, 1}^J has a leaf with v_j = b_j for all j ∈ F,

and then the least of their bounds is a bound for the program. Cover is shown by splitting: a set of
leaves covers if one leaf fixes nothing, or if, for some column, the leaves that do not fix it to 1
cover the case 0, and the leaves that do not fix it to 0 cover the case 1.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import FloatArray, Matrix, frozen, relative_error
from verix_encodings.bounds.interval import Bounds, Interval, Late, Range, never
from verix_encodings.network import Network
from verix_encodings.program import Expressions, Program
from verix_encodings.work import spend_entries, spend_product

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class SafeBound:
    """The bound over the linear relaxation of ``program``, for many costs and multipliers.

    Terms of the program alone are computed once. With ``R_j = max(|l_j|, |u_j|)``, the computed
    reduced costs have errors of at most ``γ (|c_j| + Σ_i |A_ij| |y_i|)``, which lower the bound by
    at most ``γ (|c|·R + |y|·|A| R)``.
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

    @cached_property
    def _sides(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """``r⁻`` and ``r⁺``, 0 where infinite, and for each 1 where it is finite, 0 elsewhere."""
        low, high = self.program.row_lower, self.program.row_upper
        has_low, has_high = np.isfinite(low), np.isfinite(high)
        sides = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
        return *sides, has_low.astype(np.float64), has_high.astype(np.float64)

    @cached_property
    def _bounded(self) -> bool:
        return bool(np.isfinite(self._reach).all())

    def usable(self, multipliers: FloatArray) -> FloatArray:
        """Return the multipliers that :meth:`proof` uses for ``multipliers``, shape (rows,)."""
        _, _, has_low, has_high = self._sides
        y = multipliers
        if not np.isfinite(y).all():
            y = np.where(np.isfinite(y), y, 0.0)
        used: FloatArray = y * np.where(y > 0, has_low, has_high)
        return used

    def lower(
        self,
        cost: FloatArray,
        multipliers: FloatArray,
        row_error: float = 0.0,
        ends: Range | None = None,
    ) -> float:
        """Return the bound of :meth:`proof` alone."""
        return self.proof(cost, multipliers, row_error, ends)[0]

    def proof(
        self,
        cost: FloatArray,
        multipliers: FloatArray,
        row_error: float = 0.0,
        ends: Range | None = None,
    ) -> tuple[float, FloatArray]:
        """Bound ``cost·v`` from below by the multipliers ``y`` of any origin, shape (rows,).

        ``row_error`` widens every row on both sides; ``ends`` are column bounds to use instead of
        the program's, and not outside them. The bound is -inf where a column that it needs has an
        infinite end. Multipliers that are no numbers or point at an infinite side count as zero.
        Also return the reduced costs ``d`` as computed, (columns,), NaN if a sum overflows.
        """
        y = self.usable(multipliers)
        size, weight = np.abs(y), np.abs(cost)
        spend_product(self._transposed)
        spend_entries(size.size + weight.size, 12)
        if self._bounded:
            reach = float(size @ self._row_reach + weight @ self._reach)
        else:
            reach = float(size[y != 0] @ self._row_reach[y != 0])
            reach += float(weight[cost != 0] @ self._reach[cost != 0])
        if not reach < np.inf:
            return -np.inf, np.full(cost.size, np.nan)
        reduced = cost - self._transposed @ y
        low, high = (self.program.column_lower, self.program.column_upper) if ends is None else ends
        if not self._bounded:
            # a column with an infinite end has no cost here and is in no row used
            low, high = np.where(reduced, low, 0.0), np.where(reduced, high, 0.0)
        return self._least(y, reduced, (low, high), reach, row_error), reduced

    def _least(
        self, y: FloatArray, d: FloatArray, ends: Range, reach: float, row_error: float
    ) -> float:
        """Return ``Σ_i min(y_i r⁻_i, y_i r⁺_i) + Σ_j min(d_j l_j, d_j u_j)``, less its rounding.

        The sides that ``y`` needs are finite; ``l`` and ``u`` are ``ends``. ``d``, times the
        columns that it multiplies, is off by ``γ reach`` at most.
        """
        program, size = self.program, np.abs(y)
        low_side, high_side, _, _ = self._sides
        side = np.where(y > 0, low_side, high_side)
        at_low, at_high = d * ends[0], d * ends[1]
        least = float(y @ side + np.minimum(at_low, at_high).sum())
        total = float(size @ np.abs(side) + np.maximum(np.abs(at_low), np.abs(at_high)).sum())
        terms = program.rows + program.columns
        reduced_error = relative_error(program.rows + 1) * reach
        lost = relative_error(terms) * (total + reduced_error) + reduced_error
        lost += row_error * float(size.sum()) + _TINY * terms
        proven = float(least - lost * (1 + 1e-9))
        return proven if proven > -np.inf else -np.inf


def encoding_error(network: Network, bounds: Bounds) -> float:
    """Bound the rounding error in any expression that encoding ``network`` forms.

    ``bounds`` must be valid: the values of the input and of activations lie within them.
    """
    rounded = [(np.zeros(network.input_size), bounds[0].magnitude)]
    for node, interval in zip(network.nodes, bounds[1:], strict=True):
        rounded.append(node.encoding_error(rounded, interval))
    return max(float(np.max(error, initial=0.0)) for error, _ in rounded)


def evaluation_error(network: Network, bounds: Bounds) -> FloatArray:
    """Bound the rounding error of evaluating each output in float64; shape (outputs,).

    ``bounds`` must be valid. Each kind of node bounds its own error (Higham, *Accuracy and
    Stability of Numerical Algorithms*, 2002, §3.1); an error that overflows is infinite.
    """
    errors = [np.zeros(network.input_size)]
    with np.errstate(over="ignore", invalid="ignore"):
        for node in network.nodes:
            errors.append(node.evaluation_error(errors, bounds))
    return np.where(np.isnan(errors[-1]), np.inf, errors[-1])


Least: TypeAlias = Callable[[int, FloatArray, float], tuple[float, FloatArray | None]]
"""Proves a lower bound on ``±z_i`` over a program, given ``i``, and ``cost`` and ``constant`` with
``±z_i = cost·v + constant``; with the point that the solve ended at. -inf and None for nothing."""


def tightened_range(
    z: Expressions,
    known: Interval,
    rows: Iterable[int],
    least: Least,
    columns: int,
    *,
    late: Late = never,
) -> Interval:
    """Return ``known``, bounds on ``z``, with the entries ``rows`` tightened one after another.

    ``least`` proves bounds over a program with so many ``columns``. An end is not tightened if a
    point of an earlier solve is there, nor once ``late()``.
    """
    lower, upper = known.lower.copy(), known.upper.copy()
    lowest, highest = np.full(lower.size, np.inf), np.full(lower.size, -np.inf)
    for i in rows:
        if late():
            break
        row, constant = z.row(i, columns)
        low, high = lower[i], upper[i]
        for sign in (1.0, -1.0):
            reached = lowest[i] <= lower[i] if sign > 0 else highest[i] >= upper[i]
            if reached or late():
                continue
            bound, point = least(i, sign * row, sign * constant)
            if point is not None:
                there = z.at(point)
                lowest, highest = np.minimum(lowest, there), np.maximum(highest, there)
            if sign > 0:
                low = max(low, bound)
            else:
                high = min(high, -bound)
        # proofs that contradict one another are noise
        if low <= high:
            lower[i], upper[i] = low, high
    return Interval(lower, upper)


Case = tuple[tuple[int, int], ...]
"""Fixed columns: pairs (column, 0 or 1)."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One case of a proof: ``fixed`` columns with values, and ``multipliers``, shape (rows,)."""

    fixed: Case
    multipliers: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "multipliers", frozen(self.multipliers))


def certified_bound(
    program: Program, cost: FloatArray, leaves: Sequence[Leaf], row_error: float = 0.0
) -> float:
    """Return a lower bound on ``cost·v`` over ``program`` that the ``leaves`` prove.

    ``cost`` has shape (columns,); ``row_error`` widens every row on both sides, by a bound on its
    rounding (:func:`encoding_error`). The bound is infinite if the leaves prove that the
    program has no point. Raises ``ValueError`` for leaves that are not cases of this program, or
    that leave a case out.
    """
    for leaf in leaves:
        if leaf.multipliers.shape != (program.rows,):
            raise ValueError(
                f"a leaf has multipliers of shape {leaf.multipliers.shape}, "
                f"the program {program.rows} rows"
            )
        for column, value in leaf.fixed:
            if not (0 <= column < program.columns and program.integer[column] and value in (0, 1)):
                raise ValueError(
                    f"a leaf fixes column {column} to {value}: no binary of the program"
                )
    if (missing := _uncovered([dict(leaf.fixed) for leaf in leaves], _ends(program))) is not None:
        raise ValueError(f"the leaves leave out the case {missing}")
    safe, least = SafeBound(program.relaxed), np.inf
    for leaf in leaves:
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        for column, value in leaf.fixed:
            lower[column] = upper[column] = value
        ends = lower, upper
        # without cost, a bound above zero shows that the case has no point
        if not safe.lower(np.zeros_like(cost), leaf.multipliers, row_error, ends) > 0:
            least = min(least, safe.lower(cost, leaf.multipliers, row_error, ends))
    return least


def _ends(program: Program) -> dict[int, tuple[int, ...]]:
    """Return the values that each binary may take."""
    columns = np.flatnonzero(program.integer)
    lower, upper = program.column_lower[columns], program.column_upper[columns]
    return {
        int(column): tuple(value for value in (0, 1) if low <= value <= high)
        for column, low, high in zip(columns, lower, upper, strict=True)
    }


def _uncovered(
    cases: list[dict[int, int]], values: dict[int, tuple[int, ...]]
) -> dict[int, int] | None:
    """Return a case that none of ``cases`` covers, None if there is none."""
    pending: list[tuple[dict[int, int], list[dict[int, int]]]] = [({}, cases)]
    while pending:
        path, left = pending.pop()
        if not left:
            return path
        if any(not case for case in left):
            continue
        # the split at the root of a tree is in each of its leaves, so a tree takes few steps
        count = Counter(column for case in left for column in case)
        column = max(count, key=lambda j: (count[j], -j))
        for value in values[column]:
            rest = [
                {j: b for j, b in case.items() if j != column}
                for case in left
                if case.get(column, value) == value
            ]
            pending.append(({**path, column: value}, rest))
    return None
