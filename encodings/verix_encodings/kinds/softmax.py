"""Softmax over groups of entries, inside a network: ``p_i = exp(s_i) / Σ_j exp(s_j)``.

enclosure   by differences of scores
planes      B s + b ≤ p ≤ S s + t
backward    c·p = t + (c − t)·p for every t, as Σ_i p_i = 1: t is the mean of c, weighted by the
            distance between the planes, so that less of it is paid for
slopes      ∂p_i/∂s_j = p_i (δ_ij − p_j)
program     p in its bounds, between the planes, with Σ_i p_i = 1: a relaxation

Planes around a softmax over a box of scores.

With ``d_j = s_j − s_i ∈ [l_j, u_j]`` for ``j ≠ i``, and ``q = 1 + Σ_j exp(d_j)``, the probability
is ``p_i = 1 / q``:

    bounds   1 / (1 + Σ exp(u_j)) ≤ p_i ≤ 1 / (1 + Σ exp(l_j))
    below    q ≤ Q(d), the chords of the exponentials;  1 / q ≥ (2 − q / t) / t for every t > 0:
             p_i ≥ (2 − Q(d) / t) / t,  t = Q in the middle
    above    log p_i = −log q is concave: it is at most its tangent T(d) in the middle;
             p_i = exp(log p_i) ≤ a + b T(d), the chord of the exponential between the bounds

(Wei, Wu, Wu, Chen, Barrett, Farchi, AISTATS 2023, have these among others.) Both planes are exact
to the first order in a narrow box. A chord of a slope that is rounded holds for that slope: its
intercept is at least both ends'. All constants are widened by ``2⁻⁴⁴`` of the terms' magnitudes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense, freeze, relative_error
from verix_encodings.bounds.interval import Bounds, Range
from verix_encodings.bounds.lines import ByValue, GroupPlanes, Planes, Products, Replaced
from verix_encodings.bounds.rows import Coefficients, Patch, RowPhases, reached
from verix_encodings.kinds import node as kind
from verix_encodings.program import Expressions
from verix_encodings.work import spend_entries

_SLACK = 2.0**-44
# beyond, exponentials overflow; a difference this large leaves nothing of a probability
_FAR = 600.0
_AT_ONCE = 1 << 16  # differences


def softmax_range(lower: FloatArray, upper: FloatArray) -> Range:
    """Bound the probabilities of scores in these bounds, along the last axis."""
    n = lower.shape[-1]
    spend_entries(lower.size * n, 16)
    error = _SLACK * (n + 1)
    ends = np.empty(lower.shape), np.empty(lower.shape)
    # a few rows at a time: all of a large softmax take gigabytes, and far longer
    step = max(1, _AT_ONCE // lower.size)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        low, high = _differences(lower, upper, rows)
        # an exponential beyond the cut is larger than that: the probability's lower bound is 0
        least = np.exp(np.minimum(low, _FAR)).sum(axis=-1)
        far = (high > _FAR).any(axis=-1)
        most = np.where(far, np.inf, np.exp(np.minimum(high, _FAR)).sum(axis=-1))
        ends[0][..., rows] = 1.0 / most * (1.0 - error)
        ends[1][..., rows] = np.minimum(1.0 / least * (1.0 + error), 1.0)
    return ends


def _differences(lower: FloatArray, upper: FloatArray, rows: slice = slice(None)) -> Range:
    """Bound ``s_j − s_i``, at [..., i, j], rounded outward; zero for ``j = i``; i in ``rows``."""
    low = np.nextafter(lower[..., None, :] - upper[..., rows, None], -np.inf)
    high = np.nextafter(upper[..., None, :] - lower[..., rows, None], np.inf)
    itself = np.arange(lower.shape[-1])
    for one in (low, high):
        one[..., itself[rows] - itself[rows][:1], itself[rows]] = 0.0
    return low, high


def _chords(low: FloatArray, high: FloatArray, size: FloatArray) -> Range:
    """Return slopes of lines above the exponential, and intercepts valid for them as rounded."""
    e_low, e_high, width = np.exp(low), np.exp(high), high - low
    some = np.where(width > 0, width, 1.0)
    rises = np.where(width < 1.0, e_low * np.expm1(np.minimum(width, 1.0)), e_high - e_low)
    chord = np.where(width > 0, rises / some, e_low)
    intercept = np.maximum(e_low - chord * low, e_high - chord * high)
    return chord, intercept + _SLACK * (e_high + chord * size)


def softmax_planes(lower: FloatArray, upper: FloatArray) -> GroupPlanes:
    """Return the planes for scores in these bounds, along the last axis."""
    n = lower.shape[-1]
    low, high = _differences(lower, upper)
    known = np.asarray((high <= _FAR).all(axis=-1))
    low, high = (np.where(known[..., None], end, 0.0) for end in (low, high))
    p_low, p_high = softmax_range(lower, upper)
    middle = low / 2 + high / 2
    spend_entries(low.size, 64)
    itself = np.eye(n, dtype=bool)
    size = np.maximum(np.abs(low), np.abs(high))
    chord, intercept = _chords(low, high, size)
    chord = np.where(itself, 0.0, chord)
    intercept = np.where(itself, 1.0 + _SLACK, intercept)
    total = intercept.sum(axis=-1)
    # a tangent at any t is below 1 / t; squares of that do not overflow
    t = np.minimum(total + (chord * middle).sum(axis=-1), 1e150)
    below_d = -chord / (t * t)[..., None]
    floor = 2.0 / t - total / (t * t)
    below_reach = 2.0 / t + np.abs(total) / (t * t) + (np.abs(below_d) * size).sum(axis=-1)
    # the slopes are rounded: what they lose times the differences
    floor = floor - _SLACK * (n + 1) * below_reach
    # above: the tangent of log p, and the chord of the exponential
    e_middle = np.exp(middle)
    q = e_middle.sum(axis=-1)
    share = np.where(itself, 0.0, e_middle / q[..., None])
    start = -np.log(q) + (share * middle).sum(axis=-1)
    log_reach = 1.0 + np.abs(np.log(q)) + 2.0 * (share * size).sum(axis=-1)
    start = start + _SLACK * (n + 1) * log_reach
    p_least = np.maximum(p_low, 1e-290)
    a, b = np.log(p_least), np.log(np.maximum(p_high, p_least))
    wide = b - a
    rise = np.where(wide > 1e-12, (p_high - p_least) / np.where(wide > 1e-12, wide, 1.0), p_least)
    rise = np.maximum(rise, 0.0)
    # log p lies in [a, b] widened
    a, b = a - _SLACK * (1.0 + np.abs(a)), b + _SLACK * (1.0 + np.abs(b))
    base = np.maximum(np.exp(a) - rise * a, np.exp(b) - rise * b)
    base += _SLACK * (np.exp(b) + rise * (np.abs(a) + np.abs(b)))
    above_d = -rise[..., None] * share
    ceiling = base + rise * start
    above_reach = np.abs(base) + rise * log_reach + (np.abs(above_d) * size).sum(axis=-1)
    ceiling = ceiling + _SLACK * (n + 1) * above_reach
    # in the scores: s_j has its slope, s_i minus their sum
    planes = []
    for slopes in (above_d, below_d):
        in_scores = np.where(itself, -slopes.sum(axis=-1, keepdims=True), slopes)
        planes.append(np.where(known[..., None], in_scores, 0.0))
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    reach = sum(np.einsum("...ij,...j->...i", np.abs(s), magnitude) for s in planes)
    lost = _SLACK * (n + 1) * reach
    ceiling, floor = ceiling + lost, floor - lost
    ceiling, floor = np.where(known, ceiling, p_high), np.where(known, floor, p_low)
    centre = lower / 2 + upper / 2
    open_ = np.einsum("...ij,...j->...i", planes[0] - planes[1], centre) + ceiling - floor
    reach = np.where(known, above_reach + below_reach + reach, 1.0) * (n + 1.0)
    gap = np.clip(np.nan_to_num(open_), 0.0, 1.0)
    return GroupPlanes(planes[0], planes[1], ceiling, floor, reach, gap)


@dataclass(frozen=True, slots=True, eq=False)
class Softmax(kind.OneSource):
    """The softmax of each row of ``entries``, shape (groups, width), of the value ``source``.

    The probabilities are in the order of ``entries``, row by row. No entry is in two groups.
    """

    plural: ClassVar[str] = "softmax probabilities"
    pointed: ClassVar[bool] = True
    mixes: ClassVar[bool] = True

    source: int
    entries: IntArray

    def __post_init__(self) -> None:
        freeze(self, indices=("entries",))
        if self.entries.ndim != 2 or not self.entries.size:
            raise ValueError("a softmax has a matrix of entries, with a row for each group")

    @property
    def width(self) -> int:
        """Number of entries in a group."""
        return int(self.entries.shape[1])

    def size(self, sizes: Sequence[int], nodes: Sequence[kind.Node]) -> int:
        kind.refuse_entries("takes a softmax of", self.entries, self.source, sizes)
        return self.entries.size

    def value(self, values: kind.Arrays) -> FloatArray:
        scores = values[self.source]
        spend_entries(scores.size, 8)
        grouped = scores[self.entries]
        powers = np.exp(grouped - grouped.max(axis=1, keepdims=True))
        result = powers / powers.sum(axis=1, keepdims=True)
        return np.asarray(result).reshape(self.entries.size, *scores.shape[1:])

    def _flat(self, x: FloatArray) -> FloatArray:
        """Return groups in the last two axes as entries in one."""
        return x.reshape(*x.shape[:-2], self.entries.size)

    def enclosure(self, of: kind.Ranges) -> Range:
        lower, upper = of(self.source)
        low, high = softmax_range(lower[..., self.entries], upper[..., self.entries])
        return self._flat(low), self._flat(high)

    def add_gradients(self, slopes: kind.Arrays, slope: FloatArray, values: kind.Arrays) -> None:
        """Add ``p_j (g_j − Σ_i g_i p_i)`` to the gradient by the score ``j``."""
        p = self.value(values).reshape(-1, self.width, *slope.shape[1:])
        g = slope.reshape(p.shape)
        slopes[self.source][self.entries] += p * (g - (g * p).sum(axis=1, keepdims=True))

    def relaxation(self, bounds: kind.Intervals) -> "SoftmaxForms":
        """Return the planes on the bounds of its source, as matrices of blocks, one a group."""
        z = bounds[self.source]
        planes = softmax_planes(z.lower[self.entries], z.upper[self.entries])
        above, below = ({self.source: one} for one in planes.matrices(self.entries, z.lower.size))
        high, low, reach = (one.reshape(-1) for one in (planes.ceiling, planes.floor, planes.reach))
        return SoftmaxForms(high, low, reach, above, below, planes.gap)

    def batch_relaxation(self, of: kind.Ranges, *, flat: bool) -> "BatchSoftmax":
        lower, upper = of(self.source)
        planes = softmax_planes(lower[:, self.entries], upper[:, self.entries])
        return BatchSoftmax(self, planes, lower.shape[1])

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> kind.BySource:
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

    def split_gains(self, of: kind.Ranges, c: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the source with widths of probabilities, times the spread of ``c`` in a group."""
        low, high = self.enclosure(of)
        groups = c.reshape(-1, *self.entries.shape)
        spread = np.ptp(groups, axis=2, keepdims=True) / 4
        gains = np.zeros_like(of(self.source)[0])
        gains[:, self.entries] = spread * (high - low).reshape(groups.shape)
        yield self.source, gains

    def mark(self, masks: kind.Masks, mask: BoolArray, bounds: Bounds) -> None:
        """Mark the whole groups of these entries."""
        groups = mask.reshape(self.entries.shape).any(axis=1)
        masks[self.source][self.entries[groups]] = True

    def kept(self, masks: kind.Masks, mask: BoolArray) -> BoolArray:
        return np.repeat(mask.reshape(self.entries.shape).any(axis=1), self.width)

    def part(self, rows: IntArray, cut: kind.Cut) -> kind.Node:
        entries = self.entries.reshape(-1)[rows].reshape(-1, self.width)
        places = np.searchsorted(cut.kept[self.source], entries)
        return Softmax(cut.number[self.source], places)

    def rows(self, context: kind.EncodingContext) -> Expressions:
        """Add a column for each probability, between the planes, which sum to one in a group."""
        forms = self.relaxation(context.bounds).forms()
        result = kind.between_forms(context, self.source, "plane", forms)
        size, groups = self.entries.size, np.arange(self.entries.shape[0])
        starts = np.arange(groups.size + 1) * self.width
        total = sp.csr_array((np.ones(size), np.arange(size), starts), shape=(groups.size, size))
        terms = [(total, result.columns)]
        context.builder.add_rows(f"total_{context.label}", groups, terms, 1.0, 1.0)
        return result

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Bound the error: a score's error moves each probability by half of it at most."""
        carried = np.repeat(errors[self.source][self.entries].max(axis=1), self.width)
        size = 1.0 + np.max(bounds[self.source].magnitude[self.entries])
        return carried + relative_error(self.width + kind.OPERATIONS) * size


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxForms(Planes):
    """Planes around a softmax; ``gap`` is their distance in the middle, (groups, width)."""

    gap: FloatArray

    def replaced(
        self, c: Coefficients, slopes: FloatArray | None, phases: RowPhases | None
    ) -> Replaced:
        """Replace ``c·p`` by a form in the scores, of ``c`` less a number for each group."""
        rows = reached(c)
        whole = rows.toarray() if isinstance(rows, Patch) else dense(rows)
        moved, shift, error = _levelled(whole.reshape(-1, *self.gap.shape), self.gap)
        constant, lost, products = Planes.replaced(self, moved.reshape(whole.shape), slopes, phases)
        return constant + shift, lost + error, products


def _levelled(c: FloatArray, gap: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``c − t``, (rows, groups, width), ``Σ t`` over groups, and the rounding of both."""
    weight = gap + 1e-3 * gap.mean(axis=-1, keepdims=True) + 1e-300
    t = (c * weight).sum(axis=-1) / weight.sum(axis=-1)
    size = np.abs(c).max(axis=-1).sum(axis=-1)
    return c - t[..., None], t.sum(axis=-1), relative_error(c.shape[1] + 2) * 4.0 * size


@dataclass(frozen=True, slots=True, eq=False)
class BatchSoftmax:
    """Planes around the softmax ``node`` on many boxes, of a source of this ``size``."""

    node: Softmax
    planes: GroupPlanes
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
