"""Put statements to the user's own ``predict``, on rows of her own frame.

A statement is refuted by a row that it is about, or by the list of all of them. What no row can
refute is read and not judged.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from statement_reader import Lexicon, Tree
from statement_rooms import Asked, Room, Rows, Truth, truth

_SLACK = 1e-9


class FalseStatementError(Exception):
    """A statement that is refuted, with the reason."""


@dataclass(frozen=True)
class Judged:
    """A statement of a ``kind``: true as far as it was put to the model, or false for a reason."""

    kind: str
    text: str
    why: str | None = None


def lexicon_of(rows: Rows) -> Lexicon:
    """Return the words of a case."""
    columns, case = rows.case.columns, rows.case
    words = dict.fromkeys(word for column in columns for word in column.words)
    names = tuple(name for name in case.classes if not name.startswith("class "))
    units = dict.fromkeys(column.unit for column in columns if column.unit)
    return Lexicon(case.names, (*words,), (*units,), names, (*case.rules,))


class Referee:
    """Judges the texts that answer one question about one row."""

    def __init__(self, rows: Rows, asked: Asked) -> None:
        self.rows, self.asked, self.names = rows, asked, rows.case.names
        self._truths: dict[Any, Truth] = {}
        self._known: dict[Any, str | None] = {}

    # --- texts

    def text(self, tree: Tree) -> Iterator[Judged]:
        """Judge each statement of a text, within the limits that the text itself tells."""
        statements = [part.parts[0] for part in tree.parts]
        radii = dict.fromkeys(self.names, np.inf)
        for one in statements:
            if one.rule == "scope":
                radii = dict(self.radii_of(one.all("ball")[0]))
        ruled = any(one.rule == "rules" and "count" in one.text for one in statements)
        asked = replace(self.asked, radii=radii, against=(), held=(), only={}, ruled=ruled)
        context = _Text(self, asked)
        for one in statements:
            yield self._judged(one.rule, one, context.judge, (tree.text, one.text))

    def row(self, tree: Tree, table: "Table") -> Iterator[Judged]:
        """Judge a row of a table, or the sentences in it."""
        if sentences := tree.all("text"):
            for one in sentences:
                yield from self.text(one)
        else:
            yield self._judged("row", tree, table.judge, (id(table), tree.text))

    def _judged(
        self, kind: str, tree: Tree, judge: Callable[[Tree], None], key: object
    ) -> Judged:
        if key not in self._known:
            try:
                judge(tree)
            except FalseStatementError as error:
                self._known[key] = str(error)
            else:
                self._known[key] = None
        return Judged(kind, tree.text, self._known[key])

    # --- facts

    def truth(self, asked: Asked) -> Truth:
        """Return what changes do within the limits of a question."""
        key = repr(asked)
        if key not in self._truths:
            self._truths[key] = truth(self.rows, asked)
        return self._truths[key]

    def radii_of(self, ball: Tree) -> Mapping[str, float]:
        """Return the radii that a text tells, or those asked where it has none of its own."""
        if ball.text.startswith(("whole", "Whole")):
            return dict.fromkeys(self.names, np.inf)
        radius, *others = ball.numbers()
        if others or "own for each" in ball.text:
            return self.asked.radii
        if "%" in ball.text:
            return {n: radius / 100 * _width(self.rows, n) for n in self.names}
        return dict.fromkeys(self.names, radius)

    def stays(self, rooms: Mapping[str, Room], asked: Asked, what: str = "") -> None:
        """Refute that the prediction stays in ``rooms``, by a row in them."""
        points, _ = self.rows.inside(rooms, asked)
        wrong = self.rows.differs(points, asked)
        if wrong.any():
            refute(f"{what}{_told(points[wrong].iloc[0])} is predicted otherwise")

    def subject(self, tree: Tree) -> None:
        """Refute the prediction that a text tells of the row."""
        told = tree.texts("CLASS")
        if told and told[0] != self.rows.prediction:
            refute(f"the row is predicted {self.rows.prediction!r}, not {told[0]!r}")
        outputs = tree.texts("OUTPUTS")
        if outputs and not _same_number(outputs[0].strip("()"), float(self.rows.prediction)):
            refute(f"the row is predicted {self.rows.prediction!r}, not {outputs[0]}")

    def restricted(self, tree: Tree, asked: Asked) -> Asked:
        """Return the limits with the rivals and the tolerance that a part of a text tells."""
        for one in tree.all("stays", "about", "effect"):
            classes, numbers = one.texts("CLASS"), one.texts("NUMBER")
            if one.rule == "effect":
                classes = classes[-1:] + classes[:-1]
            if len(classes) > 1:
                asked = replace(asked, against=tuple(classes[1:]))
            if numbers and one.rule != "effect":
                asked = replace(asked, delta=float(numbers[-1]))
        return asked

    def values(self, tree: Tree) -> None:
        """Refute values that are not those of the row."""
        for one in tree.all("value"):
            name, told = (part.text for part in one.parts[:2])
            self.value(name, told)

    def value(self, name: str, told: str) -> None:
        """Refute a value that the row does not have."""
        own = self.rows.own[name]
        if not _same(told, own):
            refute(f"{name} is {own!r} in the row, not {told}")

    def replayed(self, moves: Sequence[Tree]) -> pd.DataFrame:
        """Return the row with the changes as they are printed, which start at its own values."""
        changes = {}
        for one in moves:
            name, before, after = (part.text for part in one.parts if part.rule != "UNIT")
            self.value(name, before)
            if name in changes:
                refute(f"{name} changes twice")
            changes[name] = self.parsed(name, after)
            room = Room.within(
                self.rows.columns[name], self.asked.radii.get(name, np.inf), self.rows.own[name]
            )
            if not self.asked.sought and not room.nearly_holds(changes[name]):
                refute(f"{name}: {after} is not within the limits that were asked about")
        point = self.rows.at(**changes)
        if self.asked.ruled and not self.rows.allowed(point).all():
            refute(f"{_told(point.iloc[0])} breaks a rule")
        return point

    def parsed(self, name: str, told: str) -> Any:
        """Return a value as it is printed."""
        column = self.rows.columns[name]
        if column.missing and told == "missing":
            return None
        if column.kind == "words":
            if told not in column.words:
                refute(f"{name} has no word {told!r}")
            return told
        return float(told.replace("∞", "inf"))

    def becomes(self, point: pd.DataFrame, after: Tree, instead: bool = True) -> None:
        """Refute what a change leads to: a class, a value, a class above another one."""
        found = self.rows.case.predict(point)[0]
        if "scores above" in after.text:
            rival, own = after.texts("CLASS")[:2]
            if not self.rows.differs(point, replace(self.asked, against=(rival,)))[0]:
                refute(f"{rival!r} does not score above {own!r} at {_told(point.iloc[0])}")
        told = after.texts("CLASS")[-1:]
        if "scores above" in after.text and not after.all("becomes"):
            told = told if len(after.texts("CLASS")) == 1 else after.texts("CLASS")[:1]
        if told and found != told[0]:
            refute(f"{_told(point.iloc[0])} is predicted {found!r}, not {told[0]!r}")
        numbers = after.texts("NUMBER", "OUTPUTS")
        if self.rows.case.classes:
            if numbers and found != f"class {numbers[0]}":
                refute(f"{_told(point.iloc[0])} is predicted {found!r}, not {numbers[0]}")
            return
        if numbers and not _same_number(numbers[0].strip("()"), float(found)):
            refute(f"{_told(point.iloc[0])} is predicted {found!r}, not {numbers[0]}")
        if numbers and not self.rows.differs(point, self.asked)[0]:
            refute(f"{_told(point.iloc[0])} is predicted {found!r}, which is no change")

    def needed(self, kept: set[str], asked: Asked) -> None:
        """Refute that each of ``kept`` is needed, where all rows are listed."""
        known = self.truth(asked)
        free = {*self.names} - kept
        for name in kept if known.exact else ():
            if known.changes(free | {name}) is None:
                refute(f"{name} can be left out")

    def fewest(self, size: int, asked: Asked, kept: str = "") -> None:
        """Refute that no explanation has fewer than ``size`` columns, or that one has so many."""
        known = self.truth(asked)
        least = min(map(len, known.explanations(self.names)))
        if least > size or (known.exact and kept == "least" and least < size):
            refute(f"the smallest explanation has {least} columns or more, not {size}")


class _Text:
    """Judges the statements of one text in their order: some go on from the ones before."""

    def __init__(self, referee: Referee, asked: Asked) -> None:
        self.referee, self.asked = referee, asked
        self.rooms: dict[str, Room] = {}
        self.kept: set[str] = set()
        self.changed: pd.DataFrame | None = None
        self.size = 0
        self.moves: list[Tree] = []

    def judge(self, tree: Tree) -> None:
        """Refute a statement, by the method that is named as its rule."""
        method = getattr(self, f"_{tree.rule}", None)
        if method is not None:
            method(tree)

    def _claim(self, tree: Tree) -> None:
        referee = self.referee
        referee.subject(tree.all("stays")[0])
        asked = referee.restricted(tree, self.asked)
        rooms, self.kept = self._rooms(tree)
        self.rooms, self.asked = rooms, asked
        referee.stays(rooms, asked)
        exact = {n: Room.only(referee.rows.columns[n], referee.rows.own[n]) for n in self.kept}
        if not tree.all("given") or not tree.text.startswith("As long as"):
            referee.stays({**rooms, **exact}, asked)

    def _open(self, tree: Tree) -> None:
        if claims := tree.all("claim"):
            self.referee.subject(claims[0].all("stays")[0])
            self._rooms(claims[0])

    def _rooms(self, tree: Tree) -> tuple[dict[str, Room], set[str]]:
        """Return the room of each column that a claim tells, and the columns that it keeps."""
        rows, rooms, counts = self.referee.rows, {}, list[tuple[int, Any]]()
        kept = set[str]()

        def put(names: Sequence[str], room: Callable[[Any], Room]) -> None:
            for name in names:
                if name in rooms:
                    refute(f"{name} is told twice")
                rooms[name] = room(name)

        def unnamed(free: Tree, room: Callable[[Any], Room]) -> None:
            put(free.own("NAME"), room)
            if free.own("COUNT") or not free.own("NAME"):
                counts.append((int((free.own("COUNT") or ["1"])[0]), room))

        for one in tree.all("room"):
            for near in one.all("near"):
                if near.all("NAME"):
                    name, centre = near.texts("NAME")[0], near.texts("VALUE")[0]
                    self.referee.value(name, centre)
                    reach, at = near.numbers()[0], self.referee.parsed(name, centre)
                    put([name], lambda n, r=reach, c=at: Room.within(rows.columns[n], r, c))
                else:
                    count = int(near.numbers()[0])
                    counts.append((count, lambda n: self.referee.rows.ball(self.referee.asked)[n]))
            for free in one.all("free"):
                if one.text.startswith("whatever"):
                    unnamed(free, lambda n: Room.whole(rows.columns[n]))
                elif "% of their ranges" in one.text:
                    share = float(one.texts("NUMBER")[0]) / 100
                    unnamed(free, lambda n, s=share: Room.within(
                        rows.columns[n], s * _width(rows, n), rows.own[n]))  # fmt: skip
                elif one.all("NUMBER"):
                    reach = float(one.texts("NUMBER")[0])
                    unnamed(free, lambda n, r=reach: Room.within(rows.columns[n], r, rows.own[n]))
                else:
                    unnamed(free, lambda n: Room.only(rows.columns[n], rows.own[n]))
                    self._still(free.texts("NAME"))
        for given in tree.all("given"):
            if given.all("range"):
                name = given.texts("NAME")[0]
                put([name], lambda n, g=given: self.range(n, g.all("range")[0]))
                kept.add(name)
            elif "only" not in given.text:
                unnamed(given, lambda n: Room.only(rows.columns[n], rows.own[n]))
        left = [name for name in rows.case.names if name not in rooms]
        if len(counts) == 1 and counts[0][0] == len(left):
            put(left, counts[0][1])
        elif sum(count for count, _ in counts) != len(left):
            refute(f"nothing is said of {left}, or the number of other columns is wrong")
        return {name: rooms.get(name, Room.only(rows.columns[name], rows.own[name]))
                for name in rows.case.names}, kept  # fmt: skip

    def range(self, name: str, told: Tree) -> Room:
        """Return the room of a range, which holds the row's own value."""
        referee, column, text = self.referee, self.referee.rows.columns[name], told.text
        own = referee.rows.own[name]
        if text in ("anything",):
            return Room.whole(column)
        if told.all("VALUE") or column.kind == "words":
            words = told.texts("WORD", "VALUE")
            if text.startswith("any but"):
                words = [word for word in column.words if word not in words]
            if column.kind == "words" and len(words) + column.missing > 1:
                room = Room(column, words=tuple(referee.parsed(name, word) for word in words))
            else:
                referee.value(name, words[0])
                room = Room.only(column, referee.parsed(name, words[0]))
        else:
            numbers = told.numbers()
            low, high = column.low, column.high
            if text.startswith(("between", "anything from")):
                low, high = numbers
            elif text.startswith(("at most", "below")):
                high = numbers[0]
            else:
                low, *rest = numbers
                high = rest[0] if rest else high
            low = np.nextafter(low, np.inf) if "above" in text else low
            high = np.nextafter(high, -np.inf) if "below" in text else high
            room = Room(column, float(low), float(high), missing=False)
        if not room.holds(own) and not _same(text, own):
            refute(f"{name} is {own!r} in the row, which is not {text}")
        return room

    def _still(self, names: Sequence[str]) -> None:
        rows, asked = self.referee.rows, self.referee.asked
        if asked.sought:
            return
        points, _ = rows.inside(rows.ball(asked), asked, 200)
        for moved in rows.moved(points):
            if wrong := moved & {*names}:
                refute(f"{min(wrong)} has other values within the limits that were asked about")

    def _change(self, tree: Tree) -> None:
        moves = tree.all("move")
        self.size = len(moves)
        if "other change" in tree.text or not moves:
            self.size, self.changed = 0, None
            return
        after = tree.all("becomes")[0]
        if " as well, " in tree.text:
            moves = [*self.moves, *moves]
        self.moves = moves
        self.changed = self.referee.replayed(moves)
        if stays := after.all("stays"):
            self.referee.subject(stays[0])
            if self.referee.rows.differs(self.changed, self.referee.restricted(after, self.asked))[0]:
                refute(f"{_told(self.changed.iloc[0])} changes the prediction")
        else:
            self.referee.becomes(self.changed, after)
        if "scores above" in after.text:
            self.asked = replace(self.asked, against=(after.texts("CLASS")[0],))

    def _fewest(self, tree: Tree) -> None:
        asked = self._limited(tree)
        known, costs = self.referee.truth(asked), self.referee.asked.costs
        if tree.text.startswith("No such"):
            self._nearest(float(tree.texts("NUMBER")[0]), asked)
            return
        if not self.size:
            return
        for moved, row in known.least.items():
            if costs is None and len(moved) < self.size:
                refute(f"{_told(row.iloc[0])} changes {len(moved)} columns")
            assert self.changed is not None
            mine = self.referee.rows.moved(self.changed)[0]
            if costs and sum(map(costs.get, moved)) < sum(map(costs.get, mine)) - _SLACK:
                refute(f"{_told(row.iloc[0])} changes {sorted(moved)}, which costs less")

    def _limited(self, tree: Tree) -> Asked:
        """Return the limits of a contrast: what is held, and the ways that are allowed."""
        asked = self.referee.restricted(tree, self.asked)
        held, only = list[str](), dict[str, str]()
        for given in tree.all("given"):
            names = given.texts("NAME")
            if " only " in given.text:
                only |= dict.fromkeys(names, "up" if "rise" in given.text else "down")
            else:
                held += names
        return replace(asked, held=tuple(held), only=only)

    def _nearest(self, percent: float, asked: Asked) -> None:
        if self.changed is None:
            return
        rows = self.referee.rows
        points, _ = rows.inside(rows.ball(asked), asked, 600)
        points = pd.concat([points[rows.differs(points, asked)], self.changed])
        distances = self._distances(points)
        if len(distances) > 1 and distances[:-1].min() < distances[-1] / (1 + percent / 100) - _SLACK:
            nearest = points.iloc[int(distances[:-1].argmin())]
            refute(f"{_told(nearest)} is nearer: {distances[:-1].min()} < {distances[-1]}")

    def _distances(self, points: pd.DataFrame) -> Any:
        """Return the distance of rows: changes as shares of what the question allows."""
        rows, asked = self.referee.rows, self.referee.asked
        total = np.zeros(len(points))
        for name, column in rows.columns.items():
            cost = 1.0 if asked.costs is None else asked.costs[name]
            if column.kind == "words":
                total += cost * np.array([name in one for one in rows.moved(points)])
            elif rows.own[name] is not None:
                radius = asked.radii[name]
                reach = math.floor(radius) if column.kind == "whole" and radius < np.inf else radius
                scale = min(reach, column.high - column.low)
                moved = np.abs(points[name].to_numpy(np.float64) - rows.own[name])
                total += cost * np.where(moved > 0, moved / (scale or 1.0), 0.0)
        return np.nan_to_num(total, nan=np.inf)

    def _none(self, tree: Tree) -> None:
        self._limited(tree)

    def _covered(self, tree: Tree) -> None:
        rows, frame = self.referee.rows, self.referee.rows.case.frame
        if "rule" in tree.text or "ranges" in tree.text:
            return
        inside = np.ones(len(frame), dtype=bool)
        for name, room in self.rooms.items():
            inside &= np.array([room.holds(value) for value in map(_own, frame[name])])
        if self.asked.ruled:
            inside &= rows.allowed(frame)
        covered(self.referee, frame[inside], tree)

    def _spare(self, tree: Tree) -> None:
        if free := tree.all("free"):
            ball = self.referee.rows.ball(self.referee.asked)
            names = free[0].texts("NAME")
            self.kept -= {*names}
            rooms = {n: ball[n] if n in names else r for n, r in self.rooms.items()}
            self.rooms = rooms
            self.referee.stays(rooms, self.asked, "without these, ")
        elif "can" in tree.text and self.kept:
            asked = replace(self.referee.asked, ruled=self.asked.ruled)
            self.referee.needed(self.kept, asked)

    def _refuted(self, tree: Tree) -> None:
        _, self.kept = {}, {name for given in tree.all("given") for name in given.texts("NAME")}
        known = self.referee.truth(replace(self.asked, against=self.referee.asked.against))
        if not any(given.own("COUNT") for given in tree.all("given")):
            free = {*self.referee.names} - self.kept
            if known.exact and known.changes(free) is None:
                refute("it is enough")

    def _enough(self, tree: Tree) -> None:
        names = {name for given in tree.all("given") for name in given.texts("NAME")}
        kept = self.kept | names if "as well" in tree.text else names
        rows, asked = self.referee.rows, replace(self.asked, against=self.referee.asked.against)
        own = {name: Room.only(rows.columns[name], rows.own[name]) for name in kept}
        self.referee.stays({**rows.ball(asked), **own}, asked)

    def _sets(self, tree: Tree) -> None:
        asked = self.referee.restricted(tree, self.asked)
        if not tree.all("listing"):
            return
        known = self.referee.truth(asked)
        abductive = tree.text.startswith(("This", "Each"))
        every = known.explanations(self.referee.names) if abductive else {*known.least}
        sets = [frozenset(one.texts("NAME")) for one in tree.all("set") if one.all("NAME")]
        counts = tree.all("listing")[0].numbers()
        for one in sets:
            if abductive and (row := known.changes({*self.referee.names} - one)) is not None:
                refute(f"{sorted(one)} does not keep it: {_told(row.iloc[0])}")
            if known.exact and one not in every:
                refute(f"{sorted(one)} is no minimal set; these are {[sorted(s) for s in every]}")
        told = len(sets) + int(sum(counts))
        if known.exact and told > len(every):
            refute(f"there are {len(every)} minimal sets, not {told}")

    def _necessary(self, tree: Tree) -> None:
        known = self.referee.truth(replace(self.asked, against=self.referee.asked.against))
        for name in tree.texts("NAME"):
            if known.exact and frozenset([name]) not in known.least:
                refute(f"there are explanations without {name}")

    def _part(self, tree: Tree) -> None:
        asked = self.referee.restricted(tree, self.asked)
        if abouts := tree.all("about"):
            self.referee.subject(abouts[0])
        names = frozenset(tree.texts("NAME"))
        if tree.text.startswith("It is open"):
            return
        if "stay" in tree.text:
            self._still([*names])
            return
        known = self.referee.truth(asked)
        if "no part" in tree.text:
            for moved, row in known.least.items():
                if moved & names and (known.exact or moved <= names):
                    refute(f"{_told(row.iloc[0])} changes it by {sorted(moved)} alone")
        elif known.exact and not any(moved & names for moved in known.least):
            refute(f"no minimal explanation contains {sorted(names)}")

    def _important(self, tree: Tree) -> None:
        if not tree.all("weights"):
            return
        self.referee.subject(tree)
        known = self.referee.truth(self.referee.restricted(tree, self.asked))
        index = tree.texts("TEXT")[-1] if "TEXT" in {p.rule for p in tree.parts} else ""
        ends = {
            one.texts("NAME")[0]: one.all("bracket")[0].numbers() for one in tree.all("weight")
        }
        if not known.exact:
            for name in self.referee.names:
                if name not in ends and frozenset([name]) in known.least and "0" in tree.text[-60:]:
                    count = [*map(int, tree.all("weights")[0].texts("COUNT"))]
                    if sum(count) == len(self.referee.names) - len(ends) and "at most" not in tree.text:
                        refute(f"a change of {name} alone changes it, and its importance is not 0")
            return
        values = importance(known, self.referee.names, index)
        for name, told in ends.items():
            slack = 6e-4 if len(told) == 1 else _SLACK
            if not told[0] - slack <= values[name] <= told[-1] + slack:
                refute(f"the {index} of {name} is {values[name]}, not {told}")
        rest = [values[name] for name in self.referee.names if name not in ends]
        most = [float(p) for p in tree.all("weights")[0].texts("NUMBER")[:1] if "at most" in tree.text]
        if "at most" not in tree.text and any(value > _SLACK for value in rest):
            refute(f"the others have {rest}, not 0")
        if most and rest and max(rest) > most[0] + _SLACK:
            refute(f"the others have {max(rest)} at most, not {most[0]}")

    def _order(self, tree: Tree) -> None:
        return

    def _alone(self, tree: Tree) -> None:
        referee, rows = self.referee, self.referee.rows
        asked = referee.restricted(tree, self.asked)
        if stays := tree.all("stays"):
            referee.subject(stays[0])
        own = {n: Room.only(c, rows.own[n]) for n, c in rows.columns.items()}
        for one in tree.all("reach"):
            names = one.texts("NAME")
            for name in names:
                column = rows.columns[name]
                if "by up to" in one.text:
                    room = Room.within(column, one.numbers()[0], rows.own[name])
                else:
                    room = referee.rows.ball(referee.asked)[name]
                referee.stays({**own, name: room}, asked)

    def _weak(self, tree: Tree) -> None:
        asked = replace(self.asked, against=self.referee.asked.against)
        known = self.referee.truth(asked)
        for name in tree.texts("NAME"):
            if known.exact and frozenset([name]) not in known.least:
                refute(f"no change of {name} alone changes it")

    def _sizes(self, tree: Tree) -> None:
        self.referee.subject(tree.all("about")[0])
        for level in tree.all("level"):
            radii = self.referee.radii_of(level.all("ball")[0])
            asked = self.referee.restricted(tree, replace(self.asked, radii=radii))
            self.referee.fewest(int(level.texts("COUNT")[0]), asked)
        if int(tree.texts("COUNT")[0]) != len(self.referee.names):
            refute("the number of columns is wrong")


