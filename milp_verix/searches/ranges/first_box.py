"""The first box of a search for ranges: one that is proven, as large as a few checks find.

A large box without known counterfactuals is the widest one, cut at them one after the other. Each
cut ends one interval just before a counterfactual, or drops a word. The cut with the most
counterfactuals beyond it for each row lost comes first, as in the learning of rules by separate and
conquer (Fürnkranz, 1999). Nothing is proven by that: a check of the box follows.
"""

from collections.abc import Callable, Iterator

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.oracle.verdict import Verdict
from milp_verix.searches.ranges.axes import Axis, Span, WordAxis, outside
from milp_verix.searches.ranges.checks import MOST_AXES, BoxChecks
from milp_verix.searches.ranges.regions import Regions, State, with_span
from verix_encodings.arrays import FloatArray

_MOST_ENDS = 24
"""Ends of an interval that are tried in one round: so many quantiles of the counterfactuals."""
_WIDTH = 0.1
"""The weight of a lost share of a range beside a lost share of the rows; not measured."""


def cut(
    regions: Regions,
    state: State,
    bad: FloatArray,
    rows: FloatArray,
    late: Callable[[], bool] = lambda: False,
) -> State | None:
    """Return a box inside ``state`` without the places ``bad``, (N, axes, 2), or None.

    ``rows`` are the places of rows that are worth keeping, (R, axes, 2). None if some bad place is
    that of the input itself, or once it is ``late``.
    """
    while not late():
        bad = bad[~regions.beyond(bad, state).any(axis=1)]
        if not len(bad):
            return state
        rows = rows[~regions.beyond(rows, state).any(axis=1)]
        best = max(_cuts(regions, state, bad, rows), key=lambda one: one[1], default=None)
        if best is None:
            return None
        state = best[0]
    return None


def _cuts(
    regions: Regions, state: State, bad: FloatArray, rows: FloatArray
) -> Iterator[tuple[State, float]]:
    for column, axis in enumerate(regions.axes):
        there, here = bad[:, column], rows[:, column]
        for span, width in _spans(axis, state[column], there):
            if gone := int(outside(span, there).sum()):
                lost = (int(outside(span, here).sum()) + 1e-3) / (len(here) + 1)
                yield with_span(state, column, span), gone / (lost + _WIDTH * width)


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


_STARTS = 128
"""Climbs at the start; not measured."""
_CLIMBS = 4
"""Rounds of climbs and cuts before a box is checked."""
_ROUNDS = 6
"""Checks of cut boxes, after which a smaller one is taken; not measured."""
_SHARES = np.arange(1, 16) / 16
"""Shares of the way to a box that one batch of bounds looks at."""
_BISECTIONS = 5


def first_box(checks: BoxChecks, rows: FloatArray) -> State | Verdict:
    """Return a proven box, or the verdict that leaves even the input's own box open.

    ``rows``, (R, d), are inputs worth covering. Raises ``InputError`` where the kept features are
    no explanation.
    """
    regions, known, state = checks.regions, checks.known, checks.regions.widest
    if len(regions.axes) > MOST_AXES:  # too many cuts would be needed
        return _shrunk(checks, state)
    _begin(checks, rows)
    places = regions.places(rows)
    for _ in range(_ROUNDS):
        for _ in range(_CLIMBS):
            bad = known.places[known.within(state)]
            smaller = cut(regions, state, bad, places, checks.request.deadline.passed)
            if smaller is None:
                return _shrunk(checks, state)
            state = smaller
            before = len(known.points)
            checks.climb([state], each=_STARTS // 2)
            if len(known.points) == before:
                break
        verdict = checks.decide(state, tried=True)
        if verdict.holds:
            return state
        if not verdict.violated:
            break
        known.learn(verdict)
    return _shrunk(checks, state)


def _begin(checks: BoxChecks, rows: FloatArray) -> None:
    """Look for counterfactuals with kept features as in rows, and all over the widest box."""
    regions, some = checks.regions, rows[:_STARTS]
    if len(some):
        low, high = regions.ends(regions.widest)
        lower, upper = np.tile(low, (len(some), 1)), np.tile(high, (len(some), 1))
        lower[:, regions.kept] = upper[:, regions.kept] = some[:, regions.kept]
        checks.climb_in(lower, upper)
    checks.climb([regions.widest], each=_STARTS)


def _shrunk(checks: BoxChecks, state: State) -> State | Verdict:
    """Return a proven box between that of the input and ``state``."""
    regions, late = checks.regions, checks.request.deadline.passed
    boxes = [_scaled(regions, state, share) for share in _SHARES.tolist() if not late()]
    proven = np.flatnonzero(checks.proven(boxes))
    found, low, high = regions.start, 0.0, 1.0
    if proven.size:
        found, low = boxes[proven[-1]], float(_SHARES[proven[-1]])
    else:
        verdict = checks.decide(found)
        if verdict.violated:
            raise InputError(
                "the features to inflate are no explanation: with these fixed, another input has "
                "another prediction; audit tells more"
            )
        if not verdict.holds:
            return verdict
    for _ in range(_BISECTIONS):
        if late():
            break
        middle = (low + high) / 2
        box = _scaled(regions, state, middle)
        if box == found or checks.decide(box).holds:
            found, low = box, middle
        else:
            high = middle
    return found


def _scaled(regions: Regions, state: State, share: float) -> State:
    """Return the box so far on the way to ``state``: a share of each interval, and of words."""
    spans: list[Span] = []
    for axis, span in zip(regions.axes, state, strict=True):
        if isinstance(axis, WordAxis):
            assert isinstance(span, frozenset)
            others = sorted(span - axis.start)
            spans.append(axis.start | {*others[: int(share * len(others))]})
            continue
        (low, high), (first, last) = span, axis.start
        low, high = first + share * (low - first), last + share * (high - last)
        spans.append((float(np.ceil(low)), float(np.floor(high))) if axis.whole else (low, high))
    return tuple(spans)
