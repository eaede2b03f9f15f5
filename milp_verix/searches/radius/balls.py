"""The balls of all radii around one input, and the distances that they give.

The distance of a point is the least radius ``t`` whose ball holds it. With one radius for all
coordinates it is ``‖x' − x‖_p``. Feature ``i`` of a described input has the radius ``t · s_i``, so

    distance(x') = max { n_i / s_i : x'_i ≠ x_i },   n_i = 1 for a category, else |x'_i − x_i|,

since any two values of a category are 1 apart. ``t ≤ t'`` makes every radius ``t · s_i`` at most
``t' · s_i``, also after rounding, so the balls of smaller radii lie in those of larger ones.
Distances are computed in exact fractions and rounded up to float64.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon, ends_around, radii_of
from milp_verix.problem.problem import PosedProblem
from verix_encodings.arrays import BoolArray, FloatArray, IntArray


# no slots: what moves at all is computed once
@dataclass(frozen=True)
class Balls:
    """The balls around the input of ``problem``; ``scale`` are the radii of its features at 1.

    ``scale`` is None where the input is not described.
    """

    problem: PosedProblem
    scale: tuple[float, ...] | None = None

    def at(self, radius: float) -> PosedProblem:
        """Return the problem with the ball of ``radius``."""
        if self.scale is None:
            return self.problem.at(radius)
        return self.problem.at(tuple(radius * one for one in self.scale))

    def distance(self, point: NDArray[Any]) -> float:
        """Return the least radius whose ball holds ``point``, rounded up to float64."""
        flat = point.reshape(-1)
        moved = np.flatnonzero(flat != self.problem.x)
        return self._distance(moved, flat[moved])

    def _distance(self, moved: IntArray, there: NDArray[Any]) -> float:
        """Return the distance of the point whose coordinates ``moved`` alone are ``there``."""
        here = self.problem.x[moved]
        norm = self.problem.ball.norm
        if self.problem.inputs is None and norm == "linf" and moved.size:
            # rounding is monotone: the largest move is one of those whose rounded size is largest
            rounded = np.abs(there.astype(np.float64) - here.astype(np.float64))
            largest = rounded == rounded.max()
            here, there = here[largest], there[largest]
        if self.scale is not None and moved.size:
            unit, rank = self._units[:, moved]
            with np.errstate(divide="ignore", over="ignore"):
                rough = np.where(rank > 0, 1.0, np.abs(there.astype(float) - here)) / unit
                # fractions for those alone that may be the largest
                largest = ~(rough < (1 - 1e-9) * rough.max())
            moved, here, there = moved[largest], here[largest], there[largest]
        pairs = zip(there.tolist(), here.tolist(), strict=True)
        moves = [abs(Fraction(to) - Fraction(start)) for to, start in pairs]
        if self.problem.inputs is not None:
            return self._scaled(moved, moves)
        if norm == "linf":
            return _rounded_up(max(moves, default=Fraction()))
        if norm == "l1":
            return _rounded_up(sum(moves, Fraction()))
        square = sum((move * move for move in moves), Fraction())
        # the root of a whole number of 128 bits: the square may be beyond float64
        shift = 64 + (square.denominator.bit_length() - square.numerator.bit_length()) // 2
        root = _rounded_up(math.isqrt(int(square * Fraction(4) ** shift)) / Fraction(2) ** shift)
        while Fraction(root) ** 2 < square:
            root = math.nextafter(root, math.inf)
        return root

    def reach(self, free: IntArray) -> float:
        """Return the radius from which on the ball over ``free`` holds the whole domain.

        Infinite where the domain is.
        """
        lower, upper = (end[free] for end in self._ends)
        wide = self.problem.ball.centre[free].astype(np.float64)
        corner = np.where(upper - wide > wide - lower, upper, lower)
        moved = (corner != wide) & self._movable[free]
        corner = corner[moved]
        return self._distance(free[moved], corner) if np.isfinite(corner).all() else math.inf

    @cached_property
    def _units(self) -> FloatArray:
        """The radius at 1 of each coordinate, and 1 for a word that has no order; shape (2, d)."""
        assert self.problem.inputs is not None
        unordered = [float(feature.unordered) for feature in self.problem.inputs.features]
        return np.array([self.scale, unordered])[:, self.problem.features.of_coordinate]

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """The ends of all coordinates, two arrays of shape (d,)."""
        ball, inputs = self.problem.ball, self.problem.inputs
        if inputs is None or self.scale is None:
            return ball.domain_lower, ball.domain_upper
        # no missing values
        return ends_around(inputs, ball.centre.astype(np.float64), self.scale)

    @cached_property
    def _movable(self) -> BoolArray:
        """True for each coordinate that some radius lets move, shape (d,)."""
        inputs, scale = self.problem.inputs, self.scale
        if inputs is None or scale is None:
            return np.ones(self.problem.x.size, dtype=bool)
        pairs = zip(inputs.features, scale, strict=True)
        movable = np.array([feature.kind != "fixed" and one > 0 for feature, one in pairs])
        return movable[self.problem.features.of_coordinate]

    def _scaled(self, moved: IntArray, moves: list[Fraction]) -> float:
        inputs, scale = self.problem.inputs, self.scale
        assert inputs is not None
        assert scale is not None
        needed = []
        for feature, move in zip(self.problem.features.of_coordinate[moved], moves, strict=True):
            unordered = inputs.features[feature].unordered
            needed.append((Fraction(1) if unordered else move, scale[feature]))
        if any(one == 0 for _, one in needed):
            return math.inf
        found = _rounded_up(max((need / Fraction(one) for need, one in needed), default=Fraction()))
        # a product beyond float64 is no radius too small
        while any(found * one < math.inf and Fraction(found * one) < need for need, one in needed):
            found = math.nextafter(found, math.inf)
        return found


def scale_of(inputs: Inputs | None, scale: Epsilon) -> tuple[float, ...] | None:
    """Return the radius of each feature at the radius 1; None without a description of inputs.

    Raises ``InputError`` for a scale that is no radius, is infinite, or lets no feature move.
    """
    if inputs is None:
        if not (isinstance(scale, int | float) and scale == 1.0):
            raise InputError("scale is for described inputs: give inputs, or leave scale out")
        return None
    found = radii_of(inputs, scale, "scale")
    if not (np.isfinite(found).all() and any(found)):
        raise InputError(
            "scale is the radius of each feature at the radius 1: finite, and above 0 for one of "
            f"them, such as 1, '100%' or {{'age': 5, '*': 1}}; got {scale!r}"
        )
    return found


def _rounded_up(value: Fraction) -> float:
    try:
        rounded = float(value)
    except OverflowError:
        return math.inf
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)
