"""Judge the statements of the texts on one page, and the rows of one table.

Each statement is judged by the method that is named as its rule on the page of the documents.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
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
    """A statement of a ``kind``; ``why`` it is false, and whether it was ``put`` to the model."""

    kind: str
    text: str
    why: str | None = None
    put: bool = True


def judged(kind: str, tree: Tree, judge: Callable[[Tree], None] | None) -> Judged:
    """Return a statement with the reason why it is false, if it is."""
    try:
        if judge is not None:
            judge(tree)
    except FalseStatementError as error:
        return Judged(kind, tree.text, str(error))
    return Judged(kind, tree.text, put=judge is not None)


class Texts:
    """Judges texts on one page: some go on from those before.

    ``others`` are the referees of the other rows of a study.
    """

    def __init__(self, referee: Referee, others: Sequence[Referee] = ()) -> None:
        self.referee, self.asked, self.others = referee, referee.asked, others
        self._bounded, self._endless = referee, referee
        if referee.rows.case.array is not None:
            self._endless = referee.unbounded()
        self.limits: Rooms = referee.everywhere
        self.rooms: Rooms = {}
        self.kept, self.reasons = set[str](), set[str]()
        self.moves: list[Tree] = []
        self.left_out = self.counted = False
        self.first: pd.DataFrame | None = None
        self.covered, self.whole = np.zeros(len(referee.rows.case.frame), dtype=bool), True

    def judge(self, tree: Tree) -> Iterator[Judged]:
        """Judge each statement of a text, within the limits that the text itself tells."""
        text = tree if tree.rule == "text" else tree.first("text")
        if text is None:
            yield judged(tree.rule, tree, getattr(self, f"_{tree.rule}", None))
            return
        statements = [part.parts[0] for part in text.parts]
        bounded = any(one.rule == "rules" and one.all("ending", "given") for one in statements)
        self.referee = self._bounded if bounded else self._endless
        self.limits = self.referee.everywhere
        self.rooms, self.kept, self.moves = {}, set(), []
        ruled = any(one.rule == "rules" and "count" in one.text for one in statements)
        self.asked = replace(self.referee.asked, against=(), ruled=ruled)
        for one in sorted(statements, key=lambda one: one.rule != "scope"):
            yield judged(one.rule, one, getattr(self, f"_{one.rule}", None))

    def _rival(self) -> Asked:
        return replace(self.asked, against=self.referee.asked.against)

    def _inside(self, tree: Tree) -> Rooms:
        inside = tree.first("inside")
        return self.limits if inside is None else self.referee.rooms(inside, self.limits)[0]

    def _title(self, tree: Tree) -> None:
        self.referee.subject(tree)

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
            self.referee.stays(self._inside(tree), self.referee.asked_in(tree, self._rival()))
        elif "best" not in tree.text and tree.all("found"):
            self._fewest(tree)

    def _rules(self, tree: Tree) -> None:
        for one in tree.all("ending"):
            within_domain(self.referee, one.text, one.numbers())
        ends = {
            one.own("NAME")[0]: _ends(one.all("range")[0].text, one.numbers())
            for one in tree.all("given")
        }
        given = {one.name: (one.low, one.high) for one in self.referee.rows.case.columns}
        if ends and ends != given:
            refute(f"the domain is {given}, not {ends}")

    def _link(self, tree: Tree) -> None:
        if self.referee.rows.case.sums is None:
            refute("the outputs are what the model predicts")

    def _checked(self, tree: Tree) -> None:
        for solution in self.referee.asked.solutions[tree.text]:
            self.referee.solved(tree, solution)

    def _scope(self, tree: Tree) -> None:
        self.limits = self.referee.rooms(tree, self.limits)[0]

    def _claim(self, tree: Tree) -> None:
        referee, stays, rule = self.referee, tree.all("stays")[0], self.referee.asked.rule
        self.asked = asked = referee.asked_in(tree, self.asked)
        default, told = None, None
        if not rule:
            referee.subject(stays)
        elif re.search("% of their|rule’s input|stay in their ranges", tree.text):
            self.whole = False  # they are those of a row that nobody knows
            return
        elif told := (stays.texts("CLASS") or [None])[0]:
            pass
        else:  # the value is rounded: the claim is about one as near as its last digit
            digits = len(stays.texts("OUTPUTS")[0].partition(".")[2])
            asked = replace(asked, delta=(asked.delta or 0.0) + 0.5 * 10.0**-digits)
            told = float(stays.texts("OUTPUTS")[0])
        if tree.text.startswith("While these"):
            default = {**referee.everywhere, **referee.own(self.reasons)}
            if wrong := self.reasons & {*tree.texts("NAME")}:
                refute(f"{min(wrong)} is told twice")
        self.rooms, self.kept = referee.rooms(tree, default, own=not rule)
        if rule:
            self.covered |= self._covered_rows()
        referee.stays(self.rooms, asked, told)
        if not rule and not tree.text.startswith("As long as"):
            referee.keeps(self.kept, self.rooms, asked)

    def _open(self, tree: Tree) -> None:
        for one in tree.all("claim"):
            self.referee.subject(one.all("stays")[0])
            self.referee.rooms(one)

    def _change(self, tree: Tree) -> None:
        referee, moves, after = self.referee, tree.all("move"), tree.all("becomes")[0]
        further = " as well, " in tree.text
        self.moves = [*self.moves, *moves] if further else moves
        self.left_out = bool(not moves or tree.all("some")) or (further and self.left_out)
        if self.left_out:
            self.moves = []
            return
        point = referee.replayed(self.moves, self.limits)
        if self.first is None or (not self.reasons and not tree.text.startswith(("Or: ", "or: "))):
            self.first = point
        if after.all("stays"):
            referee.subject(after.all("stays")[0])
            if referee.rows.differs(point, referee.asked_in(after, self.asked))[0]:
                refute(f"{shown(point)} changes the prediction")
            return
        referee.becomes(point, after)
        if " overtakes " in after.text:
            self.asked = replace(self.asked, against=(after.texts("CLASS")[0],))

    def _fewest(self, tree: Tree) -> None:
        """Refute that no change in the limits told is smaller, cheaper or nearer than the first."""
        referee, rooms, rows = self.referee, self._inside(tree), self.referee.rows
        asked, costs = referee.asked_in(tree, self.asked), referee.asked.costs
        if self.first is None:
            return
        if "near" in tree.text:
            percent = [n for one in (tree, *tree.all("less")) for n in one.own("NUMBER")][-1]
            points, _ = rows.inside(rooms, asked, 600)
            points = points[rows.differs(points, asked)]
            far = referee.distances(points)
            limit = referee.distances(self.first)[0] / (1 + float(percent) / 100) - _SLACK
            if len(far) and far.min() < limit:
                refute(f"{shown(points[far == far.min()])} is nearer: {far.min()} < {limit}")
            return
        prices = dict.fromkeys(referee.names, 1.0) if costs is None else costs
        mine = sum(prices[name] for name in rows.moved(self.first)[0])
        for moved, row in referee.truth(rooms, asked).least.items():
            if sum(prices[name] for name in moved) < mine * (1 - _SLACK):
                refute(f"{shown(row)} changes {sorted(moved)} alone")

    def _none(self, tree: Tree) -> None:
        self._inside(tree)

    def _covered_rows(self) -> Any:
        frame = self.referee.rows.case.frame
        inside = self.referee.rows.allowed(frame) if self.asked.ruled else np.ones(len(frame), bool)
        for name, room in self.rooms.items():
            inside &= np.array([room.holds(value) for value in map(cell, frame[name])])
        return inside

    def _covered(self, tree: Tree) -> None:
        frame = self.referee.rows.case.frame
        if "rule" in tree.text:
            if self.whole and self.covered.any():
                covers(tree, int(self.covered.sum()), len(frame))
            return
        if not self.rooms:
            return
        inside = self._covered_rows()
        covers(tree, int(inside.sum()), len(frame))
        if (wrong := self.referee.rows.differs(frame[inside], self.asked)).any():
            refute(f"{shown(frame[inside][wrong])} is such a row, and predicted otherwise")

    def _spare(self, tree: Tree) -> None:
        referee = self.referee
        names = {*tree.texts("NAME")}
        if names and self.rooms:
            self.kept -= names
            inside = tree.first("inside")
            told = referee.ball if inside is None else referee.near(inside, names, self.limits)
            self.rooms = {n: told[n] if n in names or r.norm else r for n, r in self.rooms.items()}
            referee.stays(self.rooms, self.asked)
        elif "can" in tree.text:
            referee.needed(self.kept, referee.ball, self._rival())

    def _refuted(self, tree: Tree) -> None:
        given, known = tree.all("given"), self.referee.truth(self.limits, self._rival())
        self.kept = {name for one in given for name in one.texts("NAME")}
        for one in given:
            for told in one.all("range"):
                self.referee.range(one.own("NAME")[0], told)
        others = {*self.referee.names} - self.kept
        self.counted = any(one.all("COUNT") for one in given)
        if known.exact and not self.counted and known.changes(others) is None:
            refute("it is enough")

    def _enough(self, tree: Tree) -> None:
        names = {name for given in tree.all("given") for name in given.texts("NAME")}
        further = "as well" in tree.text
        if (self.counted and further) or tree.all("COUNT"):
            return  # which columns these are, nobody can read
        kept = self.kept | names if further else names
        self.referee.keeps(kept, self.limits, self._rival())

    def _sets(self, tree: Tree) -> None:
        if not tree.all("listing"):
            return
        asked, sets = self.referee.asked_in(tree, self.asked), tree.all("set")
        keeping = not tree.text.startswith("Some")
        for one in sets:
            if names := frozenset(one.texts("NAME")):
                self.referee.minimal_set(names, self.limits, asked, keeping=keeping)
        known = self.referee.truth(self.limits, asked)
        every = known.explanations(self.referee.names) if keeping else {*known.least}
        told = len(sets) + sum(int(text) for text in tree.all("listing")[0].own("COUNT"))
        if known.exact and told > len(every):
            refute(f"there are {len(every)} minimal sets, not {told}")

    def _necessary(self, tree: Tree) -> None:
        for name in tree.texts("NAME"):
            self.referee.no_part(frozenset([name]), self.limits, self._rival(), "alone")

    _weak = _necessary

    def _part(self, tree: Tree) -> None:
        asked = self.referee.asked_in(tree, self.asked)
        for one in tree.all("about"):
            self.referee.subject(one)
        if " as it is: " in tree.text or " as they are: " in tree.text:
            self.referee.still(tree.own("NAME"))
        else:
            role = "none" if "no part" in tree.text else "some"
            if role == "some" and (rivals := tree.own("CLASS")[1:]):
                asked = replace(asked, against=tuple(rivals))
            self.referee.no_part(frozenset(tree.own("NAME")), self.limits, asked, role)

    def _important(self, tree: Tree) -> None:
        if not tree.all("weights"):
            return
        self.referee.subject(tree)
        known = self.referee.truth(self.limits, self.referee.asked_in(tree, self.asked))
        weights = tree.all("weights")[0]
        ends = {
            one.own("NAME")[0]: one.all("bracket")[0].numbers() for one in weights.all("weight")
        }
        most = float((weights.own("NUMBER") or [0.0])[0])
        rest = [name for name in self.referee.names if name not in ends]
        for name in rest if most == 0 else ():
            if frozenset([name]) in known.least:
                refute(f"a change of {name} alone changes it, and its importance is not 0")
        if known.exact:
            values = importance(known, self.referee.names, tree.own("TEXT")[0])
            for name, told in ends.items():
                bracketed(told, values[name], name)
            for name in rest:
                bracketed((0.0, most), values[name], name)

    def _order(self, tree: Tree) -> None:
        known = self.referee.truth(self.limits, self.referee.asked_in(tree, self.asked))
        given = self.referee.asked.scores
        for pair in tree.all("pair") if known.exact and given else ():
            values = importance(known, self.referee.names, tree.own("TEXT")[0])
            high, low = pair.own("NAME")
            if not (abs(given[high]) > abs(given[low]) and values[high] < values[low] - _SLACK):
                refute(f"{high} has {values[high]} and {low} has {values[low]}")

    def _alone(self, tree: Tree) -> None:
        referee, rows = self.referee, self.referee.rows
        asked, own = referee.asked_in(tree, self.asked), referee.own(referee.names)
        for one in tree.all("stays"):
            referee.subject(one)
        for one in tree.all("reach"):
            for name in one.texts("NAME"):
                room = self.limits[name]
                if one.own("NUMBER"):
                    room = Room.within(rows.columns[name], one.numbers()[0], rows.own[name])
                    if told := one.first("norm"):
                        room = replace(room, norm=(told.text[2:-1], one.numbers()[0]))
                referee.stays({**own, name: room}, asked)

    def _sizes(self, tree: Tree) -> None:
        referee = self.referee
        referee.subject(tree.all("about")[0])
        asked, smaller = referee.asked_in(tree, self.asked), copy(referee)
        smaller.ball = referee.own(referee.names)  # more columns may stay as they are
        for level in tree.all("level"):
            if ball := level.first("ball"):
                rooms = referee.rows.ball(replace(asked, radii=radii_of(referee, ball)))
            else:
                rooms = smaller.rooms(level)[0]
            referee.least(int(level.own("COUNT")[0]), rooms, asked)
        if int(tree.own("COUNT")[0]) != len(referee.names):
            refute("the number of columns is wrong")

    def _entry(self, tree: Tree) -> None:
        """Refute a line of CSV: columns by their places in the description."""
        if not tree.own("NUMBER"):
            return
        referee = self.referee
        referee.subject(replace(tree, parts=tuple(p for p in tree.parts if p.rule == "OUTPUTS")))
        kept = [referee.names[int(place)] for place in tree.own("COUNT")]
        referee.explanation = frozenset(kept)
        referee.keeps(kept, referee.ball, referee.asked)
        if len(kept) != float(tree.own("NUMBER")[0]):
            refute(f"{kept} are {len(kept)} columns")
        if "unknown: []" in tree.text:
            referee.needed(kept, referee.ball, referee.asked)

    def _run(self, tree: Tree) -> None:
        """Refute what a solver found: checks of each column alone, an explanation or a change."""
        told = {one.text.partition(":")[0]: one.numbers()[0] for one in tree.all("cell")}
        referee, open_ = self.referee, told.get("unknown", 0)
        known = referee.truth(referee.ball, referee.asked)
        if "holds" in told:
            alone = sum(len(moved) == 1 for moved in known.least)
            if told["holds"] + told["violated"] + open_ != told["programs"]:
                refute(f"{told['programs']} programs have as many answers")
            # a column that an attack decides has no program, and one may have several rivals
            if known.exact and not alone and told["violated"]:
                refute("no column changes it alone")
        if "size" in told:
            referee.least(int(told["size"]), referee.ball, referee.asked)
        minimum = tree.text.startswith("minimum")
        sets = known.explanations(referee.names) if minimum else {*known.least}
        least = min(map(len, sets), default=np.inf)
        if told.get("cost", np.inf) < least and (known.exact or minimum):
            refute(f"{least} columns or more are needed")
        if told.get("bound", 0.0) > least and (known.exact or not minimum):
            refute(f"{least} columns are enough")

    def _columns(self, tree: Tree) -> None:
        every = [one for one in self.others if one.explanation is not None]
        for count in tree.own("COUNT"):
            if int(count) != len(every):
                refute(f"{len(every)} decisions are explained, not {count}")
        for share in tree.all("share"):
            name, percent = share.own("NAME")[0], share.all("percent")[0]
            found = sum(name in (one.explanation or ()) for one in every)
            if abs(100 * found / len(every) - int(percent.own("COUNT")[0])) > 1:
                refute(f"{name} is in {found} of {len(every)} explanations")
        for one in every:
            if "no part" in tree.text:
                one.no_part(frozenset(tree.texts("NAME")), one.ball, one.asked, "none")
            elif "held in all" in tree.text:
                one.still(tree.texts("NAME"))

    def _marked(self, tree: Tree) -> None:
        """Refute marks on words of a message that are no words of the table."""
        for word in re.findall(r"\*\*(.*?)\*\*", tree.text, re.DOTALL):
            if word.lower() not in self.referee.names:
                refute(f"{word!r} is no word")

    def _message(self, tree: Tree) -> None:
        referee, kept = self.referee, list[str]()
        for one in tree.all("mark"):
            name, told = one.own("NAME")[0], (one.own("COUNT") or ["1"])[0]
            referee.value(name, "0" if referee.rows.own[name] == 0 else told)
            kept.append(name)
        referee.keeps(kept, referee.everywhere, self.asked)
        if tree.own("TEXT")[0] != referee.rows.prediction:
            refute(f"the message is {referee.rows.prediction!r}")


class Table:
    """Judges the rows of one table; its row on the ball limits all of them."""

    def __init__(self, referee: Referee, rows: Sequence[Tree]) -> None:
        self.referee, self.rows, self.asked, self.ball = referee, rows, referee.asked, referee.ball
        self.heads = [one.text.partition(": ")[0] for one in rows if one.rule == "row"]
        named = map(self._listed, ("features", "pixels", "pixel values"))
        self._ranges = "ball" in self.heads and not {*self.heads} & {"index", "free"}
        self._weighs = any("importance of" in one.text for one in rows if one.rule == "title")
        self.kept = next((one for one in named if one is not None), None)

    def judge(self, tree: Tree) -> Iterator[Judged]:
        """Judge a row: the sentences in it, or what it tells."""
        if tree.rule == "row" and tree.all("text"):
            texts = Texts(self.referee)
            if tree.text.startswith("rules: "):
                for one in self.rows[1:]:
                    [*texts.judge(one)]
            yield from texts.judge(tree)
            return
        kind, method = tree.rule, getattr(self, f"_{tree.rule}", None)
        if tree.rule == "row":
            kind = tree.text.partition(": ")[0].replace(" ", "_")
            forms = ("reached", "bracket", "span", "value") if tree.all("value", "span") else ()
            named = next((one for one in forms if tree.all(one)), "")
            if named in ("reached", "bracket") and self._ranges:
                named, tree = "span", _ranged(tree, tree.all(named)[0])
            elif named == "reached" and "index" in self.heads:  # two numbers may be either
                one, told = tree.all("value")[0], tree.all("reached")[0]
                named, tree = "bracket", replace(tree, parts=(one, replace(told, rule="bracket")))
            kind = "if" if kind.startswith("if_") else kind
            kind = "level" if tree.parts and tree.parts[0].rule == "ball" else kind
            method = getattr(self, f"_{kind}", None) or getattr(self, f"_{named}", None)
            kind = f"row {kind if kind in _SAID else named or kind}"
        yield judged(kind, tree, method)

    def _listed(self, head: str) -> set[str] | None:
        """Return the columns that a row lists, or None if there is none or it leaves some out."""
        found = [o for o in self.rows if o.rule == "row" and o.text.startswith(f"{head}: ")]
        return _names(found[0]) if found and _complete(found[0]) else None

    def _value(self, tree: Tree) -> None:
        for one in tree.all("value"):
            if one.own("VALUE"):
                self.referee.value(*one.own("NAME", "VALUE"))

    def _prediction(self, tree: Tree) -> None:
        self.referee.subject(tree)

    def _title(self, tree: Tree) -> None:
        told = [one for one in tree.parts if one.rule in ("CLASS", "OUTPUTS")]
        self.referee.subject(replace(tree, parts=(*told, *tree.all("about"))))
        self._size(tree)

    def _size(self, tree: Tree, listed: set[str] | None = None) -> None:
        for one in tree.all("size"):
            some, every = map(int, one.numbers())
            if every != len(self.referee.names) or (listed is not None and len(listed) != some):
                refute(f"there are {len(self.referee.names)} columns, and {listed} are listed")
            for share in tree.own("COUNT") if tree.rule == "row" else ():
                if abs(100 * some / every - int(share)) > 0.5 + _SLACK:
                    refute(f"{some} of {every} is not {share} %")

    def _explanation(self, tree: Tree) -> None:
        self._size(tree, self.kept)

    _audited = _contrast = _explanation

    def _ball(self, tree: Tree) -> None:
        limits, rows = tree.all("limits")[0], self.referee.rows
        radii = radii_of(self.referee, limits.all("ball")[0])
        for name, room in rows.ball(replace(self.asked, radii=radii)).items():
            if not (
                _near(room.low, self.ball[name].low) and _near(room.high, self.ball[name].high)
            ):
                refute(f"the radius of {name} is {self.asked.radii[name]}, not {radii[name]}")
        if rows.case.array is not None:
            told = re.search(r"domain (\S+) to (\S+)|unlimited domain", limits.text)
            ends = told and [float(text.replace("∞", "inf")) for text in told.groups() if text]
            within_domain(self.referee, told[0] if told else "", ends or [])
        if {*limits.texts("CLASS")} != {*self.asked.against}:
            refute(f"the question is against {self.asked.against}")
        if rows.case.rules and "rule" not in limits.text:
            refute("the rules are not told")

    def _features(self, tree: Tree) -> None:
        self._value(tree)
        if self.kept is not None and "explanation" in self.heads:
            self.referee.keeps(self.kept, self.ball, self.asked)

    _pixels = _pixel_values = _features

    def _outcome(self, tree: Tree) -> None:
        referee, asked, text, kept = self.referee, self.asked, tree.text, self.kept
        if "robust" in text or "no change in the ball" in text:
            referee.stays(self.ball, asked)
        elif kept is None or asked.costs is not None or tree.all("asked"):
            return
        elif "locally minimal" in text or "no feature" in text or text.startswith("minimal: yes"):
            referee.needed(kept, self.ball, asked)
        elif "globally minimum" in text or "yes, proven" in text:
            referee.least(len(kept), self.ball, asked, fewest=True)
        elif "no change of fewer" in text:
            for moved, row in referee.truth(self.ball, asked).least.items():
                if len(moved) < len(kept):
                    refute(f"{shown(row)} changes {sorted(moved)} alone")

    _minimum = _minimality = _minimal = _outcome

    def _if(self, tree: Tree) -> None:
        moves, free = tree.all("move"), tree.own("NAME")[0]
        moved = {one.own("NAME")[0] for one in moves}
        if self.kept is not None and (wrong := moved & (self.kept - {free})):
            refute(f"{sorted(wrong)} are kept, and change")
        self._replay(moves, tree, self.ball)

    def _or(self, tree: Tree) -> None:
        self._replay(tree.all("move"), tree, self.ball)

    def _counterfactual(self, tree: Tree) -> None:
        moves = [m for row in self.rows if row.text.startswith("change: ") for m in row.all("move")]
        self._replay(moves, tree, self.referee.everywhere)

    _answer = _counterfactual

    def _replay(self, moves: Sequence[Tree], tree: Tree, limits: Rooms) -> None:
        after = tree.first("after", "arrow")
        if moves and after is not None and _complete(tree):
            self.referee.becomes(self.referee.replayed(moves, limits), after)

    def _stays_as_it_is(self, tree: Tree) -> None:
        self._value(tree)
        self.referee.still(_names(tree))

    _stay_as_they_are = _stays_as_it_is

    def _part(self, tree: Tree) -> None:
        names, still = self._listed("protected"), self.referee.own(self.referee.names)
        roles = {"irrelevant": "none", "necessary": "alone", "relevant": "some"}
        role = next((r for word, r in roles.items() if tree.text.startswith(f"part: {word}")), "")
        moving = frozenset(name for name in names or () if self.ball[name] != still[name])
        if names is not None:
            self.referee.no_part(moving, self.ball, self.asked, role)

    def _abductive(self, tree: Tree) -> None:
        self._value(tree)
        if tree.all("values") and _complete(tree):
            keeping, one = tree.text.startswith("abductive"), frozenset(_names(tree))
            self.referee.minimal_set(one, self.ball, self.asked, keeping=keeping)

    _contrastive = _abductive

    def _smallest(self, tree: Tree) -> None:
        if "proven" in tree.text:
            self.referee.least(int(tree.own("COUNT")[0]), self.ball, self.asked, fewest=True)

    def _level(self, tree: Tree) -> None:
        radii = radii_of(self.referee, tree.all("ball")[0])
        rooms = self.referee.rows.ball(replace(self.asked, radii=radii))
        self.referee.least(int(tree.all("size")[0].numbers()[0]), rooms, self.asked)

    def _sound(self, tree: Tree) -> None:
        kept = set[str]() if any(": 0 of" in row.text for row in self.rows) else self.kept
        if kept is not None and tree.text.startswith("sound: yes"):
            self.referee.keeps(kept, self.ball, self.asked)
        elif kept is not None and "no: " in tree.text:
            known = self.referee.truth(self.ball, self.asked)
            if known.exact and known.changes({*self.referee.names} - kept) is None:
                refute("the set is sound")

    def _left_out(self, tree: Tree) -> None:
        self._value(tree)
        if self.kept is not None and _complete(tree):
            self.referee.keeps(self.kept - _names(tree), self.ball, self.asked)

    def _added(self, tree: Tree) -> None:
        self._value(tree)
        if self.kept is not None and _complete(tree):
            self.referee.keeps(self.kept | _names(tree), self.ball, self.asked)

    def _reached(self, tree: Tree) -> None:
        """Refute the radius of one column: all values within it keep, one at its end does not."""
        self._value(tree)
        name, reached = tree.all("value")[0].own("NAME")[0], tree.all("reached")[0]
        rows, text, numbers = self.referee.rows, reached.text, reached.numbers()
        own = self.referee.own(self.referee.names)

        def keeps(radius: float, *, ties: bool = False) -> bool:
            room = Room.within(rows.columns[name], radius, rows.own[name])
            if norm := reached.first("norm"):
                room = replace(room, norm=(norm.text[2:-1], radius))
            points, _ = rows.inside({**own, name: room}, self.asked)
            tied = ties and rows.tied(points, self.asked)
            return not tied and not rows.differs(points, self.asked).any()

        told = text.startswith(("by", "at least", "irrelevant up to")) or " to " in text
        inner = numbers[0] if told else np.inf if text == "irrelevant" else 0.0
        outer = numbers[-1] if text.startswith(("by", "not even")) else None
        outer = 1.0 if text.startswith("another value") else outer
        if not keeps(inner):
            refute(f"a change of {name} within {inner} changes it")
        if outer is not None and keeps(outer, ties=True):
            refute(f"no change of {name} within {outer} changes it")

    def _bracket(self, tree: Tree) -> None:
        self._value(tree)
        known = self.referee.truth(self.ball, self.asked)
        index = next((one for one in self.rows if one.text.startswith("index: ")), None)
        if known.exact and index is not None:
            name, told = tree.all("value")[0].own("NAME")[0], tree.all("bracket")[0].numbers()
            found = importance(known, self.referee.names, index.text.split(": ")[1])
            bracketed(told, found[name], name)

    def _span(self, tree: Tree) -> None:
        """Refute a range that lacks the row's own value, and values beyond that are inside it."""
        name = tree.own("NAME")[0]
        room = self.referee.range(name, tree.all("span")[0])
        for told in (one for beyond in tree.all("beyond") for one in beyond.texts("VALUE")):
            if room.column.kind == "group":
                continue
            if room.holds(value := self.referee.parsed(name, told)):
                refute(f"{name}: {value} is in the range told")

    def _coverage(self, tree: Tree) -> None:
        inside, rows = map(int, tree.own("COUNT"))
        covers(replace(tree, parts=(tree.parts[-1], tree.parts[1])), inside, rows)

    def _line(self, tree: Tree) -> None:
        """Refute the value of a line, and the change to another value that it tells."""
        referee, names, values = self.referee, tree.own("NAME"), tree.own("VALUE")
        told = tree.first("span", "reached", "bracket")
        if seen := [one for one in tree.parts if one.rule == "several"]:
            referee.value(names[0], seen[0])
            return
        if told is not None and names and "radius" in self.rows[0].text:
            own = Tree("VALUE", _plain(referee.rows.own[names[0]]))
            value = Tree("value", "", (Tree("NAME", names[0]), own))
            self._reached(replace(tree, parts=(value, replace(told, rule="reached"))))
        elif told is not None:
            (self._span if told.rule == "span" else self._value)(tree)
        elif names and values and not tree.all("key") and not self._weighs:
            referee.value(names[0], values[0])
            if any(", explained by " in one.text for one in self.rows):
                self._witness(tree, values[-1])

    def _witness(self, tree: Tree, last: str) -> None:
        """Refute that the change in a line of an explanation leads to what the line tells."""
        heads = [one.first("after") for one in self.rows if one.rule == "heads" or one.first("key")]
        own = [Tree("after", "", (one,)) for one in tree.parts if one.rule == "CLASS"]
        after = [*tree.all("arrow"), *own, *(one for one in heads if one is not None)]
        moves = tree.all("shift", "move")
        if f"| → {last}" in tree.text:
            moves.append(replace(tree, parts=(*tree.parts[:2], Tree("VALUE", last))))
        if "→" in tree.text and after and not tree.own("COUNT", "TEXT"):
            self.referee.becomes(self.referee.replayed(moves, self.ball), after[0])

    _drawn = _line


