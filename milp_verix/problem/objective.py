"""The objective of a minimum: costs of features, and features that must or must not be in it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.base.arguments import MOST_UNITS, costs_of, indices_of, whole_unit
from milp_verix.base.errors import InputError
from verix_encodings.arrays import BoolArray, FloatArray, relative_error

_ROUNDING = 1e-6  # of a bound on whole costs, in units
_NEAR = 5e-7  # by how much cheaper another explanation has to be, as a share of other costs


def whole_numbers(costs: FloatArray) -> bool:
    """Return whether every cost is a whole number, small enough for solvers to add up."""
    return bool(np.all(costs == np.round(costs)) and costs.sum() <= MOST_UNITS)


def unit_of(costs: FloatArray) -> float:
    """Return a unit of costs that gives solvers whole numbers if possible, or numbers from 1 on.

    It is the common divisor of ``costs``, or a power of two: neither rounds. Equal costs become 1.
    """
    paid = costs[costs > 0]
    unit = whole_unit(paid)
    return math.ldexp(1.0, math.frexp(float(paid.min()))[1] - 1) if unit is None else unit


def attainable(bound: float, *, whole: bool) -> float:
    """Round ``bound`` up to the next whole number if all costs are ``whole``.

    A bound by so little above one that it may be rounding stays with it.
    """
    return float(np.ceil(bound - _ROUNDING)) if whole and np.isfinite(bound) else bound


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Costs of features, and features that ``must`` or ``must_not`` be in; arrays (features,).

    Costs are counted in ``unit``. ``whole`` says whether every cost is a whole number; then every
    explanation's cost is whole.
    """

    costs: FloatArray
    must: BoolArray
    must_not: BoolArray
    unit: float = 1.0
    whole: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "whole", whole_numbers(self.costs))

    @property
    def least(self) -> FloatArray:
        """The lower bound of each feature's column: 1 for a feature that must be in."""
        return self.must.astype(np.float64)

    @property
    def most(self) -> FloatArray:
        """The upper bound of each feature's column: 0 for a feature that must not be in."""
        return (~self.must_not).astype(np.float64)

    @property
    def prices(self) -> FloatArray:
        """The costs as they were given, not counted in ``unit``."""
        return self.costs * self.unit

    @property
    def equal(self) -> bool:
        """True if every cost is 1, so that costs are numbers of features."""
        return bool(np.all(self.prices == 1.0))

    def counted(self) -> "Objective":
        """Return the same objective with costs counted in a unit that suits solvers."""
        unit = unit_of(self.costs)
        return replace(self, costs=self.costs / unit, unit=unit)

    def cost(self, chosen: BoolArray) -> float:
        """Return the cost of the features ``chosen``."""
        return float(self.costs[chosen].sum())

    def attainable(self, bound: float) -> float:
        """Round ``bound`` up to an attainable cost; none is below zero."""
        return max(attainable(bound, whole=self.whole), 0.0)

    def most_features(self, cost: float) -> int:
        """Return the most features that a set of cost ``cost`` or less has."""
        # all these sums are rounded
        left = cost * (1.0 + 2 * relative_error(self.costs.size))
        return int(np.searchsorted(np.cumsum(np.sort(self.costs)), left, "right"))

    def cutoff(self, cost: float, gap: float, at_most: float = np.inf) -> float:
        """Return the bound that proves ``cost`` up to the relative ``gap``.

        Where ``at_most`` is asked for, a bound above it is enough, and none once ``cost`` is not.
        """
        if cost <= at_most < np.inf:
            return 0.0
        step = 1.0 - 2 * _ROUNDING if self.whole else _NEAR * cost
        proven = cost - max(step, gap * cost)
        if at_most == np.inf:
            return proven
        beyond = np.floor(at_most) + 2 * _ROUNDING if self.whole else at_most * (1.0 + _NEAR)
        return min(proven, beyond)


def make_objective(
    count: int, costs: ArrayLike | None, must: Sequence[int], must_not: Sequence[int]
) -> Objective:
    """Return the objective over ``count`` features; costs are 1 where none are given.

    Raises ``InputError`` for costs that are not ``count`` finite numbers of at least zero, features
    that are not there, and features that both must and must not be explained.
    """
    objective = Objective(
        costs_of(costs, count), _members(must, count, "must"), _members(must_not, count, "must_not")
    )
    both = np.flatnonzero(objective.must & objective.must_not)
    if both.size:
        raise InputError(f"feature {both[0]} is in must and in must_not: leave it out of one")
    return objective


def _members(given: Sequence[int], count: int, name: str) -> BoolArray:
    members = np.zeros(count, dtype=bool)
    members[indices_of(given, count, name)] = True
    return members
