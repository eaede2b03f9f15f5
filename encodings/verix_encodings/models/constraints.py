"""The constraints that a program over sets of features is made of.

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

    ``bounds`` hold for its values where ``0 ≤ A ≤ 1``, as far as that is of interest; ``error``
    bounds the rounding in any row that encodes it. ``inactive`` are neurons asked to have no
    positive argument: pairs of the number of a value, and of which of its entries.
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
    """Features of which every explanation holds one."""

    features: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CostLimit:
    """Only sets that cost ``limit`` at most are of interest."""

    costs: FloatArray
    limit: float


@dataclass(frozen=True, slots=True, eq=False)
class Precedence:
    """``A_f ≥ A_g`` for each pair of a feature ``f`` in ``before`` and the one in ``after``.

    No explanation is excluded by it for good: it chooses one of sets that are equal by symmetry.
    """

    before: IntArray
    after: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PairedRelus:
    """The ReLU ``a = max(z, 0)`` of the scenario ``of``, beside that of ``beside``, ``max(z', 0)``.

    Scenarios are given by their numbers among the constraints, both before this one; ``node`` is
    that of the ReLU in either network. ``z − z'`` is in ``apart`` for each of the ``neurons``, as
    far as that is of interest.
    """

    of: int
    beside: int
    node: int
    neurons: IntArray
    apart: Interval


Constraint: TypeAlias = Scenario | Cover | CostLimit | Precedence | PairedRelus


def row_error(constraints: Iterable[Constraint]) -> float:
    """Return what bounds the rounding in any row of a program of ``constraints``."""
    return max(
        (constraint.error for constraint in constraints if isinstance(constraint, Scenario)),
        default=0.0,
    )
