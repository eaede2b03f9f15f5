"""Maxima of pairs: ``a_i = max(z_p, z_q) = z_p + max(d, 0)``, with ``d = z_q − z_p ∈ [l, u]``.

enclosure   a ∈ [max(l_p, l_q), max(u_p, u_q)]
lines       z_p + α d ≤ a ≤ z_p + λ d + β                  (:func:`max_lines`)
phases      d ≥ 0: a = z_q,  d ≤ 0: a = z_p
slopes      z_q has that of max(d, 0), z_p one minus it
program     ``blocks.layers``

Maxima of several entries as a tree of maxima of pairs.

    max(z_1, …, z_n) = max(max(z_1, z_2), max(z_3, z_4), …)

A pair is compared by its difference: ``max(a, b) = a + max(b − a, 0)`` (Bunel, Turkaslan, Torr,
Kohli, Mudigonda, NeurIPS 2018). The difference is a value of the network, so it has linear bounds
of its own. They are tighter than ``[l_b − u_a, u_b − l_a]``, since entries of a window depend on
the same inputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense, freeze, placed
from verix_encodings.blocks.layers import big_m_max, general_max, general_relu
from verix_encodings.bounds.interval import Bounds, Interval, Pair, Range
from verix_encodings.bounds.lines import ByValue, Enclosing, Products, relu_lines
from verix_encodings.bounds.rows import Rows, add_at, by_phase, centred, entries_of, product, total
from verix_encodings.kinds import node as kind
from verix_encodings.kinds.affine import Difference, times
from verix_encodings.program import Expressions
from verix_encodings.work import spend_entries

# of 0.5 to 1, the factor with the lowest margins on seven networks with pools
_FLAT = 0.85


@dataclass(frozen=True, slots=True, eq=False)
class Max(kind.Node):
    """``a_i = max(z_p, z_q)`` for entries ``p = first[i]``, ``q = second[i]`` of one value ``z``.

    ``entries`` is the number of ``z``; ``source`` that of their :class:`Difference` ``d``. Then
    ``a = z_p + max(d, 0)``: the sign of ``d`` is the phase, for bounds and programs. Maxima of more
    entries are made of pairs, see :mod:`verix_encodings.network`.
    """

    plural: ClassVar[str] = "maxima"
    exact: ClassVar[bool] = True

    source: int
    entries: int
    first: IntArray
    second: IntArray

    def __post_init__(self) -> None:
        freeze(self, indices=("first", "second"))
        if self.first.ndim != 1 or self.first.shape != self.second.shape:
            raise ValueError("a maximum of pairs has two vectors of indices, equally long")

    @property
    def sources(self) -> tuple[int, ...]:
        return self.source, self.entries

    @property
    def phase(self) -> int:
        return self.source

    @property
    def watched(self) -> tuple[int, ...]:
        return (self.source,)

    def greatest(self, z: FloatArray) -> FloatArray:
        """Return the greater entry of each pair in ``z``, a vector or the rows of a matrix."""
        result: FloatArray = np.maximum(z[self.first], z[self.second])
        return result

    def size(self, sizes: Sequence[int], nodes: Sequence[kind.Node]) -> int:
        entries = np.append(self.first, self.second)
        kind.refuse_entries("takes maxima of", entries, self.entries, sizes)
        node = nodes[self.source - 1] if self.source else None
        if not (
            isinstance(node, Difference)
            and node.sources == (self.entries,)
            and np.array_equal(node.first, self.first)
            and np.array_equal(node.second, self.second)
        ):
            raise ValueError(
                f"takes maxima of pairs, but value {self.source} is not the difference of these "
                "pairs"
            )
        return self.first.size

    def renumbered(self, number: Callable[[int], int]) -> "Max":
        return Max(number(self.source), number(self.entries), self.first, self.second)

    def value(self, values: kind.Arrays) -> FloatArray:
        spend_entries(values[self.source].size)
        return self.greatest(values[self.entries])

    def enclosure(self, of: kind.Ranges) -> Range:
        lower, upper = of(self.entries)
        return self.greatest(lower.T).T, self.greatest(upper.T).T

    def add_gradients(self, slopes: kind.Arrays, slope: FloatArray, values: kind.Arrays) -> None:
        second = values[self.entries][self.second] > values[self.entries][self.first]
        np.add.at(slopes[self.entries], self.first, np.where(second, 0.0, slope))
        np.add.at(slopes[self.entries], self.second, np.where(second, slope, 0.0))

    def undecided(self, lower: FloatArray, upper: FloatArray) -> BoolArray:
        """Mark pairs that may be ordered either way."""
        return (lower < 0) & (upper > 0)

    def compared(self, lower: FloatArray, upper: FloatArray) -> IntArray:
        """Return the entries of pairs that may be ordered either way by their own bounds."""
        low = lower[self.second] < upper[self.first]
        high = upper[self.second] > lower[self.first]
        return np.concatenate([self.first[low & high], self.second[low & high]])

    def windows(self, before: Callable[[int], IntArray | None]) -> IntArray | None:
        places = before(self.entries)
        return None if places is None else places[self.first]

    def relaxation(self, bounds: kind.Intervals) -> "PairLines":
        """Return the lines of :func:`max_lines` with matrices of two entries a row."""
        entries, difference = bounds[self.entries], bounds[self.source]
        ends = (entries.lower, entries.upper), (difference.lower, difference.upper)
        (f, s, ceiling, b), size = max_lines(self, *ends), self.first.size
        rows = np.tile(np.arange(size), 2)
        columns = np.concatenate([self.first, self.second])

        def slopes(first: FloatArray, second: FloatArray) -> sp.csr_array:
            values = np.concatenate([first, second])
            result = sp.csr_array((values, (rows, columns)), (size, entries.lower.size))
            result.eliminate_zeros()
            return result

        magnitude = entries.magnitude
        reach = np.abs(ceiling) + magnitude[self.first] + magnitude[self.second]
        lines = slopes(f, s), slopes(1.0 - b, b)
        return PairLines(ceiling, np.zeros(size), reach, self, *lines)

    def batch_relaxation(self, of: kind.Ranges, *, flat: bool) -> "BatchPairs":
        entries = of(self.entries)
        return BatchPairs(self, max_lines(self, entries, of(self.source)), entries[0].shape[1])

    def backward_error(self, gamma: float, magnitude: Callable[[int], FloatArray]) -> FloatArray:
        return gamma * 4.0 * self.greatest(magnitude(self.entries))

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> kind.BySource:
        """Yield the entries with the slopes of the first of the pairs, and of the second."""
        difference, size = bounds[self.source], bounds[self.entries].lower.size
        ends = (
            (self.first, ~(difference.lower >= 0) & (difference.upper <= 0), difference.lower < 0),
            (self.second, difference.lower >= 0, difference.upper > 0),
        )
        for entries, always, ever in ends:
            part = by_phase(lower, upper, always, always | ever)
            ones = (np.ones(entries.size), (np.arange(entries.size), entries))
            spread = sp.csr_array(ones, shape=(entries.size, size))
            yield self.entries, (part[0] @ spread, part[1] @ spread)

    def slope_ranges(self, of: kind.Ranges, middle: FloatArray, half: FloatArray) -> kind.BySource:
        (lower, upper), size = of(self.source), of(self.entries)[0].shape
        least, most = (lower >= 0).astype(float), ((lower >= 0) | (upper > 0)).astype(float)
        # pairs may share an entry
        totals = np.zeros(size), np.zeros(size)
        ends = (self.first, 1.0 - most, 1.0 - least), (self.second, least, most)
        for entries, low, high in ends:
            add_at(totals, entries, centred(middle, half, low, high))
        yield self.entries, totals

    def mark(self, masks: kind.Masks, mask: BoolArray, bounds: Bounds) -> None:
        """Mark the differences of these pairs, which mark their entries."""
        masks[self.source][:] |= mask

    def kept(self, masks: kind.Masks, mask: BoolArray) -> BoolArray:
        """Return an entry for each difference, which other nodes may read as well."""
        return masks[self.source]

    def part(self, rows: IntArray, cut: kind.Cut) -> kind.Node:
        kept, number = cut.kept[self.entries], cut.number
        pairs = (np.searchsorted(kept, p[rows]) for p in (self.first, self.second))
        return Max(number[self.source], number[self.entries], *pairs)

    def rows(self, context: kind.EncodingContext) -> Expressions:
        """Add the maxima, with a binary for each undecided pair, or as general constraints."""
        encode = big_m_max
        if getattr(context.relu, "func", context.relu) is general_relu:
            encode = partial(general_max, facet=context.relu is general_relu)
        pairs, z = (self.first, self.second), context.values[self.entries]
        entries, difference = context.bounds[self.entries], context.bounds[self.source]
        given = {"entries": entries, "difference": difference}
        return encode(context.builder, context.label, pairs, z, **given)

    def encoding_error(self, before: Sequence[kind.Rounded], interval: Interval) -> kind.Rounded:
        """Return the errors of the entries: the node may hand on the expression of one."""
        return self.greatest(before[self.entries][0]), interval.magnitude

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Return the errors of the entries: a maximum adds none."""
        return self.greatest(errors[self.entries])


