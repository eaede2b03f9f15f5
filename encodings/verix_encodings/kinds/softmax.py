"""Softmax over groups of entries, inside a network: ``p_i = exp(s_i) / Σ_j exp(s_j)``.

enclosure   by differences of scores                        (``bounds.softmax_planes``)
planes      B s + b ≤ p ≤ S s + t
backward    c·p = t + (c − t)·p for every t, as Σ_i p_i = 1: t is the mean of c, weighted by the
            distance between the planes, so that less of it is paid for
slopes      ∂p_i/∂s_j = p_i (δ_ij − p_j)
program     p in its bounds, between the planes, with Σ_i p_i = 1: a relaxation
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    dense,
    frozen_indices,
    relative_error,
)
from verix_encodings.bounds.interval import Bounds, Range
from verix_encodings.bounds.lines import ByValue, Planes, Products, Replaced
from verix_encodings.bounds.rows import Coefficients, Patch, Phases, reached
from verix_encodings.bounds.softmax_planes import SoftmaxPlanes, softmax_planes, softmax_range
from verix_encodings.kinds.node import (
    OPERATIONS,
    Arrays,
    BySource,
    Cut,
    EncodingContext,
    Intervals,
    Masks,
    Node,
    OneSource,
    Ranges,
    between_forms,
    refuse_entries,
)
from verix_encodings.program import Expressions
from verix_encodings.work import spend_entries


@dataclass(frozen=True, slots=True, eq=False)
class Softmax(OneSource):
    """The softmax of each row of ``entries``, shape (groups, width), of the value ``source``.

    The probabilities are in the order of ``entries``, row by row. No entry is in two groups.
    """

    plural: ClassVar[str] = "softmax probabilities"
    pointed: ClassVar[bool] = True
    mixes: ClassVar[bool] = True

    source: int
    entries: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", frozen_indices(self.entries))
        if self.entries.ndim != 2 or not self.entries.size:
            raise ValueError("a softmax has a matrix of entries, with a row for each group")

    @property
    def width(self) -> int:
        """Number of entries in a group."""
        return int(self.entries.shape[1])

    def size(self, sizes: Sequence[int], nodes: Sequence[Node]) -> int:
        refuse_entries("takes a softmax of", self.entries, self.source, sizes)
        return self.entries.size

    def value(self, values: Arrays) -> FloatArray:
        scores = values[self.source]
        spend_entries(scores.size, 8)
        grouped = scores[self.entries]
        powers = np.exp(grouped - grouped.max(axis=1, keepdims=True))
        result = powers / powers.sum(axis=1, keepdims=True)
        return np.asarray(result).reshape(self.entries.size, *scores.shape[1:])

    def _flat(self, x: FloatArray) -> FloatArray:
        """Return groups in the last two axes as entries in one."""
        return x.reshape(*x.shape[:-2], self.entries.size)

    def enclosure(self, of: Ranges) -> Range:
        lower, upper = of(self.source)
        low, high = softmax_range(lower[..., self.entries], upper[..., self.entries])
        return self._flat(low), self._flat(high)

    def add_gradients(self, slopes: Arrays, slope: FloatArray, values: Arrays) -> None:
        """Add ``p_j (g_j − Σ_i g_i p_i)`` to the gradient by the score ``j``."""
        p = self.value(values).reshape(-1, self.width, *slope.shape[1:])
        g = slope.reshape(p.shape)
        slopes[self.source][self.entries] += p * (g - (g * p).sum(axis=1, keepdims=True))

    def relaxation(self, bounds: Intervals) -> "SoftmaxForms":
        """Return the planes on the bounds of its source, as matrices of blocks, one a group."""
        z = bounds[self.source]
        planes = softmax_planes(z.lower[self.entries], z.upper[self.entries])
        above, below = (
            {self.source: self._matrix(slopes, z.lower.size)}
            for slopes in (planes.above, planes.below)
        )
        high, low, reach = (one.reshape(-1) for one in (planes.ceiling, planes.floor, planes.reach))
        return SoftmaxForms(high, low, reach, above, below, planes.gap)

    def _matrix(self, blocks: FloatArray, size: int) -> sp.csr_array:
        columns = np.repeat(self.entries, self.width, axis=0).reshape(-1)
        starts = np.arange(self.entries.size + 1) * self.width
        return sp.csr_array((blocks.reshape(-1), columns, starts), shape=(self.entries.size, size))

    def batch_relaxation(self, of: Ranges, *, flat: bool) -> "BatchSoftmax":
        lower, upper = of(self.source)
        planes = softmax_planes(lower[:, self.entries], upper[:, self.entries])
        return BatchSoftmax(self, planes, lower.shape[1])

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> BySource:
        """Yield the source with slopes by ``p_j (g_j − Σ_i p_i g_i)``, a mean of the ``g_i``."""
        z = bounds[self.source]
        low, high = softmax_range(z.lower[self.entries], z.upper[self.entries])
        least = lower.reshape(-1, *self.entries.shape)
        most = upper.reshape(-1, *self.entries.shape)
        # a mean lies between the least and the greatest of its terms
        below = least - most.max(axis=-1, keepdims=True)
        above = most - least.min(axis=-1, keepdims=True)
        ends = [p * g for p in (low, high) for g in (below, above)]
        error = relative_error(4) * np.maximum.reduce([np.abs(end) for end in ends])
        found = np.zeros((2, lower.shape[0], z.lower.size))
        found[0][:, self.entries] = np.minimum.reduce(ends) - error
        found[1][:, self.entries] = np.maximum.reduce(ends) + error
        yield self.source, (found[0], found[1])

    def split_gains(self, of: Ranges, c: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the source with widths of probabilities, times the spread of ``c`` in a group."""
        low, high = self.enclosure(of)
        groups = c.reshape(-1, *self.entries.shape)
        spread = np.ptp(groups, axis=2, keepdims=True) / 4
        gains = np.zeros_like(of(self.source)[0])
        gains[:, self.entries] = spread * (high - low).reshape(groups.shape)
        yield self.source, gains

    def mark(self, masks: Masks, mask: BoolArray, bounds: Bounds) -> None:
        """Mark the whole groups of these entries."""
        groups = mask.reshape(self.entries.shape).any(axis=1)
        masks[self.source][self.entries[groups]] = True

    def kept(self, masks: Masks, mask: BoolArray) -> BoolArray:
        """Return the whole groups of the entries that are needed."""
        return np.repeat(mask.reshape(self.entries.shape).any(axis=1), self.width)

    def part(self, rows: IntArray, cut: Cut) -> Node:
        entries = self.entries.reshape(-1)[rows].reshape(-1, self.width)
        places = np.searchsorted(cut.kept[self.source], entries)
        return Softmax(cut.number[self.source], places)

    def rows(self, context: EncodingContext) -> Expressions:
        """Add a column for each probability, between the planes, which sum to one in a group."""
        source, planes = self.source, self.relaxation(context.bounds)
        forms = planes.below[source], planes.floor, planes.above[source], planes.ceiling
        result = between_forms(context, source, "plane", forms)
        size, groups = self.entries.size, np.arange(self.entries.shape[0])
        starts = np.arange(groups.size + 1) * self.width
        total = sp.csr_array((np.ones(size), np.arange(size), starts), shape=(groups.size, size))
        terms = [(total, result.columns)]
        context.builder.add_rows(f"total_{context.label}", groups, terms, 1.0, 1.0)
        return result

    def evaluation_error(self, errors: Arrays, bounds: Intervals) -> FloatArray:
        """Bound the error: a score's error moves each probability by half of it at most."""
        carried = np.repeat(errors[self.source][self.entries].max(axis=1), self.width)
        size = 1.0 + np.max(bounds[self.source].magnitude[self.entries])
        return carried + relative_error(self.width + OPERATIONS) * size


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxForms(Planes):
    """Planes around a softmax; ``gap`` is their distance in the middle, (groups, width)."""

    gap: FloatArray

    def replaced(
        self, c: Coefficients, slopes: FloatArray | None, phases: Phases | None
    ) -> Replaced:
        """Replace ``c·p`` by a form in the scores, of ``c`` less a number for each group."""
        rows = reached(c)
        whole = rows.toarray() if isinstance(rows, Patch) else dense(rows)
        moved, shift, error = _levelled(whole.reshape(-1, *self.gap.shape), self.gap)
        constant, lost, products = Planes.replaced(self, moved.reshape(whole.shape), slopes, phases)
        return constant + shift, lost + error, products


