"""Facts as a table for the terminal."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text


def table_of(facts: Iterable[tuple[str, str]]) -> Table:
    """Return pairs of a name and a text as a table of two columns without lines.

    Its text is the same on a terminal and in a file; only the names are dimmed on a terminal.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for name, value in facts:
        # a file name may hold brackets, which rich would take for markup
        table.add_row(Text(name), Text(value))
    return table
