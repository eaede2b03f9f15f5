"""The first box of a search for ranges: one that is proven, as large as a few checks find."""

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.oracle.verdict import Verdict
from milp_verix.searches.ranges.axes import Span, WordAxis
from milp_verix.searches.ranges.checks import MOST_AXES, BoxChecks
from milp_verix.searches.ranges.cuts import cut
from milp_verix.searches.ranges.regions import Regions, State
from verix_encodings.arrays import FloatArray

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
            smaller = cut(regions, state, known.places[known.within(state)], places)
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
        assert isinstance(span, tuple)
        (low, high), (first, last) = span, axis.start
        low, high = first + share * (low - first), last + share * (high - last)
        spans.append((float(np.ceil(low)), float(np.floor(high))) if axis.whole else (low, high))
    return tuple(spans)
