"""Constraints of a program over sets of features.

A scenario program (:mod:`~verix_encodings.models.scenario`) has a column ``A_f`` for each feature
``f``; each constraint adds rows over these columns, and a scenario adds columns of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Bounds
from verix_encodings.network.network import Network


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


def row_error(constraints: Iterable[Constraint]) -> float:
    """Return a bound on the rounding in any row of a program of ``constraints``."""
    return max(
        (constraint.error for constraint in constraints if isinstance(constraint, Scenario)),
        default=0.0,
    )
