"""Inputs in question: the room of each column, and rows of the user's frame in these rooms."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statement_cases import Case, Column, Rng, cell

MOST_ROWS = 2500
_SAMPLED = 260
_MOST_VALUES = 41
_MOST_TRIED = 500


@dataclass(frozen=True, eq=False)
class Solution:
    """A solution of a model with a network inside, as its user has it when a check is told.

    ``point`` is the row of the frame that was checked, ``moved`` that off thresholds, None where
    a category would be a fraction. ``outputs`` are those of the solution, ``divisor`` times the
    model's, or their ranks if ``ranked``. ``outside`` is how far variables are beyond their ends,
    ``shift`` how far the check moved them. Inputs have the ``names`` that the user gave.
    """

    point: pd.DataFrame | None
    moved: pd.DataFrame | None
    outputs: NDArray[np.float64]
    outside: float
    shift: float
    tolerance: float
    names: tuple[str, ...]
    divisor: float
    ranked: bool


@dataclass(frozen=True)
class Asked:
    """The limits of a question: a radius for each column, rivals, a tolerance, columns held.

    ``against`` has names of classes as told. ``only`` says ``"up"`` or ``"down"``. ``costs`` are
    those of a contrast. ``ruled`` inputs alone count; ``sought`` are radii that the answer
    tells, ``scores`` those of another tool. A
    ``rule`` is about all rows, not one. ``solutions`` are those that texts check.
    """

    radii: Mapping[str, float]
    against: tuple[str, ...] = ()
    delta: float | None = None
    held: tuple[str, ...] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, float] | None = None
    ruled: bool = True
    sought: bool = False
    scores: Mapping[str, float] | None = None
    rule: bool = False
    norm: str = "L∞"
    solutions: Mapping[str, list[Solution]] = field(default_factory=dict)


@dataclass(frozen=True)
class Room:
    """The values that a column may have: words, or numbers between two ends, or tuples of these.

    All columns whose room has a ``norm`` stay together within the radius beside it.
    """

    column: Column
    low: Any = 0.0
    high: Any = 0.0
    words: tuple[str | None, ...] = ()
    missing: bool = False
    norm: tuple[str, float] | None = None

    @classmethod
    def whole(cls, column: Column) -> "Room":
        """Return the room of all values of the description."""
        words = (*column.words, None) if column.missing else column.words
        return cls(column, column.low, column.high, words, column.missing)

    @classmethod
    def only(cls, column: Column, value: Any) -> "Room":
        """Return the room of one value."""
        if column.kind == "words":
            return cls(column, words=(value,))
        if value is None:
            return cls(column, 1.0, 0.0, missing=True)
        return cls(column, value, value)

    @classmethod
    def within(cls, column: Column, radius: float, centre: Any) -> "Room":
        """Return the room within ``radius`` of a value, in the description."""
        if column.fixed or (column.kind == "words" and radius < 1):
            return cls.only(column, centre)
        if column.kind == "words" or (radius == np.inf and column.missing):
            return cls.whole(column)
        if centre is None:
            return cls.only(column, None)
        if radius == np.inf:
            return cls.whole(column)
        if column.kind == "group":
            part = replace(column, kind="real")
            return cls.of([cls.within(part, radius, one) for one in centre], column)
        ends = [Fraction(centre) - Fraction(radius), Fraction(centre) + Fraction(radius)]
        low, high = _inside(ends[0], up=True), _inside(ends[1], up=False)
        return cls(column, max(low, column.low), min(high, column.high))

    @classmethod
    def of(cls, parts: "Sequence[Room]", column: Column) -> "Room":
        """Return the room of the tuples of values in ``parts``."""
        return cls(column, tuple(one.low for one in parts), tuple(one.high for one in parts))

    def parts(self, size: int) -> "list[Room]":
        """Return the room of each of so many coordinates of a group."""
        real = replace(self.column, kind="real")
        ends = [e if isinstance(e, tuple) else (e,) * size for e in (self.low, self.high)]
        return [Room(real, low, high) for low, high in zip(*ends, strict=True)]

    def cut(self, low: float, high: float) -> "Room":
        """Return the part of the room between two ends."""
        if isinstance(self.low, tuple):
            cut = [one.cut(low, high) for one in self.parts(len(self.low))]
            return replace(Room.of(cut, self.column), norm=self.norm)
        return replace(self, low=max(self.low, low), high=min(self.high, high))

    def one_way(self, own: Any, way: str) -> "Room":
        """Return the part of the room that is above, or below, a value in it."""
        if self.column.kind == "words":
            at = self.column.words.index(own)
            return Room(self.column, words=self.words[at:] if way == "up" else self.words[: at + 1])
        return Room(self.column, *((own, self.high) if way == "up" else (self.low, own)))

    def holds(self, value: Any) -> bool:
        """Return whether a value is in the room."""
        if self.column.kind == "words":
            return value in self.words
        if isinstance(value, tuple):
            parts = self.parts(len(value))
            return all(part.holds(one) for part, one in zip(parts, value, strict=True))
        return self.missing if value is None else self.low <= value <= self.high

    def nearly_holds(self, value: Any) -> bool:
        """Return whether a value is in the room, or off its ends by the rounding of float64."""
        if value is None or self.column.kind in ("words", "group"):
            return self.holds(value)
        slack = 1e-9 * max(abs(self.low), abs(self.high))
        return bool(self.low - slack <= value <= self.high + slack)

    def listed(self) -> list[Any] | None:
        """Return all values, or None where there are too many."""
        if self.column.kind == "words":
            return [*self.words]
        if self.column.kind == "group":
            return [self.low] if self.low == self.high and isinstance(self.low, tuple) else None
        gaps: list[Any] = [None] * self.missing
        if self.low >= self.high:
            return [self.low] * (self.low == self.high) + gaps
        if self.column.kind != "whole" or self.high - self.low >= _MOST_VALUES:
            return None
        return [*np.arange(np.ceil(self.low), np.floor(self.high) + 1).tolist(), *gaps]

    def drawn(self, rng: Rng, corners: Any, own: Iterable[Any]) -> list[Any]:
        """Return values: the ends, those of ``own`` that fit, and others at random.

        ``corners`` says for each value, (count,), whether it is one of the two ends.
        """
        if self.column.kind == "group":
            seen = [*own]
            each = [
                part.drawn(rng, corners, [one[place] for one in seen])
                for place, part in enumerate(self.parts(len(seen[0])))
            ]
            return [*zip(*each, strict=True)]
        if not np.isfinite([self.low, self.high]).all():
            return self._ended(own := [*own]).drawn(rng, corners, own)
        every = self.listed()
        sides = [] if every is None else [*every[:1], *every[-1:]]
        if every is None:
            ends = [self.low, self.high, *(v for v in own if v is not None and self.holds(v))]
            others = rng.uniform(self.low, self.high, 20)
            close = self.low + (self.high - self.low) * rng.random(6) * 0.01
            every = [*ends, *others.tolist(), *close.tolist(), *[None] * self.missing]
            if self.column.kind == "whole":
                every = [v if v is None else float(np.rint(v)) for v in every]
                every = [v for v in every if self.holds(v)]
            sides = every[:2]
        if not every:
            return []
        places = rng.integers(np.where(corners, len(sides), len(every)))
        return [
            (sides if end else every)[at] for end, at in zip(corners, places.tolist(), strict=True)
        ]

    def _ended(self, own: Iterable[Any]) -> "Room":
        """Return the room with ends that are far from known values, where it has none."""
        known = [one for one in own if one is not None]
        far = 3 * (max(known) - min(known)) + abs(max(known)) + 1.0
        return self.cut(min(known) - far, max(known) + far)


class Rows:
    """Rows of a case near one of its own, and what they are predicted."""

    def __init__(self, case: Case, row: int, seed: int = 0) -> None:
        self.case, self.row, self.own = case, row, case.own(row)
        self.columns = {column.name: column for column in case.columns}
        self._seed = seed
        self._cells = {name: [*dict.fromkeys(map(cell, case.frame[name]))] for name in case.names}
        self._here = case.frame.iloc[[row]]
        self.prediction = case.predict(self._here)[0]

    def ball(self, asked: Asked) -> dict[str, Room]:
        """Return the room of each column within the radii of a question."""
        found = {}
        for name, column in self.columns.items():
            radius = 0.0 if name in asked.held else asked.radii.get(name, np.inf)
            found[name] = Room.within(column, radius, self.own[name])
            if name in asked.only:
                found[name] = found[name].one_way(self.own[name], asked.only[name])
            if asked.norm != "L∞":
                found[name] = replace(found[name], norm=(asked.norm, radius))
        return found

    def unbounded(self) -> "Rows":
        """Return the same rows for texts that tell no domain: no number has one."""
        free = {
            name: replace(column, low=-np.inf, high=np.inf) for name, column in self.columns.items()
        }
        found = copy(self)
        found.columns = free
        return found

    def inside(
        self, rooms: Mapping[str, Room], asked: Asked, count: int = _SAMPLED
    ) -> tuple[pd.DataFrame, bool]:
        """Return rows in ``rooms`` that satisfy the rules, and whether they are all there are."""
        listed = {name: room.listed() for name, room in rooms.items()}
        sizes = [len(one) if one is not None else MOST_ROWS + 1 for one in listed.values()]
        every = bool(np.prod(np.array(sizes, dtype=np.float64)) <= MOST_ROWS)
        if every:
            points = [*product(*(one or () for one in listed.values()))]
            values: dict[str, Sequence[Any]] = {
                name: [point[place] for point in points] for place, name in enumerate(rooms)
            }
        else:
            rng = np.random.default_rng(self._seed)
            corners = rng.random(count) < 0.2  # all columns of such a row are at ends
            values = {
                name: room.drawn(rng, corners, [self.own[name], *self._cells[name][:30]])
                for name, room in rooms.items()
            }
            if not all(values.values()):
                values = {name: [] for name in rooms}
            else:
                values = {name: [*seen] for name, seen in values.items()}
                self._singly(rooms, values, rng)
                self._inwards(rooms, values)
        rows = self.case.table(values)
        return (rows[self.allowed(rows)] if asked.ruled else rows), every

    def _singly(self, rooms: Mapping[str, Room], values: dict[str, Any], rng: Rng) -> None:
        """Add rows in which most columns keep their own values, where the rooms hold these."""
        home = {n: v if rooms[n].holds(v) else values[n][0] for n, v in self.own.items()}
        for place in range(len(values[next(iter(values))])):
            if place % 2:
                continue
            moving = {*rng.permutation([*rooms])[: 1 + place % 3].tolist()}
            for name in rooms:
                if name not in moving:
                    values[name][place] = home[name]

    def _inwards(self, rooms: Mapping[str, Room], values: dict[str, Any]) -> None:
        """Move numbers of an array inwards: into the ball of a norm, to the model's numbers."""
        if self.case.array is None:
            return
        own = {name: np.atleast_1d(value) for name, value in self.own.items()}
        moves = {
            name: np.array(values[name], dtype=np.float64).reshape(len(values[name]), -1) - centre
            for name, centre in own.items()
        }
        bounded = [name for name, one in rooms.items() if one.norm is not None]
        if bounded:
            kind, reach = next(one.norm for one in rooms.values() if one.norm is not None)
            order = 1 if kind == "L1" else 2
            sizes = np.linalg.norm(np.hstack([moves[n] for n in bounded]), order, axis=1)
            share = np.minimum(1.0, reach / np.maximum(sizes, 1e-300) * (1 - 1e-9))[:, None]
            moves |= {name: share * moves[name] for name in bounded}
        for name, move in moves.items():
            to = _inner(own[name] + move, own[name], self.case.single).tolist()
            group = isinstance(self.own[name], tuple)
            values[name] = [tuple(one) if group else one[0] for one in to]

    def allowed(self, rows: pd.DataFrame) -> Any:
        """Return which rows satisfy the rules of the description."""
        found = np.ones(len(rows), dtype=bool)
        for rule in self.case.rules.values():
            found &= rule(rows)
        return found

    def at(self, **changes: Any) -> pd.DataFrame:
        """Return the row with some values changed."""
        return self.case.table({n: [changes.get(n, v)] for n, v in self.own.items()})

    def differs(self, rows: pd.DataFrame, asked: Asked, own: Any = None) -> Any:
        """Return which rows are predicted otherwise than ``own``, as the question counts it."""
        own = self.prediction if own is None else own
        if not len(rows):
            return np.zeros(0, dtype=bool)
        if asked.delta is not None:
            # a sum of a few numbers is rounded
            slack = 1e-12 * (asked.delta + abs(own))
            return np.abs(self.case.predict(rows) - own) > asked.delta + slack
        if asked.against:
            return (self._leads(rows, asked, own) > 1e-9).any(axis=1)
        return self.case.predict(rows) != own

    def tied(self, rows: pd.DataFrame, asked: Asked) -> bool:
        """Return whether a rival has the score of the prediction in a row, which is a change."""
        if not len(rows) or not asked.against:
            return False
        return bool((np.abs(self._leads(rows, asked, self.prediction)) <= 1e-9).any())

    def _leads(self, rows: pd.DataFrame, asked: Asked, own: Any) -> Any:
        """Return by how much each rival scores above a class, (rows, rivals)."""
        assert self.case.scores is not None
        scores, places = self.case.scores(rows), self.case.classes.index
        return scores[:, [places(rival) for rival in asked.against]] - scores[:, [places(own)]]

    def moved(self, rows: pd.DataFrame) -> list[frozenset[str]]:
        """Return the columns in which each row differs from the own one."""
        flags = {}
        for name, value in self.own.items():
            seen = [*map(cell, rows[name])]
            flags[name] = [one != value for one in seen]
        return [
            frozenset(name for name, column in flags.items() if column[place])
            for place in range(len(rows))
        ]


