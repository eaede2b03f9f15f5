"""Constraints of a program over sets of features.

A scenario program (:mod:`~verix_encodings.models.scenario`) has a column ``A_f`` for each feature
``f``; each constraint adds rows over these columns, and a scenario or paired ReLUs columns, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Relu


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """The margins under the perturbation ``delta``: ``network`` maps a selection ``A`` to them.

    ``bounds`` hold for its values at every selection ``0 ≤ A ≤ 1`` that the program must keep;
    ``error`` bounds the rounding in any row that encodes it. ``inactive`` are neurons that must
    have no positive argument: pairs of the number of a value and the numbers of entries.
    """

    delta: FloatArray
    network: Network
    bounds: Bounds
    error: float
    inactive: tuple[tuple[int, IntArray], ...] = ()

    @property
    def arguments(self) -> tuple[int, ...]:
        """The numbers of the values that ReLUs take, in their order."""
        return tuple(node.source for node in self.network.nodes if isinstance(node, Relu))


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """A set of features that every explanation intersects."""

    features: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CostLimit:
    """A limit on the cost of sets; dearer sets are excluded."""

    costs: FloatArray
    limit: float


@dataclass(frozen=True, slots=True, eq=False)
class Precedence:
    """``A_f ≥ A_g`` for each pair of a feature ``f`` in ``before`` and the one in ``after``.

    It breaks symmetry: of sets that are equal but for interchangeable features it keeps one.
    """

    before: IntArray
    after: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PairedRelus:
    """The ReLU ``a = max(z, 0)`` of the scenario ``of``, beside that of ``beside``, ``max(z', 0)``.

    Scenarios are given by their numbers among the constraints, both before this one; ``node`` is
    the number of the ReLU in either network. ``z − z'`` is in ``apart`` for each of the
    ``neurons``, at every selection that the program must keep.
    """

    of: int
    beside: int
    node: int
    neurons: IntArray
    apart: Interval


Constraint: TypeAlias = Scenario | Cover | CostLimit | Precedence | PairedRelus


def row_error(constraints: Iterable[Constraint]) -> float:
    """Return a bound on the rounding in any row of a program of ``constraints``."""
    return max(
        (constraint.error for constraint in constraints if isinstance(constraint, Scenario)),
        default=0.0,
    )
