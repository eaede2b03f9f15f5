"""Read texts back by the grammar in ``docs/ideas``, on two pages, and by nothing else.

The pages are the program: their rules are compiled as they stand, so a form that is not on them
cannot be read. Nothing here knows the code that writes sentences; the standard library is enough.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

_IDEAS = Path(__file__).resolve().parents[1] / "docs" / "ideas"
PAGES = (_IDEAS / "statements.md", _IDEAS / "rows.md")

Node: TypeAlias = tuple[Any, ...]
"""A part of a rule: its kind, and what it is made of."""

_NUMBER = re.compile(r"-?(?:∞|inf\b|\d+(?:\.\d+)?(?:e[+-]?\d+)?)", re.IGNORECASE)
_COUNT = re.compile(r"\d+")
_OUTPUTS = re.compile(rf"\([^()]*\)|{_NUMBER.pattern}", re.IGNORECASE)


class UnreadableError(Exception):
    """A text has none of the forms on the pages."""


@dataclass(frozen=True)
class Lexicon:
    """The words of a user's own table: names of columns, their words and units, classes, rules.

    ``places`` are what lists call columns without names by, with the name of each.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    units: tuple[str, ...]
    classes: tuple[str, ...]
    rules: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()

    @cached_property
    def known(self) -> dict[str, list[tuple[str, str]]]:
        """The texts that each terminal matches, the longest first, with what each stands for."""
        quoted = [(f"“{name}”", name) for name in self.classes]
        words = [(told, one) for one in (*self.words, "missing") for told in (one, f"“{one}”")]
        names = [(told, one) for one in self.names for told in (one, f"“{one}”")]
        return {
            "NAME": _longest_first(names),
            "PLACE": _longest_first([*self.places, *names]),
            "WORD": _longest_first(words),
            "UNIT": _longest_first([(f" {unit}", unit) for unit in self.units]),
            "CLASS": _longest_first(quoted),
            "RULE": _longest_first([(told, rule) for rule in self.rules for told in _forms(rule)]),
        }


@dataclass(frozen=True)
class Tree:
    """A part of a text that has a form: the rule, what stands there, and the parts of it."""

    rule: str
    text: str
    parts: tuple["Tree", ...] = ()

    def all(self, *rules: str) -> list["Tree"]:
        """Return the outermost parts of these ``rules``, in the order of the text."""
        found: list[Tree] = []
        for part in self.parts:
            found += [part] if part.rule in rules else part.all(*rules)
        return found

    def first(self, *rules: str) -> "Tree | None":
        """Return the first part of these ``rules``, or None."""
        return next(iter(self.all(*rules)), None)

    def texts(self, *rules: str) -> list[str]:
        """Return the texts of the parts of these ``rules``."""
        return [part.text for part in self.all(*rules)]

    def own(self, *rules: str) -> list[str]:
        """Return the texts of the parts of these ``rules`` that are no part of another part."""
        return [part.text for part in self.parts if part.rule in rules]

    def numbers(self) -> list[float]:
        """Return the numbers and counts."""
        return [float(text.replace("∞", "inf")) for text in self.texts("NUMBER", "COUNT")]


@lru_cache(maxsize=4096)  # pages repeat each other's texts
def read(text: str, lexicon: Lexicon, rule: str = "text") -> Tree:
    """Return ``text`` as a tree of the forms of ``rule``; raise ``UnreadableError`` for others."""
    parse = _Parse(plain(text), lexicon)
    found = parse.match(("rule", rule), 0).get(len(parse.text))
    if found is not None:
        return found[0]
    raise UnreadableError(
        f"after {parse.text[: parse.farthest]!r}: {parse.text[parse.farthest :]!r}"
    )


def plain(text: str) -> str:
    """Return ``text`` with hyphens for minus signs, and plain spaces."""
    return text.replace("−", "-").replace("\u00a0", " ")


