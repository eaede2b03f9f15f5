"""Facts, and rows of numbers, as tables for the terminal."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from milp_verix.base.errors import printable


def table_of(facts: Iterable[tuple[str, str]]) -> Table:
    """Return pairs of a name and a text as a table of two columns without lines.

    Its text is the same on a terminal and in a file; only the names are dimmed on a terminal.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for name, value in facts:
        # a file name may hold brackets, which rich would take for markup
        table.add_row(*(Text(printable(text)) for text in (name, value)))
    return table


def table_of_rows(heads: Iterable[str], rows: Iterable[Sequence[str]], texts: int) -> Table:
    """Return a table without lines; all but the first ``texts`` columns hold numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place >= texts else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