@dataclass(frozen=True)
class Truth:
    """Least sets of columns whose change changes the prediction, each with a row.

    ``exact`` if the rows are all that there are: otherwise there may be others, and smaller ones.
    """

    least: Mapping[frozenset[str], pd.DataFrame]
    exact: bool

    def changes(self, free: Iterable[str]) -> pd.DataFrame | None:
        """Return a row that changes ``free`` columns alone and the prediction, or None."""
        room = frozenset(free)
        return next((row for moved, row in self.least.items() if moved <= room), None)

    def explanations(self, names: Sequence[str]) -> set[frozenset[str]]:
        """Return the least sets that meet each of these: minimal explanations, if it is exact."""
        found: set[frozenset[str]] = {frozenset()}
        for moved in self.least:
            found = {one for one in found if one & moved} | {
                one | {name} for one in found if not one & moved for name in moved
            }
            found = _minimal(found)
        return found


def truth(rows: Rows, rooms: Mapping[str, Room], asked: Asked) -> Truth:
    """Return what changes of the columns do in ``rooms``, which hold the row's own values."""
    points, exact = rows.inside(rooms, asked, 600)
    exact = exact and not rows.tied(points, asked)
    points = points[rows.differs(points, asked)]
    known: dict[frozenset[str], pd.DataFrame] = {}
    for place, moved in enumerate(rows.moved(points)):
        if moved not in known:
            known[moved] = points.iloc[[place]]
    fresh = {} if exact else known
    while fresh:  # take changes back, one column after the other
        back = (
            (moved - {name}, {**cells, name: rows.own[name]})
            for moved, cells in ((moved, _cells(row)) for moved, row in fresh.items())
            for name in moved
            if moved - {name} not in known
        )
        tried = [*islice(back, _MOST_TRIED)]
        if not tried:
            break
        table = rows.case.table({name: [c[name] for _, c in tried] for name in rows.own})
        good = rows.differs(table, asked)
        if asked.ruled:
            good &= rows.allowed(table)
        fresh = {
            moved: table.iloc[[place]]
            for place, (moved, _) in enumerate(tried)
            if good[place] and moved not in known
        }
        known |= fresh
    least = _minimal({*known})
    return Truth({moved: known[moved] for moved in sorted(least, key=sorted)}, exact)


def _minimal(sets: set[frozenset[str]]) -> set[frozenset[str]]:
    return {one for one in sets if not any(other < one for other in sets)}


def _cells(row: pd.DataFrame) -> dict[str, Any]:
    return {name: cell(row[name].iloc[0]) for name in row.columns}


def _inner(to: Any, own: Any, single: bool) -> Any:
    """Return numbers of float32, if the model takes ``single`` ones, none farther from ``own``."""
    if not single:
        return to
    near = to.astype(np.float32)
    past = np.abs(near.astype(np.float64) - own) > np.abs(to - own)
    return np.where(past, np.nextafter(near, own.astype(np.float32)), near).astype(np.float64)


def _inside(end: Fraction, *, up: bool) -> float:
    """Return the float64 next to an exact end, on the inner side."""
    near = float(end)
    if up and Fraction(near) < end:
        return float(np.nextafter(near, np.inf))
    return near if up or Fraction(near) <= end else float(np.nextafter(near, -np.inf))
