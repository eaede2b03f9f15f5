"""The search for ranges: a large box that is proven, then each end as far as it goes.

Let ``S`` be a proven box. An end is widened by checks of the *slice* between it and a candidate,
all other features in their spans: ``S`` and the slice together are the wider box. Slices are small,
so batches of bounds prove most of them. A counterfactual in the slice lies one step beyond the end
that is reached; it stays inside the box of the other spans as these grow, so each end is looked at
once, and is maximal for good.

The result is an inflated explanation. A few of some rows of a table, chosen greedily, are proven
rules that cover it.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from milp_verix.base.arguments import integer_of, seconds_of
from milp_verix.base.clock import deadline_in
from milp_verix.base.errors import InputError
from milp_verix.inputs.inputs import Inputs, inputs_of
from milp_verix.inputs.radii import Epsilon, radii_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, loaded
from milp_verix.oracle.verdict import TIME_LIMIT, Verdict
from milp_verix.problem.problem import ProblemData, problem_of
from milp_verix.problem.search import USUAL, Given, Request, Search
from milp_verix.results.answers import Rules
from milp_verix.results.build import counterfactual_of
from milp_verix.results.ranges import Beyond, FeatureRange, Ranges
from milp_verix.searches.explain_search import explain_problem
from milp_verix.searches.feature_sets import FeatureSetLike, feature_set
from milp_verix.searches.ranges.axes import Axis, OrderedAxis, Span, WordAxis, axes_of
from milp_verix.searches.ranges.checks import BoxChecks, KnownPoints, first_box
from milp_verix.searches.ranges.regions import (
    Beside,
    Numbers,
    Regions,
    State,
    joined,
    rows_inside,
    rows_of,
    with_span,
)
from milp_verix.searches.runner import AnytimeSearch
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.interval import Late
from verix_encodings.network import batch_outputs

_EACH = 4
"""Climbs right beyond each end."""
_MOST_ROWS = 400
"""Rows by which boxes and ends are chosen; the share inside counts all."""
_SLABS = 16
"""Parts of a slice that are bounded in one batch."""


@dataclass(frozen=True, slots=True)
class RangesProgress:
    """Progress of a search for ranges: ends and words decided, of how many."""

    done: int
    total: int


End: TypeAlias = tuple[int, int]
"""The column of an axis, with -1 or 1 for an end of its interval, or the place of a word."""


@dataclass(eq=False)
class RangesSearch(AnytimeSearch[RangesProgress, Ranges]):
    """The search for the widest box: bounds of many boxes at once, climbs, checks of ends.

    ``rows``, (R, d), are inputs worth covering, ``notes`` are on their columns; ``state`` is the
    proven box, None before there is one.
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
    _places: FloatArray = field(init=False)
    _near_rows: Beside | None = None
    _near_points: Beside | None = None

    def __post_init__(self) -> None:
        regions, draw = self.regions, np.random.default_rng(self.request.search.seed)
        widest = regions.problem_at(regions.widest)
        assert widest is not None  # the input itself is in it
        known = KnownPoints(regions, widest)
        self.checks = BoxChecks(self.request, regions, known, draw)

    def _search(self) -> None:
        regions, checks = self.regions, self.checks
        rows = self._near()
        self._places = regions.places(rows)
        checks.bound()
        found = first_box(checks, rows)
        if isinstance(found, Verdict):
            self.unknown_reason = found.reason or "unknown"
            return
        self.state = self._filled(found)
        self.tell()
        left = self._ends()
        checks.climb((self._next(end) for end in left), each=_EACH)
        while left:
            end = max(left, key=self._gain)
            if isinstance(regions.axes[end[0]], WordAxis):
                words = [other for other in left if other[0] == end[0]]
                self._add_words(words[0][0], {word for _, word in words})
                left = [other for other in left if other not in words]
            else:
                self._move(end)
                left.remove(end)
            self.tell()

    def _near(self) -> FloatArray:
        """Return some of the rows whose free features lie in the ball."""
        if self.rows is None:
            return np.zeros((0, self.regions.problem.x.size))
        free, (lower, upper) = self.regions.free, self.regions.ends(self.regions.widest)
        there = self.rows[:, free]
        inside = np.flatnonzero(np.all((lower[free] <= there) & (there <= upper[free]), axis=1))
        near: FloatArray = self.rows[self.checks.draw.permutation(inside)[:_MOST_ROWS]]
        return near

    def _ends(self) -> list[End]:
        """Return the ends and words that are not at their limits."""
        found: list[End] = []
        for column, (axis, span) in enumerate(zip(self.regions.axes, self._box, strict=True)):
            if isinstance(axis, WordAxis):
                found += [(column, w) for w in sorted(axis.widest - span)]  # type: ignore[operator]
            else:
                found += [(column, side) for side in (-1, 1) if self._headroom((column, side)) > 0]
        return found

    @property
    def _box(self) -> State:
        assert self.state is not None
        return self.state

    def _axis(self, end: End) -> OrderedAxis:
        axis = self.regions.axes[end[0]]
        assert isinstance(axis, OrderedAxis)
        return axis

    def _end(self, end: End) -> float:
        return float(self._box[end[0]][end[1] > 0])  # type: ignore[index]

    def _place(self, end: End, number: int) -> float:
        return float(self.checks.known.places[number, end[0], int(end[1] > 0)])

    def _headroom(self, end: End) -> float:
        """Return the length between an end of an interval and its limit."""
        return end[1] * (self._axis(end).widest[end[1] > 0] - self._end(end))

    def _gain(self, end: End) -> tuple[float, float]:
        """Return the rows, and the share of the range, that an end may gain at most."""
        self.request.deadline.require_time()
        column, side = end
        axis, span = self.regions.axes[column], self._box[column]
        if isinstance(axis, WordAxis):
            wider, share = joined(span, frozenset([side])), 1 / len(axis.words)
        else:
            limit = self._limit(end)[0]
            wider = joined(span, (limit, limit))
            share = side * (limit - self._end(end)) / (axis.most - axis.least)
        self._near_rows = self.regions.beside(self._places, self._box, self._near_rows)
        return float(self._near_rows.within(column, wider).size), share

    def _next(self, end: End) -> State:
        """Return the box one step beyond an end or word, the others in their spans."""
        column, side = end
        axis = self.regions.axes[column]
        if isinstance(axis, WordAxis):
            return self._words(column, [side])
        here = self._end(end)
        return self._slice(end, here, here + side * min(axis.step, self._headroom(end)))

    def _words(self, column: int, words: Iterable[int]) -> State:
        """Return the box of the proven one's spans, with some words of a category alone."""
        return with_span(self._box, column, frozenset(words))

    def _add_words(self, column: int, open_: set[int]) -> None:
        """Add words to a category, as many at once as one check proves."""
        checks, deadline = self.checks, self.request.deadline
        for word in sorted(open_):
            if (verdict := checks.known.refuting(self._words(column, [word]))) is not None:
                self.refuted[column, word] = float(word), verdict
        left = sorted(word for word in open_ if (column, word) not in self.refuted)
        marks = checks.proven([self._words(column, [word]) for word in left])
        if marks.any():
            self._grow(self._words(column, np.array(left)[marks].tolist()))
        left = [word for word, mark in zip(left, marks, strict=True) if not mark]
        together = True
        while left:
            deadline.require_time()
            chosen = left if together else left[:1]
            verdict = checks.decide(self._words(column, chosen))
            if verdict.holds:
                self._grow(self._words(column, chosen))
                left = left[len(chosen) :]
            elif verdict.violated:
                number = checks.known.learn(verdict)
                word = int(checks.known.places[number, column, 0])
                self.refuted[column, word] = float(word), verdict
                left.remove(word)
            elif together and len(left) > 1:
                together = False
            else:
                self.reasons[column, left.pop(0)] = verdict.reason or "unknown"

    def _limit(self, end: End) -> tuple[float, int | None]:
        """Return how far an end may go at most, and the number of the point that says so."""
        (column, side), axis, here = end, self._axis(end), self._end(end)
        limit = axis.most if side > 0 else axis.least
        low, high = self._box[column]
        known = self.checks.known
        self._near_points = self.regions.beside(known.places, self._box, self._near_points)
        numbers = self._near_points.within(column, (low, limit) if side > 0 else (limit, high))
        there = known.places[numbers, column, int(side > 0)]
        for place in np.argsort(side * there, kind="stable").tolist():
            number, value = int(numbers[place]), float(there[place])
            if side * (value - here) > 0 and known.verdict(number) is not None:
                return side * max(side * axis.before(value, side), side * here), number
        return limit, None

    def _move(self, end: End) -> None:
        """Widen one end of an interval until the next step is refuted, or open."""
        side, axis, known = end[1], self._axis(end), self.checks.known
        middle, vain, why = False, None, "unknown"
        while True:
            self.request.deadline.require_time()
            target, number = self._limit(end)
            if side * (target - self._end(end)) <= 0:
                if number is not None:
                    number = self._plain(end, number)
                    verdict = known.verdict(number)
                    assert verdict is not None
                    self.refuted[end] = self._place(end, number), verdict
                return
            if self._bounded(end, target):
                continue
            here = self._end(end)
            goal = target if vain is None else side * min(side * target, side * vain)
            if vain is not None:
                goal = axis.halfway(here, goal)
            elif middle:
                half = axis.halfway(here, goal)
                goal = goal if half == here else half
            if side * (goal - here) <= 0:
                self.reasons[end] = why
                return
            piece = self._slice(end, here, goal)
            verdict = self.checks.decide(piece)
            if verdict.holds:
                self._grow(piece)
                middle = False
            elif verdict.violated:
                number = known.learn(verdict)
                # points nearer to the end than a counterfactual of its slice
                self._suspect(axis, number, axis.between(here, self._place(end, number)))
                middle = not middle
            else:
                why, vain = verdict.reason or "unknown", goal

    def _slice(self, end: End, here: float, goal: float) -> State:
        """Return the box of the proven one's spans, between an end and a further value."""
        (column, side), axis = end, self._axis(end)
        first = here + side if axis.whole else here
        span = (first, goal) if side > 0 else (goal, first)
        if axis.x.size > 1:  # changes of several coordinates: the others keep their range
            low, high = self._box[column]
            span = (low, goal) if side > 0 else (goal, high)
        return with_span(self._box, column, span)

    def _bounded(self, end: End, target: float) -> bool:
        """Widen an end as far towards ``target`` as a batch of bounds proves; return if it did."""
        axis, side, here = self._axis(end), end[1], self._end(end)
        goals = np.linspace(here, target, _SLABS + 1)[1:]
        if axis.whole:
            goals = np.unique(np.rint(goals)) if side > 0 else np.unique(np.rint(goals))[::-1]
            goals = goals[side * (goals - here) > 0]
        starts = [here, *goals[:-1]]
        pieces = [self._slice(end, a, b) for a, b in zip(starts, goals, strict=True)]
        whole = self._slice(end, here, target)
        proven = self.checks.proven([whole, *pieces])
        if proven[0]:
            self._grow(whole)
            return True
        count = int(np.argmin([*proven[1:], False]))
        for piece in pieces[:count]:
            self._grow(piece)
        return count > 0

    def _plain(self, end: End, number: int) -> int:
        """Return the number of a counterfactual like ``number``, in few digits if one is found."""
        side, known, axis, here = end[1], self.checks.known, self._axis(end), self._end(end)
        values = axis.plain(here, self._place(end, number), side)
        if axis.whole or not values.size:
            return number
        before = len(known.points)
        self._suspect(axis, number, values)
        likely = (
            n for n in range(before, len(known.points)) if side * self._place(end, n) > side * here
        )
        return next((one for one in likely if known.verdict(one) is not None), number)

    def _suspect(self, axis: OrderedAxis, number: int, values: FloatArray) -> None:
        """Suspect points like a known one, with some ``values`` of a feature of one coordinate."""
        if axis.x.size == 1:
            points = np.tile(self.checks.known.points[number].astype(np.float64), (len(values), 1))
            axis.put(points, values)
            self.checks.known.suspect(points)

    def _grow(self, piece: State) -> None:
        self.state = self._filled(tuple(map(joined, self._box, piece)))

    def _filled(self, state: State) -> State:
        return tuple(axis.filled(s) for axis, s in zip(self.regions.axes, state, strict=True))

    def _state(self) -> RangesProgress:
        done = len(self.refuted) + len(self.reasons)
        return RangesProgress(done, 2 * len(self.regions.axes))

    def _snapshot(self) -> Callable[[], Ranges]:
        found = self._ranges()
        return lambda: found

    def _ranges(self) -> Ranges:
        """Return the ranges proven so far; ends not looked at are open."""
        regions, why = self.regions, self.stopped or TIME_LIMIT
        state, axes = self.state, regions.axes
        spans = () if state is None else zip(range(len(axes)), axes, state, strict=True)
        tally, notes = self.checks.tally, self.notes + self.checks.tally.notes
        solver = str(self.request.search.solver) if tally.most is None else tally.most.solver
        found = Ranges(
            **tally.fields(regions.problem, solver, notes, self.request.elapsed, self.stopped),
            explanation=tuple(axis.feature for axis in axes),
            ranges=tuple(self._range(column, axis, span, why) for column, axis, span in spans),
            resolution=self.resolution,
            rows=None if self.rows is None else len(self.rows),
            inside=None if self.rows is None else 0,
            unknown_reason=None if state is not None else self.unknown_reason or why,
        )
        if self.rows is None or state is None:
            return found
        return replace(found, inside=int(rows_inside(regions, state, self.rows, found).sum()))

    def _range(self, column: int, axis: Axis, span: Span, why: str) -> FeatureRange:
        ends, words, steps = axis.ends_of(span)
        beyond = []
        for place, value in steps:
            if (known := self.refuted.get((column, place))) is not None:
                beyond.append(Beyond(known[0], counterfactual_of(known[1])))
            else:
                reason = self.reasons.get((column, place), why)
                beyond.append(Beyond(value, unknown_reason=reason))
        return FeatureRange(axis.feature, *ends, words, tuple(beyond))


