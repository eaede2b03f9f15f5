"""The result of a search for ranges, finished or not."""

from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.oracle.verdict import TIME_LIMIT, Verdict
from milp_verix.problem.search import Request
from milp_verix.results.build import counterfactual_of
from milp_verix.results.ranges import Beyond, FeatureRange, Ranges
from milp_verix.searches.ranges.axes import Axis, Span, WordAxis
from milp_verix.searches.ranges.checks import BoxChecks
from milp_verix.searches.ranges.regions import Regions, State
from milp_verix.views.ranges_words import ends_told
from verix_encodings.arrays import BoolArray, FloatArray

End = tuple[int, int]
"""The column of an axis, with -1 or 1 for an end of its interval, or the place of a word."""


@dataclass(eq=False)
class Widened:
    """The ranges so far of the axes of ``regions``; ``rows``, (R, d), are inputs worth covering.

    ``notes`` are on the columns of these; ``state`` is the proven box, None before there is one.
    """

    request: Request
    regions: Regions
    resolution: float
    rows: FloatArray | None
    notes: tuple[str, ...] = ()
    state: State | None = None
    refuted: dict[End, tuple[float, Verdict]] = field(default_factory=dict)
    reasons: dict[End, str] = field(default_factory=dict)
    unknown_reason: str | None = None
    checks: BoxChecks = field(init=False)


def ranges_of(search: Widened, stopped: str | None) -> Ranges:
    """Return the ranges proven so far; ends not looked at are open."""
    regions, why = search.regions, stopped or TIME_LIMIT
    state, axes = search.state, regions.axes
    spans = () if state is None else zip(range(len(axes)), axes, state, strict=True)
    tally, elapsed = search.checks.tally, search.request.elapsed
    solver = str(search.request.search.solver) if tally.most is None else tally.most.solver
    found = Ranges(
        **tally.fields(regions.problem, solver, search.notes + tally.notes, elapsed, stopped),
        explanation=tuple(axis.feature for axis in axes),
        ranges=tuple(_range(search, column, axis, span, why) for column, axis, span in spans),
        resolution=search.resolution,
        rows=None if search.rows is None else len(search.rows),
        inside=None if search.rows is None else 0,
        unknown_reason=None if state is not None else search.unknown_reason or why,
    )
    if search.rows is None or state is None:
        return found
    return replace(found, inside=int(rows_inside(search, search.rows, found).sum()))


def _range(search: Widened, column: int, axis: Axis, span: Span, why: str) -> FeatureRange:
    words: tuple[str, ...] | None
    ends: tuple[float | None, float | None, float | None, float | None] = (None,) * 4
    if isinstance(axis, WordAxis):
        assert isinstance(span, frozenset)
        steps = [(word, float(word)) for word in sorted(axis.widest - span)]
        words = tuple(axis.words[place] for place in sorted(span))
    else:
        low, high = span
        ends, words = (low, high, axis.least, axis.most), axis.told(low, high)
        sides = ((-1, low, axis.least), (1, high, axis.most))
        steps = [(side, end + side * axis.step) for side, end, limit in sides if end != limit]
    beyond = []
    for place, value in steps:
        if (known := search.refuted.get((column, place))) is not None:
            beyond.append(Beyond(known[0], counterfactual_of(known[1])))
        else:
            reason = search.reasons.get((column, place), why)
            beyond.append(Beyond(value, unknown_reason=reason))
    return FeatureRange(axis.feature, *ends, words, tuple(beyond))


def rows_inside(search: Widened, rows: FloatArray, told: Ranges) -> BoolArray:
    """Mark the ``rows``, (R, d), in the proven box and in the ranges as ``told``; shape (R,)."""
    assert search.state is not None
    posed = search.regions.posed(search.state)
    assert posed is not None  # the input itself is in it
    lower, upper = (np.array(end) for end in search.regions.ends(search.state))
    for one in told.ranges:
        (at, *others) = told.groups[one.feature]
        if one.lower is None or others:
            continue
        for end, tighter, (text, outside) in zip(
            (lower, upper), (np.maximum, np.minimum), ends_told(told, one), strict=True
        ):
            if not outside and np.isfinite(end[at]):
                # a number that is told is the model's own that is nearest
                end[at] = tighter(end[at], float(told.input.dtype.type(float(text))))
    near = np.flatnonzero(np.all((lower <= rows) & (rows <= upper), axis=1))
    dtype = posed.x.dtype
    ball, points = posed.ball, rows[near].astype(dtype)
    exact = np.all(points.astype(np.float64) == rows[near], axis=1)
    exact &= np.all((ball.inner_lower <= points) & (points <= ball.inner_upper), axis=1)
    if ball.mixed is not None:
        exact[exact] = ball.mixed.containing(points[exact].astype(np.float64))
    found = np.zeros(len(rows), dtype=bool)
    found[near] = exact
    return found
