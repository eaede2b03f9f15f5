"""Axes of a box of inputs: the values that a kept feature may take, as an interval or as words.

A state of a box has a *span* for each axis: the ends of an interval, or a set of places of words.
The interval of a feature with one coordinate holds its values. That of a feature with several,
such as a pixel with its channels, holds the change of each: ``x_i + [lowest, highest]``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import down, up
from milp_verix.inputs.feature import MISSING
from milp_verix.oracle.engines.leaves import cells_for, trees_of
from milp_verix.problem.problem import ProblemData
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.mixed_domain import Clause, HalfSpace

Span: TypeAlias = "tuple[float, float] | frozenset[int]"
"""The two ends of an interval, or the places of words in the feature's list."""

Ends: TypeAlias = tuple[FloatArray, FloatArray]
_Four: TypeAlias = "tuple[float | None, float | None, float | None, float | None]"
SpanEnds: TypeAlias = "tuple[_Four, tuple[str, ...] | None, list[tuple[int, float]]]"
"""Ends and limits of a span, its words, and the steps beyond it: a side or word, and its value."""

_PULLS = 24
"""Points between a counterfactual and the end of a range that are tried in its place."""
_DIGITS = range(4, 18)
"""Digits of a counterfactual's number that are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderedAxis:
    """A kept feature whose values have an order: an interval around that of the input.

    ``coordinates`` are those of the feature, and ``x`` their values, both of shape (k,); ``least``
    and ``most`` are the ends that the interval may reach. ``step`` is 1 for whole numbers; else an
    end is refuted by a counterfactual within ``step`` of it. ``thresholds``, ascending, are those
    of trees, which say the same between two of them; none where other features say more.
    """

    feature: int
    coordinates: IntArray
    x: FloatArray
    least: float
    most: float
    step: float
    whole: bool
    words: tuple[str, ...] = ()
    codes: tuple[float, ...] = ()
    thresholds: FloatArray | None = None

    def filled(self, span: Span) -> Span:
        """Return a proven span widened to the thresholds around it, which is as proven."""
        if self.thresholds is None or isinstance(span, frozenset):
            return span
        first, last = self._cell(span[0])[0], self._cell(span[1])[1]
        return max(first, self.least), min(last, self.most)

    def before(self, value: float, side: int) -> float:
        """Return how far an end may go, -1 the lower and 1 the upper, with ``value`` refuted."""
        if self.thresholds is None:
            return value - side * self.step
        first, last = self._cell(value)
        return float(np.nextafter(first, -np.inf) if side > 0 else np.nextafter(last, np.inf))

    def between(self, end: float, value: float) -> FloatArray:
        """Return values from an ``end`` to a refuted ``value`` that are worth a try."""
        if self.thresholds is None:
            values = np.linspace(end, value, _PULLS + 1)[1:-1]
            whole = np.unique(np.rint(values))
            return whole[(whole != end) & (whole != value)] if self.whole else values
        cuts = self.thresholds
        if value > end:
            return np.nextafter(cuts[(cuts >= end) & (cuts < value)], np.inf)
        return cuts[(cuts > value) & (cuts < end)]

    def plain(self, end: float, value: float, side: int) -> FloatArray:
        """Return few digits beyond an ``end`` that may stand for ``value``, the fewest first."""
        first, last = sorted((float(np.nextafter(end, value)), end + side * self.step))
        edge = end
        if self.thresholds is not None:
            first, last = self._cell(value)
            edge = first if side > 0 else last
        rounded = up if side > 0 else down
        nearby = np.array([float(rounded(edge, digits)) for digits in _DIGITS])
        inside = (
            (first <= nearby) & (nearby <= last) & (self.least <= nearby) & (nearby <= self.most)
        )
        return np.unique(nearby[inside])[::-side]

    def _cell(self, value: float) -> tuple[float, float]:
        """Return the first and the last number between the thresholds around ``value``."""
        assert self.thresholds is not None
        place = int(np.searchsorted(self.thresholds, value, side="left"))
        below, above = self.thresholds[:place], self.thresholds[place:]
        first = float(np.nextafter(below[-1], np.inf)) if below.size else -np.inf
        return first, float(above[0]) if above.size else np.inf

    def halfway(self, here: float, goal: float) -> float:
        """Return a value on the way from an end to a ``goal``; ``here`` if they are too near."""
        middle = (here + goal) / 2
        if self.whole:
            return float(np.floor(middle) if goal > here else np.ceil(middle))
        return middle if abs(middle - here) > self.step / 2 else here

    def ends_of(self, span: Span) -> SpanEnds:
        """Return ends and limits, the words with codes between them, and the steps beyond."""
        assert isinstance(span, tuple)
        (low, high), pairs = span, zip(self.words, self.codes, strict=True)
        words = tuple(word for word, code in pairs if low <= code <= high) if self.words else None
        sides = ((-1, low, self.least), (1, high, self.most))
        steps = [(side, end + side * self.step) for side, end, limit in sides if end != limit]
        return (low, high, self.least, self.most), words, steps

    @property
    def start(self) -> tuple[float, float]:
        """The span of the input alone."""
        value = float(self.x[0]) if self.x.size == 1 else 0.0
        return value, value

    @property
    def widest(self) -> tuple[float, float]:
        """The largest span that is asked about."""
        return self.least, self.most

    def clauses(self, _span: Span) -> tuple[Clause, ...]:
        """Return the clauses that a span needs beside its ends: none."""
        return ()

    def places(self, points: FloatArray) -> FloatArray:
        """Return the least and the largest value, or change, in ``points``, (N, d): (N, 2)."""
        here = points[:, self.coordinates]
        if self.x.size == 1:
            return np.repeat(here, 2, axis=1)
        moved = here - self.x
        return np.stack([moved.min(axis=1), moved.max(axis=1)], axis=1)

    def nearest(self, span: Span) -> float:
        """Return the value, or change, in a span that is nearest to the input."""
        assert isinstance(span, tuple)
        return min(max(self.start[0], span[0]), span[1])

    def put(self, points: FloatArray, values: FloatArray) -> None:
        """Set this feature of ``points``, (N, d), to ``values`` or changes, (N,)."""
        base = 0.0 if self.x.size == 1 else self.x
        points[:, self.coordinates] = base + values[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class WordAxis:
    """A kept category: a set of its words, which have no order.

    ``coordinates`` are those of a one-hot block, one for each word, or the one with the ``codes``.
    ``own`` is the place of the input's word, which a ``frozen`` category keeps.
    """

    feature: int
    coordinates: IntArray
    words: tuple[str, ...]
    codes: tuple[int, ...]
    one_hot: bool
    own: int
    frozen: bool = False

    def ends_of(self, span: Span) -> SpanEnds:
        """Return no ends, the words of a span, and the words beyond."""
        assert isinstance(span, frozenset)
        steps = [(word, float(word)) for word in sorted(self.widest - span)]
        return (None,) * 4, tuple(self.words[place] for place in sorted(span)), steps

    def filled(self, span: Span) -> Span:
        """Return the span as it is: words are single."""
        return span

    @property
    def start(self) -> frozenset[int]:
        """The span of the input alone."""
        return frozenset([self.own])

    @property
    def widest(self) -> frozenset[int]:
        """The largest span that is asked about."""
        return self.start if self.frozen else frozenset(range(len(self.words)))

    def ends(self, span: Span) -> Ends:
        """Return the lower and upper ends of the coordinates, shape (k,)."""
        assert isinstance(span, frozenset)
        if self.one_hot:
            upper = np.zeros(len(self.words))
            upper[list(span)] = 1.0
            return (upper.copy() if len(span) == 1 else np.zeros(upper.size)), upper
        codes = [self.codes[place] for place in span]
        return np.array([float(min(codes))]), np.array([float(max(codes))])

    def clauses(self, span: Span) -> tuple[Clause, ...]:
        """Return the clauses that exclude the codes of other words between the ends."""
        assert isinstance(span, frozenset)
        if self.one_hot:
            return ()
        at, codes = self.coordinates, sorted(self.codes[place] for place in span)
        others = {*self.codes} - {*codes}
        return tuple(
            (HalfSpace(at, np.ones(1), float(low)), HalfSpace(at, -np.ones(1), -float(high)))
            for low, high in pairwise(codes)
            if any(low < code < high for code in others)
        )

    def places(self, points: FloatArray) -> FloatArray:
        """Return the places of the words in ``points``, (N, d), -1 for none, twice: (N, 2)."""
        here = points[:, self.coordinates]
        own = here == 1 if self.one_hot else here == np.array(self.codes)
        place = np.where(own.any(axis=1), np.argmax(own, axis=1), -1).astype(np.float64)
        return np.stack([place, place], axis=1)

    def nearest(self, span: Span) -> float:
        """Return the place of the input's word if a span has it, else that of its first word."""
        assert isinstance(span, frozenset)
        return float(self.own if self.own in span else min(span))

    def put(self, points: FloatArray, values: FloatArray) -> None:
        """Set this feature of ``points``, (N, d), to the words at the places ``values``, (N,)."""
        at = values.astype(np.intp)
        if self.one_hot:
            points[:, self.coordinates] = at[:, None] == np.arange(len(self.words))
        else:
            points[:, self.coordinates[0]] = np.array(self.codes, dtype=np.float64)[at]