class Table:
    """Judges the rows of one table; its row on the ball limits all of them."""

    def __init__(self, referee: Referee, rows: Sequence[Tree]) -> None:
        self.referee, self.rows = referee, rows
        self.text = _Text(referee, referee.asked)
        self._listed = [one for one in rows if one.text.startswith(("features: ", "left out: "))]
        self.kind = next((k for k in ("explanation", "contrast", "audited", "free", "index", "abductive")
                          if any(one.text.startswith(f"{k}: ") for one in rows)), "")  # fmt: skip
        self.ranges: dict[str, Room] = {}

    def names(self, start: str) -> set[str] | None:
        """Return the columns that a row lists, or None if there is none or it leaves some out."""
        found = next((one for one in self.rows if one.text.startswith(start)), None)
        if found is None or " more" in found.text[-12:]:
            return None
        return {one.texts("NAME")[0] for one in found.all("value")}

    def judge(self, tree: Tree) -> None:
        """Refute a row."""
        referee, asked, text = self.referee, self.referee.asked, tree.text
        head = text.partition(": ")[0]
        referee.values(tree)
        if head == "prediction":
            referee.subject(tree)
        elif head in ("explanation", "contrast", "audited"):
            self._size(tree, {"explanation": "features: ", "contrast": "features: "}.get(head, ""))
        elif head == "ball":
            self._ball(tree)
        elif head == "features" and self.kind == "explanation":
            kept = self.names("features: ")
            if kept is not None:
                self._keeps(kept, asked)
        elif head in ("minimal", "outcome", "minimum"):
            self._outcome(tree)
        elif head.startswith("if ") and " more: " not in text:
            moves = tree.all("move")
            free = head.removeprefix("if ").removesuffix(" is free")
            kept = self.names("features: ")
            moved = {one.texts("NAME")[0] for one in moves}
            if kept is not None and moved & (kept - {free}):
                refute(f"{moved & (kept - {free})} are kept, and change")
            referee.becomes(referee.replayed(moves), tree.all("after")[0])
        elif head == "counterfactual" and (after := tree.first("arrow", "after")):
            self._changed(after)
        elif head == "or" and (moves := tree.all("move")):
            referee.becomes(referee.replayed(moves), tree.all("arrow")[0])
        elif head in ("stays as it is", "stay as they are"):
            self.text._still([one.texts("NAME")[0] for one in tree.all("value")])
        elif head == "part":
            self._part(text)
        elif head in ("abductive", "contrastive"):
            self._set(head, tree)
        elif head == "smallest" and "proven" in text:
            referee.fewest(int(tree.numbers()[0]), asked, "least")
        elif head == "sound":
            kept = self.names("features: ") or (set() if "audited: 0 " in self._all() else None)
            if kept is not None and "yes" in text:
                self._keeps(kept, asked)
            elif kept is not None and text.startswith("sound: no"):
                known = referee.truth(asked)
                if known.exact and known.changes({*referee.names} - kept) is None:
                    refute("the set is sound")
        elif head in ("left out", "added"):
            kept = self.names("features: ") or set()
            own = {one.texts("NAME")[0] for one in tree.all("value")}
            if " more" not in text[-12:] and " more" not in self._all():
                self._keeps(kept - own if head == "left out" else kept | own, asked)
        elif head == "answer":
            free = self.names("free: ")
            if free is not None and "HOLDS" in text:
                self._keeps({*referee.names} - free, asked)
            elif "VIOLATED" in text:
                self._changed(tree.all("arrow")[0])
        elif tree.all("reached") and tree.all("value"):
            self._reached(tree)
        elif tree.all("bracket") and tree.all("value"):
            self._bracket(tree)
        elif tree.all("span"):
            self._range(tree)
        elif head == "coverage":
            self._coverage(tree)
        elif tree.all("size") and tree.all("ball"):
            radii = referee.radii_of(tree.all("ball")[0])
            size = int(tree.all("size")[0].numbers()[0])
            referee.fewest(size, replace(asked, radii=radii))

    def _all(self) -> str:
        return "\n".join(one.text for one in self.rows)

    def _size(self, tree: Tree, listed: str) -> None:
        some, every = map(int, tree.all("size")[0].numbers())
        if every != len(self.referee.names):
            refute(f"there are {len(self.referee.names)} columns, not {every}")
        names = self.names(listed) if listed else None
        if names is not None and len(names) != some:
            refute(f"{len(names)} columns are listed, not {some}")
        for share in tree.own("COUNT"):
            if abs(100 * some / every - int(share)) > 0.5 + _SLACK:
                refute(f"{some} of {every} is not {share} %")

    def _ball(self, tree: Tree) -> None:
        """Refute a ball that is not the one asked about."""
        asked, rows = self.referee.asked, self.referee.rows
        limits = tree.all("limits")[0]
        told = limits.all("ball")
        if told:
            radii = self.referee.radii_of(told[0])
            for name, column in rows.columns.items():
                same = math.isclose(radii[name], asked.radii[name], rel_tol=1e-3)
                if not same and not column.fixed and column.high != column.low:
                    refute(f"the radius of {name} is {asked.radii[name]}, not {radii[name]}")
        against = tuple(limits.texts("CLASS"))
        if {*against} != {*asked.against}:
            refute(f"the question is against {asked.against}, not {against}")
        if rows.case.rules and "rule" not in limits.text:
            refute("the rules are not told")

    def _keeps(self, kept: set[str], asked: Asked) -> None:
        rows = self.referee.rows
        own = {name: Room.only(rows.columns[name], rows.own[name]) for name in kept}
        self.referee.stays({**rows.ball(asked), **own}, asked)

    def _outcome(self, tree: Tree) -> None:
        referee, asked, text = self.referee, self.referee.asked, tree.text
        kept = self.names("features: ")
        if "robust" in text or "no change in the ball" in text:
            referee.stays(referee.rows.ball(asked), asked)
        elif kept is None or asked.costs is not None or tree.all("asked"):
            return
        elif self.kind == "explanation" and ("locally" in text or "minimal: yes" in text):
            referee.needed(kept, asked)
        elif self.kind == "explanation" and ("globally minimum" in text or "yes, proven" in text):
            referee.fewest(len(kept), asked, "least")
        elif self.kind == "contrast" and "no smaller set" in text:
            for moved, row in referee.truth(asked).least.items():
                if len(moved) < len(kept):
                    refute(f"{_told(row.iloc[0])} changes {len(moved)} columns")

    def _changed(self, after: Tree) -> None:
        moves = [one for row in self.rows if row.text.startswith("change: ") for one in row.all("move")]
        if moves:
            self.referee.becomes(self.referee.replayed(moves), after)

    def _part(self, text: str) -> None:
        names = self.names("protected: ")
        known = self.referee.truth(self.referee.asked)
        if names is None:
            return
        if "irrelevant" in text or "without room" in text:
            for moved, row in known.least.items():
                if moved & names and (known.exact or moved <= names):
                    refute(f"{_told(row.iloc[0])} changes it by {sorted(moved)} alone")
        elif known.exact and "necessary" in text and not any(one <= names for one in known.least):
            refute(f"no change of {sorted(names)} alone changes it")
        elif known.exact and "relevant" in text and not any(one & names for one in known.least):
            refute(f"no minimal explanation contains {sorted(names)}")

    def _set(self, head: str, tree: Tree) -> None:
        known, names = self.referee.truth(self.referee.asked), self.referee.names
        if not tree.all("values"):
            return
        one = frozenset(value.texts("NAME")[0] for value in tree.all("value"))
        if " more" in tree.text[-12:]:
            return
        every = known.explanations(names) if head == "abductive" else {*known.least}
        if head == "abductive" and (row := known.changes({*names} - one)) is not None:
            refute(f"{sorted(one)} does not keep it: {_told(row.iloc[0])}")
        if known.exact and one not in every:
            refute(f"{sorted(one)} is no minimal set; these are {[sorted(s) for s in every]}")

    def _reached(self, tree: Tree) -> None:
        """Refute the radius of one column: all values within it keep, one at its end does not."""
        name, reached = tree.texts("value")[0], tree.all("reached")[0]
        name = tree.all("value")[0].texts("NAME")[0]
        rows, referee = self.referee.rows, self.referee
        column, text, numbers = rows.columns[name], reached.text, reached.numbers()
        own = {n: Room.only(c, rows.own[n]) for n, c in rows.columns.items()}

        def keeps(radius: float) -> bool:
            room = Room.within(column, radius, rows.own[name])
            points, _ = rows.inside({**own, name: room}, referee.asked)
            return not rows.differs(points, referee.asked).any()

        inner = numbers[0] if text.startswith(("by", "at least")) or " to " in text else 0.0
        if text.startswith("irrelevant"):
            inner = np.inf
        outer = numbers[-1] if text.startswith(("by", "not even")) else None
        if text.startswith("another value"):
            outer = 1.0
        if not keeps(inner):
            refute(f"a change of {name} within {inner} changes it")
        if outer is not None and keeps(outer):
            refute(f"no change of {name} within {outer} changes it")

    def _bracket(self, tree: Tree) -> None:
        known = self.referee.truth(self.referee.asked)
        index = next((one for one in self.rows if one.text.startswith("index: ")), None)
        if known.exact and index is not None:
            name, told = tree.all("value")[0].texts("NAME")[0], tree.all("bracket")[0].numbers()
            value = importance(known, self.referee.names, index.text.split(": ")[1])[name]
            slack = 6e-4 if len(told) == 1 else _SLACK
            if not told[0] - slack <= value <= told[-1] + slack:
                refute(f"the importance of {name} is {value}, not {told}")

    def _range(self, tree: Tree) -> None:
        """Refute values beyond a range that are inside it."""
        name, span = tree.texts("NAME")[0], tree.all("span")[0]
        room = self.room(name, span)
        self.ranges[name] = room
        for beyond in tree.all("beyond"):
            for told in beyond.texts("VALUE"):
                if room.holds(value := self.referee.parsed(name, told)):
                    refute(f"{name}: {value} is in the range told")

    def room(self, name: str, span: Tree) -> Room:
        """Return the room that a row of ranges tells."""
        column, numbers = self.referee.rows.columns[name], span.numbers()
        if column.kind == "words" or not numbers:
            return Room(column, words=tuple(span.texts("WORD", "VALUE")), missing=True)
        low, high = numbers[0], numbers[-1]
        low = np.nextafter(low, np.inf) if "above" in span.text else low
        high = np.nextafter(high, -np.inf) if "below" in span.text else high
        return Room(column, float(low), float(high))

    def _coverage(self, tree: Tree) -> None:
        inside, rows, percent = tree.numbers()
        if rows != len(self.referee.rows.case.frame):
            refute(f"there are {len(self.referee.rows.case.frame)} rows, not {rows}")
        if abs(100 * inside / rows - percent) > 1:
            refute(f"{inside} of {rows} is not {percent} %")


