"""All text that a user gets of a result: sentences, tables, pages, pictures, CSV.

Each text comes with the rule of the grammar that it has to have. Pages are read as HTML, pictures
by the texts drawn in them: nothing is taken from the records behind them.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import count, cycle
from typing import Any

from matplotlib.text import Text
from rich.console import Console

_WIDE = 100_000
_FILL = "\0"
_TABLES = count(1)
_ENTRY = ("status", "prediction", "size", "explanation", "unknown", "robust")
_USES = ("Explanations of ", "No column is in ")
_GOES_ON = ("abductive", "contrastive", "irrelevant")
_SENTENCE = 10.5
"""The size of the letters of a sentence above a picture."""
_REPORT = {"h1": "title", "p lead": "lead", "p sentence": "text", "img": "alt"}
_EXPLAINED = {"grounds", "versions", "limits"}
"""Sections of pages that say what words mean, and nothing of the model."""


@dataclass(frozen=True)
class Told:
    """A text of some ``place``, with the ``rule`` of its form; rows of a table have its number.

    ``row`` is the row of the frame that it is about, or None for that of the question.
    """

    place: str
    rule: str
    text: str
    table: int = 0
    row: int | None = None


def result_texts(found: Any) -> Iterator[Told]:
    """Yield the sentence and the summary of a result."""
    yield Told("sentence", "text", found.sentence())
    yield from summary_texts(found.summary())


def summary_texts(shown: Any) -> Iterator[Told]:
    """Yield the rows of a summary as a wide terminal shows them."""
    file = io.StringIO()
    Console(file=file, width=_WIDE, highlight=False).print(shown)
    yield from printed_rows(file.getvalue(), "summary")


def printed_rows(printed: str, place: str) -> Iterator[Told]:
    """Yield the rows of a table of names and texts that was printed."""
    lines = [_filled(line).rstrip() for line in printed.splitlines() if line.strip()]
    widest = max(map(len, lines), default=0)
    starts = (
        at
        for at in range(3, widest)
        if all(line[at - 2 : at] == "  " and line[at : at + 1] != " " for line in lines)
    )
    at = next(starts, 0)
    cells = [(line[:at].strip(), line[at:].strip()) for line in lines]
    yield from fact_rows([(a.replace(_FILL, ""), b.replace(_FILL, "")) for a, b in cells], place)


def comparison_texts(found: Any) -> Iterator[Told]:
    """Yield the runs of a comparison, each cell behind its heading, and their notes."""
    file = io.StringIO()
    Console(file=file, width=_WIDE, highlight=False).print(found.table())
    heads, *runs = (re.split(r" {2,}", line.strip()) for line in file.getvalue().splitlines())
    for cells in runs:
        told = [f"{head}: {cell}" for head, cell in zip(heads, cells, strict=True)]
        yield Told("comparison", "run", " | ".join([found.task, *told]))
    for note in dict.fromkeys(note for run in found.runs for note in run.notes):
        yield Told("comparison", "row", f"note: {note}")


def fact_rows(pairs: Iterable[tuple[str, str]], place: str) -> Iterator[Told]:
    """Yield pairs of a name and a text as rows; one without a name goes on with that before."""
    last, table = "", next(_TABLES)
    for name, value in pairs:
        last = name or last
        yield Told(place, "row", f"{last if last in _GOES_ON else name}: {value}", table)


def _filled(line: str) -> str:
    """Return a line in which each letter has as many signs as it has cells on a terminal."""
    wide = ("W", "F")
    return "".join(c + _FILL * (unicodedata.east_asian_width(c) in wide) for c in line)


@dataclass
class Block:
    """A heading, paragraph, item or row of a page, with the section and the table it is in."""

    section: str
    kind: str
    cells: list[str]
    table: str = ""


class _Page(HTMLParser):
    """The blocks of a page in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self._section, self._table, self._open = "", "", ""
        self._unseen = self._left_out = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block at its tag, or a cell of one."""
        given = dict(attrs)
        kind = str(given.get("class") or "")
        self._left_out += tag in ("style", "script", "nav")
        if tag == "section":
            self._section = str(given.get("id"))
        elif tag == "caption":
            self._begin("caption")
        elif tag == "tr":
            self.blocks.append(Block(self._section, "tr", [], self._table))
        elif tag in ("td", "th"):
            self.blocks[-1].cells.append("")
            self._open = "cell"
        elif tag in ("h1", "h2", "h3", "p", "li", "summary", "pre"):
            self._begin(f"{tag} {kind}".strip())
        elif tag == "img" and not self._left_out:
            self.blocks.append(Block(self._section, "img", [str(given.get("alt"))]))
        elif tag == "mark":
            self.blocks[-1].cells.append("")
        elif tag == "span" and kind == "unseen":
            self._unseen += 1

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        self._left_out -= tag in ("style", "script", "nav")
        if tag == "caption":
            self._table = self.blocks.pop().cells[0]
        elif tag in ("td", "th", "h1", "h2", "h3", "p", "li", "summary", "pre"):
            self._open = ""
        elif tag == "mark":
            self.blocks[-1].cells.append("")
        elif tag == "span":
            self._unseen = 0

    def handle_data(self, data: str) -> None:
        """Add a text to the block that is open."""
        if self._open and not self._unseen and not self._left_out:
            self.blocks[-1].cells[-1] += data

    def _begin(self, kind: str) -> None:
        self.blocks.append(Block(self._section, kind, [""], self._table))
        self._open = kind


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page."""
    read = _Page()
    read.feed(page)
    for block in read.blocks:
        block.cells = [cell.strip() for cell in block.cells]
    return read.blocks


