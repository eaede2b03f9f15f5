"""Decisions on boxes of a search for ranges: by bounds, known points, climbs, and an oracle.

Bounds on the margins over many boxes at once prove most steps. A known point changes the
prediction, or is likely to: it is a suspect until onnxruntime was run on it, which happens when a
range is to end at it. Suspects come from climbs: with kept features at the values of a row, or
anywhere, gradients move the free ones within their headroom until a margin is above zero.

The first box of a search is as large as a few checks find. A large box without known
counterfactuals is the widest one, cut at them one after the other. Each cut ends one interval just
before a counterfactual, or drops a word. The cut with the most counterfactuals beyond it for each
row lost comes first, as in the learning of rules by separate and conquer (Fürnkranz, 1999). Nothing
is proven by that: a check of the box follows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.oracle.attacks import frank_wolfe, margins_along
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Verdict, replayed
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Request
from milp_verix.searches.ranges.axes import Axis, Span, WordAxis, outside
from milp_verix.searches.ranges.regions import Regions, State, stacked, with_span
from milp_verix.searches.runner import OracleWork
from verix_encodings import Interval, crown_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.batch_crown import BatchCrown
from verix_encodings.bounds.boxes import Boxes, one_hot_box, put_best, root_boxes
from verix_encodings.bounds.interval import Late
from verix_encodings.network import batch_outputs

_STEPS = 6  # of a climb; not measured
_SHARES = (1.0, 0.5, 0.2)  # tried at each; not measured
_ENOUGH = 1e-3  # of a margin: more than what onnxruntime rounds


@dataclass(slots=True, eq=False)
class KnownPoints:
    """The points of the widest box, ``whole``, seen so far; ``places`` on axes, (N, axes, 2)."""

    regions: Regions
    whole: ProblemData
    points: list[NDArray[Any]] = field(default_factory=list)
    places: FloatArray = field(init=False)
    cleared: set[int] = field(default_factory=set)
    _verdicts: dict[int, Verdict | None] = field(default_factory=dict)
    _everything: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.places = np.zeros((0, len(self.regions.axes), 2))
        self._everything = np.arange(self.regions.problem.x.size)

    def suspect(self, points: FloatArray) -> None:
        """Add the inputs next to ``points``, (N, d), at which some margin is above zero."""
        ball, margins = self.whole.ball, self.whole.margins
        points = points[batch_outputs(margins, points.T).max(axis=0) > 0]
        near = [ball.some_input(point, self._everything) for point in points]
        if not near:
            return
        inputs = np.array(near)
        if ball.mixed is not None:  # to repair points that break rules takes a program each
            inputs = inputs[ball.mixed.containing(inputs.astype(np.float64))]
        worst = batch_outputs(margins, inputs.astype(np.float64).T).max(axis=0)
        self._add(inputs[worst > 0])

    def learn(self, verdict: Verdict) -> int:
        """Add a counterfactual; return its number."""
        assert verdict.witness is not None
        self._add(verdict.witness.reshape(1, -1))
        self._verdicts[len(self.points) - 1] = verdict
        return len(self.points) - 1

    def _add(self, inputs: NDArray[Any]) -> None:
        self.points += [*inputs]
        self.places = np.concatenate([self.places, self.regions.places(inputs)])

    def verdict(self, number: int) -> Verdict | None:
        """Return the verdict of onnxruntime on a point: VIOLATED, or None where it is not."""
        if number not in self._verdicts:
            point = self.points[number].astype(np.float64)
            self._verdicts[number] = replayed(self.whole, point, self._everything)
            if self._verdicts[number] is None:
                self.cleared.add(number)
        return self._verdicts[number]

    def within(self, state: State) -> IntArray:
        """Return the numbers of the suspected points in a box."""
        marks: BoolArray = np.logical_not(self.regions.beyond(self.places, state).any(axis=1))
        marks[[*self.cleared]] = False
        return np.flatnonzero(marks)

    def refuting(self, state: State) -> Verdict | None:
        """Return a known counterfactual in a box; None without one."""
        verdicts = (self.verdict(number) for number in self.within(state).tolist())
        return next((verdict for verdict in verdicts if verdict is not None), None)


def climbed(
    regions: Regions, lower: FloatArray, upper: FloatArray, draw: np.random.Generator, late: Late
) -> FloatArray:
    """Return points of boxes, (N, d), where a margin is high, by climbs over one unit cube."""
    margins, mixed = regions.problem.margins, regions.problem.ball.mixed
    width, base = (upper - lower).T, lower.T
    blocks = [b for b in (mixed.blocks if mixed else ()) if np.isin(b, regions.free).all()]
    # unit vectors that the ball does not have do not count
    top = np.where(regions.ends(regions.widest)[1] >= 1, 1.0, 0.0)

    def inputs(points: FloatArray, numbers: IntArray) -> FloatArray:
        return np.asarray(base[:, numbers] + width[:, numbers] * points)

    def farthest(ways: FloatArray) -> FloatArray:
        ends = (ways.T > 0).astype(np.float64)
        put_best(ends, ways.T, top, blocks)
        return ends.T

    every = np.arange(len(lower))
    starts = farthest(draw.standard_normal(width.shape))
    output = np.argmax(batch_outputs(margins, inputs(starts, every), late), axis=0)
    values, slopes = margins_along(margins, output, inputs, late)
    found, _ = frank_wolfe(
        starts,
        values,
        lambda points, numbers: width[:, numbers] * slopes(points, numbers),
        farthest,
        steps=_STEPS,
        shares=_SHARES,
        gain=1e-9,
        enough=_ENOUGH,
        late=late,
    )
    return inputs(found, every).T


_TRIES = 16
"""Climbs before a check."""
MOST_AXES = 40
"""Kept features beyond which climbs find little: then bounds and checks alone decide."""


@dataclass(eq=False)
class BoxChecks:
    """Decides claims of boxes; ``tally`` sums the work.

    Backward bounds on boxes in the widest one prove margins below ``-needed``, (m,), once
    :meth:`bound` was called.
    """

    request: Request
    regions: Regions
    known: KnownPoints
    draw: np.random.Generator
    tally: OracleWork = field(default_factory=OracleWork)
    _bounds: tuple[BatchCrown, Boxes, FloatArray] | None = None

    def bound(self) -> None:
        """Bound the widest box, unless time is up, bounds overflow, or margins depend on it."""
        problem, deadline = self.regions.problem, self.request.deadline
        if problem.network.rounds_scores or deadline.passed():
            return
        lower, upper = self.regions.ends(self.regions.widest)
        mixed = problem.ball.mixed
        region = one_hot_box(Interval(lower, upper), mixed.blocks if mixed else ())
        with suppress(OverflowError):
            bounds = crown_bounds(problem.margins, region, late=deadline.passed)
            needed = self.request.search.tolerances.needed(bounds[-1].magnitude)
            self._bounds = BatchCrown(problem.margins, bounds), root_boxes(region), needed

    def proven(self, states: Sequence[State]) -> BoolArray:
        """Mark the boxes in which bounds prove the prediction to stay, or that hold no input."""
        if self._bounds is None or not states:
            return np.zeros(len(states), dtype=bool)
        (crown, root, needed), late = self._bounds, self.request.deadline.passed
        lower, upper = stacked([self.regions.ends(state) for state in states])
        left = np.ones(len(states), dtype=bool)
        if (mixed := self.regions.problem.ball.mixed) is not None:
            lower, upper, left = mixed.cut(lower, upper)
        boxes, found = root.at(lower[left], upper[left]), ~left
        if left.any():
            # the cost of a pass that stops: wider bounds, and nothing proven wrongly
            ranges = crown.bounds(boxes, {}, late)
            owner = np.repeat(np.arange(len(boxes)), needed.size)
            which = np.tile(np.arange(needed.size), len(boxes))
            forms = crown.margins(boxes, ranges, owner, which, late)
            # a NaN is no bound
            highest = np.fmin(forms.upper.reshape(-1, needed.size), crown.root[-1].upper)
            found[left] = np.all(highest < -needed, axis=1)
        return found

    def climb(self, states: Iterable[State], each: int) -> None:
        """Look for counterfactuals in boxes by ``each`` climbs; of many axes no box is made."""
        regions = self.regions
        if len(regions.axes) > MOST_AXES or not (made := [*states]):
            return
        ends = stacked([regions.ends(state) for state in made])
        lower, upper = (np.repeat(end, each, axis=0) for end in ends)
        for column, axis in enumerate(regions.axes):
            if isinstance(axis, WordAxis):  # each box has one word
                words = [self.draw.choice(sorted(state[column]), each) for state in made]
                axis.put(lower, np.concatenate(words))
                axis.put(upper, np.concatenate(words))
        self.climb_in(lower, upper)

    def climb_in(self, lower: FloatArray, upper: FloatArray) -> None:
        """Look for counterfactuals by a climb in each of the boxes, (N, d)."""
        late = self.request.deadline.passed
        if late():
            return
        self.known.suspect(climbed(self.regions, lower, upper, self.draw, late))

    def decide(self, state: State, *, tried: bool = False) -> Verdict:
        """Decide the claim of a box: by bounds, by climbs unless ``tried``, else by an oracle."""
        deadline = self.request.deadline
        if self.proven([state])[0]:
            self.tally.checks += 1
            return Verdict(Answer.HOLDS)
        if deadline.passed():
            return Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)
        if not tried:
            self.climb([state], each=_TRIES)
            if (known := self.known.refuting(state)) is not None:
                return known
        problem = self.regions.problem_at(state)
        if problem is None:
            if self.regions.empty(state):
                return Verdict(Answer.HOLDS)
            return Verdict(Answer.UNKNOWN, reason="no input is known that satisfies the rules")
        free = np.flatnonzero(problem.ball.outer.lower < problem.ball.outer.upper)
        # what an oracle prepares and reuses is for sets that grow
        with Oracle(problem, replace(self.request.search, reuse=False)) as oracle:
            verdict = oracle.check(free, deadline.limited(self.request.check_limit))
            self.tally.add(oracle)
        return verdict


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
_SCALES = np.arange(1, 16) / 16
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
    boxes = [_scaled(regions, state, share) for share in _SCALES.tolist() if not late()]
    proven = np.flatnonzero(checks.proven(boxes))
    found, low, high = regions.start, 0.0, 1.0
    if proven.size:
        found, low = boxes[proven[-1]], float(_SCALES[proven[-1]])
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
