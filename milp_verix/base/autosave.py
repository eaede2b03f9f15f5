"""The newest result so far is saved now and then, in a thread of its own, while a search runs."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from milp_verix.base.errors import InputError

SECONDS_BETWEEN = 2.0  # what a crash may lose
_LARGEST_SHARE = 0.05  # of the time that saves may take


@dataclass(frozen=True, slots=True)
class Pace:
    """The moments of saves, in seconds: the ``first`` one, and the time from one to the next.

    That is two seconds at least, and at least the share ``growth`` of the time so far.
    """

    first: float = 0.0
    growth: float = 0.0


class Autosave:
    """Gives the newest result so far to ``write``, which may raise ``InputError``.

    So a crash, or ``kill -9``, loses seconds, however long a solve takes. Saves are two seconds
    apart or more, see :class:`Pace`, and take at most one twentieth of the time. A save that fails
    is told to ``warn`` once; the file before stays, and the next save is tried.
    """

    def __init__(
        self, write: Callable[[Any], object], warn: Callable[[str], None], pace: Pace | None = None
    ) -> None:
        self._write = write
        self._warn = warn
        self._pace = pace or Pace()
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
        self._sleep(self._pace.first)
        while (snapshot := self._next()) is not None:
            started = time.monotonic()
            try:
                self._write(snapshot())
            except InputError as error:
                if not self._warned:
                    self._warn(f"{error}; the run goes on, and tries again")
                self._warned = True
            now = time.monotonic()
            grown = self._pace.growth * (now - self._started)
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
