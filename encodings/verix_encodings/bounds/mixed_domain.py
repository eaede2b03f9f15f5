"""Sets of inputs inside a box: integral coordinates, and rules that tie coordinates together.

    D = { x : x_i ∈ ℤ for i ∈ I,  for each clause some half-space of it holds }
    half-space:  Σ_k a_k x_{j_k} ≤ b,   or < b if it is strict

A clause of one half-space is a linear row; an implication ``p ⇒ q`` is the clause ``¬p ∨ q``; a
one-hot block is an integral block with the clauses ``Σ x_i ≤ 1`` and ``Σ x_i ≥ 1``.

Proofs rest on sets that hold ``D``: boxes are cut outward, and a strict half-space counts as
closed. Membership is decided in exact arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, relative_error
from verix_encodings.bounds.boxes import joined

_SMALL = 2.0**20
"""Whole coefficients up to it, times whole numbers of float32, are summed exactly in float64."""
_ROUNDS = 3
"""Passes over the clauses for each cut: one coordinate's new end may tighten another's."""


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """``Σ_k a_k x_{j_k} ≤ b``: ``coordinates`` are ``j``, distinct, ``coefficients`` are ``a``."""

    coordinates: IntArray
    coefficients: FloatArray
    upper: float
    strict: bool = False

    def holds(self, point: NDArray[np.floating]) -> bool:
        """Return whether ``point``, shape (d,), satisfies it, in exact arithmetic."""
        total = _exact_sum(self.coefficients, point[self.coordinates])
        return total < Fraction(self.upper) if self.strict else total <= Fraction(self.upper)

    @property
    def compares(self) -> bool:
        """True if it compares one coordinate with a number, which float64 does exactly."""
        return self.coordinates.size == 1 and bool(abs(self.coefficients[0]) == 1)

    def met_by(self, points: NDArray[np.floating]) -> BoolArray:
        """Mark the ``points``, (N, d), that satisfy it in float64, shape (N,)."""
        total = points[:, self.coordinates] @ self.coefficients
        return np.asarray(total < self.upper if self.strict else total <= self.upper)

    def least(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound ``a·x`` over boxes, (N, d): the least of each term, (N, n), and a sum of errors.

        The sum of the terms less the error, (N,), is proven. A comparison rounds nothing.
        """
        low, high = lower[:, self.coordinates], upper[:, self.coordinates]
        terms = np.where(self.coefficients > 0, self.coefficients * low, self.coefficients * high)
        size = np.abs(self.coefficients) * np.maximum(np.abs(low), np.abs(high))
        if self.compares:
            return terms, np.zeros(len(terms))
        total = size.sum(axis=1) + abs(self.upper)
        return terms, relative_error(self.coordinates.size + 1) * total


Clause: TypeAlias = tuple[HalfSpace, ...]
"""Half-spaces of which at least one holds."""


