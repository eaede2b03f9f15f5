"""The interface between networks and their algorithms: a kind of node answers for itself.

A node computes a value ``v`` from earlier values. Every algorithm asks the node, and none asks of
which kind it is, so that a kind is one class here. :class:`Node` has four abstract methods and a
property; the others have defaults that are valid for every node, and loose:

| asked by | default |
|---|---|
| values, and their enclosure | none: a kind has ``value`` and ``enclosure`` |
| sources and sizes | none: a kind has ``sources``, ``size`` and ``renumbered`` |
| gradients, for searches | zero: a function in steps |
| backward bounds | ``v`` lies in its enclosure: no line, nothing to optimise |
| branching on phases | no phase |
| branching on points | no entry of a source is split |
| steps on its forms | no number turns them |
| ranges of slopes | infinite: nothing follows from them |
| rounding of an evaluation | the enclosure around arguments that are off by their own errors |
| a program | columns in their bounds, and between their lines: a relaxation |
| the cone of some neurons | all of the sources |

The three interfaces are :class:`Evaluated`, :class:`Bounded` and :class:`Node`, each with all of
the one before. So a new kind is right from its first line, and each method that it adds makes
answers tighter. A node that works entry by entry is :class:`Elementwise`, with less to write.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, relative_error
from verix_encodings.blocks.formulations import ReluEncoding
from verix_encodings.blocks.layers import define
from verix_encodings.bounds.interval import Bounds, Interval, Late, Range, Region, TwoLines
from verix_encodings.bounds.lines import (
    BatchLines,
    BatchRelaxation,
    FollowedForms,
    Lines,
    NodeRelaxation,
    Planes,
    TurnedForms,
)
from verix_encodings.bounds.rows import centred, outward
from verix_encodings.program import Expressions, ProgramBuilder
from verix_encodings.work import spend_entries

Ranges: TypeAlias = Callable[[int], Range]
"""A function from the number of a value to bounds on it: arrays of shape (size,) or (N, size)."""

Arrays: TypeAlias = Sequence[FloatArray]
Intervals: TypeAlias = Sequence[Interval]
"""An array, or bounds, for each value of a network, the input first."""

Masks: TypeAlias = Mapping[int, BoolArray]
"""Marks of the entries of a value, by its number."""

BySource: TypeAlias = Iterator[tuple[int, Range]]
"""Numbers of sources, and bounds on derivatives by them."""

Rounded: TypeAlias = tuple[FloatArray, FloatArray]
"""Bounds, entry by entry, on the rounding in a value's expressions, and on its magnitude."""

_QUARTERS = 0.25, 0.5, 0.75

