"""The marks between which scripts write tables into a page."""

from collections.abc import Mapping
from pathlib import Path


def marked(page: str, tables: Mapping[str, str], noun: str, path: Path) -> str:
    """Return the text of ``page`` with each of the ``tables`` between the marks of its name.

    Marks are comments such as ``<!-- table of words begin -->``, where ``noun`` is ``table``.
    Raises ``SystemExit`` where the page, the file ``path``, has none.
    """
    for name, text in tables.items():
        begin, end = (f"<!-- {noun} of {name} {side} -->" for side in ("begin", "end"))
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"{path} has no marks {begin!r} and {end!r}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page
