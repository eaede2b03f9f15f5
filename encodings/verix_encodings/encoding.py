"""Encoding of a network and its bounds as one program, with values as expressions in columns.

Constraints over sets of features are data of :mod:`~verix_encodings.scenario` programs, which have
a column ``A_f`` for each feature ``f``.

A network between columns of a bigger model:

    minimise  c·w   subject to   w ∈ W,   y = f(x),   x, y parts of w

A model has columns ``w`` of its own; some of them are the network's inputs, and some may be its
outputs. They come first in the program, with the bounds that the model has on them:

    o_j ∈ [l_j, u_j]              a column of the model's own
    x_i = o_j   or   x_i ∈ [l_i, u_i], a new column, which the model equates with an expression
    rows and columns of f         as in any program
    y_k = o_j   or a new column   with the row   y_k − (C v_J)_k = k_k

The program says nothing else of the model's columns, so adding it to ``W`` leaves the points of
``W`` on the graph of ``f`` in the box of ``x``, each with values for the new columns.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.blocks.formulations import ReluEncoding
from verix_encodings.blocks.input_ball import linf_ball
from verix_encodings.blocks.layers import big_m_relu
from verix_encodings.bounds.interval import Bounds, Interval, Late, never
from verix_encodings.kinds.node import EncodingContext
from verix_encodings.network import Network
from verix_encodings.program import Expressions, Program, ProgramBuilder


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """The margins under the perturbation ``delta``: ``network`` maps a selection ``A`` to them.

    ``bounds`` hold for its values wherever ``0 ≤ A ≤ 1`` and the other constraints of its program
    are satisfied; ``error`` bounds the rounding in any row that encodes it.
    """

    delta: FloatArray
    network: Network
    bounds: Bounds
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """A set of features that every explanation intersects."""

    features: IntArray


Constraint: TypeAlias = Scenario | Cover

DEFAULT_SEGMENTS = 6


def row_error(constraints: Iterable[Constraint]) -> float:
    """Return a bound on the rounding in any row of a program of ``constraints``."""
    return max(
        (constraint.error for constraint in constraints if isinstance(constraint, Scenario)),
        default=0.0,
    )


BallEncoding: TypeAlias = Callable[[ProgramBuilder], Expressions]


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """A program together with the network's input and output as expressions in its columns."""

    program: Program
    input: Expressions
    output: Expressions

    @property
    def largest_big_m(self) -> float:
        """The largest constant that an integer column is multiplied by."""
        return self.program.largest_big_m


def encode(
    network: Network,
    bounds: Bounds,
    relu: ReluEncoding = big_m_relu,
    ball: BallEncoding | None = None,
    segments: int = DEFAULT_SEGMENTS,
    *,
    late: Late = never,
) -> Encoding:
    """Encode ``network`` with ``bounds`` valid for every value.

    ``relu`` is the formulation of a ReLU layer, ``ball`` that of the set of inputs, by default the
    box ``bounds[0]``; another one is another function. ``segments`` is the number of pieces that
    enclose a smooth activation: the program then holds more than the network's values. Raises
    ``TimeoutError`` once ``late()``, which is called for each layer.
    """
    builder = ProgramBuilder()
    x = linf_ball(builder, bounds[0]) if ball is None else ball(builder)
    output = encode_values(builder, network, bounds, x, relu=relu, segments=segments, late=late)
    return Encoding(builder.build(), x, output)


def encode_values(
    builder: ProgramBuilder,
    network: Network,
    bounds: Bounds,
    x: Expressions,
    *,
    relu: ReluEncoding = big_m_relu,
    segments: int = DEFAULT_SEGMENTS,
    prefix: str = "",
    late: Late = never,
) -> Expressions:
    """Add the values of ``network`` at the input ``x`` to a program; return the output.

    ``bounds`` must be valid for every value. ``prefix`` tells the names of several networks in one
    program apart. Raises ``TimeoutError`` once ``late()``, which is called for each layer.
    """
    values = [x]
    for index, node in enumerate(network.nodes):
        if late():
            raise TimeoutError("time is up before the program is complete")
        label = f"{prefix}{index}"
        context = EncodingContext(builder, label, index + 1, values, bounds, relu, segments, late)
        values.append(node.rows(context))
    return values[-1]


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
    value = encode_values(
        builder, network, bounds, Expressions.of_columns(x), relu=relu, segments=segments
    )
    y = _columns(builder, "y", outputs, bounds[-1])
    terms = [(1.0, y), (-value.matrix, value.columns)]
    builder.add_rows("output", np.arange(y.size), terms, value.constant, value.constant)
    return Encoding(builder.build(), Expressions.of_columns(x), Expressions.of_columns(y))


def _columns(builder: ProgramBuilder, name: str, given: IntArray, interval: Interval) -> IntArray:
    columns, new = given.copy(), np.flatnonzero(given < 0)
    columns[new] = builder.add_columns(name, new, interval.lower[new], interval.upper[new])
    return columns
