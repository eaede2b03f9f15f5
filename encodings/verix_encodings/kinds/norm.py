"""Lengths of groups of entries: ``ρ = √(ε + w Σ_j z_j²)``, as in a layer normalisation.

Around the middle ``c`` of the box of ``z``, with ``l`` and ``u`` its ends:

    enclosure  √(ε + w Σ min z_j²) ≤ ρ ≤ √(ε + w Σ max z_j²)
    below      ρ ≥ (ε + w Σ c_j z_j) / ρ(c)                  Cauchy–Schwarz: the tangent at c
    above      ρ² ≤ U(z) = ε + w Σ ((l_j + u_j) z_j − l_j u_j),   √U ≤ s / 2 + U / (2 s),  s = √U(c)
    slopes     ∂ρ/∂z_j = w z_j / ρ
    program    ρ in its bounds and between both: a relaxation

The tangent is far above the root of the tangents of the squares where ``z`` moves a lot: it needs
the sign of ``c·z`` alone. ``w`` may be rounded, entry by entry, and so may ``ε``: all is widened by
``2⁻⁴⁶ (n + 4)`` for ``n`` entries, relative to the terms, which covers errors of ``2⁻⁴⁸ n``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, freeze, relative_error
from verix_encodings.bounds.interval import Bounds, Range
from verix_encodings.bounds.lines import ByValue, GroupPlanes, Planes, Products
from verix_encodings.bounds.rows import add_at, centred, outward
from verix_encodings.kinds import node as kind
from verix_encodings.program import Expressions
from verix_encodings.work import spend_entries

_TINY = 1e-150
_SLACK = 2.0**-46


@dataclass(frozen=True, slots=True, eq=False)
class Norm(kind.OneSource):
    """``ρ_g = √(epsilon_g + weight_g Σ_k z_j²)``, ``j = entries[g, k]``, of the value ``source``.

    ``entries`` has shape (groups, width), ``weight`` and ``epsilon`` (groups,), not negative.
    """

    plural: ClassVar[str] = "norms"
    pointed: ClassVar[bool] = True
    mixes: ClassVar[bool] = True

    source: int
    entries: IntArray
    weight: FloatArray
    epsilon: FloatArray

    def __post_init__(self) -> None:
        freeze(self, indices=("entries",), numbers=("weight", "epsilon"))
        if self.entries.ndim != 2 or not self.entries.size:
            raise ValueError("a norm has a matrix of entries, with a row for each group")
        if not self.weight.shape == self.epsilon.shape == self.entries.shape[:1]:
            raise ValueError("a norm has a weight and an epsilon for each group")
        if np.any(self.weight < 0) or np.any(self.epsilon < 0):
            raise ValueError("a norm has weights and epsilons that are not negative")

    def size(self, sizes: Sequence[int], nodes: Sequence[kind.Node]) -> int:
        kind.refuse_entries("takes norms of", self.entries, self.source, sizes)
        return int(self.entries.shape[0])

    def _root(self, squares: FloatArray) -> FloatArray:
        """Return the norms, given the sums of squares, whose last axis is that of groups."""
        return np.sqrt(self.epsilon + self.weight * squares)

    def value(self, values: kind.Arrays) -> FloatArray:
        z = values[self.source][self.entries]
        spend_entries(z.size, 2)
        return np.asarray(self._root(np.square(z).sum(axis=1).T).T)

    def enclosure(self, of: kind.Ranges) -> Range:
        lower, upper = (end[..., self.entries] for end in of(self.source))
        spend_entries(lower.size, 8)
        most = np.maximum(np.abs(lower), np.abs(upper))
        least = np.where((lower < 0) & (upper > 0), 0.0, np.minimum(np.abs(lower), np.abs(upper)))
        error = _SLACK * (self.entries.shape[1] + 4)
        low, high = (self._root(np.square(side).sum(axis=-1)) for side in (least, most))
        return low * (1.0 - error), high * (1.0 + error)

    def add_gradients(self, slopes: kind.Arrays, slope: FloatArray, values: kind.Arrays) -> None:
        z, length = values[self.source][self.entries], self.value(values)
        weight = self.weight.reshape(-1, *(1,) * (slope.ndim - 1))
        factor = slope * weight / np.maximum(length, _TINY)
        np.add.at(slopes[self.source], self.entries, factor[:, None] * z)

    def _planes(self, lower: FloatArray, upper: FloatArray) -> GroupPlanes:
        lower, upper = lower[..., self.entries], upper[..., self.entries]
        spend_entries(lower.size, 16)
        n = self.entries.shape[1]
        w, epsilon = self.weight[:, None], self.epsilon
        c = lower / 2 + upper / 2
        length = np.maximum(self._root(np.square(c).sum(axis=-1)), _TINY)
        below = w * c / length[..., None]
        floor = epsilon / length
        most = np.maximum(np.abs(lower), np.abs(upper))
        chord, base = lower + upper, epsilon - self.weight * (lower * upper).sum(axis=-1)
        s = base + self.weight * (chord * c).sum(axis=-1)
        s = np.maximum(np.sqrt(np.maximum(s, 0.0)), np.maximum(length, _TINY))
        above = w * chord / (2.0 * s[..., None])
        ceiling = s / 2 + base / (2.0 * s)
        reach = (np.abs(above) + np.abs(below)) * most
        total = reach.sum(axis=-1) + floor + s + self._root(np.square(most).sum(axis=-1))
        total = total + (epsilon + self.weight * np.square(most).sum(axis=-1)) / s
        lost = _SLACK * (n + 4) * total
        return GroupPlanes(above, below, ceiling + lost, floor - lost, total * (1.0 + n))

    def relaxation(self, bounds: kind.Intervals) -> Planes:
        z = bounds[self.source]
        planes = self._planes(z.lower, z.upper)
        sides = [{self.source: one} for one in planes.matrices(self.entries, z.lower.size)]
        return Planes(planes.ceiling, planes.floor, planes.reach, *sides)

    def batch_relaxation(self, of: kind.Ranges, *, flat: bool) -> "BatchNorms":
        lower, upper = of(self.source)
        return BatchNorms(self, self._planes(lower, upper), lower.shape[1])

    def _slope_range(self, lower: FloatArray, upper: FloatArray) -> Range:
        """Bound ``w z / ρ`` for each entry of each group, rounded outward: at most ``√w``."""
        low, high = self.enclosure(lambda _: (lower, upper))
        w, steepest = self.weight[:, None], np.sqrt(self.weight)[:, None]
        least, most = w * lower[..., self.entries], w * upper[..., self.entries]
        low, high = np.maximum(low, _TINY)[..., None], np.maximum(high, _TINY)[..., None]
        smallest = np.where(least < 0, least / low, least / high)
        greatest = np.where(most > 0, most / low, most / high)
        error = 1.0 + relative_error(kind.OPERATIONS)
        smallest = np.where(smallest < 0, smallest * error, smallest / error)
        greatest = np.where(greatest > 0, greatest * error, greatest / error)
        return np.maximum(smallest, -steepest * error), np.minimum(greatest, steepest * error)

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> kind.BySource:
        z = bounds[self.source]
        found = np.zeros((2, lower.shape[0], z.lower.size))
        ends = outward(lower[..., None], upper[..., None], *self._slope_range(z.lower, z.upper))
        add_at(found, self.entries, ends)
        error = relative_error(self.entries.shape[0]) * np.abs(found).max(axis=0)
        yield self.source, (found[0] - error, found[1] + error)

    def slope_ranges(self, of: kind.Ranges, middle: FloatArray, half: FloatArray) -> kind.BySource:
        lower, upper = of(self.source)
        ends = centred(middle[..., None], half[..., None], *self._slope_range(lower, upper))
        found = np.zeros((2, *lower.shape))
        add_at(found, self.entries, ends)
        yield self.source, (found[0], found[1])

    def split_gains(self, of: kind.Ranges, c: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the source with ``w r_j² / ρ``, ``r_j`` half the width of ``z_j``."""
        lower, upper = of(self.source)
        half, (_, length) = (upper - lower) / 2, self.enclosure(of)
        steep = np.abs(c) * self.weight / np.maximum(length, _TINY)
        total = np.zeros_like(half)
        np.add.at(total.T, self.entries, np.repeat(steep.T[:, None], self.entries.shape[1], axis=1))
        yield self.source, total * half**2

    def mark(self, masks: kind.Masks, mask: BoolArray, bounds: Bounds) -> None:
        masks[self.source][self.entries[mask].reshape(-1)] = True

    def kept(self, masks: kind.Masks, mask: BoolArray) -> BoolArray:
        return mask

    def part(self, rows: IntArray, cut: kind.Cut) -> kind.Node:
        places = np.searchsorted(cut.kept[self.source], self.entries[rows])
        return Norm(cut.number[self.source], places, self.weight[rows], self.epsilon[rows])

    def rows(self, context: kind.EncodingContext) -> Expressions:
        forms = self.relaxation(context.bounds).forms()
        return kind.between_forms(context, self.source, "norm", forms)

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Bound the error: ``√w`` times the length of the errors, and the norm's own rounding."""
        off, most = errors[self.source][self.entries], bounds[self.source].magnitude[self.entries]
        carried = np.sqrt(self.weight * np.square(off).sum(axis=1)) * (1.0 + 1e-9)
        own = self._root(np.square(most).sum(axis=1))
        return np.asarray(carried + 2.0 * _SLACK * (self.entries.shape[1] + kind.OPERATIONS) * own)


