"""Put statements to the user's own ``predict``, on rows of her own frame.

A statement is refuted by a row that it is about, or by the list of all such rows where they are
few. What no row can refute is read and not judged.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statement_cases import cell
from statement_reader import Lexicon, Tree
from statement_rooms import Asked, Room, Rows, Solution, Truth, truth

Rooms: TypeAlias = Mapping[str, Room]
_SLACK = 1e-9
_SINGLE = 2e-5
"""The rounding of scores in single precision, as a share of the largest."""
_SATURATED = 1e-7
"""A probability below this tells too little of the scores behind it."""
_DOUBLE = ("LightGBM", "boosting regression", "HistGradientBoosting")
"""Kinds of models that compare inputs with thresholds in double precision."""


class FalseStatementError(Exception):
    """A statement that is refuted, with the reason."""


def refute(why: str) -> None:
    """Raise that a statement is false."""
    raise FalseStatementError(why)


def differences(
    outputs: NDArray[Any], own: NDArray[Any], *, shares: bool
) -> Iterator[tuple[float, float]]:
    """Yield how far ``outputs`` may be told to be from a model's ``own`` scores, rounded up.

    A single output is the score of the second class. ``shares`` in [0, 1] may be what the model
    makes of its scores, by a sigmoid or a softmax; after this all scores may be off by one number.
    """
    slack = _SINGLE * max(1.0, *np.abs(outputs), *np.abs(own))
    if own.size >= outputs.size:
        away = float(np.abs(outputs - own[-outputs.size :]).max())
        yield away - slack, 1.1 * away + slack
    if not shares or own.size < 2 or ((own < 0) | (own > 1)).any():
        return
    powers = np.exp(outputs - outputs.max())
    told = [1 / (1 + np.exp(-outputs))] if own.size == 2 else []
    told += [powers / powers.sum()] if own.size == outputs.size else []
    if own.min() < _SATURATED:
        for one in told:
            yield float(np.abs(one - own[-outputs.size :]).max()) - slack, np.inf
        return
    slack += _SINGLE / float(own.min())
    if own.size == 2:
        away = float(np.abs(outputs - np.log(own / (1 - own))[-outputs.size :]).max())
        yield away - slack, 1.1 * away + slack
    if own.size == outputs.size:
        yield float(np.ptp(outputs - np.log(own))) / 2 - slack, np.inf


def lexicon_of(rows: Rows) -> Lexicon:
    """Return the words of a case."""
    columns, case = rows.case.columns, rows.case
    words = dict.fromkeys(word for column in columns for word in column.words)
    names = tuple(name for name in case.classes if not name.startswith("class "))
    units = dict.fromkeys(column.unit for column in columns if column.unit)
    return Lexicon(case.names, (*words,), (*units,), names, (*case.rules,), case.places)


class Referee:
    """Refutes what texts say of one row of a case, which answer one question about it."""

    def __init__(self, rows: Rows, asked: Asked) -> None:
        self.rows, self.asked, self.names = rows, asked, rows.case.names
        self.ball = rows.ball(asked)
        self.everywhere = {name: Room.whole(column) for name, column in rows.columns.items()}
        self.explanation: frozenset[str] | None = None
        self._truths: dict[Any, Truth] = {}

    def unbounded(self) -> "Referee":
        """Return the referee of a text that tells no domain: numbers have none there."""
        found = copy(self)
        found.rows = self.rows.unbounded()
        found.everywhere = {n: Room.whole(column) for n, column in found.rows.columns.items()}
        return found

    def own(self, names: Iterable[str]) -> Rooms:
        """Return the rooms of the row's own values."""
        return {name: Room.only(self.rows.columns[name], self.rows.own[name]) for name in names}

    def truth(self, rooms: Rooms, asked: Asked) -> Truth:
        """Return what changes within ``rooms`` do."""
        key = (*rooms.items(), asked.against, asked.delta, asked.ruled)
        if key not in self._truths:
            self._truths[key] = truth(self.rows, rooms, asked)
        return self._truths[key]

    def asked_in(self, tree: Tree, asked: Asked) -> Asked:
        """Return the question with the rivals and the tolerance that a part of a text tells."""
        for one in tree.all("stays", "about", "effect"):
            classes, numbers = one.texts("CLASS"), one.texts("NUMBER")
            if one.rule == "effect":
                classes = classes[-1:] + classes[:-1]
            if len(classes) > 1:
                asked = replace(asked, against=tuple(classes[1:]))
            if numbers:
                asked = replace(asked, delta=float(numbers[-1]))
        return asked

    # --- what is told of the row

    def subject(self, tree: Tree) -> None:
        """Refute a prediction that is not that of the row."""
        told, own = tree.texts("CLASS"), self.rows.prediction
        if told and told[0] != own:
            refute(f"the row is predicted {own!r}, not {told[0]!r}")
        outputs = tree.texts("OUTPUTS")
        if outputs and self.rows.case.classes:
            if own != self.rows.case.classes[int(float(outputs[0]))]:
                refute(f"the row is predicted {own!r}, not {outputs[0]}")
        elif outputs and not same_number(outputs[0].strip("()"), float(own)):
            refute(f"the row is predicted {own!r}, not {outputs[0]}")

    def value(self, name: str, told: str | Tree) -> None:
        """Refute a value that the row does not have; those of a group are parts of a text."""
        if isinstance(told, Tree):
            if not np.allclose(self.parsed(name, told), self.rows.own[name], rtol=1e-6):
                refute(f"{name} is {self.rows.own[name]} in the row, not {told.text}")
        elif not same(told, self.rows.own[name]):
            refute(f"{name} is {self.rows.own[name]!r} in the row, not {told}")

    def parsed(self, name: str, told: str | Tree) -> Any:
        """Return a value as it is printed, or those of a group."""
        if isinstance(told, Tree):
            values = np.array(told.own("VALUE"), dtype=np.float64)
            return tuple((values.astype(np.float32) if self.rows.case.single else values).tolist())
        column = self.rows.columns[name]
        if column.missing and told == "missing":
            return None
        if column.kind == "words" and told not in column.words:
            refute(f"{name} has no word {told!r}")
        if column.kind == "words":
            return told
        value = float(told.replace("∞", "inf"))
        return float(np.float32(value)) if self.rows.case.single else value

    def still(self, names: Iterable[str]) -> None:
        """Refute that columns have no other value within the limits that were asked about."""
        points, _ = self.rows.inside(self.ball, self.asked, 200)
        for moved in () if self.asked.sought else self.rows.moved(points):
            if wrong := moved & {*names}:
                refute(f"{min(wrong)} has other values within the limits that were asked about")

    # --- what is told of a network inside a model

    def solved(self, tree: Tree, solution: Solution) -> None:
        """Refute what a check tells of a solution: how far off its outputs and inputs are."""
        self._differs(tree.own("NUMBER")[0], solution.point, solution)
        for rule, far in (("outer", solution.outside), ("crossing", solution.shift)):
            told = float((tree.first(rule) or Tree(rule, "", (Tree("NUMBER", "0"),))).numbers()[0])
            if not far <= told <= 1.1 * far:
                refute(f"{rule}: inputs are off by {far}, not by {told}")
        if solution.shift > solution.tolerance * (1 + _SLACK):
            refute(f"inputs were moved by {solution.shift}, beyond {solution.tolerance}")
        for one in tree.all("beside"):
            if float(one.own("NUMBER")[0]) != solution.tolerance:
                refute(f"the tolerance is {solution.tolerance}")
            first = one.own("TEXT")[0].replace(" ", "_")
            if not any(first.startswith(name.replace(" ", "_")) for name in solution.names):
                refute(f"the inputs are {solution.names}")
        for one in tree.all("closer"):
            tolerance, less = one.own("NUMBER") or (solution.tolerance, None)
            if float(tolerance) != solution.tolerance:
                refute(f"the tolerance is {solution.tolerance}")
            if less and self.rows.case.kind.startswith(_DOUBLE):  # others round their inputs
                self._differs(less, solution.moved, solution)

    def _differs(self, told: str, point: pd.DataFrame | None, solution: Solution) -> None:
        """Refute a difference of outputs from the model's own, which is rounded up."""
        if point is None:
            return
        case, divisor = self.rows.case, solution.divisor
        outputs = solution.outputs / divisor
        found: Any = case.scores or case.sums or case.predict
        own = np.asarray(found(point), dtype=np.float64).reshape(-1)
        own = (own[:, None] > own).sum(axis=1) if solution.ranked else own
        far = float(told) / divisor
        shares = bool(case.classes) and not solution.ranked
        if not any(low <= far <= high for low, high in differences(outputs, own, shares=shares)):
            refute(f"{shown(point)} has {own.tolist()}, the solution {outputs.tolist()}")

    # --- what is told of other rows

    def stays(self, rooms: Rooms, asked: Asked, told: Any = None) -> None:
        """Refute that the prediction stays in ``rooms``, or is the class ``told`` there."""
        points, _ = self.rows.inside(rooms, asked)
        wrong = self.rows.differs(points, asked, told)
        if wrong.any():
            refute(f"{shown(points[wrong])} is predicted otherwise")

    def keeps(self, kept: Iterable[str], rooms: Rooms, asked: Asked) -> None:
        """Refute that the row's values of some columns keep the prediction."""
        self.stays({**rooms, **self.own(kept)}, asked)

    def needed(self, kept: Iterable[str], rooms: Rooms, asked: Asked) -> None:
        """Refute that none of some columns can be left out, where all rows are listed."""
        known, free = self.truth(rooms, asked), {*self.names} - {*kept}
        for name in kept:
            own = rooms[name].listed() == [self.rows.own[name]]
            if known.exact and not own and known.changes(free | {name}) is None:
                refute(f"{name} can be left out")

    def least(self, size: int, rooms: Rooms, asked: Asked, *, fewest: bool = False) -> None:
        """Refute that an explanation has ``size`` columns; that none has ``fewest``."""
        known = self.truth(rooms, asked)
        least = min(map(len, known.explanations(self.names)))
        if least > size or (known.exact and fewest and least < size):
            refute(f"the smallest explanation has {least} columns or more, not {size}")

    def no_part(self, names: frozenset[str], rooms: Rooms, asked: Asked, role: str) -> None:
        """Refute that columns play a part, or none, in the explanations."""
        known = self.truth(rooms, asked)
        if role == "none":
            for moved, row in known.least.items():
                if moved & names and (known.exact or moved <= names):
                    refute(f"{shown(row)} changes it by {sorted(moved)} alone")
        elif known.exact and role == "alone" and not any(one <= names for one in known.least):
            refute(f"no change of {sorted(names)} alone changes it")
        elif known.exact and role == "some" and not any(one & names for one in known.least):
            refute(f"no minimal explanation contains {sorted(names)}")

    def minimal_set(
        self, one: frozenset[str], rooms: Rooms, asked: Asked, *, keeping: bool
    ) -> None:
        """Refute a minimal set that keeps the prediction, or that can change it."""
        known = self.truth(rooms, asked)
        every = known.explanations(self.names) if keeping else {*known.least}
        row = known.changes({*self.names} - one) if keeping else None
        if row is not None:
            refute(f"{sorted(one)} does not keep it: {shown(row)}")
        if known.exact and one not in every:
            refute(f"{sorted(one)} is no minimal set; these are {[sorted(s) for s in every]}")

    def replayed(self, moves: Sequence[Tree], limits: Rooms) -> pd.DataFrame:
        """Return the row with changes as they are printed, which start at its own values."""
        changes: dict[str, Any] = {}
        for one in moves:
            name, *values = one.own("NAME", "VALUE")
            before, after = values or one.all("several")
            self.value(name, before)
            if name in changes:
                refute(f"{name} changes twice")
            changes[name] = self.parsed(name, after)
            for room in (limits[name], *([] if self.asked.sought else [self.ball[name]])):
                if not room.nearly_holds(changes[name]):
                    after = getattr(after, "text", after)
                    refute(f"{name}: {after} is not within the limits")
        point = self.rows.at(**changes)
        if not self.rows.allowed(point).all():
            refute(f"{shown(point)} breaks a rule")
        return point

    def becomes(self, point: pd.DataFrame, after: Tree) -> None:
        """Refute what a change leads to: a class, a value, a class above another one."""
        found, classes = self.rows.case.predict(point)[0], after.texts("CLASS")
        if " overtakes " in after.text:
            rival, own = classes[:2]
            classes = classes[2:]
            if own != self.rows.prediction:
                refute(f"the row is predicted {self.rows.prediction!r}, not {own!r}")
            compared = replace(self.asked, against=(rival,))
            if not self.rows.differs(point, compared)[0] and not self.rows.tied(point, compared):
                refute(f"{rival!r} does not overtake {own!r} at {shown(point)}")
        numbers = after.texts("NUMBER", "OUTPUTS")
        if self.rows.case.classes and numbers:
            classes = [self.rows.case.classes[int(numbers[0])]]
        elif numbers and not same_number(numbers[0].strip("()"), float(found)):
            refute(f"{shown(point)} is predicted {found!r}, not {numbers[0]}")
        elif len(numbers) > 1 and abs(float(numbers[0]) - float(numbers[1])) <= self.asked.delta:
            refute(f"{numbers[0]} and {numbers[1]} are within ±{self.asked.delta}")
        if classes and found != classes[0]:
            refute(f"{shown(point)} is predicted {found!r}, not {classes[0]!r}")
        changed = self.rows.differs(point, self.asked)[0] or self.rows.tied(point, self.asked)
        if numbers and not changed:
            refute(f"{shown(point)} is predicted {found!r}, which is no change")

    def distances(self, points: pd.DataFrame) -> Any:
        """Return the distance of rows: changes as shares of the room that was asked about."""
        total, moved = np.zeros(len(points)), self.rows.moved(points)
        for name, column in self.rows.columns.items():
            cost = 1.0 if self.asked.costs is None else self.asked.costs[name]
            if column.kind == "words" or self.rows.own[name] is None:
                total += cost * np.array([name in one for one in moved])
                continue
            radius, own = self.asked.radii[name], self.rows.own[name]
            reach = math.floor(radius) if column.kind == "whole" and radius < np.inf else radius
            scale = min(reach, column.high - column.low) or 1.0
            values = np.array(points[name].tolist(), dtype=np.float64).reshape(len(points), -1)
            far = np.abs(values - own).sum(axis=1) / scale
            total += cost * np.nan_to_num(far, nan=1.0)  # missing is as far as the whole room
        return total

    # --- rooms of columns

    def near(self, inside: Tree, names: Iterable[str], limits: Rooms) -> Rooms:
        """Return the rooms of ``names``, which the limits told of them may count."""
        said = inside.all("ending")
        if not said:
            return self.rooms(inside, limits)[0]
        told = _Told(self, limits, own=True)
        return {name: told.ended(name, np.inf, said) for name in self.names}

    def range(self, name: str, told: Tree, *, own: bool = True) -> Room:
        """Return the room of a range; with ``own``, it holds the row's own value."""
        column, text, numbers = self.rows.columns[name], told.text, self._typed(told)
        words = told.own("WORD", "VALUE")
        if text == "anything":
            return Room.whole(column)
        if column.kind == "group":
            return self.changed(name, told)
        if text.startswith("any but"):
            words = [w for w in (*column.words, "missing") if w not in words]
        if words:
            values = [self.parsed(name, word) for word in words if word != "missing"]
            gap = column.missing and "missing" in words
            if column.kind == "words":
                room = Room(column, words=(*values, *([None] if gap else [])))
            else:
                value = values[0] if values else None
                room = Room.only(column, value)
                if own:
                    self.value(name, words[0])
                return room
        else:
            low, high = column.low, column.high
            if len(numbers) == 2:
                low, high = numbers
            elif text.startswith(("at most", "below")):
                high = numbers[0]
            else:
                low = numbers[0]
            low = beyond(low, np.inf) if "above" in text else low
            high = beyond(high, -np.inf) if "below" in text else high
            room = Room(column, low, high)
        if own and not room.holds(self.rows.own[name]):
            refute(f"{name} is {self.rows.own[name]!r} in the row, which is not {text}")
        return room

    def changed(self, name: str, told: Tree) -> Room:
        """Return the room of a group each of whose values changes between two numbers."""
        column, own = self.rows.columns[name], self.rows.own[name]
        low, high = (told.numbers() * 2)[:2]
        room = Room(column, tuple(one + low for one in own), tuple(one + high for one in own))
        return room.cut(column.low, column.high)

    def _typed(self, told: Tree) -> list[float]:
        """Return the numbers of a range as the model takes them: the nearest of its own."""
        single = self.rows.case.single
        return [float(np.float32(one)) if single else one for one in told.numbers()]

    def rooms(
        self, tree: Tree, default: Rooms | None = None, *, own: bool = True
    ) -> tuple[dict[str, Room], set[str]]:
        """Return the room of each column that a text tells, and the columns kept by value.

        Without a ``default`` for the others, the text has to tell what becomes of each column.
        With ``own``, what it tells of the row's values is true of the row.
        """
        return _Told(self, default or self.everywhere, own=own).rooms(tree, whole=default is None)


