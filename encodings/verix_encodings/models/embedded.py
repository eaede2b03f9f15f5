"""A network between columns of a bigger model.

    minimise  c·w   subject to   w ∈ W,   y = f(x),   x, y parts of w

A model has columns ``w`` of its own; some of them are the network's inputs, and some may be its
outputs. They come first in the program, with the bounds that the model has on them:

    o_j ∈ [l_j, u_j]              a column of the model's own
    x_i = o_j   or   x_i ∈ [l_i, u_i], a new column, which the model equates with an expression
    rows and columns of f         ``models.encode``
    y_k = o_j   or a new column   with the row   y_k − (C v_J)_k = k_k

The program says nothing else of the model's columns, so adding it to ``W`` leaves the points of
``W`` on the graph of ``f`` in the box of ``x``, each with values for the new columns.
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import IntArray
from verix_encodings.blocks.formulations import ReluEncoding
from verix_encodings.blocks.relu import big_m_relu
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.models.encode import Encoding, encode_values
from verix_encodings.network.network import Network
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions


def encode_between(
    network: Network,
    bounds: Bounds,
    own: Interval,
    inputs: IntArray,
    outputs: IntArray,
    *,
    relu: ReluEncoding = big_m_relu,
    segments: int = DEFAULT_SEGMENTS,
) -> Encoding:
    """Encode ``network`` between a model's columns, the first of the program, with bounds ``own``.

    ``bounds`` must hold for every value of the network. ``inputs``, shape (d,), and ``outputs``,
    shape (m,), are the numbers of the model's columns that stand for them, and -1 for those that
    get a column of their own, ``x_i`` or ``y_k``. Each entry of the encoding's input and output is
    one column.
    """
    builder = ProgramBuilder()
    builder.add_columns("own", np.arange(own.lower.size), own.lower, own.upper)
    x = _columns(builder, "x", inputs, bounds[0])
    value = encode_values(builder, network, bounds, _alone(x), relu=relu, segments=segments)
    y = _columns(builder, "y", outputs, bounds[-1])
    builder.add_rows(
        "output",
        np.arange(y.size),
        [(np.ones(y.size), y), (-value.matrix, value.columns)],
        value.constant,
        value.constant,
    )
    return Encoding(builder.build(), _alone(x), _alone(y))


def _columns(builder: ProgramBuilder, name: str, given: IntArray, interval: Interval) -> IntArray:
    columns, new = given.copy(), np.flatnonzero(given < 0)
    columns[new] = builder.add_columns(name, new, interval.lower[new], interval.upper[new])
    return columns


def _alone(columns: IntArray) -> Expressions:
    one = sp.eye_array(columns.size, format="csr")
    return Expressions(columns, one, np.zeros(columns.size))
