"""The search for ranges: a large box that is proven, then each end as far as it goes.

Let ``S`` be a proven box. An end is widened by checks of the *slice* between it and a candidate,
all other features in their spans: ``S`` and the slice together are the wider box. Slices are small,
so batches of bounds prove most of them. A counterfactual in the slice lies one step beyond the end
that is reached; it stays inside the box of the other spans as these grow, so each end is looked at
once, and is maximal for good.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.errors import InputError
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.request import Request
from milp_verix.ranges.axes import OrderedAxis, Span, WordAxis
from milp_verix.ranges.cuts import cut
from milp_verix.ranges.known_points import KnownPoints, boxes_of, climbed
from milp_verix.ranges.quick_bounds import QuickBounds
from milp_verix.ranges.regions import Regions, State, joined, with_span
from milp_verix.ranges.result import ranges_of
from milp_verix.results.ranges import Ranges
from milp_verix.results.records.statistics import TIME_LIMIT, SolverStatistics
from milp_verix.results.records.verdict import Answer, Effort, Verdict
from milp_verix.runner import AnytimeSearch
from verix_encodings.arrays import FloatArray

_STARTS = 128
"""Climbs at the start; not measured."""
_CLIMBS = 4
"""Rounds of climbs and cuts before a box is checked."""
_EACH = 4
"""Climbs right beyond each end."""
_TRIES = 16
"""Climbs before a check."""
_MOST_ROWS = 400
"""Rows by which boxes and ends are chosen; the share inside counts all."""
_MOST_AXES = 40
"""Kept features beyond which no box is cut out of the widest one: too many cuts are needed."""
_ROUNDS = 6
"""Checks of cut boxes, after which a smaller one is taken; not measured."""
_SLABS = 16
"""Parts of a slice that are bounded in one batch."""
_PULLS = 24
"""Points between a counterfactual and the end of a range that are tried in its place."""
_BISECTIONS = 5

End = tuple[int, int]
"""The column of an axis, with -1 or 1 for an end of its interval, or the place of a word."""


@dataclass(frozen=True, slots=True)
class RangesProgress:
    """Progress of a search for ranges: ends and words decided, of how many."""

    done: int
    total: int


@dataclass(eq=False)
class RangesSearch(AnytimeSearch[RangesProgress, Ranges]):
    """The ranges of the axes of ``regions``; ``rows`` are inputs worth covering, (R, d), or None.

    ``state`` is the proven box so far, None before there is one.
    """

    request: Request
    regions: Regions
    resolution: float
    rows: FloatArray | None
    state: State | None = None
    effort: Effort = Effort()
    checks: int = 0
    solvers: dict[str, SolverStatistics] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refuted: dict[End, tuple[float, Verdict]] = field(default_factory=dict)
    reasons: dict[End, str] = field(default_factory=dict)
    unknown_reason: str | None = None
    _known: KnownPoints = field(init=False)
    _quick: QuickBounds | None = None
    _places: FloatArray = field(init=False)
    _rows: FloatArray = field(init=False)
    _draw: np.random.Generator = field(init=False)

    def _search(self) -> None:
        regions, deadline = self.regions, self.request.deadline
        widest = regions.posed(regions.widest)
        assert widest is not None  # the input itself is in it
        self._known = KnownPoints(regions, widest)
        self._draw = np.random.default_rng(self.request.search.seed)
        self._rows = self._near()
        self._places = regions.places(self._rows)
        self._quick = QuickBounds.over(regions, self.request.tolerances, deadline)
        self.state = self._first()
        if self.state is None:
            return
        self.tell()
        left = self._ends()
        self._climb([self._next(end) for end in left], each=_EACH)
        while left:
            deadline.check()
            end = max(left, key=self._gain)
            if isinstance(regions.axes[end[0]], WordAxis):
                words = [other for other in left if other[0] == end[0]]
                self._add_words(words)
                left = [other for other in left if other not in words]
            else:
                self._move(end)
                left.remove(end)
            self.tell()

    # the first box

    def _near(self) -> FloatArray:
        """Return some of the rows whose free features lie in the ball."""
        if self.rows is None:
            return np.zeros((0, self.regions.problem.x.size))
        free, (lower, upper) = self.regions.free, self.regions.ends(self.regions.widest)
        there = self.rows[:, free]
        inside = np.flatnonzero(np.all((lower[free] <= there) & (there <= upper[free]), axis=1))
        return self.rows[self._draw.permutation(inside)[:_MOST_ROWS]]

    def _climb(self, states: list[State], each: int) -> None:
        """Look for counterfactuals in boxes by ``each`` climbs."""
        if states:
            lower, upper = boxes_of(self.regions, states, each, self._draw)
            self._climb_in(lower, upper)

    def _climb_in(self, lower: FloatArray, upper: FloatArray) -> None:
        late = self.request.deadline.passed
        self._known.suspect(climbed(self.regions, lower, upper, self._draw, late))

    def _begin(self) -> None:
        """Look for counterfactuals with kept features as in rows, and all over the widest box."""
        regions = self.regions
        if len(self._rows):
            rows = self._rows[:_STARTS]
            low, high = regions.ends(regions.widest)
            lower, upper = np.tile(low, (len(rows), 1)), np.tile(high, (len(rows), 1))
            lower[:, regions.kept] = upper[:, regions.kept] = rows[:, regions.kept]
            self._climb_in(lower, upper)
        self._climb([regions.widest], each=_STARTS)

    def _first(self) -> State | None:
        """Return a proven box, as large as a few checks find; None without one."""
        regions, state = self.regions, self.regions.widest
        if len(regions.axes) > _MOST_AXES:
            return self._shrunk(state)
        self._begin()
        for _ in range(_ROUNDS):
            for _ in range(_CLIMBS):
                known = self._known.within(state)
                smaller = cut(regions, state, self._known.places[known], self._places)
                if smaller is None:
                    return self._shrunk(state)
                state = smaller
                before = len(self._known.points)
                self._climb([state], each=_STARTS // 2)
                if len(self._known.points) == before:
                    break
            verdict = self._decide(state, tried=True)
            if verdict.holds:
                return state
            if not verdict.violated:
                break
            self._known.learn(verdict)
        return self._shrunk(state)

    def _shrunk(self, state: State) -> State | None:
        """Return a proven box between that of the input and ``state``."""
        regions, deadline = self.regions, self.request.deadline
        shares = np.arange(1, _SLABS) / _SLABS
        boxes = [self._scaled(state, share) for share in shares]
        found, low, high = None, 0.0, 1.0
        if self._quick is not None:
            proven = self._quick.proven(boxes, deadline)
            if proven.any():
                best = int(np.flatnonzero(proven)[-1])
                found, low = boxes[best], float(shares[best])
        if found is None:
            verdict = self._decide(regions.start)
            if verdict.violated:
                raise InputError(
                    "the features to inflate are no explanation: with these fixed, another input "
                    "has another prediction; audit tells more"
                )
            if not verdict.holds:
                self.unknown_reason = verdict.reason or "unknown"
                return None
            found = regions.start
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            box = self._scaled(state, middle)
            if self._decide(box).holds:
                found, low = box, middle
            else:
                high = middle
        return found

    def _scaled(self, state: State, share: float) -> State:
        """Return the box so far on the way to ``state``: a share of each interval, and of words."""
        spans: list[Span] = []
        for axis, span in zip(self.regions.axes, state, strict=True):
            if isinstance(axis, WordAxis):
                others = sorted(span - axis.start)  # type: ignore[operator]
                spans.append(axis.start | {*others[: int(share * len(others))]})
                continue
            low, high = span  # type: ignore[misc]
            start = axis.start[0]
            ends = start + share * (low - start), start + share * (high - start)
            whole = (float(np.ceil(ends[0])), float(np.floor(ends[1])))
            spans.append(whole if axis.whole else ends)
        return tuple(spans)

    # ends

    def _ends(self) -> list[End]:
        """Return the ends and words that are not at their limits."""
        assert self.state is not None
        found: list[End] = []
        for column, (axis, span) in enumerate(zip(self.regions.axes, self.state, strict=True)):
            if isinstance(axis, WordAxis):
                found += [(column, w) for w in sorted(axis.widest - span)]  # type: ignore[operator]
            else:
                found += [(column, side) for side in (-1, 1) if self._room((column, side)) > 0]
        return found

    def _room(self, end: End) -> float:
        """Return the length between an end of an interval and its limit."""
        assert self.state is not None
        column, side = end
        axis, span = self.regions.axes[column], self.state[column]
        return side * (axis.widest[side > 0] - span[side > 0])  # type: ignore[index]

    def _gain(self, end: End) -> tuple[float, float]:
        """Return the rows, and the share of the range, that an end may gain at most."""
        assert self.state is not None
        column, side = end
        axis = self.regions.axes[column]
        limit = axis.widest if isinstance(axis, WordAxis) else self._limit(end)[0]
        if isinstance(axis, WordAxis):
            wider: Span = self.state[column] | {side}  # type: ignore[operator]
            share = 1 / len(axis.words)
        else:
            low, high = self.state[column]
            wider = (low, limit) if side > 0 else (limit, high)
            share = side * (limit - (high if side > 0 else low)) / max(axis.most - axis.least, 1e-300)
        inside = ~self.regions.beyond(self._places, with_span(self.state, column, wider)).any(axis=1)
        return float(inside.sum()), share

    def _next(self, end: End) -> State:
        """Return the box one step beyond an end or word, the others in their spans."""
        assert self.state is not None
        column, side = end
        axis = self.regions.axes[column]
        if isinstance(axis, WordAxis):
            return with_span(self.state, column, frozenset([side]))
        here = self._end(end)
        step = side * min(axis.step, self._room(end))
        return self._slice(end, here, here + step)

    def _add_words(self, ends: list[End]) -> None:
        """Add words to a category, as many at once as one check proves."""
        assert self.state is not None
        column, open_ = ends[0][0], {word for _, word in ends}

        def piece(words: set[int]) -> State:
            assert self.state is not None
            return with_span(self.state, column, frozenset(words))

        def refuted(word: int, verdict: Verdict) -> None:
            self.refuted[column, word] = float(word), verdict
            open_.discard(word)

        for word in sorted(open_):
            if (verdict := self._known.refuting(piece({word}))) is not None:
                refuted(word, verdict)
        if self._quick is not None:
            left = sorted(open_)
            marks = self._quick.proven([piece({word}) for word in left], self.request.deadline)
            proven = {word for word, mark in zip(left, marks, strict=True) if mark}
            open_ -= proven
            if proven:
                self._grow(piece(proven))
        while open_:
            self.request.deadline.check()
            verdict = self._decide(piece(open_))
            if verdict.holds:
                self._grow(piece(open_))
                return
            if not verdict.violated:
                break
            number = self._known.learn(verdict)
            refuted(int(self._known.places[number, column, 0]), verdict)
        for word in sorted(open_):  # one by one where not all at once
            self.request.deadline.check()
            verdict = self._decide(piece({word}))
            if verdict.holds:
                self._grow(piece({word}))
            elif verdict.violated:
                refuted(word, verdict)
            else:
                self.reasons[column, word] = verdict.reason or "unknown"

    def _limit(self, end: End) -> tuple[float, int | None]:
        """Return how far an end may go at most, and the number of the point that says so."""
        assert self.state is not None
        column, side = end
        axis = self.regions.axes[column]
        assert isinstance(axis, OrderedAxis)
        limit = axis.most if side > 0 else axis.least
        low, high = self.state[column]  # type: ignore[misc]
        beyond = with_span(self.state, column, (low, limit) if side > 0 else (limit, high))
        numbers = self._known.within(beyond)
        there = self._known.places[numbers, column, int(side > 0)]
        for place in np.argsort(side * there, kind="stable").tolist():
            number, value = int(numbers[place]), float(there[place])
            if side * (value - self._end(end)) > 0 and self._known.verdict(number) is not None:
                return side * max(side * (value - side * axis.step), side * self._end(end)), number
        return limit, None

    def _end(self, end: End) -> float:
        assert self.state is not None
        return float(self.state[end[0]][end[1] > 0])  # type: ignore[index]

    def _move(self, end: End) -> None:
        """Widen one end of an interval until the next step is refuted, or open."""
        column, side = end
        axis = self.regions.axes[column]
        assert isinstance(axis, OrderedAxis)
        middle, vain = False, None
        while True:
            self.request.deadline.check()
            target, number = self._limit(end)
            here = self._end(end)
            if side * (target - here) <= 0:
                if number is not None:
                    verdict = self._known.verdict(number)
                    assert verdict is not None
                    value = float(self._known.places[number, column, int(side > 0)])
                    self.refuted[end] = value, verdict
                return
            if self._bounded(end, target):
                continue
            here = self._end(end)
            goal = target if vain is None else side * min(side * target, side * vain)
            if vain is not None:
                goal = _halfway(here, goal, axis)
            elif middle:
                half = _halfway(here, goal, axis)
                goal = goal if half == here else half
            if side * (goal - here) <= 0:
                self.reasons[end] = self._why
                return
            piece = self._slice(end, here, goal)
            verdict = self._decide(piece)
            if verdict.holds:
                self._grow(piece)
                middle = False
            elif verdict.violated:
                self._pull(end, self._known.learn(verdict))
                middle = not middle
            else:
                self._why, vain = verdict.reason or "unknown", goal

    _why: str = "unknown"

    def _slice(self, end: End, here: float, goal: float) -> State:
        """Return the box of the proven one's spans, between an end and a further value."""
        assert self.state is not None
        column, side = end
        axis = self.regions.axes[column]
        assert isinstance(axis, OrderedAxis)
        first = here + side if axis.whole else here
        span = (first, goal) if side > 0 else (goal, first)
        if axis.x.size > 1:  # changes of several coordinates: the others keep their range
            low, high = self.state[column]  # type: ignore[misc]
            span = (low, goal) if side > 0 else (goal, high)
        return with_span(self.state, column, span)

    def _bounded(self, end: End, target: float) -> bool:
        """Widen an end as far towards ``target`` as a batch of bounds proves; return if it did."""
        if self._quick is None:
            return False
        axis, side, here = self.regions.axes[end[0]], end[1], self._end(end)
        assert isinstance(axis, OrderedAxis)
        goals = np.linspace(here, target, _SLABS + 1)[1:]
        if axis.whole:
            goals = np.unique(np.rint(goals)) if side > 0 else np.unique(np.rint(goals))[::-1]
            goals = goals[side * (goals - here) > 0]
        starts = [here, *goals[:-1]]
        pieces = [self._slice(end, a, b) for a, b in zip(starts, goals, strict=True)]
        whole = self._slice(end, here, target)
        proven = self._quick.proven([whole, *pieces], self.request.deadline)
        if proven[0]:
            self._grow(whole)
            return True
        count = int(np.argmin([*proven[1:], False]))
        for piece in pieces[:count]:
            self._grow(piece)
        return count > 0

    def _pull(self, end: End, number: int) -> None:
        """Suspect points nearer to an end than a counterfactual of its slice."""
        column = end[0]
        axis = self.regions.axes[column]
        there = float(self._known.places[number, column, int(end[1] > 0)])
        values = np.linspace(self._end(end), there, _PULLS + 1)[1:-1]
        assert isinstance(axis, OrderedAxis)
        if axis.whole:
            values = np.unique(np.rint(values))
            values = values[(values != self._end(end)) & (values != there)]
        if axis.x.size > 1:
            return
        points = np.tile(self._known.points[number].astype(np.float64), (len(values), 1))
        axis.put(points, values)
        self._known.suspect(points)

    def _grow(self, piece: State) -> None:
        assert self.state is not None
        self.state = tuple(map(joined, self.state, piece))

    # checks

    def _decide(self, state: State, *, tried: bool = False) -> Verdict:
        """Decide the claim of a box: by bounds, by climbs unless ``tried``, else by an oracle."""
        deadline = self.request.deadline
        if self._quick is not None and self._quick.proven([state], deadline)[0]:
            self.checks += 1
            return Verdict(Answer.HOLDS)
        if deadline.passed():
            return Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)
        if not tried and len(state) <= _MOST_AXES:
            self._climb([state], each=_TRIES)
            if (known := self._known.refuting(state)) is not None:
                return known
        posed = self.regions.posed(state)
        if posed is None:
            if self.regions.empty(state):
                return Verdict(Answer.HOLDS)
            return Verdict(Answer.UNKNOWN, reason="no input is known that satisfies the rules")
        free = np.flatnonzero(posed.ball.outer.lower < posed.ball.outer.upper)
        # what an oracle prepares and reuses is for sets that grow
        with Oracle(posed, replace(self.request.search, reuse=False)) as oracle:
            verdict = oracle.check(free, deadline.limited(self.request.check_limit))
            self.checks += oracle.checks
            self.effort += oracle.effort
            self.versions |= oracle.versions
            self.notes = oracle.notes
            for one in oracle.solvers:
                known = self.solvers.get(one.solver, SolverStatistics(one.solver, 0, 0.0))
                self.solvers[one.solver] = SolverStatistics(
                    one.solver, known.checks + one.checks, known.seconds + one.seconds
                )
            return verdict

    # results

    def _state(self) -> RangesProgress:
        done = len(self.refuted) + len(self.reasons)
        return RangesProgress(done, 2 * len(self.regions.axes))

    def _snapshot(self) -> Callable[[], Ranges]:
        found = ranges_of(self)
        return lambda: found


def _halfway(here: float, goal: float, axis: OrderedAxis) -> float:
    middle = (here + goal) / 2
    if axis.whole:
        return float(np.floor(middle) if goal > here else np.ceil(middle))
    return middle if abs(middle - here) > axis.step / 2 else here
