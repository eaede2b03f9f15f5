"""The boxes of a search for ranges: kept features in their spans, all others as in the question.

Rows of a table as arrays of a network's numbers, to be counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, refusing
from milp_verix.inputs.cells import code_in
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.nearest_point import nearest_point
from milp_verix.inputs.one_row import (
    cell_of,
    features_among,
    has_names,
    in_order,
    numbers_by_name,
    refuse_arrays,
    row_of,
    several_rows,
)
from milp_verix.problem.problem import ProblemData
from milp_verix.results.ranges import Ranges
from milp_verix.searches.ranges.axes import Axis, Ends, OrderedAxis, Span, WordAxis, outside
from milp_verix.views.ranges_words import ends_shown
from verix_encodings import Interval
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.mixed_domain import Clause, MixedDomain

State: TypeAlias = tuple[Span, ...]
"""A span for each axis: a box of inputs."""
_WHOLE = 2.0**53
"""Whole numbers below this one are all in float64."""


# no slots: what is derived from the axes is computed once
@dataclass(frozen=True, eq=False)
class Regions:
    """The boxes of ``problem`` in which the features of ``axes`` move, and the others are free."""

    problem: ProblemData
    axes: tuple[Axis, ...]

    @cached_property
    def start(self) -> State:
        """The box in which each kept feature has the value of the input."""
        return tuple(axis.start for axis in self.axes)

    @cached_property
    def widest(self) -> State:
        """The largest box asked about."""
        return tuple(axis.widest for axis in self.axes)

    @cached_property
    def kept(self) -> IntArray:
        """The coordinates of the kept features, one axis after the other."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *(a.coordinates for a in self.axes)])

    @cached_property
    def free(self) -> IntArray:
        """The coordinates of the other features, ascending."""
        return np.setdiff1d(np.arange(self.problem.x.size), self.kept)

    @cached_property
    def _ordered(self) -> tuple[list[int], IntArray, IntArray, FloatArray, BoolArray]:
        """The columns of intervals; of each coordinate: its one, place, value, if it is alone."""
        axes = [(c, axis) for c, axis in enumerate(self.axes) if isinstance(axis, OrderedAxis)]
        sizes = np.array([axis.x.size for _, axis in axes], dtype=np.intp)
        at = np.concatenate([np.zeros(0, dtype=np.intp), *(axis.coordinates for _, axis in axes)])
        x = np.concatenate([np.zeros(0), *(axis.x for _, axis in axes)])
        owner = np.repeat(np.arange(sizes.size), sizes)
        return [c for c, _ in axes], owner, at, x, sizes[owner] == 1

    def ends(self, state: State) -> Ends:
        """Return the ends of all coordinates, two arrays of shape (d,), rounded outward."""
        ball, (columns, owner, at, x, single) = self.problem.ball, self._ordered
        lower, upper = ball.outer.lower.copy(), ball.outer.upper.copy()
        low, high = np.array([state[c] for c in columns], dtype=float).reshape(-1, 2)[owner].T
        lower[at] = np.where(single, low, np.where(low, np.nextafter(x + low, -np.inf), x))
        upper[at] = np.where(single, high, np.where(high, np.nextafter(x + high, np.inf), x))
        for axis, span in zip(self.axes, state, strict=True):
            if isinstance(axis, WordAxis):
                lower[axis.coordinates], upper[axis.coordinates] = axis.ends(span)
        kept = self.kept
        lower[kept] = np.maximum(lower[kept], ball.domain_lower[kept])
        upper[kept] = np.minimum(upper[kept], ball.domain_upper[kept])
        return lower, upper

    def clauses(self, state: State) -> tuple[Clause, ...]:
        """Return the rules that the spans need beside their ends."""
        pairs = zip(self.axes, state, strict=True)
        return tuple(clause for axis, span in pairs for clause in axis.clauses(span))

    def domain(self, state: State) -> MixedDomain | None:
        """Return the whole numbers and rules of a box; None if there are none."""
        mixed, more = self.problem.ball.mixed, self.clauses(state)
        if mixed is None or not more:
            return mixed
        return MixedDomain(mixed.integral, (*mixed.rules, *more), mixed.blocks)

    def problem_at(self, state: State) -> ProblemData | None:
        """Return the question if the prediction stays all over a box; None if no input is known."""
        lower, upper = self.ends(state)
        centre = self._centre(state, lower, upper)
        if centre is None:
            return None
        ends = lower[self.kept], upper[self.kept]
        ball = self.problem.ball.between(self.kept, ends, centre, self.clauses(state))
        return self.problem.within(ball)

    def empty(self, state: State) -> bool:
        """Return whether it is proven that no input of a box satisfies the rules."""
        domain = self.domain(state)
        if domain is None:
            return False
        lower, upper = self.ends(state)
        return not bool(domain.cut(lower[None], upper[None])[2][0])

    def places(self, points: NDArray[np.floating]) -> FloatArray:
        """Return the places of ``points``, (N, d), on the axes: shape (N, axes, 2)."""
        wide = points.astype(np.float64)
        found = [axis.places(wide) for axis in self.axes]
        return np.array(found).reshape(len(found), len(wide), 2).transpose(1, 0, 2)

    def beyond(self, places: FloatArray, state: State) -> BoolArray:
        """Mark the axes whose span in ``state`` lacks the ``places``; shape (N, axes)."""
        marks = [outside(span, places[:, column]) for column, span in enumerate(state)]
        return np.array(marks, dtype=bool).reshape(len(marks), len(places)).T

    def beside(self, places: FloatArray, state: State, before: "Beside | None") -> "Beside":
        """Return which of ``places``, (N, axes, 2), a box lacks; ``before`` if that tells it."""
        if before is not None and before.state is state and before.places is places:
            return before
        marks = self.beyond(places, state)
        return Beside(places, state, marks, marks.sum(axis=1))

    def _centre(self, state: State, lower: FloatArray, upper: FloatArray) -> NDArray[Any] | None:
        """Return a point of the box near the input, in the network's dtype; None without one."""
        ball = self.problem.ball
        point = ball.centre.astype(np.float64)[None].copy()
        for axis, span in zip(self.axes, state, strict=True):
            axis.put(point, np.array([axis.nearest(span)]))
        centre = _rounded(point[0], lower, upper, ball.centre.dtype)
        centre[self.free] = ball.centre[self.free]
        domain = self.domain(state)
        if domain is None or domain.contains(centre):
            return centre
        precision = float(np.finfo(ball.centre.dtype).eps)
        inner = lower.copy(), upper.copy()
        inner[0][self.free] = ball.inner_lower[self.free]
        inner[1][self.free] = ball.inner_upper[self.free]
        near = nearest_point(domain, Interval(*inner), centre.astype(np.float64), precision)
        if near is None:
            return None
        centre = _rounded(domain.snapped(near), *inner, ball.centre.dtype)
        return centre if domain.contains(centre) else None


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Places, shape (N, axes, 2), with ``marks``, (N, axes), of axes on which a box lacks them.

    ``state`` is the box; ``count``, shape (N,), counts the marks of each place.
    """

    places: FloatArray
    state: State
    marks: BoolArray
    count: IntArray

    def within(self, column: int, span: Span) -> IntArray:
        """Return the numbers of places that the box has if one of its axes has another span."""
        near = np.flatnonzero(self.count == self.marks[:, column])
        return near[~outside(span, self.places[near, column])] if near.size else near


def with_span(state: State, axis: int, span: Span) -> State:
    """Return ``state`` with another span of one axis."""
    return (*state[:axis], span, *state[axis + 1 :])


def joined(span: Span, other: Span) -> Span:
    """Return the span that holds both."""
    if isinstance(span, frozenset) and isinstance(other, frozenset):
        return span | other
    assert isinstance(span, tuple)
    assert isinstance(other, tuple)
    return min(span[0], other[0]), max(span[1], other[1])


def _rounded(
    point: FloatArray, lower: FloatArray, upper: FloatArray, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return ``point`` in another dtype, inside the ends where that has a number between them."""
    clipped = np.clip(point, lower, upper)
    found = clipped.astype(dtype)
    up = np.nextafter(found, dtype.type(np.inf))
    down = np.nextafter(found, dtype.type(-np.inf))
    return np.where(found < lower, up, np.where(found > upper, down, found))