Axis: TypeAlias = OrderedAxis | WordAxis


def axes_of(
    problem: ProblemData, kept: Sequence[int], radii: FloatArray, resolution: float
) -> tuple[Axis, ...]:
    """Return the axes of the features ``kept``, in their order.

    ``radii``, shape (features,), limit how far each may move, 0 and infinity included;
    ``resolution`` is the share of the headroom of a real feature within which its ends are refuted.
    Raises ``InputError`` for a feature without a limit.
    """
    return tuple(_axis(problem, feature, float(radii[feature]), resolution) for feature in kept)


def _axis(problem: ProblemData, feature: int, radius: float, resolution: float) -> Axis:
    ball, group = problem.ball, problem.features.groups[feature]
    x = ball.centre.astype(np.float64)[group]
    described = None if problem.inputs is None else problem.inputs.features[feature]
    if described is not None and described.unordered:
        one_hot, words = described.one_hot, described.values
        own = int(np.argmax(x)) if one_hot else described.codes.index(int(x[0]))
        places = () if one_hot else described.codes
        return WordAxis(feature, group, words, places, one_hot, own, frozen=radius < 1)
    if described is not None and described.kind == "fixed":
        radius = 0.0
    whole = described is not None and described.whole
    words = () if described is None else described.values
    codes: tuple[float, ...] = () if described is None else described.codes
    lower, upper = ball.domain_lower[group], ball.domain_upper[group]
    if group.size == 1:
        least = max(float(lower[0]), float(x[0]) - radius)
        most = min(float(upper[0]), float(x[0]) + radius)
        if described is not None and described.missing:
            # a range is one of numbers, or the missing value alone
            if x[0] > described.last:
                least, words, codes = float(x[0]), (MISSING,), (float(x[0]),)
            else:
                most = min(most, described.last)
        if whole:
            least, most = float(np.ceil(least)), float(np.floor(most))
    else:
        # a change that no coordinate has room for is cut off at the domain
        least, most = max(float(np.min(lower - x)), -radius), min(float(np.max(upper - x)), radius)
        least, most = min(least, 0.0), max(most, 0.0)
    if not np.isfinite([least, most]).all():
        names = problem.features.names
        text = f"feature {feature}" if names is None else names[feature]
        raise InputError(
            f"{text} may move without end: give the input a finite domain, or say how far kept "
            "features may move at most (within, --within)"
        )
    # the network's own type has room for a step
    precision = float(np.finfo(ball.centre.dtype).eps)
    least_step = 4 * precision * max(float(np.abs(x).max()), precision)
    step = 1.0 if whole else max(resolution * (most - least), least_step)
    thresholds = None if whole or group.size > 1 else _thresholds(problem, int(group[0]))
    return OrderedAxis(feature, group, x, least, most, step, whole, words, codes, thresholds)


def _thresholds(problem: ProblemData, coordinate: int) -> FloatArray | None:
    """Return the thresholds of trees; None for networks, and where rules tie values together."""
    mixed = problem.ball.mixed
    if trees_of(problem.margins) is None or (mixed is not None and mixed.rules):
        return None
    return cells_for(problem).of_feature(coordinate)


def outside(span: Span, place: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Mark the places, (N, 2), as :meth:`OrderedAxis.places` returns them, that ``span`` lacks."""
    if isinstance(span, frozenset):
        known = np.zeros(int(max(span)) + 2, dtype=bool)  # the last entry stands for place -1
        known[list(span)] = True
        at = np.minimum(place[:, 0].astype(np.intp), known.size - 1)
        return np.asarray(~known[at])
    return np.asarray((place[:, 0] < span[0]) | (place[:, 1] > span[1]))
