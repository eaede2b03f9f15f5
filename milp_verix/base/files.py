"""Files that are written whole or not at all, and results that are saved while a search runs."""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from milp_verix.base.arguments import path_of
from milp_verix.base.errors import InputError

_LONGEST_NAME, _LONGEST_SUFFIX = 255, 64
"""The most bytes in the name of a file, and in a suffix that tells what it holds."""


def write_atomically(path: Path, content: str | bytes, what: str = "") -> None:
    """Write ``content``, text as UTF-8, whole or not at all, as :func:`replacing` does."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(path, what) as target:
        target.write_bytes(data)


def written(text: str, path: str | Path | None, what: str = "") -> str:
    """Return ``text``, and write it to ``path`` if given, as :func:`write_atomically` does."""
    if path is not None:
        write_atomically(path_of(path, "path"), text, what)
    return text


@contextmanager
def replacing(path: Path, what: str = "") -> Iterator[Path]:
    """Give a temporary path to write to; in the end that file replaces ``path``.

    The suffix is the same, and so is the mode of a file that is there. A link stays one: its target
    is replaced. A pipe or a device, such as /dev/stdout, is given itself and never replaced. On any
    error the earlier file stays and no part of a new one is left. Raises ``InputError`` where the
    path cannot be written; the message names it as ``what`` with the path behind.
    """
    temporary: Path | None = None
    try:
        if not replaceable(path):
            yield path
            return
        there = path.resolve()
        temporary = there.with_name(_temporary_name(there))
        mode = stat.S_IMODE(there.stat().st_mode) if there.exists() else None
        if mode is not None:
            temporary.touch(0o600)  # nobody else reads it before it has the mode of the old file
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(there)
    except OSError as error:
        raise InputError(f"cannot write {what}{path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):  # mostly it is not there: it was renamed, or never was
                temporary.unlink()


def _temporary_name(path: Path) -> str:
    """Return a name for this thread alone, no longer than one may be, with the same suffix."""
    suffix = path.suffix if len(os.fsencode(path.suffix)) <= _LONGEST_SUFFIX else ""
    end = f".{os.getpid()}.{threading.get_ident()}{suffix}"
    left = _LONGEST_NAME - len(os.fsencode(end)) - 1
    return f".{os.fsencode(path.stem)[:left].decode(errors='ignore')}{end}"


def replaceable(path: Path) -> bool:
    """Return whether ``path`` is a regular file or does not exist; false for a pipe or a folder."""
    return path.is_file() or not path.exists()


def is_file(path: Path) -> bool:
    """Return whether ``path`` is a file; a name may be too long for one."""
    with suppress(OSError):
        return path.is_file()
    return False


SECONDS_BETWEEN = 2.0  # what a crash may lose
_LARGEST_SHARE = 0.05  # of the time that saves may take


class Autosave:
    """Gives the newest result so far to ``write``, which may raise ``InputError``.

    So a crash, or ``kill -9``, loses seconds, however long a solve takes. The first save comes
    after ``first`` seconds; others are two seconds apart at least, and the share ``growth`` of the
    time so far, and take at most one twentieth of the time. A save that fails is reported to
    ``warn`` once; the file before stays, and the next save is tried.
    """

    def __init__(
        self,
        write: Callable[[Any], object],
        warn: Callable[[str], None],
        first: float = 0.0,
        growth: float = 0.0,
    ) -> None:
        self._write = write
        self._warn = warn
        self._first, self._growth = first, growth
        self._warned = False
        self._changed = threading.Condition()
        self._newest: Callable[[], Any] | None = None
        self._ended = False
        # a daemon: nothing waits for it where the run ends by an error
        self._thread = threading.Thread(target=self._run, name="autosave", daemon=True)

    def __call__(self, snapshot: Callable[[], Any]) -> None:
        """Save the result of ``snapshot`` once the interval is over, unless a newer one comes."""
        with self._changed:
            self._newest = snapshot
            self._changed.notify()

    def __enter__(self) -> "Autosave":
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        # what is written after this is not overwritten by a save
        self._thread.join()

    def _run(self) -> None:
        self._sleep(self._first)
        while (snapshot := self._next()) is not None:
            started = time.monotonic()
            try:
                self._write(snapshot())
            except InputError as error:
                if not self._warned:
                    self._warn(f"{error}; the run goes on, and tries again")
                self._warned = True
            now = time.monotonic()
            grown = self._growth * (now - self._started)
            self._sleep(max(SECONDS_BETWEEN, (now - started) / _LARGEST_SHARE, grown))

    def _sleep(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended, seconds)

    def _next(self) -> Callable[[], Any] | None:
        """Wait for a snapshot; return None once there is nothing more to save."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._newest is not None)
            snapshot, self._newest = self._newest, None
            return None if self._ended else snapshot