def stacked(ends: Sequence[Ends]) -> Ends:
    """Return the ends of several boxes, two arrays of shape (N, d)."""
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def rows_of(problem: ProblemData, rows: Any) -> tuple[FloatArray | None, tuple[str, ...]]:
    """Return ``rows`` as an array of shape (R, d), and notes on their columns; None stays None.

    They are an array with a row for each input, or a DataFrame, a structured array, a row with
    names or such rows in a list or an iterator, whose columns are placed by name where the
    coordinates have names. Raises ``InputError`` for other rows.
    """
    size, inputs = problem.x.size, problem.inputs
    if rows is None or isinstance(rows, Numbers):
        return None if rows is None else rows.values, ()
    rows = several_rows(rows)
    frame, notes = named_frame(rows) if is_frame(rows) else None, tuple[str, ...]()
    by_name = isinstance(rows, Sequence) and len(rows) and has_names(rows[0])
    named = [row_of(row) or {} for row in rows] if by_name else []
    if frame is not None or named:
        header = [*map(str, named[0] if frame is None else frame.columns)]
        if inputs is not None:
            columns, notes = features_among(inputs.features, header, "rows")
            if frame is not None:
                return _of_frame(frame, inputs, columns), notes
            rows = [inputs.row(row) for row in named]
        else:
            names = problem.coordinate_names
            chosen, notes = in_order(header, names, "rows")
            by_names = (numbers_by_name(row, names or chosen, "rows")[0] for row in named)
            rows = [*by_names] if frame is None else frame[chosen]
    else:
        refuse_arrays(inputs is not None and inputs.places is not None)
    with refusing("rows are numbers, an input in each row", TypeError, ValueError):
        found = np.asarray(rows, dtype=np.float64)
    if found.ndim < 1 or found.size != len(found) * size:
        raise InputError(
            f"rows have the shape {found.shape}, expected (R, {size}): an input of the network in "
            "each row"
        )
    return found.reshape(len(found), size), notes


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Rows whose ``values``, shape (R, d), are known to be in the order of the network's input."""

    values: FloatArray


