"""The page ``operators.md``, written from the table of operators that the reader has.

``python docs/operator_tables.py`` writes the tables between the marks in the page; a test compares
them with the reader's.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from marked_tables import marked

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "encodings")]

import milp_verix.models.onnx.trace  # noqa: E402, F401 - it registers the operators
from milp_verix.models.onnx.folding import FOLDED  # noqa: E402
from milp_verix.models.onnx.registry import every_operator, refusals  # noqa: E402

PAGE = ROOT / "docs" / "operators.md"


def tables() -> dict[str, str]:
    """Return the parts of the page that are written, by the name in their marks."""
    return {"read": _read(), "refused": _refused(), "constants": _constants()}


def written(page: str) -> str:
    """Return the text of the page with these parts in it."""
    return marked(page, tables(), "tables", PAGE)


def _read() -> str:
    """Return a table for each module of operators: its operators, and their first line."""
    modules: dict[str, dict[object, list[str]]] = {}
    for name, entry in sorted(every_operator().items()):
        rows = modules.setdefault(entry.function.__module__, {})
        rows.setdefault(entry.function, []).append(name)
    return "\n\n".join(
        "\n".join([f"### {_headline(module)}", "", *_table(rows)])
        for module, rows in sorted(modules.items(), key=lambda item: _headline(item[0]))
    )


def _headline(module: str) -> str:
    first = (inspect.getdoc(import_module(module)) or "").partition("\n\n")[0]
    return " ".join(first.split()).partition(":")[0].rstrip(".")


def _table(rows: dict[object, list[str]]) -> Iterator[str]:
    yield from ("| operators | read as |", "|---|---|")
    for function, names in sorted(rows.items(), key=lambda item: item[1]):
        told = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        told = re.sub(r"``([^`]*)``", r"`\1`", told).replace("|", "\\|")
        yield f"| {_listed(names)} | {told} |"


def _refused() -> str:
    reasons: dict[str, list[str]] = {}
    for name, reason in sorted(refusals.items()):
        reasons.setdefault(reason, []).append(name)
    rows = (f"| {_listed(names)} | {reason} |" for reason, names in reasons.items())
    return "\n".join(["| operators | why |", "|---|---|", *rows])


def _constants() -> str:
    names = sorted(FOLDED)
    lines = [_listed(names[first : first + 12]) for first in range(0, len(names), 12)]
    return ",\n".join(lines) + "."


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
