"""Markdown tables, and their places in RESULTS.md and the files of ``measured``.

A table's place is between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. A script that is run
with ``--write NAME`` puts its tables there, below the commit, date, machine and command of the run.
Tables with a row for each image or form go to the place ``NAME-each``, if there is one.
"""

import argparse
import datetime as dt
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
MEASURED = ROOT / "benchmarks" / "measured"
EACH = "-each"
"""The ending of places for tables with a row for each image or form."""


class Table:
    """A Markdown table that is printed row by row; ``str(table)`` is its text.

    Columns are separated by ``|`` in ``head``; those behind the first ``words`` hold numbers.
    """

    def __init__(self, head: str, *, words: int = 1, quiet: bool = False) -> None:
        names = [name.strip() for name in head.split("|")]
        self._lines: list[str] = []
        self._quiet = quiet
        self.add(*names)
        self._say(f"|{'---|' * words}{'---:|' * (len(names) - words)}")

    def add(self, *cells: object) -> None:
        """Print and keep a row."""
        self._say(f"| {' | '.join(map(str, cells))} |")

    def _say(self, line: str) -> None:
        self._lines.append(line)
        if not self._quiet:
            print(line, flush=True)

    def __str__(self) -> str:
        return "\n".join(self._lines)


@dataclass(frozen=True)
class Measurement:
    """The commit, machine and command that the numbers of a table come from."""

    commit: str
    date: str
    machine: str
    versions: str
    command: str

    def __str__(self) -> str:
        told = f"Commit {self.commit}, {self.date}; {self.machine}; {self.versions}."
        return f"{told}\n\n```bash\n{self.command}\n```"


def measured_now(versions: Iterable[str] = ()) -> Measurement:
    """Return commit, machine and command of this run; ``versions`` are beside that of Python."""
    return Measurement(
        commit(),
        dt.datetime.now(tz=dt.UTC).date().isoformat(),
        machine(),
        ", ".join([f"Python {platform.python_version()}", *versions]),
        command(sys.argv),
    )


def commit(root: Path = ROOT) -> str:
    """Return the commit that is checked out in ``root``, and whether code differs from it.

    A folder that is no checkout, such as an unpacked sdist, has an unknown one.
    """
    if not (root / ".git").exists():
        return "`unknown`"
    code = ["*.py", "pyproject.toml"]
    name = _git(root, "rev-parse", "--short", "HEAD")
    changed = _git(root, "status", "--porcelain", "--", *code)
    return f"`{name}`" + (" with changes" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@contextmanager
def archived(name: str) -> Iterator[Path]:
    """Yield a folder that holds the files of a commit, for as long as the context lasts."""
    with tempfile.TemporaryDirectory() as folder:
        packed = ["git", "-C", str(ROOT), "archive", name]
        files = subprocess.run(packed, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=files, check=True)
        yield Path(folder)


def machine() -> str:
    """Return the processor's model and how many cores this process may use."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.processor()}, {_cores()} cores"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def command(argv: Sequence[str]) -> str:
    """Return the command of a run; of files outside the repository it gives the name alone."""
    script, *arguments = argv
    told = shlex.join([_without_folders(argument) for argument in arguments])
    folder = Path(script).resolve().parent
    if folder.parent == ROOT / "benchmarks":  # a package, whose modules are run by name
        return f"python -m benchmarks.{folder.name}.{Path(script).stem} {told}".rstrip()
    return f"python benchmarks/{Path(script).name} {told}".rstrip()


def _without_folders(argument: str) -> str:
    def shortened(found: re.Match[str]) -> str:
        path = Path(found[0])
        if not path.parent.is_dir():  # a fraction such as 8/255
            return found[0]
        path = path.resolve()
        return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name

    return re.sub(r"[^\s=,:]*/[^\s=,:\[\]]+", shortened, argument)


def add_write(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the table to write."""
    parser.add_argument(
        "--write",
        metavar="NAME",
        choices=tables_to_write(),
        help="write the table NAME of the measurements, too: %(choices)s",
    )


def write(
    name: str,
    tables: Iterable[object],
    versions: Iterable[str] = (),
    each: Iterable[object] = (),
) -> None:
    """Put tables and how they were measured at the place ``name``.

    Tables in ``each`` go to the place ``name-each``; without such a place they follow ``tables``.
    Raises ``ValueError`` where no document has the place ``name``.
    """
    measured, apart = measured_now(versions), f"{name}{EACH}" in known_places()
    put(name, [measured, *tables, *(() if apart else each)])
    if apart and (pieces := list(each)):
        put(f"{name}{EACH}", [measured, *pieces])


def put(name: str, pieces: Iterable[object]) -> None:
    """Replace the text at the place ``name``; ``ValueError`` where no document has it."""
    known = known_places()
    if name not in known:
        raise ValueError(f"no document has a place {name!r}; they have {', '.join(known)}")
    document = known[name]
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    before, _, rest = document.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not closed:
        raise ValueError(f"the place {name!r} of {document.name} has no end")
    body = "\n\n".join(str(piece) for piece in pieces)
    document.write_text(f"{before}{begin}{body}\n{end}{after}", encoding="utf-8")


def documents() -> list[Path]:
    """Return the documents that hold tables, RESULTS.md first."""
    return [RESULTS, *sorted(MEASURED.glob("*.md"))]


def known_places() -> dict[str, Path]:
    """Return the names of all places, each with its document."""
    found = [(path, path.read_text(encoding="utf-8")) for path in documents()]
    return {name: path for path, text in found for name in places(text)}


def tables_to_write() -> list[str]:
    """Return the names that ``--write`` takes: those of tables whose scripts fill their places."""
    return [name for name in known_places() if not name.endswith(EACH)]


def places(text: str) -> list[str]:
    """Return the names of the places in a document."""
    return re.findall(r"^<!-- begin (\S+) -->$", text, flags=re.MULTILINE)