class _Told:
    """The rooms that a text tells, and how many columns it counts without their names."""

    def __init__(self, referee: Referee, default: Rooms, *, own: bool) -> None:
        self._referee, self._rows, self._own, self._default = referee, referee.rows, own, default
        self._found: dict[str, Room] = {}
        self._kept, self._own_radii = set[str](), False
        self._counts: list[tuple[int, Callable[[str], Room]]] = []

    def rooms(self, tree: Tree, *, whole: bool) -> tuple[dict[str, Room], set[str]]:
        """Return the rooms of all columns, and those kept by value."""
        for one in tree.all("room"):
            self._room(one)
        for one in tree.all("given"):
            self._given(one)
        names, counts = self._referee.names, self._counts
        own = self._referee.own(names)
        left = [n for n in names if n not in self._found and (whole or self._default[n] != own[n])]
        if len(counts) == 1 and counts[0][0] == len(left):
            self._found |= {name: counts[0][1](name) for name in left}
        elif self._own_radii and (not whole or sum(n for n, _ in counts) == len(left)):
            self._found |= {name: self._referee.ball[name] for name in left}
        elif whole and sum(count for count, _ in counts) != len(left):
            refute(f"nothing is said of {left}, or the number of other columns is wrong")
        others = self._referee.own(names) if whole else self._default
        return {name: self._found.get(name, others[name]) for name in names}, self._kept

    def _put(self, part: Tree, room: Callable[[str], Room]) -> None:
        """Give ``room`` to the columns that a part of a text names or counts."""
        inner = part.first("names") or part
        for name in inner.own("NAME") or inner.texts("NAME"):
            if name in self._found:
                refute(f"{name} is told twice")
            self._found[name] = room(name)
        if inner.own("COUNT") or not inner.texts("NAME"):
            self._counts.append((int((inner.own("COUNT") or ["1"])[0]), room))

    def _room(self, told: Tree) -> None:
        referee, columns = self._referee, self._rows.columns
        for part in told.all("near"):
            if not part.own("NAME"):
                self._own_radii = True
                self._put(part, referee.ball.__getitem__)
                continue
            name, centre = part.own("NAME")[0], part.own("VALUE")[0]
            if self._own:
                referee.value(name, centre)
            room = Room.within(columns[name], part.numbers()[0], referee.parsed(name, centre))
            self._put(part, {name: room}.__getitem__)
        endings, shares = told.all("ending"), told.own("NUMBER")
        for part in told.all("free"):
            if told.text.startswith("whatever"):
                self._put(part, referee.everywhere.__getitem__)
            elif endings or shares:
                share = float(shares[0]) / 100 if shares else np.inf
                self._put(part, lambda n, s=share, e=endings: self.ended(n, s, e))
            else:
                self._own_radii |= bool(part.own("COUNT"))
                self._put(part, referee.own(referee.names).__getitem__)
                referee.still(part.texts("NAME"))

    def ended(self, name: str, share: float, endings: Sequence[Tree]) -> Room:
        """Return the room of a column within a share of its range, and what ``endings`` tell."""
        column, own = self._rows.columns[name], self._rows.own[name]
        radius = np.inf if share == np.inf else share * width(self._rows, name)
        found = Room.within(column, radius, own)
        for one in endings:
            text, numbers = one.text, one.numbers()
            if text.startswith("within"):
                found = Room.within(column, numbers[0], own)
                if kind := one.own("TEXT"):
                    found = replace(found, norm=(kind[0], numbers[0]))
                continue
            whole = next(c for c in self._rows.case.columns if c.name == name)
            low, high = (*numbers, np.inf, np.inf)[:2]
            if text == "in the domain":
                low, high = whole.low, whole.high
            elif text.startswith("at most"):
                low, high = -np.inf, low
            found = found.cut(low, high)
        return found

    def _given(self, told: Tree) -> None:
        if ranges := told.all("range"):
            name = told.own("NAME")[0]
            self._put(told, {name: self._referee.range(name, ranges[0], own=self._own)}.__getitem__)
            self._kept.add(name)
        elif " changes by " in told.text:
            name = told.own("NAME")[0]
            self._put(told, {name: self._referee.changed(name, told)}.__getitem__)
            self._kept.add(name)
        elif " only " in told.text:
            way = "up" if told.text.endswith((" only rises", " only rise")) else "down"
            for name in told.texts("NAME"):
                room = self._found.get(name, self._default[name])
                self._found[name] = room.one_way(self._rows.own[name], way)
        else:
            self._put(told, self._referee.own(self._referee.names).__getitem__)