_SAID = {name.removeprefix("_") for name in vars(Table) if not name.startswith("__")}


def radii_of(referee: Referee, ball: Tree) -> Mapping[str, float]:
    """Return the radii that a text tells, or those asked where it has none of its own."""
    numbers = ball.numbers()
    if not numbers:
        return dict.fromkeys(referee.names, np.inf)
    if len(numbers) > 1:
        most = max(referee.asked.radii.values())
        part = numbers[1] / most if 0 < most < np.inf else 1.0  # a sweep has smaller ones, too
        return {name: part * radius for name, radius in referee.asked.radii.items()}
    if "%" in ball.text:
        return {name: numbers[0] / 100 * width(referee.rows, name) for name in referee.names}
    return dict.fromkeys(referee.names, numbers[0])


def within_domain(referee: Referee, text: str, numbers: Sequence[float]) -> None:
    """Refute a domain of an array that is told otherwise than it was given."""
    ends = {(column.low, column.high) for column in referee.rows.case.columns}
    if text in ("in the domain", "") or len(ends) > 1:
        if len(ends) == 1:
            refute(f"the domain is not told: {ends}")
        return
    if (told := _ends(text, numbers)) not in ends:
        refute(f"the domain is {ends}, not {told}")


def _ends(text: str, numbers: Sequence[float]) -> tuple[float, float]:
    """Return the ends that a text tells, infinite where it tells none."""
    if text.startswith("at most"):
        return -np.inf, numbers[0]
    return (numbers[0], (*numbers, np.inf)[1]) if numbers else (-np.inf, np.inf)


def _ranged(tree: Tree, told: Tree) -> Tree:
    """Return a row with two numbers as that of a range, which looks alike."""
    name = tree.all("value")[0].own("NAME")[0]
    return replace(tree, parts=(Tree("NAME", name), replace(told, rule="span")))


def _names(tree: Tree) -> set[str]:
    return {one.own("NAME")[0] for one in tree.all("value")}


def _complete(tree: Tree) -> bool:
    """Return whether a list leaves nothing out."""
    return not any(one.own("COUNT") for one in tree.all("values", "moved"))


def _near(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= 1e-3 * max(abs(one), abs(other))


def _plain(value: Any) -> str:
    return "missing" if value is None else str(value)