def inflate_problem(
    problem: ProblemData,
    explanation: "FeatureSetLike | None" = None,
    *,
    rows: Any = None,
    within: Epsilon = np.inf,
    resolution: float = 0.01,
    search: Search = USUAL,
    progress: Callable[[RangesProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Ranges]], None] | None = None,
) -> Ranges:
    """Answer :func:`milp_verix.inflate`, which describes the arguments."""
    run = ranges_search(
        problem, explanation, rows=rows, within=within, resolution=resolution, search=search
    )
    return run.run(progress, snapshots)


def ranges_search(
    problem: ProblemData,
    explanation: "FeatureSetLike | None",
    *,
    rows: Any,
    within: Epsilon,
    resolution: float,
    search: Search,
) -> RangesSearch:
    """Return the search for ranges that :func:`inflate_problem` runs."""
    search.require_only("inflate", "the search for ranges")
    if problem.ball.norm != "linf":
        raise InputError(
            f"ranges are intervals, and take the norm 'linf' alone, not {problem.ball.norm!r}"
        )
    if not 0 < resolution < 1:
        raise InputError(
            f"resolution is a share of a feature's room, above 0 and below 1; got {resolution}"
        )
    request = Request.now(problem, search)
    given, notes = rows_of(problem, rows)
    if explanation is None:
        explanation = explain_problem(problem, search=search)
    kept = feature_set(explanation, problem)
    axes = axes_of(problem, kept, _radii(problem, within), float(resolution))
    return RangesSearch(request, Regions(problem, axes), float(resolution), given, notes)