def beyond(end: float, towards: float) -> float:
    """Return the first number of float64 beyond an end."""
    return float(np.nextafter(end, towards))


def covers(tree: Tree, inside: int, rows: int) -> None:
    """Refute the share of rows that a text tells: rounded down to the digits told."""
    number = next(iter(tree.own("NUMBER")), None)
    if int(tree.own("COUNT")[-1]) != rows:
        refute(f"there are {rows} rows, not {tree.own('COUNT')[-1]}")
    if number is None:
        if inside != tree.text.lower().startswith("one"):
            refute(f"{inside} of {rows} rows are such")
        return
    scale = 10 ** len(number.partition(".")[2])
    if math.floor(100 * inside * scale / rows + _SLACK) / scale != float(number):
        refute(f"{inside} of {rows} rows are such, not {number} %")


def importance(known: Truth, names: Sequence[str], index: str) -> dict[str, float]:
    """Return the importance of columns, by the definition of the index that a text names."""
    sets = known.explanations(names)
    if "Shapley" in index:
        found = dict.fromkeys(names, 0.0)
        for size in range(len(names)):
            weight = 1 / (len(names) * math.comb(len(names) - 1, size))
            for some in map(set, combinations(names, size)):
                for name in {*names} - some if not any(one <= some for one in sets) else ():
                    found[name] += weight * any(one <= some | {name} for one in sets)
        return found
    sizes = {name: [len(one) for one in sets if name in one] for name in names}
    if "Holler" in index:
        return {name: len(holding) / len(sets) for name, holding in sizes.items()}
    if "Deegan" in index:
        return {name: sum(1 / k for k in holding) / len(sets) for name, holding in sizes.items()}
    return {name: 1 / min(holding) if holding else 0.0 for name, holding in sizes.items()}