OPERATIONS = 16
"""An evaluation of a node rounds no more than so many operations do."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodingContext:
    """The ingredients of an encoding of the value numbered ``value``.

    ``builder`` is the program under construction; ``label`` names its columns and rows; ``values``
    are the values before it, as expressions, and ``bounds`` hold for all values of the network.
    ``relu`` is the formulation of ReLUs, ``segments`` the number of pieces around a smooth
    function. An encoding that takes seconds raises ``TimeoutError`` once ``late()``.
    """

    builder: ProgramBuilder
    label: str
    value: int
    values: Sequence[Expressions]
    bounds: Bounds
    relu: ReluEncoding
    segments: int
    late: Late


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """The part of a network that is left: ``kept`` are the entries of each value that stays.

    These values have other ``number``s, and those without any are zero. ``bounds`` hold for the
    values of the whole network.
    """

    kept: Mapping[int, IntArray]
    number: Mapping[int, int]
    bounds: Bounds


class Evaluated(ABC):
    """The interface of a node to networks: its value and its gradients."""

    __slots__ = ()

    plural: ClassVar[str] = "other functions"
    """The noun for its entries, where they are counted; empty if they are not."""

    stepped: ClassVar[bool] = False
    """True if the node is constant between jumps: its gradients say nothing."""

    @property
    def inside(self) -> int:
        """How many numbers its evaluation at one input holds beside its value."""
        return 0

    @property
    @abstractmethod
    def sources(self) -> tuple[int, ...]:
        """Indices of the values that the node reads."""

    @abstractmethod
    def size(self, sizes: Sequence[int], nodes: Sequence["Node"]) -> int:
        """Return the size of its value, given the ``sizes`` of all values before it.

        ``nodes`` are those of the network. Raises ``ValueError`` if the node does not fit them.
        """

    @abstractmethod
    def value(self, values: Arrays) -> FloatArray:
        """Evaluate the node in float64, given all ``values`` before it: (size,), or (size, N)."""

    @abstractmethod
    def enclosure(self, of: Ranges) -> Range:
        """Bound the value where each source ``k`` lies in ``of(k)``, rounded outward."""

    @abstractmethod
    def renumbered(self, number: Callable[[int], int]) -> Self:
        """Return the node that reads the value ``number(k)`` for each source ``k``."""

    @property
    def name(self) -> str:
        """The name of its function, for people."""
        return type(self).__name__.lower()

    @property
    def matrices(self) -> tuple[tuple[int, Matrix], ...]:
        """The weights of an affine map, by source; other nodes have none."""
        return ()

    @property
    def relu_of(self) -> int | None:
        """The number of ``z`` if the node is ``max(z, 0)``, which formulations encode."""
        return None

    def add_gradients(  # noqa: B027 - a function in steps has none
        self, slopes: Arrays, slope: FloatArray, values: Arrays
    ) -> None:
        """Add the gradients by the sources to ``slopes``, in place, given that by the node.

        All are columns of N inputs. Plain float64, for searches.
        """

    def followed(self, matrix: FloatArray, bias: FloatArray, error: FloatArray) -> "Node | None":
        """Return the node of ``W v + c``, errors of ``error`` included; None if it is another kind.

        ``matrix`` is ``W``, shape (k, size); ``bias`` is ``c``, shape (k,).
        """
        return None


class Bounded(Evaluated):
    """The interface of a node to bounds: forms around it, phases, and where to split."""

    __slots__ = ()

    flat: ClassVar[bool] = False
    """True if a second lower line, of slope zero, is worth a second backward pass in batches."""

    pointed: ClassVar[bool] = False
    """True if its forms are tighter on a part of a source's range, which is split at a point."""

    turns: ClassVar[int] = 0
    """Numbers in [0, 1] for each entry that turn its forms on boxes: any are valid, ½ is usual."""

    mixes: ClassVar[bool] = False
    """True if neighbours among its entries may read entries of a source that are far apart."""

    def interval(self, region: Region, bounds: Intervals) -> Range:
        """Bound the value over inputs in ``region``, where ``bounds`` hold before it."""
        return self.enclosure(lambda k: (bounds[k].lower, bounds[k].upper))

    def over_boxes(self, of: Ranges, magnitude: Callable[[int], FloatArray]) -> Range:
        """Bound the value on many boxes, (N, size); ``magnitude(k)`` is at least any ``|v_k|``."""
        return self.enclosure(of)

    @property
    def watched(self) -> tuple[int, ...]:
        """Numbers of the values whose bounds shape the node's lines."""
        return self.sources

    def undecided(self, lower: FloatArray, upper: FloatArray) -> BoolArray:
        """Mark entries of a watched value that tighter bounds would help, given their bounds."""
        return lower < upper

    def compared(self, lower: FloatArray, upper: FloatArray) -> IntArray:
        """Return entries of its last source, in these bounds, whose order decides the node."""
        return np.zeros(0, dtype=np.intp)

    def windows(self, before: Callable[[int], IntArray | None]) -> IntArray | None:
        """Return a place for each entry, close for entries that read close ones; or None.

        ``before`` returns the places of a source.
        """
        return None

    def relaxation(self, bounds: Intervals) -> NodeRelaxation:
        """Return forms above and below the node where ``bounds`` hold before it."""
        low, high = self.enclosure(lambda k: (bounds[k].lower, bounds[k].upper))
        return Planes(high, low, np.maximum(np.abs(low), np.abs(high)), {}, {})

    def batch_relaxation(self, of: Ranges, *, flat: bool) -> BatchRelaxation:
        """Return forms around the node on many boxes, where ``of(k)`` bound its sources.

        If ``flat``, lower lines that may have the slope zero have it.
        """
        low, high = self.enclosure(of)
        return BatchLines((), high, low, np.maximum(np.abs(low), np.abs(high)))

    def backward_error(
        self, gamma: float, magnitude: Callable[[int], FloatArray]
    ) -> FloatArray | float:
        """Bound the rounding of each entry that :meth:`batch_relaxation` leaves uncounted.

        ``magnitude(k)`` is at least any ``|v_k|``, and ``gamma`` covers the terms of a row.
        """
        return 0.0

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> BySource:
        """Yield each source with bounds on the outputs' derivatives by it, through this node.

        ``lower`` and ``upper``, shape (outputs, size), bound those by the node. Infinite bounds say
        nothing, which is right for a function that jumps.
        """
        for source in self.sources:
            ends = np.full((lower.shape[0], bounds[source].lower.size), np.inf)
            yield source, (-ends, ends)

    def slope_ranges(self, of: Ranges, middle: FloatArray, half: FloatArray) -> BySource:
        """Yield each source with the middle and half width of derivatives by it, on many boxes.

        Plain float64, for branching. By default the change of the node over a box is shared out
        among the entries of its sources, by their widths.
        """
        low, high = self.enclosure(of)
        change = np.sum((np.abs(middle) + half) * (high - low), axis=1, keepdims=True)
        for source in self.sources:
            wide = np.subtract(*of(source)[::-1])
            steep = np.divide(change, wide, out=np.zeros_like(wide), where=wide > 0)
            yield source, (np.zeros_like(steep), steep)

    @property
    def phase(self) -> int | None:
        """The number of the value whose sign is the node's phase: its lines are exact for each."""
        return None

    def narrowed(self, of: Ranges, bounds: Bounds) -> Range:
        """Bound the value where sources lie in ``of(k)``, (N, size), which ``bounds`` enclose."""
        return self.over_boxes(of, lambda k: bounds[k].magnitude)

    def narrowed_forms(self, of: Ranges, bounds: Bounds) -> FollowedForms | TurnedForms:
        """Return forms around the node where sources lie in ``of(k)``, which ``bounds`` enclose.

        Only asked of a node that is ``pointed``: its forms on boxes may be followed forward, too.
        """
        return cast("FollowedForms", self.batch_relaxation(of, flat=False))

    def split_gains(self, of: Ranges, c: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield each source with estimates of how much splits of its entries lower ``c·v``.

        Both have the shape (N, entries), for N sets of inputs where sources lie in ``of(k)``. Plain
        float64, for branching. Only asked of a node that is ``pointed``.
        """
        for source in self.sources:
            yield source, np.zeros_like(of(source)[0])

    def split_points(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return points at which to split entries of a source in these bounds.

        No proof rests on them: one that is no number, or not inside, splits nothing.
        """
        return lower / 2 + upper / 2


class Node(Bounded):
    """A node of a network: it computes one value from those with the numbers ``sources``.

    What programs and proofs ask of it stands here, and what the part of a network that some neurons
    depend on asks.
    """

    __slots__ = ()

    exact: ClassVar[bool] = False
    """True if each point of its encoding is an evaluation of the node."""

    segmented: ClassVar[bool] = False
    """True if its encoding is tighter with more segments."""

    def mark(self, masks: Masks, mask: BoolArray, bounds: Bounds) -> None:
        """Mark the entries of the sources that the entries in ``mask`` depend on, in ``masks``."""
        for source in self.sources:
            masks[source][:] |= mask.any()

    def kept(self, masks: Masks, mask: BoolArray) -> BoolArray:
        """Return which entries stay in a part of the network that needs those in ``mask``."""
        return np.ones_like(mask)

    def part(self, rows: IntArray, cut: Cut) -> "Node":
        """Return the node of its entries ``rows`` alone in the network that is left by ``cut``."""
        return self.renumbered(cut.number.__getitem__)

    def rows(self, context: EncodingContext) -> Expressions:
        """Add the node to a program; return its value."""
        return within_bounds(context)

    def encoding_error(self, before: Sequence[Rounded], interval: Interval) -> Rounded:
        """Bound the rounding in its expressions, and the magnitude of its value.

        ``before`` has both of each value before it, ``interval`` bounds its own value.
        """
        return np.zeros(interval.lower.size), interval.magnitude

    def evaluation_error(self, errors: Arrays, bounds: Intervals) -> FloatArray:
        """Bound the error of :meth:`value`, given those of the values before it.

        By default, if a source has an error, the value may be anywhere in its enclosure. Its own
        rounding is that of 16 operations at most: a node of longer sums has a bound of its own.
        """
        low, high = self.enclosure_off(errors, bounds)
        off = any(errors[k].any() for k in self.sources)
        return own_rounding(low, high) + (high - low if off else 0.0)

    def enclosure_off(self, errors: Arrays, bounds: Intervals) -> Range:
        """Bound the value of sources that are off by these errors."""
        return self.enclosure(lambda k: (bounds[k].lower - errors[k], bounds[k].upper + errors[k]))


class OneSource(Node):
    """A node that reads the value ``source`` alone: a field of the subclass, a dataclass."""

    __slots__ = ()

    source: int

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.source,)

    def renumbered(self, number: Callable[[int], int]) -> Self:
        changed: Any = replace(self, source=number(self.source))  # type: ignore[type-var]
        return changed  # type: ignore[no-any-return]