def _radii(problem: ProblemData, within: Epsilon) -> FloatArray:
    """Return how far each feature may move at most, shape (features,)."""
    if problem.inputs is not None:
        return np.array(radii_of(problem.inputs, within, "within"))
    if not isinstance(within, int | float) or not within >= 0:
        raise InputError(
            f"within is a number that is not negative, got {within!r}: radii by name and shares "
            "need a description, inputs="
        )
    return np.full(problem.features.count, float(within))


_TRIES = 3
"""Rows that are explained for each rule."""
_DRAWN = 50
"""Rows drawn before it is given up to find one that no rule covers and that can be explained."""


def rules_of_table(
    network: NetworkLike,
    rows: Any,
    *,
    count: int = 12,
    tries: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    memory: float | str | None = None,
    **question: Any,
) -> Rules:
    """Answer :func:`milp_verix.find_rules`, which describes the arguments."""
    started, deadline = time.monotonic(), deadline_in(seconds_of(time_limit, "time_limit"))
    integer_of(count, "count")
    integer_of(seed, "seed", least=0)
    tried = _TRIES * count if tries is None else integer_of(tries, "tries")
    search = Search(time_limit=deadline, memory=memory)
    network = loaded(network, inputs_of(question.get("inputs")))
    table, described, notes = _numbers(network, rows, question)
    question = {**question, "inputs": described}
    classes = _classes(network, table, deadline.passed)
    draw, left = np.random.default_rng(seed), np.ones(len(table), dtype=bool)
    candidates: list[tuple[Ranges, BoolArray]] = []
    done = 0
    while done < tried and left.any() and not deadline.passed():
        row = int(draw.choice(np.flatnonzero(left)))
        left[row] = False
        worth = table[(classes == classes[row]) & left]
        done += 1
        try:
            problem = problem_of(network, table[row], Given(**question))
        except InputError:  # outside the domain, or against rules
            continue
        if (found := _rule(problem, worth, table, search)) is not None:
            candidates.append(found)
            left &= ~found[1]
    chosen, covered = _cover(candidates, len(table), count)
    seconds = time.monotonic() - started
    chosen = [replace(rule, notes=(*rule.notes, *notes)) for rule in chosen]
    return Rules(tuple(chosen), tuple(covered), len(table), done, seconds)