def bracketed(told: Sequence[float], value: float, name: str) -> None:
    """Refute a number that is told with three digits, or its bracket."""
    slack = 6e-4 if len(told) == 1 else _SLACK
    if not told[0] - slack <= value <= told[-1] + slack:
        refute(f"the importance of {name} is {value}, not {told}")


def same(told: str, own: Any) -> bool:
    """Return whether a text is a value of the row: its word, or its number to some digits."""
    if own is None or isinstance(own, str):
        return told == ("missing" if own is None else own)
    try:
        return math.isclose(float(told), own, rel_tol=1e-3)
    except ValueError:
        return False


def same_number(told: str, value: float) -> bool:
    """Return whether a number is told to the digits that it has, four where it has no point."""
    mantissa, _, exponent = told.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - places)
    if not places and len(mantissa.lstrip("-")) >= 4:
        unit = max(unit, 10.0 ** (math.floor(math.log10(abs(value) or 1.0)) - 3))
    return abs(float(told) - value) <= 0.5000001 * unit + 1e-9 * abs(value)


def shown(rows: pd.DataFrame) -> str:
    """Return the first of ``rows`` as a user may type it."""
    return str({name: cell(value) for name, value in rows.iloc[0].items()})


def width(rows: Rows, name: str) -> float:
    """Return the range of a column that shares are of, 1 for words."""
    column = rows.columns[name]
    return 1.0 if column.kind == "words" else column.high - column.low
