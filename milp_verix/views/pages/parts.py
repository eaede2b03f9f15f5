"""The parts of a page as data: templates turn them into HTML."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from milp_verix.views.figures.parts.sheet import Drawing

_LONG = 30
"""Characters of a text that gets room."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text in a table, and how it is shown.

    ``kind`` are the classes of its style, ``status`` is that of the mark before it, ``unseen`` is
    read out alone, and ``link`` is the name of a part of the page that the text leads to.
    """

    text: str
    kind: str = ""
    status: str = ""
    unseen: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table with a caption; the first cell of a row is its heading.

    All but the first ``texts`` columns hold numbers. ``kind`` are the classes of its style; a
    ``"sortable"`` one gets buttons where a browser runs JavaScript.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    texts: int = 1
    kind: str = ""

    def kind_of(self, column: int) -> str:
        """Return the style of a column."""
        return "number" if column >= self.texts else ""

    def lines(self) -> Iterator[list[Cell]]:
        """Yield the rows with the style of each cell."""
        for row in self.rows:
            yield [self._styled(cell, column) for column, cell in enumerate(row)]

    def _styled(self, cell: str | Cell, column: int) -> Cell:
        if isinstance(cell, Cell):
            return cell
        return Cell(cell, self.kind_of(column) or ("long" if len(cell) > _LONG else ""))


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as an address that holds its data, with the text for who does not see it.

    ``outline`` is the path of lines over a picture of ``width`` by ``height`` pixels, or empty.
    """

    address: str
    alt: str
    caption: str = ""
    outline: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """A result on a page: pictures, a figure or a table, and a note."""

    pictures: Sequence[Picture] = ()
    drawing: Picture | None = None
    table: PageTable | None = None
    note: str = ""


def png(content: bytes) -> str:
    """Return the bytes of a PNG file as an address that needs no network."""
    return "data:image/png;base64," + b64encode(content).decode("ascii")


def drawn(figure: Drawing, alt: str) -> View:
    """Return the view of a whole figure."""
    return View(drawing=Picture(png(figure.render()), alt))