def _of_frame(frame: Any, inputs: Inputs, columns: Mapping[str, list[str]]) -> FloatArray:
    """Return the rows of a DataFrame; each value of a column is read once."""
    found = np.zeros((len(frame), inputs.size))
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        names = columns[feature.name]
        if (plain := _plain(feature, frame[names[0]])) is not None:
            found[:, group[0]] = plain
            continue
        cells = [*zip(*(frame[name].tolist() for name in names), strict=True)]
        codes = {one: code_in(feature, cell_of(feature, names, one)) for one in {*cells}}
        numbers = np.array([codes[one] for one in cells])
        one_hot = np.eye(feature.width)[numbers.astype(np.intp)] if feature.one_hot else None
        found[:, group] = numbers[:, None] if one_hot is None else one_hot
    return found


def _plain(feature: Feature, column: Any) -> FloatArray | None:
    """Return a column of numbers at once; None if a cell may be something else."""
    if feature.values or not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "fiu":
        return None
    found = column.to_numpy(np.float64, copy=True)
    gone = np.isnan(found) & feature.missing
    known = (np.abs(found) < _WHOLE) & ((found <= feature.last) | (not feature.missing))
    found[gone] = feature.top
    return found if np.all(gone | known) else None


def rows_inside(regions: Regions, state: State, rows: FloatArray, ranges: Ranges) -> BoolArray:
    """Mark the ``rows``, (R, d), in the proven box and in the ``ranges`` as printed; shape (R,)."""
    problem = regions.problem_at(state)
    assert problem is not None  # the input itself is in it
    lower, upper = (np.array(end) for end in regions.ends(state))
    for one in ranges.ranges:
        (at, *others) = ranges.groups[one.feature]
        if one.lower is None or others:
            continue
        for end, tighter, (text, beyond) in zip(
            (lower, upper), (np.maximum, np.minimum), ends_shown(ranges, one), strict=True
        ):
            if not beyond and np.isfinite(end[at]):
                # a number that is told is the model's own that is nearest
                end[at] = tighter(end[at], float(ranges.input.dtype.type(float(text))))
    near = np.flatnonzero(np.all((lower <= rows) & (rows <= upper), axis=1))
    dtype = problem.x.dtype
    ball, points = problem.ball, rows[near].astype(dtype)
    exact = np.all(points.astype(np.float64) == rows[near], axis=1)
    exact &= np.all((ball.inner_lower <= points) & (points <= ball.inner_upper), axis=1)
    if ball.mixed is not None:
        exact[exact] = ball.mixed.containing(points[exact].astype(np.float64))
    found = np.zeros(len(rows), dtype=bool)
    found[near] = exact
    return found