class Elementwise(OneSource):
    """A node that works entry by entry on its source.

    A subclass has ``apply`` and ``range_of``. It should have ``lines_of`` and ``slope_range``, and
    ``derivative`` for searches. Each takes arrays of any shape, such as (size,), (N, size) for N
    boxes, or some entries alone: the function is the same for all entries.
    """

    __slots__ = ()

    @abstractmethod
    def apply(self, z: FloatArray) -> FloatArray:
        """Evaluate the function in float64, elementwise."""

    @abstractmethod
    def range_of(self, lower: FloatArray, upper: FloatArray) -> Range:
        """Bound the function on each interval, rounded outward."""

    def lines_of(self, lower: FloatArray, upper: FloatArray) -> TwoLines:
        """Return ``s⁻, b⁻, s⁺, b⁺`` with ``s⁻ z + b⁻ ≤ v ≤ s⁺ z + b⁺`` on each interval.

        They hold in real arithmetic. By default they are flat.
        """
        low, high = self.range_of(lower, upper)
        return np.zeros_like(low), low, np.zeros_like(high), high

    def slope_range(self, lower: FloatArray, upper: FloatArray) -> Range:
        """Bound the derivative on each interval, rounded outward: both at a kink, ±∞ at a jump."""
        return np.full_like(lower, -np.inf), np.full_like(upper, np.inf)

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return the derivative in float64, elementwise, for searches."""
        return np.zeros_like(z)

    def size(self, sizes: Sequence[int], nodes: Sequence[Node]) -> int:
        return sizes[self.source]

    def value(self, values: Arrays) -> FloatArray:
        z = values[self.source]
        spend_entries(z.size)
        return self.apply(z)

    def enclosure(self, of: Ranges) -> Range:
        return self.range_of(*of(self.source))

    def add_gradients(self, slopes: Arrays, slope: FloatArray, values: Arrays) -> None:
        slopes[self.source][:] += slope * self.derivative(values[self.source])

    def narrowed(self, of: Ranges, bounds: Bounds) -> Range:
        low, high = self._by_parts(self.range_of, of, bounds)
        return low, high

    def narrowed_forms(self, of: Ranges, bounds: Bounds) -> FollowedForms | TurnedForms:
        s_low, b_low, s_high, b_high = self._by_parts(self.lines_of, of, bounds)
        return self._batch_lines((s_low, b_low, s_high, b_high), *of(self.source))

    def _by_parts(
        self, bound: Callable[..., tuple[FloatArray, ...]], of: Ranges, bounds: Bounds
    ) -> list[FloatArray]:
        """Return ``bound`` of ranges: only entries narrower than in ``bounds`` take work."""
        z, (lower, upper) = bounds[self.source], of(self.source)
        changed = (lower > z.lower) | (upper < z.upper)
        found = [np.tile(whole, (changed.shape[0], 1)) for whole in bound(z.lower, z.upper)]
        for whole, part in zip(found, bound(lower[changed], upper[changed]), strict=True):
            whole[changed] = part
        return found

    def split_gains(self, of: Ranges, c: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the source with the distances of the function from its chord."""
        lower, upper = of(self.source)
        wide, low = upper - lower, self.apply(lower)
        spend_entries(lower.size, 8 * len(_QUARTERS))
        far = np.zeros_like(wide)
        with np.errstate(invalid="ignore", over="ignore"):
            rise = self.apply(upper) - low
            for share in _QUARTERS:
                there = self.apply(lower + share * wide) - low
                far = np.fmax(far, np.abs(there - share * rise))
            yield self.source, np.nan_to_num(np.abs(c) * far)

    def windows(self, before: Callable[[int], IntArray | None]) -> IntArray | None:
        return before(self.source)

    def relaxation(self, bounds: Intervals) -> NodeRelaxation:
        z = bounds[self.source]
        s_low, b_low, s_high, b_high = self.lines_of(z.lower, z.upper)
        steep = np.maximum(np.abs(s_low), np.abs(s_high))
        reach = np.abs(b_low) + np.abs(b_high) + steep * z.magnitude
        return Lines(b_high, b_low, reach, self.source, s_high, s_low)

    def batch_relaxation(self, of: Ranges, *, flat: bool) -> BatchRelaxation:
        lower, upper = of(self.source)
        return self._batch_lines(self.lines_of(lower, upper), lower, upper)

    def _batch_lines(self, lines: TwoLines, lower: FloatArray, upper: FloatArray) -> BatchLines:
        s_low, b_low, s_high, b_high = lines
        steep = np.maximum(np.abs(s_low), np.abs(s_high))
        reach = np.abs(b_low) + np.abs(b_high) + steep * np.maximum(np.abs(lower), np.abs(upper))
        return BatchLines(((self.source, s_high, s_low),), b_high, b_low, reach)

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> BySource:
        z = bounds[self.source]
        yield self.source, outward(lower, upper, *self.slope_range(z.lower, z.upper))

    def slope_ranges(self, of: Ranges, middle: FloatArray, half: FloatArray) -> BySource:
        """Yield the source with the slopes, times those of the function, or of its chords."""
        lower, upper = of(self.source)
        least, most = self.slope_range(lower, upper)
        if not (np.isfinite(least).all() and np.isfinite(most).all()):
            low, high = self.range_of(lower, upper)
            wide = upper - lower
            most = np.divide(high - low, wide, out=np.zeros_like(wide), where=wide > 0)
            least = -most
        yield self.source, centred(middle, half, least, most)

    def mark(self, masks: Masks, mask: BoolArray, bounds: Bounds) -> None:
        masks[self.source][:] |= mask

    def kept(self, masks: Masks, mask: BoolArray) -> BoolArray:
        """Return an entry for each of the source, which other nodes may read as well."""
        return masks[self.source]

    def rows(self, context: EncodingContext) -> Expressions:
        """Add a column ``a_label_i`` for each entry, in its bounds and between the lines."""
        z = context.bounds[self.source]
        return between_forms(context, self.source, "line", self.lines_of(z.lower, z.upper))

    def evaluation_error(self, errors: Arrays, bounds: Intervals) -> FloatArray:
        """Bound the error: that of the source, times the steepest slope, and the node's own.

        Where the slope has no bound, the value may be anywhere in the range of the function.
        """
        z, off = bounds[self.source], errors[self.source]
        lower, upper = z.lower - off, z.upper + off
        low, high = self.range_of(lower, upper)
        steepest = np.abs(self.slope_range(lower, upper)).max(axis=0)
        with np.errstate(invalid="ignore"):
            carried = np.where(off > 0, np.fmin(steepest * off, high - low), 0.0)
        return own_rounding(low, high) + carried