class _Parse:
    """The first way to read each part of a rule from each place up to each end, remembered."""

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        self.text, self.lexicon, self.farthest = text, lexicon, 0
        self._known: dict[tuple[int, int], dict[int, tuple[Tree, ...]]] = {}

    def match(self, node: Node, start: int) -> dict[int, tuple[Tree, ...]]:
        """Return the ends of ``node`` from ``start`` on, with the trees of the first way there.

        What follows is read alike behind each way to the same end, so that others change nothing.
        """
        key = id(node), start  # nodes are those of the grammar, which stays
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = {}
            for end, trees in self._ways(node, start):
                found.setdefault(end, trees)
        return found

    def _ways(self, node: Node, start: int) -> Iterator[tuple[int, tuple[Tree, ...]]]:
        kind, *parts = node
        if kind == "rule":
            for end, trees in self.match(grammar()[parts[0]], start).items():
                yield end, (Tree(parts[0], self.text[start:end], trees),)
        elif kind == "one of":
            for part in parts:
                yield from self.match(part, start).items()
        elif kind == "all of":
            yield from self._sequence(parts, start)
        elif kind in ("maybe", "repeated"):
            for end, trees in self.match(parts[0], start).items():
                if kind == "repeated" and end > start:
                    more = self.match(node, end).items()
                    yield from ((last, trees + others) for last, others in more)
                else:
                    yield end, trees
            yield start, ()
        else:
            yield from self._leaf(kind, parts[0], start)

    def _leaf(self, kind: str, told: Any, start: int) -> Iterator[tuple[int, tuple[Tree, ...]]]:
        if kind == "text":
            if found := told.match(self.text, start):
                self.farthest = max(self.farthest, found.end())
                yield found.end(), ()
            return
        for end, meant in self._words(told, start):
            self.farthest = max(self.farthest, start if told == "TEXT" else end)
            yield end, (Tree("NAME" if told == "PLACE" else told, meant),)

    def _sequence(self, parts: list[Node], start: int) -> Iterator[tuple[int, tuple[Tree, ...]]]:
        if not parts:
            yield start, ()
            return
        for end, trees in self.match(parts[0], start).items():
            for last, more in self._sequence(parts[1:], end):
                yield last, trees + more

    def _words(self, terminal: str, start: int) -> Iterator[tuple[int, str]]:
        text = self.text
        if terminal == "TEXT":
            yield from ((end, text[start:end]) for end in range(start, len(text) + 1))
        elif terminal in ("NUMBER", "COUNT", "OUTPUTS"):
            pattern = {"NUMBER": _NUMBER, "COUNT": _COUNT, "OUTPUTS": _OUTPUTS}[terminal]
            if found := pattern.match(text, start):
                yield found.end(), found[0]
        elif terminal == "VALUE":
            yield from self._words("WORD", start)
            for end, number in self._words("NUMBER", start):
                yield from ((last, number) for last, _ in self._words("UNIT", end))
        else:
            for told, meant in self.lexicon.known[terminal]:
                if text.startswith(told, start):
                    yield start + len(told), meant
                elif (short := _shortened(text, start, told)) is not None:
                    yield short, meant
            if terminal == "UNIT":
                yield start, ""
            if terminal == "CLASS" and (found := re.compile(r"class (\d+)").match(text, start)):
                yield found.end(), found[0]


@cache
def grammar() -> dict[str, Node]:
    """Return the rules of the pages by name."""
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"```text\n(.*?)```", pages, re.DOTALL)
    tokens = re.findall(r'"[^"]*"|[a-z]+(?= +=)| = |[A-Za-z]+|[][(){}|+]', "".join(blocks))
    rules: dict[str, list[str]] = {}
    for place, token in enumerate(tokens):
        if tokens[place + 1 : place + 2] == [" = "]:
            rules[token] = []
        elif token != " = ":
            rules[[*rules][-1]].append(token)
    return {name: _alternatives(iter([*given, ""]), "")[0] for name, given in rules.items()}


def _alternatives(tokens: Iterator[str], close: str) -> tuple[Node, str]:
    """Return the node of the tokens up to ``close``."""
    choices: list[list[Node]] = [[]]
    for token in tokens:
        if token == close:
            break
        if token == "|":
            choices.append([])
        elif token == "+":
            item = choices[-1].pop()
            comma, last = (("text", re.compile(told)) for told in (", ", " and | or "))
            more = ("repeated", ("all of", comma, item))
            choices[-1].append(("all of", item, more, ("maybe", ("all of", last, item))))
        elif token in "([{":
            inner, _ = _alternatives(tokens, {"(": ")", "[": "]", "{": "}"}[token])
            choices[-1].append({"(": inner, "[": ("maybe", inner), "{": ("repeated", inner)}[token])
        elif token.startswith('"'):
            choices[-1].append(("text", _pattern(token[1:-1])))
        else:
            choices[-1].append(("word" if token.isupper() else "rule", token))
    parts = [("all of", *choice) for choice in choices]
    return (parts[0] if len(parts) == 1 else ("one of", *parts)), close


def _pattern(told: str) -> re.Pattern[str]:
    """Return what a text of the grammar matches: ``(s)`` is a plural, a sentence has a capital."""
    escaped = re.escape(told).replace(r"\(s\)", "s?").replace(r"\(es\)", "(?:es)?")
    first = told[0]
    if first.isalpha():
        escaped = f"[{first.lower()}{first.upper()}]{escaped[1:]}"
    return re.compile(escaped)


def _longest_first(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted({(plain(told), meant) for told, meant in pairs}, key=lambda pair: -len(pair[0]))


def _forms(rule: str) -> Iterator[str]:
    """Yield a rule as it was given, and with the number at its end in brackets."""
    yield rule
    yield re.sub(r"- (\d+)$", r"- (\1)", rule)


def _shortened(text: str, start: int, whole: str) -> int | None:
    """Return the end of ``whole`` with its middle left out in ``text``, or None."""
    gap = text.find("…", start + 1, start + len(whole))
    head = text[start:gap]
    if gap < 0 or not whole.startswith(head):
        return None
    for tail in range(len(whole) - len(head) - 2, -1, -1):
        if text.startswith(whole[len(whole) - tail :], gap + 1):
            return gap + 1 + tail
    return None