@dataclass(frozen=True, slots=True, eq=False)
class BatchNorms:
    """The planes around the norms ``node`` on many boxes, of a source of this ``size``."""

    node: Norm
    planes: GroupPlanes
    size: int

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        spend_entries(row.size * self.node.entries.shape[1], 8)
        positive, planes = np.maximum(row, 0.0), self.planes
        negative, gamma = row - positive, relative_error(row.shape[1])
        shift = np.einsum("rg,rg->r", positive, planes.ceiling[owner])
        shift += np.einsum("rg,rg->r", negative, planes.floor[owner])
        shift += gamma * np.einsum("rg,rg->r", np.abs(row), planes.reach[owner])
        slopes = positive[..., None] * planes.above[owner]
        slopes += negative[..., None] * planes.below[owner]
        result = np.zeros((row.shape[0], self.size))
        add_at([result], self.node.entries, [slopes])
        return shift, [(self.node.source, result)]

    def followed(self, values: ByValue, met: FloatArray | None, owner: IntArray) -> FloatArray:
        z, planes = values[self.node.source][:, self.node.entries], self.planes
        spend_entries(z.size, 8)
        high = np.einsum("rgk,rgk->rg", planes.above[owner], z) + planes.ceiling[owner]
        low = np.einsum("rgk,rgk->rg", planes.below[owner], z) + planes.floor[owner]
        return np.asarray(low if met is None else np.where(met > 0, high, low))