def own_rounding(low: FloatArray, high: FloatArray) -> FloatArray:
    """Bound the rounding of the operations of a value between these bounds."""
    return relative_error(OPERATIONS) * (1.0 + np.maximum(np.abs(low), np.abs(high)))


def refuse_entries(what: str, entries: IntArray, source: int, sizes: Sequence[int]) -> None:
    """Raise ``ValueError`` unless ``source`` has the ``entries`` that a node reads."""
    if np.any((entries < 0) | (entries >= sizes[source])):
        raise ValueError(
            f"{what} entries that value {source} of size {sizes[source]} does not have"
        )


def between_forms(
    context: EncodingContext,
    source: int,
    name: str,
    forms: tuple[Matrix, FloatArray, Matrix, FloatArray],
) -> Expressions:
    """Return columns in their bounds and between ``forms`` of the source: ``B, b`` and ``S, t``."""
    result, builder, label = within_bounds(context), context.builder, context.label
    interval, every = context.bounds[source], np.arange(result.columns.size)
    entries = np.arange(interval.lower.size)
    z = define(builder, f"z_{label}", context.values[source], interval, entries)
    below, floor, above, ceiling = forms
    none = np.full(every.size, np.inf)
    for side, slope, low, high in (("below", below, floor, none), ("above", above, -none, ceiling)):
        terms = [(1.0, result.columns), (-slope, z)]
        builder.add_rows(f"{name}_{side}_{label}", every, terms, low, high)
    return result


def within_bounds(context: EncodingContext) -> Expressions:
    """Return a new column ``a_label_i`` for each entry of the value, in its bounds."""
    interval = context.bounds[context.value]
    every = np.arange(interval.lower.size)
    name = f"a_{context.label}"
    columns = context.builder.add_columns(name, every, interval.lower, interval.upper)
    return Expressions.of_columns(columns)
