"""The best answers so far of tasks that are not done: a file each, from which they go on.

A task that runs for some seconds saves its answer to ``STUDY.partial/KEY.json.gz`` now and then.
The file is there until a record says that the task is done. So a task that was killed, or that a
limit ended, goes on from it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.files import Autosave, Pace, write_atomically
from milp_verix.study.results import packed

FIRST_SECONDS = 5.0
"""Shorter tasks leave no file."""

_GROWTH = 0.1


def partial_folder(journal: Path) -> Path:
    """Return the folder of the answers so far: ``STUDY.partial`` beside ``STUDY.jsonl``."""
    return journal.resolve().with_suffix(".partial")


def partial_file(folder: Path, key: str) -> Path:
    """Return the file of the task ``key`` in the folder of the answers so far."""
    return folder / f"{key}.json.gz"


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
        pace = Pace(first=FIRST_SECONDS, growth=_GROWTH)
        with Autosave(self._write, self._warn, pace) as self.snapshots:
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
