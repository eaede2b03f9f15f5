"""Encoding of a network and its bounds as one program, with values as expressions in columns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from verix_encodings.blocks.formulations import ReluEncoding
from verix_encodings.blocks.input_ball import linf_ball
from verix_encodings.blocks.relu import big_m_relu
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS
from verix_encodings.bounds.interval import Bounds, Late, never
from verix_encodings.kinds.node import EncodingContext
from verix_encodings.network.network import Network
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions, Program

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