MaxLines: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def max_lines(node: Max, entries: Range, difference: Range) -> MaxLines:
    """Return ``f, s, c, b`` with ``(1 − b) z_p + b z_q ≤ max(z_p, z_q) ≤ f z_p + s z_q + c``.

    The lines hold where ``entries`` and their ``difference`` lie.

    With ``d = z_q − z_p ∈ [l, u]``, and ``λ``, ``β``, ``α`` of the ReLU of ``d``:

        z_p + α d ≤ max(z_p, z_q) = z_p + max(d, 0) ≤ z_p + λ d + β
                    max(z_p, z_q) ≤ max(u_p, u_q)                      the ceiling

    The middle of the line is the mean of those of ``z_p + u / 2`` and ``z_q − l / 2``. The ceiling
    takes its place if its height over ``max(l_p, l_q)``, times 0.85, is less than that of the line:
    it passes no error of earlier layers on.
    """
    (low, high), (l, u) = entries, difference
    slope, intercept, floor = relu_lines(l, u)
    first, second = node.first, node.second
    ceiling = np.maximum(high[..., first], high[..., second])
    ground = np.maximum(low[..., first], low[..., second])
    middle = (low + high) / 2
    line = (middle[..., first] + middle[..., second] + (u - l) / 2) / 2
    flat = (l < 0) & (u > 0) & (_FLAT * (ceiling - ground) < line - ground)
    on_first, on_second = np.where(flat, 0.0, 1.0 - slope), np.where(flat, 0.0, slope)
    return on_first, on_second, np.where(flat, ceiling, intercept), floor