# no slots: what is derived from the clauses is computed once
@dataclass(frozen=True, eq=False)
class MixedDomain:
    """The set ``D`` of inputs with ``d`` coordinates.

    ``integral`` marks ``I``, shape (d,); ``rules`` are clauses, ``blocks`` the coordinates of each
    one-hot block, all of them integral.
    """

    integral: BoolArray
    rules: tuple[Clause, ...] = ()
    blocks: tuple[IntArray, ...] = ()

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The rules, and the two clauses of each block."""
        return (*self.rules, *(c for block in self.blocks for c in one_hot_clauses(block)))

    @cached_property
    def coupled(self) -> bool:
        """True if a rule ties two coordinates together that are not of one block.

        If not, a point of ``D`` stays in it as some coordinates, blocks as a whole, go back to
        another point's.
        """
        member = np.arange(self.integral.size)
        for block in self.blocks:
            member[block] = block[0]
        tied = (np.concatenate([member[half.coordinates] for half in c]) for c in self.rules if c)
        return any(np.unique(members).size > 1 for members in tied)

    @cached_property
    def _gaps(self) -> tuple[tuple[int, float, float], ...]:
        """Coordinates with two ends that they are not between, as clauses say; both may be met."""
        found = []
        for clause in self.rules:
            ends = {
                float(half.coefficients[0]): (int(half.coordinates[0]), half.upper)
                for half in clause
                if half.coordinates.size == 1 and not half.strict
            }
            if len(clause) == 2 and {*ends} == {1.0, -1.0} and ends[1.0][0] == ends[-1.0][0]:
                found.append((ends[1.0][0], ends[1.0][1], -ends[-1.0][1]))
        return tuple(found)

    def contains(self, point: NDArray[np.floating]) -> bool:
        """Return whether ``point``, shape (d,), lies in ``D``, in exact arithmetic."""
        return bool(self.containing(point[None])[0])

    def containing(self, points: NDArray[np.floating]) -> BoolArray:
        """Mark the ``points``, (N, d), that lie in ``D``, in exact arithmetic; shape (N,)."""
        whole = points[:, self.integral]
        found: BoolArray = np.all(whole == np.rint(whole), axis=1)
        hard = [clause for clause in self.clauses if not all(map(self._plain, clause))]
        for clause in self.clauses:
            if all(map(self._plain, clause)):
                found &= np.any([half.met_by(points) for half in clause], axis=0)
        if hard:
            for row in np.flatnonzero(found):
                found[row] = all(any(half.holds(points[row]) for half in one) for one in hard)
        return found

    def _plain(self, half: "HalfSpace") -> bool:
        """Return whether float64 decides a half-space exactly: it has whole, small numbers."""
        terms = np.append(half.coefficients, half.upper)
        small = np.all(terms == np.rint(terms)) and np.abs(terms).sum() < _SMALL
        return half.compares or bool(small and self.integral[half.coordinates].all())

    def snapped(self, point: FloatArray) -> FloatArray:
        """Return the point near ``point`` with integers, unit vectors, and none in gaps."""
        result = np.where(self.integral, np.rint(point), point)
        for coordinate, low, high in self._gaps:
            if low < result[coordinate] < high:
                nearer = 2 * point[coordinate] <= low + high
                result[coordinate] = low if nearer else high
        for block in self.blocks:
            result[block] = 0.0
            result[block[np.argmax(point[block])]] = 1.0
        return result

    def among(self, free: IntArray, centre: ArrayLike) -> "MixedDomain":
        """Return the set of values of the coordinates ``free``, the others being the centre's.

        The centre must lie in ``D``. Right-hand sides are rounded outward.
        """
        x = np.asarray(centre, dtype=np.float64)
        place = np.full(x.size, -1)
        place[free] = np.arange(free.size)
        whole = [block for block in self.blocks if np.all(place[block] >= 0)]
        parts = [block for block in self.blocks if np.any(place[block] < 0)]
        clauses = (*self.rules, *(c for block in parts for c in one_hot_clauses(block)))
        folded = (_folded(clause, place, x) for clause in clauses)
        rules = tuple(clause for clause in folded if clause is not None)
        return MixedDomain(self.integral[free], rules, tuple(place[block] for block in whole))

    def cut(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Shrink boxes, finite and of shape (N, d), around their points of ``D``.

        Returns both ends of all boxes, and a mask, shape (N,), of the boxes that are not proven
        empty. The ends of empty boxes mean nothing.
        """
        lower = np.where(self.integral, np.ceil(lower), lower)
        upper = np.where(self.integral, np.floor(upper), upper)
        kept = np.all(lower <= upper, axis=1)
        for _ in range(_ROUNDS if self.clauses else 0):
            before = lower.copy(), upper.copy()
            if self.blocks:
                lower, upper, possible = self._unit_vectors(lower, upper)
                kept &= possible & np.all(lower <= upper, axis=1)
            for clause in self.rules:
                kept &= _propagated(clause, lower, upper, self.integral)
            if np.array_equal(before[0], lower) and np.array_equal(before[1], upper):
                break
        return lower, upper, kept

    def nearly(self, points: FloatArray) -> BoolArray:
        """Mark the ``points``, (N, d), that satisfy the clauses up to rounding; shape (N,)."""
        found = np.ones(points.shape[0], dtype=bool)
        for clause in self.clauses:
            some = np.zeros(points.shape[0], dtype=bool)
            for half in clause:
                terms, error = half.least(points, points)
                some |= terms.sum(axis=1) - error <= half.upper
            found &= some
        return found

    def _unit_vectors(
        self, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Shrink boxes, (N, d), around the unit vectors left; mark those that have some."""
        within, starts = joined(self.blocks)
        owner = np.repeat(np.arange(starts.size), [block.size for block in self.blocks])
        low, high = lower[:, within], upper[:, within]
        chosen = np.add.reduceat(low >= 1, starts, axis=1, dtype=np.intp)
        left = np.add.reduceat(high >= 1, starts, axis=1, dtype=np.intp)
        lower, upper = lower.copy(), upper.copy()
        upper[:, within] = np.where((chosen[:, owner] > 0) & (low < 1), np.minimum(high, 0), high)
        lower[:, within] = np.where((left[:, owner] == 1) & (high >= 1), np.maximum(low, 1), low)
        return lower, upper, np.all((chosen <= 1) & (left >= 1), axis=1)


def one_hot_clauses(block: Sequence[int] | IntArray) -> tuple[Clause, Clause]:
    """Return the clauses that say that the coordinates of ``block`` sum up to one."""
    coordinates = np.array(block, dtype=np.intp)
    ones = np.ones(coordinates.size)
    return (HalfSpace(coordinates, ones, 1.0),), (HalfSpace(coordinates, -ones, -1.0),)


def _exact_sum(coefficients: FloatArray, values: NDArray[np.floating]) -> Fraction:
    pairs = zip(coefficients.tolist(), values.tolist(), strict=True)
    return sum((Fraction(a) * Fraction(x) for a, x in pairs if a and x), Fraction())


def _folded(clause: Clause, place: IntArray, x: FloatArray) -> Clause | None:
    """Return ``clause`` in the coordinates with a ``place``; None if the others satisfy it."""
    kept = []
    for half in clause:
        free = place[half.coordinates] >= 0
        if not free.any():
            if half.holds(x):
                return None
            continue
        fixed = half.coordinates[~free]
        left = Fraction(half.upper) - _exact_sum(half.coefficients[~free], x[fixed])
        terms = place[half.coordinates[free]], half.coefficients[free]
        kept.append(HalfSpace(*terms, _up(left), half.strict))
    return tuple(kept)


def _up(exact: Fraction) -> float:
    """Return the least float64 that is no less than ``exact``, or one next to it."""
    value = float(exact)
    return value if Fraction(value) >= exact else float(np.nextafter(value, np.inf))


def _propagated(
    clause: Clause, lower: FloatArray, upper: FloatArray, integral: BoolArray
) -> BoolArray:
    """Shrink boxes, in place, by the half-space left possible; mark those not empty, (N,)."""
    leasts = [half.least(lower, upper) for half in clause]
    possible = np.array(
        [t.sum(axis=1) - e <= h.upper for h, (t, e) in zip(clause, leasts, strict=True)]
    )
    alone = possible.sum(axis=0) == 1
    kept = np.asarray(possible.any(axis=0))
    for half, (terms, error), can in zip(clause, leasts, possible, strict=True):
        rows = np.flatnonzero(alone & can)
        if rows.size:
            kept[rows] &= _shrunk(half, (terms[rows], error[rows]), rows, (lower, upper), integral)
    return kept


def _shrunk(
    half: HalfSpace,
    least: tuple[FloatArray, FloatArray],
    rows: IntArray,
    ends: tuple[FloatArray, FloatArray],
    integral: BoolArray,
) -> BoolArray:
    """Shrink boxes by ``a_j x_j ≤ b − Σ_{k ≠ j} min a_k x_k``, outward; mark those not empty."""
    (terms, error), (lower, upper) = least, ends
    headroom = half.upper - (terms.sum(axis=1, keepdims=True) - terms) + 2 * error[:, None]
    for place, (j, a) in enumerate(zip(half.coordinates, half.coefficients, strict=True)):
        if a == 0:
            continue
        end = headroom[:, place] / a
        if a > 0:
            end = end if half.compares else np.nextafter(end, np.inf)
            upper[rows, j] = np.minimum(upper[rows, j], np.floor(end) if integral[j] else end)
        else:
            end = end if half.compares else np.nextafter(end, -np.inf)
            lower[rows, j] = np.maximum(lower[rows, j], np.ceil(end) if integral[j] else end)
    at = np.ix_(rows, half.coordinates)
    return np.asarray(np.all(lower[at] <= upper[at], axis=1))