def _numbers(
    network: LoadedModel, rows: Any, question: Mapping[str, Any]
) -> tuple[FloatArray, Inputs | None, tuple[str, ...]]:
    """Return all rows as the network's numbers, their description as it has it, and notes."""
    if not hasattr(rows, "__len__") or getattr(rows, "ndim", 1) == 0 or not len(rows):
        raise InputError(f"rows are a table of inputs with a row or more, got {rows!r:.60}")
    given = rows if hasattr(rows, "iloc") or isinstance(rows, np.ndarray) else [*rows]
    reason: InputError | None = None
    for index in range(min(len(rows), _DRAWN)):
        one = given.iloc[index] if hasattr(given, "iloc") else given[index]
        try:
            problem = problem_of(network, one, Given(**question))
        except InputError as error:
            reason = reason or error
            continue
        table, notes = rows_of(problem, given)
        assert table is not None
        seen = problem.inputs  # what stands for a domain is made of it again
        return table, None if seen is not None and seen.of_domain else seen, notes
    raise InputError(f"none of the first rows is an input of the question: {reason}")


def _classes(network: LoadedModel, table: FloatArray, late: Late) -> FloatArray:
    """Return a number for the prediction of each row, by which rows are grouped; (R,)."""
    scores = batch_outputs(network.ir, table.T, late)
    found = (scores[0] > 0) if len(scores) == 1 else np.argmax(scores, axis=0)
    return np.asarray(found, dtype=np.float64)


def _rule(
    problem: ProblemData, worth: FloatArray, table: FloatArray, search: Search
) -> tuple[Ranges, BoolArray] | None:
    """Return the rule of a row, and the rows of ``table`` that it covers; None without one."""
    explanation = explain_problem(problem, search=search)
    run = ranges_search(
        problem, explanation, rows=Numbers(worth), within=np.inf, resolution=0.01, search=search
    )
    found = run.run(None, None)
    if found.unknown_reason is not None:
        return None
    assert run.state is not None
    inside = rows_inside(run.regions, run.state, table, found)
    return replace(found, rows=len(table), inside=int(inside.sum())), inside


def _cover(
    candidates: list[tuple[Ranges, BoolArray]], rows: int, count: int
) -> tuple[list[Ranges], list[int]]:
    left, chosen, covered = np.ones(rows, dtype=bool), list[Ranges](), list[int]()
    while candidates and len(chosen) < count:
        gains = [int((mask & left).sum()) for _, mask in candidates]
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        rule, mask = candidates.pop(best)
        left &= ~mask
        chosen.append(rule)
        covered.append(rows - int(left.sum()))
    return chosen, covered