def covered(referee: Referee, inside: pd.DataFrame, tree: Tree) -> None:
    """Refute the number of rows in ranges, and what they are predicted."""
    frame = referee.rows.case.frame
    if tree.text.startswith("None"):
        share, told = len(inside) == 0, "none"
    elif tree.text.startswith("One"):
        share, told = len(inside) == 1, "one"
    else:
        told = tree.texts("NUMBER")[0]
        digits = len(told.partition(".")[2])
        exact = 100 * len(inside) / len(frame)
        share = math.floor(exact * 10**digits + _SLACK) / 10**digits == float(told)
    if not share:
        refute(f"{len(inside)} of {len(frame)} rows are such, not {told}")
    if len(inside) and (wrong := referee.rows.differs(inside, referee.asked)).any():
        refute(f"{_told(inside[wrong].iloc[0])} is such a row, and predicted otherwise")


def importance(known: Truth, names: Sequence[str], index: str) -> dict[str, float]:
    """Return the importance of columns, by the definition of the index that a text names."""
    sets = known.explanations(names)
    if "Shapley" in index:
        found = dict.fromkeys(names, 0.0)
        count = len(names)
        for size in range(count):
            weight = 1 / (count * math.comb(count - 1, size))
            for some in map(set, combinations(names, size)):
                if any(one <= some for one in sets):
                    continue
                for name in {*names} - some:
                    found[name] += weight * any(one <= some | {name} for one in sets)
        return found
    holding = {name: [len(one) for one in sets if name in one] for name in names}
    if "Holler" in index:
        return {name: len(sizes) / len(sets) for name, sizes in holding.items()}
    if "Deegan" in index:
        return {name: sum(1 / k for k in sizes) / len(sets) for name, sizes in holding.items()}
    return {name: 1 / min(sizes) if sizes else 0.0 for name, sizes in holding.items()}


