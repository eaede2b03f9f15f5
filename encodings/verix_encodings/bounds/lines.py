"""Forms above and below nodes where bounds hold: they replace a node in backward bounds.

    B z + b ≤ v ≤ S z + t    ⇒    c·v ≤ (c⁺ S + c⁻ B) z + c⁺·t + c⁻·b

``z`` are values before ``v``: :class:`Lines` have one slope for each neuron, :class:`Planes` have
matrices, of no source, of one or of several.

Lines around nodes on many sets of inputs at once, for backward bounds in batches.

Row ``r`` belongs to the set ``owner[r]``, and has its lines:

    c·v ≤ Σ_s (c⁺ S_s + c⁻ B_s) z_s + c⁺·t + c⁻·b            B z + b ≤ v ≤ S z + t on each set
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    UNIT_ROUNDOFF,
    FloatArray,
    IntArray,
    Matrix,
    dense,
    relative_error,
)
from verix_encodings.bounds.interval import Pair
from verix_encodings.bounds.rows import (
    Coefficients,
    Patch,
    RowPhases,
    Rows,
    absolute,
    product,
    reached,
    total,
)
from verix_encodings.work import spend_calls, spend_entries

_CALLS = 40  # of NumPy for a replacement, however few entries it has

ByValue: TypeAlias = Mapping[int, FloatArray]
"""Arrays by the number of a value of the network."""

Replaced: TypeAlias = tuple[FloatArray, FloatArray, list[tuple[int, Rows]]]
"""A form's constant, its rounding error, and the coefficients of each source."""


class NodeRelaxation(Protocol):
    """Forms above and below a node, wherever bounds hold."""

    def replaced(
        self, c: Coefficients, slopes: FloatArray | None, phases: RowPhases | None
    ) -> Replaced:
        """Replace ``c·v`` by a form in the sources of ``v`` that is above it, row by row.

        ``slopes`` replace the lower slopes, shape (rows, neurons); where ``phases`` hold, the lower
        line is exact.
        """

    def followed(self, values: ByValue, met: FloatArray | None, slopes: FloatArray | None) -> Pair:
        """Return the values of the forms that each row takes, and those of the lower slopes alone.

        ``values`` are those of the sources, shape (rows, size); ``met`` are the coefficients met at
        the node, None for zeros: positive ones take the upper form.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Enclosing(ABC):
    """``ceiling`` and ``floor`` are ``t`` and ``b``; ``reach`` is at least all terms, by neuron."""

    ceiling: FloatArray
    floor: FloatArray
    reach: FloatArray

    def replaced(
        self, c: Coefficients, slopes: FloatArray | None, phases: RowPhases | None
    ) -> Replaced:
        c = reached(c)
        spend_calls(_CALLS)
        spend_entries((c.entries if isinstance(c, Patch) else c).size, 8)
        positive, negative = _sides(c)
        if phases is not None:
            # all coefficients of these neurons meet lower lines; one of both is zero
            positive, negative = dense(positive), dense(negative)
            at = phases.rows, phases.neurons
            negative[at] += positive[at]
            positive[at] = 0.0
        shift = positive @ self.ceiling
        if self.floor.any():
            shift += negative @ self.floor
        error = relative_error(self.reach.size) * (absolute(c) @ self.reach)
        # where no phase is supposed, the sides are those of c
        whole = c if phases is None else None
        return shift, error, self._before(positive, negative, slopes, whole)

    def followed(self, values: ByValue, met: FloatArray | None, slopes: FloatArray | None) -> Pair:
        high, low = self._at(values, slopes)
        up = False if met is None else met > 0
        return np.where(up, high + self.ceiling, low + self.floor), low

    @abstractmethod
    def _before(
        self, positive: Rows, negative: Rows, slopes: FloatArray | None, whole: "Rows | None"
    ) -> list[tuple[int, Rows]]:
        """Return the coefficients of the sources; ``whole`` is the sum of both sides, if known."""

    @abstractmethod
    def _at(self, values: ByValue, slopes: FloatArray | None) -> Pair:
        """Return ``S z`` and ``B z``."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines(Enclosing):
    """Lines of slopes ``above`` and ``below`` around each neuron that works on ``source``."""

    source: int
    above: FloatArray
    below: FloatArray

    def _before(
        self, positive: Rows, negative: Rows, slopes: FloatArray | None, whole: "Rows | None"
    ) -> list[tuple[int, Rows]]:
        below = self.below if slopes is None else slopes
        if whole is not None:
            return [(self.source, _by_sign(whole, self.above, below))]
        return [(self.source, dense(positive) * self.above + dense(negative) * below)]

    def _at(self, values: ByValue, slopes: FloatArray | None) -> Pair:
        z = values[self.source]
        spend_entries(z.size, 8)
        return self.above * z, (self.below if slopes is None else slopes) * z


