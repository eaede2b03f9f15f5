"""Sums of products: ``v_i = Σ_k x_p y_q`` with ``p = first[i, k]`` and ``q = second[i, k]``.

With the middles ``m``, ``n`` and the half widths ``r``, ``s`` of ``x_p`` and ``y_q``,

    x y = n x + m y − m n + (x − m)(y − n),   |(x − m)(y − n)| ≤ r s

so that the planes above and below a product are parallel to its tangent in the middle of the box:
they are the means of the two upper and of the two lower planes of McCormick's envelope
(Mathematical Programming 10, 1976). Rows of backward bounds turn each plane between those two, by
``t`` in [−1, 1], for X = x − m and Y = y − n with |X| ≤ r and |Y| ≤ s:

    s X + r Y − r s ≤ X Y,   −s X − r Y − r s ≤ X Y      −r s + t (s X + r Y) ≤ X Y
    X Y ≤ s X − r Y + r s,   X Y ≤ −s X + r Y + r s      X Y ≤ r s + t (s X − r Y)

enclosure   v ∈ Σ_k [least, greatest of the four products of ends]
planes      Σ_k (n x + m y − m n − r s) ≤ v ≤ Σ_k (n x + m y − m n + r s)
slopes      ∂v/∂x_p += y_q,  ∂v/∂y_q += x_p
program     ``blocks.enclosures``: McCormick's envelope, on segments of one factor
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    UNIT_ROUNDOFF,
    BoolArray,
    FloatArray,
    IntArray,
    freeze,
    relative_error,
)
from verix_encodings.blocks.enclosures import Factors, enclose_products
from verix_encodings.bounds.interval import Bounds, Range
from verix_encodings.bounds.lines import ByValue, Planes, Products
from verix_encodings.bounds.rows import add_at, centred, outward
from verix_encodings.kinds import node as kind
from verix_encodings.kinds.affine import times
from verix_encodings.program import Expressions
from verix_encodings.work import spend_entries


@dataclass(frozen=True, slots=True, eq=False)
class Product(kind.Node):
    """``v_i = Σ_k x_p y_q`` for entries ``first[i, k]`` of ``x`` and ``second[i, k]`` of ``y``.

    ``one`` and ``other`` are the numbers of ``x`` and ``y``, which may be one value; ``first`` and
    ``second`` have shape (size, terms). ``limit``, if not empty, is known to be at least ``|v|`` in
    this network, entry by entry.
    """

    plural: ClassVar[str] = "products"
    segmented: ClassVar[bool] = True
    pointed: ClassVar[bool] = True
    mixes: ClassVar[bool] = True

    one: int
    other: int
    first: IntArray
    second: IntArray
    limit: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        freeze(self, indices=("first", "second"), numbers=("limit",))
        if self.first.ndim != 2 or self.first.shape != self.second.shape or not self.first.size:
            raise ValueError("products have two matrices of indices, of one shape")
        if self.limit.size not in (0, self.first.shape[0]):
            raise ValueError("products have a limit for each entry, or none")

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.one,) if self.one == self.other else (self.one, self.other)

    @property
    def turns(self) -> int:  # type: ignore[override]
        return self.terms

    @property
    def terms(self) -> int:
        """Number of products in each sum."""
        return int(self.first.shape[1])

    def size(self, sizes: Sequence[int], nodes: Sequence[kind.Node]) -> int:
        for source, indices, *_ in self._sides():
            kind.refuse_entries("multiplies", indices, source, sizes)
        return int(self.first.shape[0])

    def renumbered(self, number: Callable[[int], int]) -> "Product":
        return Product(number(self.one), number(self.other), self.first, self.second, self.limit)

    def value(self, values: kind.Arrays) -> FloatArray:
        x, y = values[self.one], values[self.other]
        total = np.zeros((self.first.shape[0], *x.shape[1:]))
        spend_entries(total.size * self.terms, 2)
        for p, q in zip(self.first.T, self.second.T, strict=True):
            total += x[p] * y[q]
        return total

    def enclosure(self, of: kind.Ranges) -> Range:
        (xl, xu), (yl, yu) = of(self.one), of(self.other)
        shape = (*xl.shape[:-1], self.first.shape[0])
        low, high, reach = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        floor = np.zeros(shape)  # rounding takes no sum below zero whose terms are not negative
        spend_entries(low.size * self.terms, 12)
        for p, q in zip(self.first.T, self.second.T, strict=True):
            a, b, c, d = xl[..., p], xu[..., p], yl[..., q], yu[..., q]
            ac, ad, bc, bd = a * c, a * d, b * c, b * d
            least = np.minimum(np.minimum(ac, ad), np.minimum(bc, bd))
            most = np.maximum(np.maximum(ac, ad), np.maximum(bc, bd))
            low += least
            high += most
            floor[least < 0] = -np.inf
            reach += np.maximum(np.abs(least), np.abs(most))
        error = relative_error(self.terms) * reach
        low, high = np.maximum(low - error, floor), high + error
        if self.limit.size:
            low, high = np.maximum(low, -self.limit), np.minimum(high, self.limit)
        return low, high

    def add_gradients(self, slopes: kind.Arrays, slope: FloatArray, values: kind.Arrays) -> None:
        x, y = values[self.one], values[self.other]
        for p, q in zip(self.first.T, self.second.T, strict=True):
            np.add.at(slopes[self.one], p, slope * y[q])
            np.add.at(slopes[self.other], q, slope * x[p])

    def relaxation(self, bounds: kind.Intervals) -> Planes:
        x, y = bounds[self.one], bounds[self.other]
        m, n, constant, gap, reach = self._tangent((x.lower, x.upper), (y.lower, y.upper))
        size = self.first.shape[0]
        rows = np.repeat(np.arange(size), self.terms)
        planes: dict[int, sp.csr_array] = {}
        for (source, columns, _, places), middle in zip(self._sides(), (n, m), strict=True):
            entries = (middle[places].reshape(-1), (rows, columns.reshape(-1)))
            plane = sp.csr_array(entries, shape=(size, bounds[source].lower.size))
            planes[source] = planes[source] + plane if source in planes else plane
        return Planes(constant + gap, constant - gap, reach, planes, planes)

    def batch_relaxation(self, of: kind.Ranges, *, flat: bool) -> "BatchProducts":
        (xl, xu), (yl, yu) = of(self.one), of(self.other)
        halves = _middles((xl, xu))[1], _middles((yl, yu))[1]
        return BatchProducts(self, *self._tangent((xl, xu), (yl, yu)), *halves)

    def _tangent(
        self, x: Range, y: Range
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the middles ``m`` and ``n``, ``−Σ m n``, ``Σ r s``, and the reach of all terms."""
        (m, r), (n, s) = _middles(x), _middles(y)
        shape = (*m.shape[:-1], self.first.shape[0])
        constant, gap, reach = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        spend_entries(constant.size * self.terms, 12)
        for p, q in zip(self.first.T, self.second.T, strict=True):
            a, b, c, d = m[..., p], r[..., p], n[..., q], s[..., q]
            constant -= a * c
            gap += b * d
            # |n x| + |m y| + |m n| + r s, and s |x − m| + r |y − n| of planes that are turned
            reach += 6.0 * (np.abs(a) + b) * (np.abs(c) + d)
        error = relative_error(self.terms)
        return m, n, constant, gap * (1.0 + error) + error * reach, reach * (1.0 + self.terms)

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> kind.BySource:
        for source, columns, other, places in self._sides():
            size, y = bounds[source].lower.size, bounds[other]
            total = np.zeros((2, lower.shape[0], size))
            for p, q in zip(columns.T, places.T, strict=True):
                add_at(total, p, outward(lower, upper, y.lower[q], y.upper[q]))
            # sums of up to so many terms
            error = relative_error(columns.size) * np.abs(total).max(axis=0)
            yield source, (total[0] - error, total[1] + error)

    def slope_ranges(self, of: kind.Ranges, middle: FloatArray, half: FloatArray) -> kind.BySource:
        for source, columns, other, places in self._sides():
            lower, upper = of(other)
            totals = np.zeros((2, lower.shape[0], of(source)[0].shape[1]))
            for p, q in zip(columns.T, places.T, strict=True):
                add_at(totals, p, centred(middle, half, lower[:, q], upper[:, q]))
            yield source, (totals[0], totals[1])

    def split_gains(self, of: kind.Ranges, c: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield each factor with half the gaps of its products, which half its range leaves."""
        halves = {k: (of(k)[1] - of(k)[0]) / 2 for k in self.sources}
        for source, columns, other, places in self._sides():
            total = np.zeros_like(halves[source])
            for p, q in zip(columns.T, places.T, strict=True):
                add_at([total], p, [np.abs(c) * halves[other][:, q] / 2])
            spend_entries(c.size * self.terms, 12)
            yield source, total * halves[source]

    def _sides(self) -> tuple[tuple[int, IntArray, int, IntArray], ...]:
        """Return each factor's value and entries, with those that multiply it."""
        return (
            (self.one, self.first, self.other, self.second),
            (self.other, self.second, self.one, self.first),
        )

    def mark(self, masks: kind.Masks, mask: BoolArray, bounds: Bounds) -> None:
        for source, indices, *_ in self._sides():
            masks[source][indices[mask].reshape(-1)] = True

    def kept(self, masks: kind.Masks, mask: BoolArray) -> BoolArray:
        return mask

    def part(self, rows: IntArray, cut: kind.Cut) -> kind.Node:
        first = np.searchsorted(cut.kept[self.one], self.first[rows])
        second = np.searchsorted(cut.kept[self.other], self.second[rows])
        limit = self.limit[rows] if self.limit.size else self.limit
        return Product(cut.number[self.one], cut.number[self.other], first, second, limit)

    def rows(self, context: kind.EncodingContext) -> Expressions:
        one, other = (
            Factors(context.values[source], context.bounds[source], indices)
            for source, indices, *_ in self._sides()
        )
        builder, label, k, late = context.builder, context.label, context.segments, context.late
        columns = kind.within_bounds(context).columns
        return enclose_products(builder, label, columns, one, other, segments=k, late=late)

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Bound the error: each factor's times the other, and the rounding of the sum."""
        total = np.zeros(self.first.shape[0])
        x, y = (bounds[k].magnitude + errors[k] for k in (self.one, self.other))
        gamma = relative_error(self.terms)
        for p, q in zip(self.first.T, self.second.T, strict=True):
            carried = errors[self.one][p] * y[q] + errors[self.other][q] * x[p]
            total += carried + gamma * x[p] * y[q]
        return total * (1.0 + gamma)


def _middles(interval: Range) -> Range:
    """Return the middle of each interval, and half its width, rounded up."""
    lower, upper = interval
    middle = lower / 2 + upper / 2
    half = np.maximum(upper - middle, middle - lower)
    return middle, half * (1.0 + 4 * UNIT_ROUNDOFF)


@dataclass(frozen=True, slots=True, eq=False)
class BatchProducts:
    """The planes around the products ``node`` on many boxes, as ``Product._tangent`` gives them."""

    node: Product
    m: FloatArray
    n: FloatArray
    constant: FloatArray
    gap: FloatArray
    reach: FloatArray
    r: FloatArray
    s: FloatArray

    def replaced(
        self, row: FloatArray, owner: IntArray, turns: FloatArray | None = None
    ) -> tuple[FloatArray, Products]:
        node, weight = self.node, np.abs(row)
        spend_entries(row.size * node.terms, 8 if turns is None else 16)
        gamma = relative_error(row.shape[1] + 4)
        shift = np.einsum("rn,rn->r", row, self.constant[owner])
        shift += np.einsum("rn,rn->r", weight, (self.gap + gamma * self.reach)[owner])
        found: dict[int, FloatArray] = {}
        sides = ((self.n, self.m, self.s, row), (self.m, self.n, self.r, -weight))
        for (source, columns, _, places), (other, own, half, c) in zip(
            node._sides(), sides, strict=True
        ):
            slopes = other[owner][:, places.reshape(-1)]
            slopes *= np.repeat(row, node.terms, axis=1)
            if turns is not None:
                more = (2.0 * turns - 1.0) * half[owner][:, places.reshape(-1)]
                more *= np.repeat(c, node.terms, axis=1)
                shift -= np.einsum("rn,rn->r", more, own[owner][:, columns.reshape(-1)])
                slopes += more
            entries = np.arange(places.size)
            spread = sp.csr_array(
                (np.ones(places.size), (entries, columns.reshape(-1))),
                shape=(places.size, own.shape[1]),
            )
            before = times(slopes, spread)
            found[source] = found[source] + before if source in found else before
        return shift, list(found.items())

    def steepness(
        self, values: ByValue, met: FloatArray, owner: IntArray, turns: FloatArray
    ) -> FloatArray:
        """Return the derivatives of ``met·v`` by the turns, where sources have ``values``."""
        return self._turned(values, owner, 2.0 * met, 2.0 * np.abs(met))

    def _turned(self, values: ByValue, owner: IntArray, c: FloatArray, d: FloatArray) -> FloatArray:
        """Return ``c s (x − m) − d r (y − n)`` of each term, (R, entries · terms)."""
        node, p, q = self.node, self.node.first.reshape(-1), self.node.second.reshape(-1)
        x, y = values[node.one][:, p] - self.m[owner][:, p], values[node.other][:, q]
        spend_entries(x.size, 8)
        first = np.repeat(c, node.terms, axis=1) * self.s[owner][:, q] * x
        second = np.repeat(d, node.terms, axis=1) * self.r[owner][:, p]
        return first - second * (y - self.n[owner][:, q])

    def followed(
        self,
        values: ByValue,
        met: FloatArray | None,
        owner: IntArray,
        turns: FloatArray | None = None,
    ) -> FloatArray:
        node = self.node
        side = -1.0 if met is None else np.where(met > 0, 1.0, -1.0)
        total = self.constant[owner] + side * self.gap[owner]
        if turns is not None:
            turned = self._turned(values, owner, np.ones_like(total), side * np.ones_like(total))
            turned *= 2.0 * turns - 1.0
            total += turned.reshape(*total.shape, node.terms).sum(axis=2)
        x, y, m, n = values[node.one], values[node.other], self.m[owner], self.n[owner]
        spend_entries(total.size * node.terms, 4)
        for p, q in zip(node.first.T, node.second.T, strict=True):
            total += n[:, q] * x[:, p] + m[:, p] * y[:, q]
        return total
