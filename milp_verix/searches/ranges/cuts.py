"""A large box without known counterfactuals: the widest one, cut at them one after the other.

Each cut ends one interval just before a counterfactual, or drops a word. The cut with the most
counterfactuals beyond it for each row lost comes first, as in the learning of rules by separate and
conquer (Fürnkranz, 1999). Nothing is proven here: a check of the box follows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from milp_verix.searches.ranges.axes import Axis, Span, WordAxis, outside
from milp_verix.searches.ranges.regions import Regions, State, with_span
from verix_encodings.arrays import FloatArray

_MOST_ENDS = 24
"""Ends of an interval that are tried in one round: so many quantiles of the counterfactuals."""
_WIDTH = 0.1
"""The weight of a lost share of a range beside a lost share of the rows; not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    state: State
    score: float


def cut(regions: Regions, state: State, bad: FloatArray, rows: FloatArray) -> State | None:
    """Return a box inside ``state`` without the places ``bad``, (N, axes, 2), or None.

    ``rows`` are the places of rows that are worth keeping, (R, axes, 2). None if some bad place is
    that of the input itself.
    """
    while True:
        bad = bad[~regions.beyond(bad, state).any(axis=1)]
        if not len(bad):
            return state
        rows = rows[~regions.beyond(rows, state).any(axis=1)]
        best = max(_cuts(regions, state, bad, rows), key=lambda one: one.score, default=None)
        if best is None:
            return None
        state = best.state


def _cuts(regions: Regions, state: State, bad: FloatArray, rows: FloatArray) -> Iterator[_Cut]:
    for column, axis in enumerate(regions.axes):
        there, here = bad[:, column], rows[:, column]
        for span, width in _spans(axis, state[column], there):
            gone = outside_count(span, there)
            if not gone:
                continue
            lost = (outside_count(span, here) + 1e-3) / (len(here) + 1)
            yield _Cut(with_span(state, column, span), gone / (lost + _WIDTH * width))


def _spans(axis: Axis, span: Span, there: FloatArray) -> Iterator[tuple[Span, float]]:
    """Yield smaller spans that hold the input, and the share of the width that each loses."""
    if isinstance(axis, WordAxis):
        assert isinstance(span, frozenset)
        for word in np.unique(there[:, 0]).astype(int).tolist():
            if word != axis.own:
                yield span - {word}, 1 / len(span)
        return
    assert isinstance(span, tuple)
    low, high = span
    width = max(high - low, axis.step)
    for end in _ends(there[:, 1], axis.start[1]):
        top = max(end - axis.step, axis.start[1])
        if top < end:
            yield (low, top), (high - top) / width
    for end in _ends(-there[:, 0], -axis.start[0]):
        bottom = min(-end + axis.step, axis.start[0])
        if bottom > -end:
            yield (bottom, high), (bottom - low) / width


def _ends(values: FloatArray, start: float) -> FloatArray:
    beyond = np.unique(values[values > start])
    if beyond.size > _MOST_ENDS:
        beyond = beyond[np.linspace(0, beyond.size - 1, _MOST_ENDS).astype(int)]
    return beyond


def outside_count(span: Span, places: FloatArray) -> int:
    """Return how many of the places, (N, 2), a span lacks."""
    return int(outside(span, places).sum())