@dataclass(frozen=True, slots=True, eq=False)
class Planes(Enclosing):
    """Forms: matrices ``above`` and ``below`` of the same sources; constants without any."""

    above: Mapping[int, Matrix]
    below: Mapping[int, Matrix]

    def forms(self) -> tuple[Matrix, FloatArray, Matrix, FloatArray]:
        """Return ``B, b, S, t`` of the only source."""
        (above,), (below,) = self.above.values(), self.below.values()
        return below, self.floor, above, self.ceiling

    def _before(
        self, positive: Rows, negative: Rows, slopes: FloatArray | None, whole: "Rows | None"
    ) -> list[tuple[int, Rows]]:
        if whole is not None and self.above is self.below:
            return [(source, product(whole, plane)) for source, plane in self.above.items()]
        return [
            (source, total(product(positive, above), product(negative, self.below[source])))
            for source, above in self.above.items()
        ]

    def _at(self, values: ByValue, slopes: FloatArray | None) -> Pair:
        rows = next(iter(values.values())).shape[0]
        high, low = np.zeros((2, rows, self.ceiling.size))
        for source, above in self.above.items():
            spend_entries(values[source].size, 8)
            high += values[source] @ above.T
            low += values[source] @ self.below[source].T
        return high, low


@dataclass(frozen=True, slots=True, eq=False)
class GroupPlanes:
    """``B z + b ≤ v ≤ S z + t`` of groups of entries: ``above``, ``below`` are ``S`` and ``B``.

    They are (…, groups, width), or (…, groups, width, width) where a group has as many values; the
    others are of these values: ``ceiling``, ``floor``, ``reach``, at least all terms of a plane,
    and ``gap``, if known, the distance of both planes in the middle.
    """

    above: FloatArray
    below: FloatArray
    ceiling: FloatArray
    floor: FloatArray
    reach: FloatArray
    gap: FloatArray = field(default_factory=lambda: np.zeros(0))

    def matrices(self, entries: IntArray, size: int) -> list[sp.csr_array]:
        """Return ``S`` and ``B`` on a value of this ``size`` whose ``entries`` are the groups."""
        columns = np.repeat(entries, self.above.size // entries.size, axis=0).reshape(-1)
        starts = np.arange(0, columns.size + 1, entries.shape[1])
        each = ((slopes.reshape(-1), columns, starts) for slopes in (self.above, self.below))
        return [sp.csr_array(parts, shape=(starts.size - 1, size)) for parts in each]


def relu_lines(l: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return λ, β and α with ``α z ≤ max(z, 0) ≤ λ z + β`` for ``z ∈ [l, u]``, elementwise.

    u ≤ 0:      λ = β = α = 0
    l ≥ 0:      λ = α = 1, β = 0
    l < 0 < u:  λ = u / (u − l), β = −λ l,  α = 1 if u > −l, else 0
    """
    unstable = (l < 0) & (u > 0)
    width = np.where(unstable, u - l, 1.0)
    slope = np.where(unstable, u / width, (l >= 0).astype(np.float64))
    # valid for the slope as it was rounded: the line must be above both ends of the graph
    ends = np.maximum(-slope * l, (1.0 - slope) * u)
    intercept = np.where(unstable, ends * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF * u, 0.0)
    floor = np.where(unstable, (u > -l).astype(np.float64), slope)
    return slope, intercept, floor


def _sides(c: Rows) -> tuple[Rows, Rows]:
    """Return the positive and the negative part of ``c``."""
    if isinstance(c, Patch):
        return c.of(np.maximum(c.entries, 0.0)), c.of(np.minimum(c.entries, 0.0))
    return np.maximum(c, 0.0), np.minimum(c, 0.0)


def _by_sign(c: Rows, above: FloatArray, below: FloatArray) -> Rows:
    """Multiply entries of ``c`` by ``above`` where c > 0, else ``below``, of columns or entries."""
    if isinstance(c, Patch):
        above, below = above[c.columns], below[..., c.columns]
        # a neuron without slopes reaches nothing
        alive = (above != 0) | np.any(np.atleast_2d(below) != 0, axis=0)
        entries = _by_sign(c.entries[:, alive], above[alive], below[..., alive])
        return Patch(dense(entries), c.columns[alive], c.width)
    return c * np.where(c > 0, above, below)


Products: TypeAlias = list[tuple[int, FloatArray]]
"""The coefficients of each source, by the number of its value."""


class BatchRelaxation(Protocol):
    """Forms above and below a node on each set of inputs."""

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        """Return a form above ``row·v`` on the set of each row: constants, and coefficients."""


class FollowedForms(BatchRelaxation, Protocol):
    """Forms of a node that is split at points, which may be followed forward, too."""

    def followed(self, values: ByValue, met: FloatArray | None, owner: IntArray) -> FloatArray:
        """Return the values of the forms that each row takes, as :class:`NodeRelaxation` does."""


class TurnedForms(Protocol):
    """Forms that each row turns by numbers in [0, 1], ``turns``, (rows, count), if any."""

    def replaced(
        self, row: FloatArray, owner: IntArray, turns: FloatArray | None = None
    ) -> tuple[FloatArray, Products]:
        """Return a form above ``row·v``, as :class:`BatchRelaxation` does."""

    def followed(
        self,
        values: ByValue,
        met: FloatArray | None,
        owner: IntArray,
        turns: FloatArray | None = None,
    ) -> FloatArray:
        """Return the values of the forms that each row takes."""

    def steepness(
        self, values: ByValue, met: FloatArray, owner: IntArray, turns: FloatArray
    ) -> FloatArray:
        """Return the derivatives of ``met·v`` by the turns, where sources have ``values``."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchLines:
    """Lines neuron by neuron: ``terms`` are sources, their slopes above and those below.

    All arrays have the shape (sets, neurons). ``floor`` is zero if it is None. ``reach`` is at
    least the magnitude of all products and intercepts, for the rounding; None where the caller
    counts that.
    """

    terms: tuple[tuple[int, FloatArray, FloatArray], ...]
    ceiling: FloatArray
    floor: FloatArray | None = None
    reach: FloatArray | None = None

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        spend_entries(row.size, 8)
        positive = np.maximum(row, 0.0)
        shift = np.einsum("rn,rn->r", positive, self.ceiling[owner])
        negative = row - positive
        if self.floor is not None:
            shift += np.einsum("rn,rn->r", negative, self.floor[owner])
        if self.reach is not None:
            gamma = relative_error(row.shape[1])
            shift += gamma * np.einsum("rn,rn->r", np.abs(row), self.reach[owner])
        products = []
        for source, above, below in self.terms:
            # gathered copies are changed in place: no array is written twice
            product, lower = above[owner], below[owner]
            product *= positive
            lower *= negative
            product += lower
            products.append((source, product))
        return shift, products

    def followed(self, values: ByValue, met: FloatArray | None, owner: IntArray) -> FloatArray:
        high = self.ceiling[owner]
        low = np.zeros_like(high) if self.floor is None else self.floor[owner]
        for source, above, below in self.terms:
            z = values[source]
            spend_entries(z.size, 4)
            high = high + above[owner] * z
            low = low + below[owner] * z
        return low if met is None else np.where(met > 0, high, low)


@dataclass(frozen=True, slots=True, eq=False)
class MixedForms:
    """Three forms around a node, mixed by each row: the ``first``, ``usual`` and ``last`` by turns.

    ``c·v = Σ_k c_k·v`` for ``c = Σ_k c_k``, and each form is above its part for any turns.
    What rounding leaves out of the sum is below ``u |c_k|`` for one part, where ``|v|`` is within
    the reach of its form: the error that this form adds, 20 ``u |c_k|`` times the reach or more,
    covers that as well.
    """

    first: FollowedForms
    usual: FollowedForms
    last: FollowedForms

    def replaced(
        self, row: FloatArray, owner: IntArray, turns: FloatArray | None = None
    ) -> tuple[FloatArray, Products]:
        if turns is None:
            return self.usual.replaced(row, owner)
        one, other = (
            row * np.maximum(1.0 - 2.0 * turns, 0.0),
            row * np.maximum(2 * turns - 1.0, 0.0),
        )
        shift, products = self.usual.replaced(row - one - other, owner)
        found = dict(products)
        for forms, part in ((self.first, one), (self.last, other)):
            if part.any():
                more, products = forms.replaced(part, owner)
                shift = shift + more
                for source, product in products:
                    found[source] = found[source] + product
        return shift, list(found.items())

    def followed(
        self,
        values: ByValue,
        met: FloatArray | None,
        owner: IntArray,
        turns: FloatArray | None = None,
    ) -> FloatArray:
        if turns is None:
            return self.usual.followed(values, met, owner)
        first, usual, last = self._each(values, met, owner)
        one, other = np.maximum(1.0 - 2.0 * turns, 0.0), np.maximum(2.0 * turns - 1.0, 0.0)
        return usual + one * (first - usual) + other * (last - usual)

    def steepness(
        self, values: ByValue, met: FloatArray, owner: IntArray, turns: FloatArray
    ) -> FloatArray:
        first, usual, last = self._each(values, met, owner)
        side = np.sign(2.0 * turns - 1.0)
        return met * ((1.0 - side) * (usual - first) + (1.0 + side) * (last - usual))

    def _each(
        self, values: ByValue, met: FloatArray | None, owner: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        one, two, three = (
            forms.followed(values, met, owner) for forms in (self.first, self.usual, self.last)
        )
        return one, two, three