def refute(why: str) -> None:
    """Raise that a statement is false."""
    raise FalseStatementError(why)


def _own(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return value if isinstance(value, str) else None if pd.isna(value) else float(value)


def _same(told: str, own: Any) -> bool:
    """Return whether a text is a value of the row: its word, or its number to some digits."""
    if own is None or isinstance(own, str):
        return told == ("missing" if own is None else own)
    try:
        return math.isclose(float(told), own, rel_tol=1e-3)
    except ValueError:
        return False


def _same_number(told: str, value: float) -> bool:
    """Return whether a number is told to the digits that it has, in the last one."""
    shown = told.lower().partition("e")[0].lstrip("-")
    places = len(shown.partition(".")[2])
    exponent = int(told.lower().partition("e")[2] or 0)
    digits = len(shown.replace(".", "").strip("0"))
    unit = 10.0 ** (exponent - places)
    if not places and digits >= 4:
        unit = max(unit, 10.0 ** (math.floor(math.log10(abs(value) or 1.0)) - 3))
    return abs(float(told) - value) <= 0.5000001 * unit + 1e-9 * abs(value)


def _told(row: pd.Series) -> str:
    return str({name: _own(value) for name, value in row.items()})


def _width(rows: Rows, name: str) -> float:
    column = rows.columns[name]
    if column.kind == "words":
        return 1.0
    return column.high - column.low
