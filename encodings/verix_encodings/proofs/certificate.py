"""A proof by cases that a program costs no less than a bound, checked without a solver.

Each leaf of a branch and bound fixes some integer columns, ``v_j = b_j`` for ``j`` in ``F``, and
holds row multipliers ``y``. Over the relaxation of its case they prove

    c·v ≥ Σ_i min(y_i r⁻_i, y_i r⁺_i) + Σ_j min(d_j l_j, d_j u_j),   d = c − Aᵀy,
    l_j = u_j = b_j for j ∈ F

for any ``y`` (``proofs.safe_bound``); with ``c = 0``, a right-hand side above
zero shows that the case has no point. The cases together must cover everything:

    every v ∈ {0, 1}^J has a leaf with v_j = b_j for all j ∈ F,

and then the least of their bounds is a bound for the program. Cover is shown by splitting: a set of
leaves covers if one leaf fixes nothing, or if, for some column, the leaves that do not fix it to 1
cover the case 0, and the leaves that do not fix it to 0 cover the case 1.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import FloatArray, frozen
from verix_encodings.program.program import Program
from verix_encodings.proofs.safe_bound import SafeBound

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
    rounding (``safe_bound.encoding_error``). The bound is infinite if the leaves prove that the
    program has no point. Raises ``ValueError`` for leaves that are not cases of this program, or
    that leave a case out.
    """
    for leaf in leaves:
        _refuse_foreign(program, leaf)
    if (missing := _uncovered([dict(leaf.fixed) for leaf in leaves], _ends(program))) is not None:
        raise ValueError(f"the leaves leave out the case {missing}")
    safe, least = SafeBound(program.relaxed), np.inf
    for leaf in leaves:
        least = min(least, leaf_bound(safe, cost, leaf, row_error))
    return least


def leaf_bound(safe: SafeBound, cost: FloatArray, leaf: Leaf, row_error: float = 0.0) -> float:
    """Return the bound that ``leaf`` proves in its case, infinite if it has no point."""
    lower, upper = safe.program.column_lower.copy(), safe.program.column_upper.copy()
    for column, value in leaf.fixed:
        lower[column] = upper[column] = value
    ends = lower, upper
    if safe.lower(np.zeros_like(cost), leaf.multipliers, row_error, ends) > 0:
        return np.inf
    return safe.lower(cost, leaf.multipliers, row_error, ends)


def _refuse_foreign(program: Program, leaf: Leaf) -> None:
    if leaf.multipliers.shape != (program.rows,):
        raise ValueError(
            f"a leaf has multipliers of shape {leaf.multipliers.shape}, "
            f"the program {program.rows} rows"
        )
    for column, value in leaf.fixed:
        if not (0 <= column < program.columns and program.integer[column] and value in (0, 1)):
            raise ValueError(f"a leaf fixes column {column} to {value}: no binary of the program")


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
