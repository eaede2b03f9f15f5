"""Whole results beside the journal of a study: one compressed JSON file for each task.

The file of a task is ``ab/abcd….json.gz`` in the folder of results, by its key, so that no folder
holds all of them. A record names it relative to the folder that the journal is in.

The best answers so far of tasks that are not done: a file each, from which they go on.

A task that runs for some seconds saves its answer to ``STUDY.partial/KEY.json.gz`` now and then.
The file is there until a record says that the task is done. So a task that was killed, or that a
limit ended, goes on from it.
"""

import gzip
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milp_verix.base.arguments import PATH, Kind, checked
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.files import Autosave, write_atomically

if TYPE_CHECKING:
    from milp_verix.results.contrast import ContrastiveExplanation
    from milp_verix.results.explanation import Explanation
    from milp_verix.study.journal import Record


class ResultsFolder:
    """The folder ``path`` of the whole results of the study in ``journal``; made if need be."""

    def __init__(self, path: Path, journal: Path) -> None:
        self._path = path
        with refusing(f"cannot make the folder {path}"):
            path.mkdir(exist_ok=True)
        self._relative_folder = Path(_relative(path.resolve(), journal.resolve().parent))

    def write(self, key: str, content: bytes) -> str:
        """Write the result of a task; return its path as the record tells it."""
        name = file_of(key)
        with refusing(f"cannot write to {self._path}"):
            (self._path / name).parent.mkdir(exist_ok=True)
        write_atomically(self._path / name, content)
        return (self._relative_folder / name).as_posix()


def default_folder(journal: Path) -> Path:
    """Return the folder of results of a journal: ``STUDY.results`` beside ``STUDY.jsonl``."""
    return journal.resolve().with_suffix(".results")


def packed(result: "Explanation | ContrastiveExplanation") -> bytes:
    """Return a result as its file holds it. Equal results are equal bytes: no time is in them."""
    return gzip.compress(result.to_json().encode(), mtime=0)


@checked(journal=PATH, record=Kind("a record of a journal", lambda value: hasattr(value, "get")))
def read_result(
    journal: str | Path, record: "Record", *, results: str | Path | None = None
) -> "Explanation | ContrastiveExplanation | None":
    """Return the whole result that a record of ``journal`` names; None where it names none.

    A row of :func:`milp_verix.read_study` will do as the record. ``results`` is the folder of
    results, if it is not inside the journal's folder. Raises ``InputError`` for a file that cannot
    be read, and for a path that leads out of the folder.
    """
    from milp_verix.results.contrast import ContrastiveExplanation
    from milp_verix.results.explanation import Explanation

    stored = record.get("result")
    if not isinstance(stored, str):  # None, or a table's empty cell
        return None
    if results is None:
        path = place(Path(journal).resolve().parent, stored)
    else:
        path = place(Path(results), file_of(record["key"]))
    if path is None:
        raise InputError(
            f"the journal {journal} names the result {stored!r}, which is outside its folder; if "
            "you trust it, give the folder of results as results=FOLDER"
        )
    kind = ContrastiveExplanation if record.get("task") == "contrastive" else Explanation
    return kind.from_json(path)


def file_of(key: str) -> str:
    """Return the name of the file of a task in a folder of results."""
    return f"{key[:2]}/{key}.json.gz"


def place(folder: Path, name: str) -> Path | None:
    """Return the path ``name`` in ``folder``; None if an absolute path, ``..`` or a link leads out.

    The journal that tells it may be a stranger's.
    """
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError, ValueError):  # links in a circle, a zero in a name
        return None


def _relative(path: Path, start: Path) -> str:
    try:
        return os.path.relpath(path, start)
    except ValueError:  # another drive of Windows
        return str(path)


FIRST_SECONDS = 5.0
"""Shorter tasks leave no file."""

_GROWTH = 0.1


class Partial:
    """The answer so far of one task, in a file; ``snapshots`` takes functions that return it."""

    def __init__(self, path: Path | None, warn: Callable[[str], None]) -> None:
        self._path, self._warn = path, warn
        self._started = time.monotonic()
        self.snapshots: Callable[[Callable[[], Any]], None] | None = None

    @property
    def earlier(self) -> Path | None:
        """The file, if there is one."""
        return self._path if self._path is not None and self._path.exists() else None

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Save snapshots, the first after some seconds, then less often; nothing without a path."""
        if self._path is None:
            yield
            return
        with Autosave(self._write, self._warn, FIRST_SECONDS, _GROWTH) as self.snapshots:
            yield

    def keep(self, result: Any) -> None:
        """Leave ``result``, which is not the last word, unless the task took a short time."""
        took = time.monotonic() - self._started
        if self._path is not None and (took >= FIRST_SECONDS or self.earlier):
            try:
                self._write(result)
            except InputError as error:
                self._warn(str(error))

    def _write(self, result: Any) -> None:
        assert self._path is not None
        folder = self._path.parent
        with refusing(f"cannot make the folder {folder}"):
            folder.mkdir(exist_ok=True)
        write_atomically(self._path, packed(result))


def forget(path: Path) -> None:
    """Remove the answer so far of a task that is done, and the folder if it was the last one."""
    if path.exists():
        for file in (path, *path.parent.glob(f".{path.stem}.*")):  # a killed save leaves its own
            with suppress(OSError):
                file.unlink()
        with suppress(OSError):
            path.parent.rmdir()