def _levelled(c: FloatArray, gap: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``c − t``, ``Σ t`` over the groups, and the rounding of these times probabilities.

    ``c`` has shape (rows, groups, width); ``gap`` that of a row, or of all.
    """
    weight = gap + 1e-3 * gap.mean(axis=-1, keepdims=True) + 1e-300
    t = (c * weight).sum(axis=-1) / weight.sum(axis=-1)
    size = np.abs(c).max(axis=-1).sum(axis=-1)
    return c - t[..., None], t.sum(axis=-1), relative_error(c.shape[1] + 2) * 4.0 * size


@dataclass(frozen=True, slots=True, eq=False)
class BatchSoftmax:
    """Planes around the softmax ``node`` on many boxes, of a source of this ``size``."""

    node: Softmax
    planes: SoftmaxPlanes
    size: int

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        spend_entries(row.size * self.node.width, 8)
        whole = row.reshape(row.shape[0], *self.node.entries.shape)
        grouped, level, error = _levelled(whole, self.planes.gap[owner])
        positive = np.maximum(grouped, 0.0)
        negative, planes = grouped - positive, self.planes
        gamma = relative_error(row.shape[1])
        shift = level + error
        shift += np.einsum("rgi,rgi->r", positive, planes.ceiling[owner])
        shift += np.einsum("rgi,rgi->r", negative, planes.floor[owner])
        shift += gamma * np.einsum("rgi,rgi->r", np.abs(grouped), planes.reach[owner])
        before = np.einsum("rgi,rgij->rgj", positive, planes.above[owner])
        before += np.einsum("rgi,rgij->rgj", negative, planes.below[owner])
        result = np.zeros((row.shape[0], self.size))
        result[:, self.node.entries] = before
        return shift, [(self.node.source, result)]

    def followed(self, values: ByValue, met: FloatArray | None, owner: IntArray) -> FloatArray:
        s, planes = values[self.node.source][:, self.node.entries], self.planes
        spend_entries(s.size * self.node.width, 8)
        high = np.einsum("rgij,rgj->rgi", planes.above[owner], s) + planes.ceiling[owner]
        low = np.einsum("rgij,rgj->rgi", planes.below[owner], s) + planes.floor[owner]
        if met is None:
            return np.asarray(low.reshape(s.shape[0], -1))
        moved, _, _ = _levelled(met.reshape(high.shape), planes.gap[owner])
        return np.asarray(np.where(moved > 0, high, low).reshape(s.shape[0], -1))
