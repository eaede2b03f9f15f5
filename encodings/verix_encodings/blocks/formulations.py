"""The formulations of a ReLU by name, and the capabilities that each needs of a solver."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from verix_encodings.blocks.relu import big_m_relu
from verix_encodings.blocks.relu_general import general_relu
from verix_encodings.blocks.relu_indicator import indicator_relu
from verix_encodings.blocks.relu_partition import DEFAULT_PARTS, partition_relu
from verix_encodings.blocks.relu_sos1 import sos1_relu
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Expressions

ReluEncoding: TypeAlias = Callable[[ProgramBuilder, str, Expressions, Interval], Expressions]


@dataclass(frozen=True, slots=True)
class Formulation:
    """A ReLU encoding with its name and the capabilities that it ``needs`` of a solver.

    They are the ``Program.needs`` of its programs, and ``"partition"`` if the solver must cope with
    the many degenerate rows of that formulation: not every solver does.
    """

    name: str
    relu: ReluEncoding
    needs: frozenset[str] = frozenset()


_PARTITION = frozenset({"partition"})

BIG_M = Formulation("big_m", big_m_relu)

FORMULATIONS: Mapping[str, Formulation] = MappingProxyType(
    {
        formulation.name: formulation
        for formulation in (
            BIG_M,
            Formulation("indicator", indicator_relu, frozenset({"indicator"})),
            Formulation("sos1", sos1_relu, frozenset({"sos1"})),
            Formulation("general", general_relu, frozenset({"general"})),
            Formulation("partition", partition_relu, _PARTITION),
        )
    }
)


def formulation_named(name: str) -> Formulation:
    """Return the formulation called ``name``; ``"partition:N"`` splits each sum into N parts.

    Raises ``ValueError`` for an unknown name.
    """
    family, colon, parts = name.partition(":")
    if colon and family == "partition" and parts.isascii() and parts.isdigit() and int(parts) > 0:
        return Formulation(name, partial(partition_relu, parts=int(parts)), _PARTITION)
    if name not in FORMULATIONS:
        known = ", ".join(FORMULATIONS)
        raise ValueError(
            f"unknown formulation {name!r}; choose one of {known}, or partition:N for N parts "
            f"instead of {DEFAULT_PARTS}"
        )
    return FORMULATIONS[name]
