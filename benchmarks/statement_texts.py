"""All text that a user gets of a result: sentences, tables, pages, pictures, CSV.

Each text comes with the rule of the grammar that it has to have. Pages are read as HTML, pictures
by the texts drawn in them: nothing is taken from the records behind them.
"""

import io
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import count
from typing import Any

from matplotlib.text import Text
from rich.console import Console

_WIDE = 100_000
_FILL = "\0"
_TABLES = count(1)
_GOES_ON = ("abductive", "contrastive", "irrelevant")
_EXPLAINED = {"grounds", "versions", "limits"}
"""Sections of pages that say what words mean, and nothing of the model."""


@dataclass(frozen=True)
class Told:
    """A text of some ``place``, with the ``rule`` of its form; rows of a table have its number."""

    place: str
    rule: str
    text: str
    table: int = 0


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
    return read.blocks


def report_texts(page: str) -> Iterator[Told]:
    """Yield the texts of the page of one result."""
    facts, features, heads = list[tuple[str, str]](), list[Block](), list[str]()
    for block in blocks(page):
        text = block.cells[0] if block.cells else ""
        if block.section in _EXPLAINED:
            continue
        if block.kind == "h1":
            yield Told("report", "title", text)
        elif block.kind == "p lead":
            yield Told("report", "lead", text)
        elif block.kind == "p sentence":
            yield Told("report", "text", text)
        elif block.kind == "img":
            yield Told("report", "alt", text)
        elif block.kind == "tr" and block.section == "facts":
            facts.append((text, block.cells[1]))
        elif block.kind == "tr" and not heads:
            heads = block.cells
        elif block.kind == "tr":
            features.append(block)
        elif block.kind == "p" and block.section == "picture":
            yield Told("report", "remark", text)
    yield from fact_rows(facts, "report")
    table = next(_TABLES)
    for block in features:
        cells = " | ".join(cell.strip() for cell in block.cells)
        yield Told("report", "features", f"{' | '.join(heads)} || {cells}", table)


def notice_texts(page: str) -> Iterator[Told]:
    """Yield the texts of a notice."""
    for block in blocks(page):
        place = {"reasons": "reason", "changes": "altered", "proof": "grounds"}.get(block.section)
        text = block.cells[0].strip() if block.cells else ""
        if block.kind == "h1":
            yield Told("notice", "decided", text)
        elif block.section in _EXPLAINED or not text or block.kind not in ("p", "li"):
            continue
        elif place:
            yield Told("notice", place, text)


def picture_texts(figure: Any) -> Iterator[Told]:
    """Yield the texts drawn in a figure: title, sentence, and the texts of each line."""
    drawn = [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
    lines: dict[float, list[tuple[float, str]]] = {}
    for one in drawn:
        x, y = one.get_transform().transform(one.get_position())
        lines.setdefault(round(y, 0), []).append((x, one.get_text()))
    table = next(_TABLES)
    for y in sorted(lines, reverse=True):
        texts = [text.strip() for _, text in sorted(lines[y])]
        yield Told("picture", "picture", " | ".join(texts), table)