@dataclass(frozen=True, slots=True, eq=False)
class PairLines(Enclosing):
    """Lines around the maxima ``node``: ``above`` and ``below`` have two entries a row."""

    node: Max
    above: sp.csr_array
    below: sp.csr_array

    def _before(
        self, positive: Rows, negative: Rows, slopes: FloatArray | None, whole: "Rows | None"
    ) -> list[tuple[int, Rows]]:
        above = product(positive, self.above)
        if slopes is None:
            return [(self.node.entries, total(above, product(negative, self.below)))]
        lower = dense(negative)
        shares = entries_of(self.node.first, self.node.second, self.above.shape[1])
        before = product(np.hstack([lower * (1.0 - slopes), lower * slopes]), shares)
        return [(self.node.entries, total(before, above))]

    def _at(self, values: ByValue, slopes: FloatArray | None) -> Pair:
        z = values[self.node.entries]
        spend_entries(z.size, 8)
        if slopes is None:
            return z @ self.above.T, z @ self.below.T
        low = (1.0 - slopes) * z[:, self.node.first] + slopes * z[:, self.node.second]
        return z @ self.above.T, low


@dataclass(frozen=True, slots=True, eq=False)
class BatchPairs:
    """Lines around the maxima ``node`` on many boxes, of entries of a value of this ``size``."""

    node: Max
    lines: MaxLines
    size: int

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        f, s, ceiling, b = (line[owner] for line in self.lines)
        positive = np.maximum(row, 0.0)
        shift, negative = np.einsum("rn,rn->r", positive, ceiling), row - positive
        first = positive * f + negative * (1.0 - b)
        second = positive * s + negative * b
        # pairs may share an entry
        pairs, shape = np.arange(self.node.first.size), (self.node.first.size, self.size)
        result = times(first, placed(1.0, pairs, self.node.first, shape))
        result += times(second, placed(1.0, pairs, self.node.second, shape))
        return shift, [(self.node.entries, result)]


def pairwise_maxima(
    number: int, source: int, size: int, indices: IntArray, starts: IntArray
) -> tuple[kind.Node, ...]:
    """Return nodes that take the maxima of groups of entries of the value ``source``.

    The groups stand one after the other in ``indices``, group ``i`` from ``starts[i]`` on; they may
    overlap. ``size`` is that of ``source``. The first node gets the value number ``number``; the
    last one holds the maxima. Raises ``ValueError`` for an empty group.
    """
    nodes: list[kind.Node] = []
    while True:
        lengths = np.diff(starts, append=indices.size)
        if np.any(lengths < 1):
            raise ValueError("a maximum needs groups of one or more indices")
        place = np.arange(indices.size) - np.repeat(starts, lengths)
        left = np.flatnonzero(place % 2 == 0)
        # a lone entry is a pair with itself
        right = left + (place[left] + 1 < np.repeat(lengths, lengths)[left])
        last = bool(np.all(lengths <= 2))
        pairs = np.stack([indices[left], indices[right]], axis=1)
        which = np.arange(left.size)
        if not last:
            # windows that overlap share pairs
            pairs, which = np.unique(pairs, axis=0, return_inverse=True)
        first, second = pairs.T
        nodes.append(Difference.of(source, size, first, second))
        nodes.append(Max(number, source, first, second))
        source, size, number = number + 1, first.size, number + 2
        if last:
            return tuple(nodes)
        indices, lengths = which.reshape(-1), (lengths + 1) // 2
        starts = np.cumsum(lengths) - lengths