def report_texts(page: str, place: str = "report") -> Iterator[Told]:
    """Yield the texts of the page of one result, or of the cards of a study."""
    facts, table = list[tuple[str, str]](), next(_TABLES)
    for block in blocks(page):
        text = block.cells[0] if block.cells else ""
        rule = _REPORT.get(block.kind)
        if block.section in _EXPLAINED or block.kind == "caption":
            continue
        if block.kind == "tr" and block.section == "facts":
            facts.append((text, block.cells[1]))
        elif block.kind == "tr" and block.section == "picture":
            head = text == "feature"
            yield Told(place, "heads" if head else "line", " | ".join(block.cells), table)
        elif block.kind == "p message":
            yield Told(place, "marked", _marked(zip(block.cells, cycle((False, True)))))
        elif rule is not None and text:
            yield Told(place, rule, text, table if rule in ("title", "lead", "alt") else 0)
        elif block.kind == "p" and block.section == "picture" and text:
            yield Told(place, "remark", text)
    yield from fact_rows(facts, place)


def _marked(parts: Iterable[tuple[str, Any]]) -> str:
    """Return parts of a message, with signs around those that are marked."""
    return " ".join(f"**{text}**" if mark else text for text, mark in parts if text)


def notice_texts(page: str) -> Iterator[Told]:
    """Yield the texts of a notice."""
    for block in blocks(page):
        text = block.cells[0] if block.cells else ""
        if block.kind == "h1":
            yield Told("notice", "title", text)
        elif text and block.section not in _EXPLAINED and block.kind in ("p", "li"):
            yield Told("notice", "reason", text)


def picture_texts(figure: Any) -> Iterator[Told]:
    """Yield the texts drawn in a figure: title, facts, sentence, and the texts of each row."""
    table, rows = next(_TABLES), dict[float, list[tuple[float, str]]]()
    mono = [one for one in figure.texts if "Mono" in one.get_fontfamily()[0]]
    if mono:
        yield Told("picture", "marked", _marked((m.get_text(), m.get_bbox_patch()) for m in mono))
    above = sorted(
        (one for one in figure.texts if one not in mono and one.get_text()),
        key=lambda one: -one.get_position()[1],
    )
    for one in figure.findobj(Text):
        if one not in figure.texts and one.get_text().strip() and one.get_visible():
            x, y = one.get_transform().transform(one.get_position())
            rows.setdefault(round(y), []).append((x, " ".join(one.get_text().split())))
    for one in above[:1]:
        yield Told("picture", "title", one.get_text(), table)
    for one in above[1:2]:
        for fact in one.get_text().split("   ·   "):
            yield Told("picture", "fact", fact, table)
    lines = [one.get_text() for one in above[2:] if one.get_fontsize() == _SENTENCE]
    if lines:
        yield Told("picture", "text", " ".join(lines))
    for one in above[2:]:
        if one.get_fontsize() != _SENTENCE:
            yield Told("picture", "remark", " ".join(one.get_text().split()), table)
    for y in sorted(rows, reverse=True):
        texts = [text for _, text in sorted(rows[y])]
        yield Told("picture", "drawn", " | ".join(texts), table)


def study_texts(table: str, columns: str, page: str) -> Iterator[Told]:
    """Yield the texts of a study: the lines of its CSV, of the command ``columns``, of its page."""
    for line in csv.DictReader(io.StringIO(table)):
        told = "; ".join(f"{name}: {line[name]}" for name in _ENTRY)
        yield Told("CSV", "entry", told, row=int(line["index"]))
    sentence, *rows = [line for line in columns.splitlines() if line.strip()]
    yield Told("columns", "text", sentence)
    heads = re.split(r"  +", rows[0].strip())
    yield Told("columns", "uses", " | ".join(heads))
    for line in rows[1:]:
        cells = re.split(r"  +", line.strip())
        yield Told("columns", "use", " | ".join(cells))
    about, number = None, 0
    for block in blocks(page):
        text = block.cells[0] if block.cells else ""
        if block.kind == "h3" and (found := re.match(r"Input (\d+)", text)):
            about, number = int(found[1]), next(_TABLES)
        if block.section == "columns" and block.kind == "p" and text.startswith(_USES):
            yield Told("study page", "text", text)
        if block.section != "gallery":
            continue
        if block.kind == "p said":
            yield Told("study page", "text", text, row=about)
        elif block.kind == "tr":
            rule = "heads" if text == "feature" else "line"
            yield Told("study page", rule, " | ".join(block.cells), number, about)
