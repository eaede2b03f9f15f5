"""Judge the statements of one text, and the rows of one table, in their order."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from statement_cases import cell
from statement_reader import Tree
from statement_referee import (
    FalseStatementError,
    Referee,
    Rooms,
    bracketed,
    covers,
    importance,
    refute,
    shown,
    width,
)
from statement_rooms import Asked, Room

_SLACK = 1e-9


@dataclass(frozen=True)
class Judged:
    """A statement of a ``kind``: true as far as it was put to the model, or false for a reason."""

    kind: str
    text: str
    why: str | None = None


class Texts:
    """Judges texts on one page: some go on from those before."""

    def __init__(self, referee: Referee, others: Sequence[Referee] = ()) -> None:
        self.referee, self.asked, self.others = referee, referee.asked, others
        self.limits: Rooms = referee.everywhere
        self.rooms: Rooms = {}
        self.kept, self.reasons = set[str](), set[str]()
        self.moves: list[Tree] = []
        self.first: pd.DataFrame | None = None
        self.covered = np.zeros(len(referee.rows.case.frame), dtype=bool)
        self.rule = referee.asked.rule

    def judge(self, tree: Tree) -> Iterator[Judged]:
        """Judge each statement of a text, within the limits that the text itself tells."""
        text = tree if tree.rule == "text" else tree.first("text")
        if text is None:
            yield judged(tree.rule, tree, getattr(self, f"_{tree.rule}", lambda tree: None))
            return
        statements = [part.parts[0] for part in text.parts]
        self.limits = self.referee.everywhere
        self.rooms, self.kept, self.moves = {}, set(), []
        ruled = any(one.rule == "rules" and "count" in one.text for one in statements)
        self.asked = replace(self.referee.asked, against=(), ruled=ruled)
        for one in sorted(statements, key=lambda one: one.rule != "scope"):
            method = getattr(self, f"_{one.rule}", None)
            yield judged(one.rule, one, method or (lambda tree: None))

    def _rival(self) -> Asked:
        """Return the question of the text, against the rivals that were asked about."""
        return replace(self.asked, against=self.referee.asked.against)

    def _reason(self, tree: Tree) -> None:
        if not tree.all("range"):
            self.reasons = set()
            self.referee.subject(tree)
            return
        name = tree.own("NAME")[0]
        self.referee.range(name, tree.all("range")[0])
        self.reasons.add(name)
        for told in tree.own("VALUE"):
            self.referee.value(name, told)

    def _notice(self, tree: Tree) -> None:
        if tree.text.startswith("Beside"):
            self.reasons |= {*tree.texts("NAME")}
        elif claims := tree.all("claim"):
            self._claim(claims[0])
        elif tree.text.startswith("No change "):
            rooms = self._inside(tree)
            self.referee.stays(rooms, self.referee.asked_in(tree, self._rival()))
        elif "best" not in tree.text and tree.all("found"):
            self._least(tree)

    def _scope(self, tree: Tree) -> None:
        self.limits = self.referee.rooms(tree, self.limits)[0]

    def _claim(self, tree: Tree) -> None:
        referee = self.referee
        self.asked = asked = referee.asked_in(tree, self.asked)
        own = not self.rule
        if own:
            referee.subject(tree.all("stays")[0])
        if self.rule and any("% of their" in one.text for one in tree.all("room")):
            return  # of a row that nobody knows
        default = referee.own(self.reasons) if tree.text.startswith("While these") else None
        if default is not None:
            others = {n: referee.everywhere[n] for n in referee.names if n not in default}
            told = [*tree.texts("NAME")]
            if wrong := [n for n in told if n in default]:
                refute(f"{wrong[0]} is told twice")
            self.rooms, self.kept = referee.rooms(tree, {**others, **default}, own=own)
        else:
            self.rooms, self.kept = referee.rooms(tree, own=own)
        self.covered |= self.inside_rows() if self.rule else False
        stays = tree.all("stays")[0]
        told = None
        if not own:
            told = (stays.texts("CLASS") or [None])[0]
            if told is None:  # the value is rounded: as near to it as its last digit
                told, digits = stays.texts("OUTPUTS")[0], len(stays.texts("OUTPUTS")[0].partition(".")[2])
                asked = replace(asked, delta=(asked.delta or 0) + 0.5 * 10.0**-digits)
                told = float(told)
        referee.stays(self.rooms, asked, told)
        if own and not tree.text.startswith("As long as"):
            referee.keeps(self.kept, self.rooms, asked)

    def _open(self, tree: Tree) -> None:
        for one in tree.all("claim"):
            self.referee.subject(one.all("stays")[0])
            self.referee.rooms(one)

    def _change(self, tree: Tree) -> None:
        referee, moves = self.referee, tree.all("move")
        if not moves or tree.all("some"):
            self.moves = []
            return
        after = tree.all("becomes")[0]
        self.moves = moves = [*self.moves, *moves] if " as well, " in tree.text else moves
        point = referee.replayed(moves, self.limits)
        if self.first is None or not tree.text.startswith(("Or: ", "or: ")):
            self.first = self.first if self.reasons else point
            self.first = point if self.first is None else self.first
        if after.all("stays"):
            referee.subject(after.all("stays")[0])
            if referee.rows.differs(point, referee.asked_in(after, self.asked))[0]:
                refute(f"{shown(point)} changes the prediction")
            return
        referee.becomes(point, after)
        if " overtakes " in after.text:
            self.asked = replace(self.asked, against=(after.texts("CLASS")[0],))

    def _inside(self, tree: Tree) -> Rooms:
        inside = tree.first("inside")
        return self.limits if inside is None else self.referee.rooms(inside, self.limits)[0]

    def _fewest(self, tree: Tree) -> None:
        self._least(tree)

    def _least(self, tree: Tree) -> None:
        """Refute that no change in the limits told is smaller, cheaper or nearer than the first."""
        referee, rooms = self.referee, self._inside(tree)
        asked = referee.asked_in(tree, self.asked)
        if self.first is None:
            return
        mine = referee.rows.moved(self.first)[0]
        if "near" in tree.text:
            percent = tree.texts("NUMBER")[-1] if tree.rule == "notice" else tree.numbers()[-1]
            numbers = [float(n) for one in tree.all("less") for n in one.own("NUMBER")]
            percent = numbers[0] if numbers else float(tree.own("NUMBER")[-1])
            points, _ = referee.rows.inside(rooms, asked, 600)
            points = points[referee.rows.differs(points, asked)]
            far = referee.distances(points)
            limit = referee.distances(self.first)[0] / (1 + percent / 100) - _SLACK
            if len(far) and far.min() < limit:
                refute(f"{shown(points[far == far.min()])} is nearer: {far.min()} < {limit}")
            return
        costs = referee.asked.costs
        for moved, row in referee.truth(rooms, asked).least.items():
            if costs is None and len(moved) < len(mine):
                refute(f"{shown(row)} changes {sorted(moved)} alone")
            if costs and sum(map(costs.__getitem__, moved)) < sum(
                map(costs.__getitem__, mine)
            ) * (1 - _SLACK):
                refute(f"{shown(row)} changes {sorted(moved)}, which costs less")

    def _none(self, tree: Tree) -> None:
        self._inside(tree)

    def _covered(self, tree: Tree) -> None:
        frame = self.referee.rows.case.frame
        if "rule" in tree.text:
            covers(tree, int(self.covered.sum()), len(frame)) if self.covered.any() else None
            return
        inside = self.inside_rows()
        covers(tree, int(inside.sum()), len(frame))
        if (wrong := self.referee.rows.differs(frame[inside], self.asked)).any():
            refute(f"{shown(frame[inside][wrong])} is such a row, and predicted otherwise")

    def inside_rows(self) -> Any:
        """Return which rows of the frame are in the rooms of the last claim."""
        frame, rows = self.referee.rows.case.frame, self.referee.rows
        inside = rows.allowed(frame) if self.asked.ruled else np.ones(len(frame), dtype=bool)
        for name, room in self.rooms.items():
            inside &= np.array([room.holds(value) for value in map(cell, frame[name])])
        return inside

    def _spare(self, tree: Tree) -> None:
        referee = self.referee
        if names := tree.texts("NAME"):
            self.kept -= {*names}
            self.rooms = {n: referee.ball[n] if n in names else r for n, r in self.rooms.items()}
            referee.stays(self.rooms, self.asked)
        elif "can" in tree.text and self.kept and not tree.texts("COUNT"):
            referee.needed(self.kept, referee.ball, self._rival())

    def _refuted(self, tree: Tree) -> None:
        given = tree.all("given")
        self.kept = {name for one in given for name in one.texts("NAME")}
        for one in given:
            for told in one.all("range"):
                self.referee.range(one.own("NAME")[0], told)
        known = self.referee.truth(self.limits, self._rival())
        others = {*self.referee.names} - self.kept
        if known.exact and not any(one.all("COUNT") for one in given) and known.changes(others) is None:
            refute("it is enough")

    def _enough(self, tree: Tree) -> None:
        names = {name for given in tree.all("given") for name in given.texts("NAME")}
        kept = self.kept | names if "as well" in tree.text else names
        self.referee.keeps(kept, self.limits, self._rival())

    def _sets(self, tree: Tree) -> None:
        if not tree.all("listing"):
            return
        asked = self.referee.asked_in(tree, self.asked)
        keeping = not tree.text.startswith("Some")
        sets = [frozenset(one.texts("NAME")) for one in tree.all("set") if one.all("NAME")]
        for one in sets:
            self.referee.minimal_set(one, self.limits, asked, keeping=keeping)
        known = self.referee.truth(self.limits, asked)
        every = known.explanations(self.referee.names) if keeping else {*known.least}
        others = sum(int(text) for text in tree.all("listing")[0].own("COUNT"))
        if known.exact and len(tree.all("set")) + others > len(every):
            refute(f"there are {len(every)} minimal sets, not {len(tree.all('set')) + others}")

    def _necessary(self, tree: Tree) -> None:
        for name in tree.texts("NAME"):
            self.referee.no_part(frozenset([name]), self.limits, self._rival(), "alone")

    def _part(self, tree: Tree) -> None:
        asked = self.referee.asked_in(tree, self.asked)
        for one in tree.all("about"):
            self.referee.subject(one)
        if "stay" in tree.text:
            self.referee.still(tree.own("NAME"))
        else:
            role = "none" if "no part" in tree.text else "some"
            names = frozenset(tree.own("NAME"))
            self.referee.no_part(names, self.limits, asked, role)

    def _important(self, tree: Tree) -> None:
        if not tree.all("weights"):
            return
        self.referee.subject(tree)
        known = self.referee.truth(self.limits, self.referee.asked_in(tree, self.asked))
        weights = tree.all("weights")[0]
        ends = {one.own("NAME")[0]: one.all("bracket")[0].numbers() for one in weights.all("weight")}
        rest = [name for name in self.referee.names if name not in ends]
        zero = "; 0 for" in weights.text or weights.text.startswith("0:")
        if not known.exact:
            if zero and not weights.own("NUMBER"):
                for name in rest:
                    if frozenset([name]) in known.least:
                        refute(f"a change of {name} alone changes it, and its importance is not 0")
            return
        values = importance(known, self.referee.names, tree.own("TEXT")[0])
        for name, told in ends.items():
            bracketed(told, values[name], name)
        most = float((weights.own("NUMBER") or [0.0])[0])
        for name in rest:
            if values[name] > most + _SLACK:
                refute(f"the importance of {name} is {values[name]}, not {most} at most")

    def _title(self, tree: Tree) -> None:
        self.referee.subject(tree)

    def _entry(self, tree: Tree) -> None:
        """Refute a line of CSV: columns by their places in the description."""
        if not tree.own("NUMBER"):
            return
        told = [one for one in tree.parts if one.rule == "OUTPUTS"]
        self.referee.subject(replace(tree, parts=tuple(told)))
        kept = [self.referee.names[int(place)] for place in tree.own("COUNT")]
        self.referee.explanation = frozenset(kept)
        self.referee.keeps(kept, self.referee.ball, self.referee.asked)
        if len(kept) != float(tree.own("NUMBER")[0]):
            refute(f"{kept} are {len(kept)} columns")
        if "unknown: []" in tree.text:
            self.referee.needed(kept, self.referee.ball, self.referee.asked)

    def _columns(self, tree: Tree) -> None:
        every = [one for one in self.others if one.explanation is not None]
        for count in tree.own("COUNT"):
            if int(count) != len(every):
                refute(f"{len(every)} decisions are explained, not {count}")
        for share in tree.all("share"):
            name, percent = share.own("NAME")[0], share.all("percent")[0]
            found = [name in (one.explanation or ()) for one in every]
            if found and abs(100 * sum(found) / len(found) - int(percent.own("COUNT")[0])) > 1:
                refute(f"{name} is in {sum(found)} of {len(found)} explanations")
        for one in every if "no part" in tree.text else ():
            one.no_part(frozenset(tree.texts("NAME")), one.ball, one.asked, "none")
        for one in every if "held in all" in tree.text else ():
            one.still(tree.texts("NAME"))

    def _marked(self, tree: Tree) -> None:
        """Refute marks on words of a message that are no words of the table."""
        for word in re.findall(r"\*\*(.*?)\*\*", tree.text, re.DOTALL):
            if word.lower() not in self.referee.names:
                refute(f"{word!r} is no word")

    def _message(self, tree: Tree) -> None:
        referee = self.referee
        kept = {one.own("NAME")[0] for one in tree.all("mark")}
        for one in tree.all("mark"):
            told = (one.own("COUNT") or ["1"])[0]
            absent = referee.rows.own[one.own("NAME")[0]] == 0
            referee.value(one.own("NAME")[0], "0" if absent else told)
        referee.keeps(kept, referee.everywhere, self.asked)
        if tree.own("TEXT")[0] != referee.rows.prediction:
            refute(f"the message is {referee.rows.prediction!r}")

    def _order(self, tree: Tree) -> None:
        known = self.referee.truth(self.limits, self.referee.asked_in(tree, self.asked))
        given = self.referee.asked.scores
        if not known.exact or given is None:
            return
        values = importance(known, self.referee.names, tree.own("TEXT")[0])
        for pair in tree.all("pair"):
            high, low = pair.own("NAME")
            if not (abs(given[high]) > abs(given[low]) and values[high] < values[low] - _SLACK):
                refute(f"{high} has {values[high]} and {low} has {values[low]}")

    def _alone(self, tree: Tree) -> None:
        referee, rows = self.referee, self.referee.rows
        asked = referee.asked_in(tree, self.asked)
        for one in tree.all("stays"):
            referee.subject(one)
        own = referee.own(referee.names)
        for one in tree.all("reach"):
            for name in one.texts("NAME"):
                room = self.limits[name]
                if one.own("NUMBER"):
                    room = Room.within(rows.columns[name], one.numbers()[0], rows.own[name])
                referee.stays({**own, name: room}, asked)

    def _weak(self, tree: Tree) -> None:
        for name in tree.texts("NAME"):
            self.referee.no_part(frozenset([name]), self.limits, self._rival(), "alone")

    def _sizes(self, tree: Tree) -> None:
        referee = self.referee
        referee.subject(tree.all("about")[0])
        asked = referee.asked_in(tree, self.asked)
        for level in tree.all("level"):
            rooms = referee.rows.ball(replace(asked, radii=radii_of(referee, level.all("ball")[0])))
            referee.least(int(level.own("COUNT")[0]), rooms, asked)
        if int(tree.own("COUNT")[0]) != len(referee.names):
            refute("the number of columns is wrong")


class Table:
    """Judges the rows of one table; its row on the ball limits all of them."""

    def __init__(self, referee: Referee, rows: Sequence[Tree]) -> None:
        self.referee, self.rows, self.asked = referee, rows, referee.asked
        self.heads = [one.text.partition(": ")[0] for one in rows if one.rule == "row"]
        self.kept = self._listed("features")

    def _listed(self, head: str) -> set[str] | None:
        """Return the columns that a row lists, or None if there is none or it leaves some out."""
        found = [one for one in self.rows if one.text.startswith(f"{head}: ") and one.rule == "row"]
        if not found or not _complete(found[0]):
            return None
        return {one.own("NAME")[0] for one in found[0].all("value")}

    def judge(self, tree: Tree) -> Iterator[Judged]:
        """Judge a row: the sentences in it, or what it tells."""
        if sentences := tree.all("text"):
            texts = Texts(self.referee)
            for one in self.rows if tree.text.startswith("rules: ") else ():
                for told in one.all("text") if one is not tree else ():
                    [*texts.judge(told)]
            for one in sentences:
                yield from texts.judge(one)
        else:
            lines = {"line": self._line, "drawn": self._line, "title": self._title}
            yield judged(tree.rule, tree, lines.get(tree.rule, self._judge))

    def _title(self, tree: Tree) -> None:
        told = [one for one in tree.parts if one.rule in ("CLASS", "OUTPUTS")]
        self.referee.subject(replace(tree, parts=(*told, *tree.all("about"))))
        self._size(tree, None)

    def _line(self, tree: Tree) -> None:
        """Refute the value of a line, and the other value that it tells."""
        referee, names, values = self.referee, tree.own("NAME"), tree.own("VALUE")
        for one in tree.all("value"):
            referee.value(*one.own("NAME", "VALUE"))
        told = tree.first("span", "reached", "bracket")
        if told is not None:
            if "radius" in self.rows[0].text and names:
                name, parts = Tree("NAME", names[0]), told.parts
                told = Tree("reached", told.text, parts)
                self._reached(Tree("row", tree.text, (Tree("value", "", (name,)), told)))
            else:
                self._judge(tree)
            return
        if not names or not values or tree.all("key"):
            return
        referee.value(names[0], values[0])
        shifts = tree.all("shift", "move")
        alone = self.rows[0].text.endswith(" features") and ", explained by " in self.rows[0].text
        if not alone or "→" not in tree.text or tree.own("COUNT", "TEXT"):
            return
        heads = [one for one in self.rows if one.rule == "heads" or one.first("key")]
        after = tree.first("arrow") or next(
            (h.first("after") for h in heads if h.first("after")), None
        )
        moves = [*shifts]
        if f"| → {values[-1]}" in tree.text:
            moves.append(Tree("move", "", (tree.parts[0], tree.parts[1], Tree("VALUE", values[-1]))))
        if moves and after is not None:
            point = referee.replayed(moves, referee.ball)
            told = tree.own("CLASS")
            referee.becomes(point, Tree("after", "", (Tree("CLASS", told[0]),)) if told else after)

    def _judge(self, tree: Tree) -> None:
        head = tree.text.partition(": ")[0].replace(" ", "_")
        for one in tree.all("value"):
            self.referee.value(*one.own("NAME", "VALUE"))
        if head.startswith("if_"):
            self._witness(tree)
        elif tree.all("reached") and tree.all("value"):
            self._reached(tree)
        elif tree.all("bracket") and tree.all("value"):
            self._bracket(tree)
        elif tree.all("span"):
            self._span(tree)
        elif tree.parts and tree.parts[0].rule == "ball":
            radii = radii_of(self.referee, tree.all("ball")[0])
            rooms = self.referee.rows.ball(replace(self.asked, radii=radii))
            self.referee.least(int(tree.all("size")[0].numbers()[0]), rooms, self.asked)
        elif method := getattr(self, f"_{head}", None):
            method(tree)

    def _prediction(self, tree: Tree) -> None:
        self.referee.subject(tree)

    def _explanation(self, tree: Tree) -> None:
        self._size(tree, self.kept)

    def _audited(self, tree: Tree) -> None:
        self._size(tree, self.kept)

    def _contrast(self, tree: Tree) -> None:
        self._size(tree, self.kept)

    def _size(self, tree: Tree, listed: set[str] | None) -> None:
        for one in tree.all("size"):
            some, every = map(int, one.numbers())
            if every != len(self.referee.names) or (listed is not None and len(listed) != some):
                refute(f"there are {len(self.referee.names)} columns, and {listed} are listed")
        for share in tree.own("COUNT") if tree.rule == "row" else ():
            if abs(100 * some / every - int(share)) > 0.5 + _SLACK:
                refute(f"{some} of {every} is not {share} %")

    def _ball(self, tree: Tree) -> None:
        limits, rows = tree.all("limits")[0], self.referee.rows
        radii = radii_of(self.referee, limits.all("ball")[0])
        asked = rows.ball(self.asked)
        for name, room in rows.ball(replace(self.asked, radii=radii)).items():
            if not (near(room.low, asked[name].low) and near(room.high, asked[name].high)):
                refute(f"the radius of {name} is {self.asked.radii[name]}, not {radii[name]}")
        if {*limits.texts("CLASS")} != {*self.asked.against}:
            refute(f"the question is against {self.asked.against}")
        if rows.case.rules and "rule" not in limits.text:
            refute("the rules are not told")

    def _features(self, tree: Tree) -> None:
        if self.kept is not None and "explanation" in self.heads:
            self.referee.keeps(self.kept, self.referee.ball, self.asked)

    def _outcome(self, tree: Tree) -> None:
        referee, asked, text = self.referee, self.asked, tree.text
        if "robust" in text or "no change in the ball" in text:
            referee.stays(referee.ball, asked)
        elif self.kept is None or asked.costs is not None or tree.all("asked"):
            return
        elif "locally minimal" in text or "no feature" in text:
            referee.needed(self.kept, referee.ball, asked)
        elif "globally minimum" in text or "yes, proven" in text:
            referee.least(len(self.kept), referee.ball, asked, fewest=True)
        elif "no change of fewer" in text:
            for moved, row in referee.truth(referee.ball, asked).least.items():
                if len(moved) < len(self.kept):
                    refute(f"{shown(row)} changes {sorted(moved)} alone")

    _minimum = _minimality = _outcome

    def _minimal(self, tree: Tree) -> None:
        if self.kept is not None and tree.text.startswith("minimal: yes"):
            self.referee.needed(self.kept, self.referee.ball, self.asked)

    def _witness(self, tree: Tree) -> None:
        moves, free = tree.all("move"), tree.own("NAME")[0]
        if not _complete(tree):
            return
        moved = {one.own("NAME")[0] for one in moves}
        if self.kept is not None and (wrong := moved & (self.kept - {free})):
            refute(f"{sorted(wrong)} are kept, and change")
        referee = self.referee
        referee.becomes(referee.replayed(moves, referee.ball), tree.all("after")[0])

    def _counterfactual(self, tree: Tree) -> None:
        moves = [m for row in self.rows if row.text.startswith("change: ") for m in row.all("move")]
        after = tree.first("after", "arrow")
        if moves and after is not None:
            self.referee.becomes(self.referee.replayed(moves, self.referee.everywhere), after)

    _answer = _counterfactual

    def _or(self, tree: Tree) -> None:
        moves = tree.all("move")
        if _complete(tree):
            point = self.referee.replayed(moves, self.referee.ball)
            self.referee.becomes(point, tree.all("arrow")[0])

    def _stays_as_it_is(self, tree: Tree) -> None:
        self.referee.still(one.own("NAME")[0] for one in tree.all("value"))

    _stay_as_they_are = _stays_as_it_is

    def _part(self, tree: Tree) -> None:
        names, text = self._listed("protected"), tree.text
        roles = {"irrelevant": "none", "necessary": "alone", "relevant": "some"}
        role = next((told for word, told in roles.items() if text.startswith(f"part: {word}")), "")
        if names is not None:
            ball, still = self.referee.ball, self.referee.own(self.referee.names)
            moving = frozenset(name for name in names if ball[name] != still[name])
            self.referee.no_part(moving, ball, self.asked, role)

    def _abductive(self, tree: Tree) -> None:
        if tree.all("values") and _complete(tree):
            one = frozenset(value.own("NAME")[0] for value in tree.all("value"))
            keeping = tree.text.startswith("abductive")
            self.referee.minimal_set(one, self.referee.ball, self.asked, keeping=keeping)

    _contrastive = _abductive

    def _smallest(self, tree: Tree) -> None:
        if "proven" in tree.text:
            size = int(tree.own("COUNT")[0])
            self.referee.least(size, self.referee.ball, self.asked, fewest=True)

    def _sound(self, tree: Tree) -> None:
        kept = set[str]() if any(": 0 of" in row.text for row in self.rows) else self.kept
        if kept is None:
            return
        known = self.referee.truth(self.referee.ball, self.asked)
        if tree.text.startswith("sound: yes"):
            self.referee.keeps(kept, self.referee.ball, self.asked)
        elif "no: " in tree.text and known.exact:
            if known.changes({*self.referee.names} - kept) is None:
                refute("the set is sound")

    def _left_out(self, tree: Tree) -> None:
        own = {one.own("NAME")[0] for one in tree.all("value")}
        if self.kept is not None and _complete(tree):
            self.referee.keeps(self.kept - own, self.referee.ball, self.asked)

    def _added(self, tree: Tree) -> None:
        own = {one.own("NAME")[0] for one in tree.all("value")}
        if _complete(tree):
            self.referee.keeps((self.kept or set()) | own, self.referee.ball, self.asked)

    def _reached(self, tree: Tree) -> None:
        """Refute the radius of one column: all values within it keep, one at its end does not."""
        name, reached = tree.all("value")[0].own("NAME")[0], tree.all("reached")[0]
        rows, text, numbers = self.referee.rows, reached.text, reached.numbers()
        own = self.referee.own(self.referee.names)

        def keeps(radius: float, *, ties: bool = False) -> bool:
            room = Room.within(rows.columns[name], radius, rows.own[name])
            points, _ = rows.inside({**own, name: room}, self.asked)
            tied = ties and rows.tied(points, self.asked)
            return not tied and not rows.differs(points, self.asked).any()

        inner = numbers[0] if text.startswith(("by", "at least")) or " to " in text else 0.0
        inner = np.inf if text == "irrelevant" else inner
        inner = numbers[0] if text.startswith("irrelevant up to") else inner
        outer = numbers[-1] if text.startswith(("by", "not even")) else None
        outer = 1.0 if text.startswith("another value") else outer
        if not keeps(inner):
            refute(f"a change of {name} within {inner} changes it")
        if outer is not None and keeps(outer, ties=True):
            refute(f"no change of {name} within {outer} changes it")

    def _bracket(self, tree: Tree) -> None:
        known = self.referee.truth(self.referee.ball, self.asked)
        index = next((one for one in self.rows if one.text.startswith("index: ")), None)
        if known.exact and index is not None:
            name, told = tree.all("value")[0].own("NAME")[0], tree.all("bracket")[0].numbers()
            found = importance(known, self.referee.names, index.text.split(": ")[1])
            bracketed(told, found[name], name)

    def _span(self, tree: Tree) -> None:
        """Refute a range that lacks the row's own value, and values beyond that are inside it."""
        name, span = tree.own("NAME")[0], tree.all("span")[0]
        room = self.referee.range(name, span)
        for beyond in tree.all("beyond"):
            for told in beyond.texts("VALUE"):
                if room.holds(value := self.referee.parsed(name, told)):
                    refute(f"{name}: {value} is in the range told")

    def _coverage(self, tree: Tree) -> None:
        inside, rows = map(int, tree.own("COUNT"))
        covers(replace(tree, parts=(tree.parts[-1], tree.parts[1])), inside, rows)


def _complete(tree: Tree) -> bool:
    """Return whether a list leaves nothing out."""
    return not any(one.own("COUNT") for one in tree.all("values", "moved"))


def judged(kind: str, tree: Tree, judge: Callable[[Tree], None]) -> Judged:
    """Return a statement with the reason why it is false, if it is."""
    try:
        judge(tree)
    except FalseStatementError as error:
        return Judged(kind, tree.text, str(error))
    return Judged(kind, tree.text)


def radii_of(referee: Referee, ball: Tree) -> Mapping[str, float]:
    """Return the radii that a text tells, or those asked where it has none of its own."""
    numbers = ball.numbers()
    if not numbers:
        return dict.fromkeys(referee.names, np.inf)
    if len(numbers) > 1:
        return referee.asked.radii
    if "%" in ball.text:
        return {name: numbers[0] / 100 * width(referee.rows, name) for name in referee.names}
    return dict.fromkeys(referee.names, numbers[0])


def near(one: float, other: float) -> bool:
    """Return whether two ends are the same to three digits."""
    return abs(one - other) <= 1e-3 * max(abs(one), abs(other))
