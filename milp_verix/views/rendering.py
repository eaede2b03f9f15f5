"""The parts of a page as data, and templates that turn them into HTML and escape every text."""

import math
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from milp_verix.base import version
from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted, exact, nearest
from milp_verix.views.feature_status import FREED, Status
from milp_verix.views.image_view import MARK
from milp_verix.views.style import INK, MUTED, Drawing, typeset

if TYPE_CHECKING:
    from jinja2 import Environment

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


def _with_lines(text: str) -> Any:
    from markupsafe import Markup, escape

    return Markup(escape(printable(text, "\n\t")))


def rendered(template: str, **content: Any) -> str:
    """Return ``template``, a file of the folder ``templates``, with ``content`` in its places.

    A name in the template that ``content`` lacks raises Jinja's ``UndefinedError``.
    """
    return environment().get_template(template).render(**content)


@cache
def environment() -> "Environment":
    """Return the templates; Jinja is loaded with the first one."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"counted": counted, "exact": exact, "nearest": nearest, "typeset": typeset}
    found.filters["lines"] = _with_lines
    colours = {status.value: status.colour for status in Status}
    found.globals |= {"colours": {"ink": INK, "muted": MUTED, "mark": MARK, **colours}}
    found.globals |= {"freed": FREED, "version": version()}
    return found


_MOST_BINS = 24


class Bin(NamedTuple):
    """A bar: its range and count in words, and the heights of its two parts in percent."""

    text: str
    done: float
    undecided: float


class Histogram(NamedTuple):
    """A distribution in words and as bars; ``median`` and ticks stand at percents of the axis."""

    text: str
    bins: Sequence[Bin]
    median: float
    ticks: Sequence[tuple[str, float]]


def histogram(
    done: Sequence[float],
    undecided: Sequence[float],
    what: str,
    limits: tuple[float, float],
    *,
    logarithmic: bool = False,
) -> Histogram:
    """Return the distribution of values, those of ``undecided`` tasks on top in their colour.

    ``what`` names the values and their unit, ``limits`` are the ends of the axis, so that several
    distributions compare. Values on a ``logarithmic`` axis are above zero, others are whole.
    """
    low, high = limits
    every = np.array([*done, *undecided], dtype=np.float64)
    edges = _edges(low, high, logarithmic=logarithmic)
    scale = np.log if logarithmic else np.asarray

    def across(value: float) -> float:
        return float(np.interp(scale(value), scale(edges[[0, -1]]), [0, 100]))

    firm, _ = np.histogram(np.clip(done, low, high), edges)
    loose, _ = np.histogram(np.clip(undecided, low, high), edges)
    unit = 100 / max(int((firm + loose).max(initial=0)), 1)
    bins = [
        Bin(f"{nearest(start, 3)} to {nearest(end, 3)}: {one + other}", one * unit, other * unit)
        for start, end, one, other in zip(edges[:-1], edges[1:], firm, loose, strict=True)
    ]
    middle = float(np.median(every))
    centre = math.sqrt(low * high) if logarithmic else round((low + high) / 2)
    ticks = [low, high] if not logarithmic and high - low < 2 else [low, centre, high]
    summary = (
        f"{what} of {counted(len(every), 'task')}: median {nearest(middle, 3)}, "
        f"from {nearest(float(every.min()), 3)} to {nearest(float(every.max()), 3)}"
    )
    named = [
        (nearest(value, 2) if logarithmic else str(round(value)), across(value)) for value in ticks
    ]
    return Histogram(summary, bins, across(middle), list(dict.fromkeys(named)))


def _edges(low: float, high: float, *, logarithmic: bool) -> NDArray[np.float64]:
    if logarithmic:
        return np.geomspace(low, high, _MOST_BINS + 1).astype(np.float64)
    step = max(1, math.ceil((high - low + 1) / _MOST_BINS))
    count = max(1, math.ceil((high - low + 1) / step))
    return low - 0.5 + step * np.arange(count + 1, dtype=np.float64)
