"""An affine map: substitution, and rows that define columns for its value.

    z = Σ_k M_k v_k + b,  v_k = C_k w_{J_k} + k_k   ⇒   z = Σ_k (M_k C_k) w_{J_k} + Σ_k M_k k_k + b

Substitution alone adds no rows. The argument of a nonlinear operator gets a column ``z_i`` and the
row ``z_i − (C w_J)_i = k_i``, so that the dense row of an affine map stands in the program once and
not once for every row that mentions ``z_i``.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray, Matrix, placed
from verix_encodings.bounds.interval import Interval
from verix_encodings.program import Expressions, ProgramBuilder


def substitute(
    terms: Sequence[tuple[int, Matrix]], bias: FloatArray, values: Sequence[Expressions]
) -> Expressions:
    """Return ``Σ_k M_k v_k + b`` as expressions in the columns of its sources.

    ``terms`` are pairs of a number ``k`` and ``M_k``; ``bias`` is ``b``; ``values`` are the ``v``.
    """
    constant: FloatArray = bias.copy()
    blocks, columns = [], []
    for source, matrix in terms:
        constant += matrix @ values[source].constant
        blocks.append(matrix @ values[source].matrix)
        columns.append(values[source].columns)
    if not blocks:
        empty = sp.csr_array((bias.size, 0))
        return Expressions(np.zeros(0, dtype=np.intp), empty, constant)
    if len(blocks) == 1:
        return Expressions(columns[0], blocks[0], constant)
    joined = sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return Expressions(np.concatenate(columns), joined, constant)


def define(
    builder: ProgramBuilder,
    name: str,
    expressions: Expressions,
    interval: Interval,
    which: IntArray,
) -> IntArray:
    """Add a column ``name_i`` and its defining row for each expression ``i`` in ``which``."""
    columns = builder.add_columns(name, which, interval.lower[which], interval.upper[which])
    builder.add_rows(
        f"define_{name}",
        which,
        [
            (np.ones(which.size), columns),
            (-expressions.matrix[which, :], expressions.columns),
        ],
        expressions.constant[which],
        expressions.constant[which],
    )
    return columns


def single(
    builder: ProgramBuilder,
    name: str,
    expressions: Expressions,
    interval: Interval,
    which: IntArray,
) -> Expressions:
    """Return the expressions ``which`` as multiples of one column each, defined if needed.

    Rows of the result for other expressions mean nothing.
    """
    matrix, constant = expressions.matrix[which, :], expressions.constant[which]
    if not constant.any() and np.all(np.asarray((matrix != 0).sum(axis=1)) <= 1):
        return expressions
    columns = define(builder, name, expressions, interval, which)
    size = expressions.constant.size
    selection = placed(1.0, which, np.arange(which.size), (size, which.size))
    return Expressions(columns, selection, np.zeros(size))
