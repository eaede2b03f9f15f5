"""Progress on the terminal, and results on disk, while a search runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from milp_verix.atomic_write import replaceable
from milp_verix.errors import InputError
from milp_verix.traversal.explain import Progress

_SECONDS_BETWEEN_SAVES = 2.0
_LARGEST_SHARE = 0.05

State = TypeVar("State")


class _Activity(ProgressColumn):
    """The activity that goes on, with its seconds, once it has taken one."""

    def render(self, task: Task) -> Text:
        """Return ``"checking 12 features for 3 s"``."""
        seconds = int(time.monotonic() - task.fields["since"])
        activity = task.fields["activity"]
        return Text(f"{activity} for {seconds} s" if activity and seconds else "")


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Show features done, the explanation's size so far and the time left, on a terminal only."""
    columns = (
        TextColumn("features"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("explanation so far: {task.fields[size]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        _Activity(),
    )
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("features", total=None, size=0, activity="", since=0.0)

        def show(state: Progress) -> None:
            size = state.explanation_size
            bar.update(
                task,
                completed=state.done,
                total=state.total,
                size=size,
                activity=state.activity,
                since=time.monotonic(),
            )

        yield show


@contextmanager
def status_line(
    console: Console, first: str, text: Callable[[State], str]
) -> Iterator[Callable[[State], None]]:
    """Show a line, ``first`` and then the ``text`` of the newest state, on a terminal only."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(first) as status:
        yield lambda state: status.update(text(state))


class _Result(Protocol):
    def to_json(self, path: Path) -> object: ...


class Autosave:
    """Writes the newest result so far to ``path``, in a thread of its own.

    So a crash, or ``kill -9``, loses seconds, however long a solve takes. Saves are two seconds
    apart and take at most one twentieth of the time. A save that fails is told to ``warn`` once;
    the file before stays, and the next save is tried.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._path = path
        self._warn = warn
        self._warned = False
        self._changed = threading.Condition()
        self._newest: Callable[[], _Result] | None = None
        self._ended = False
        # a daemon: nothing waits for it where the run ends by an error
        self._thread = threading.Thread(target=self._run, name="autosave", daemon=True)

    def __call__(self, snapshot: Callable[[], _Result]) -> None:
        """Save the result of ``snapshot`` once the interval is over, unless a newer one comes."""
        with self._changed:
            self._newest = snapshot
            self._changed.notify()

    def __enter__(self) -> "Autosave":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        # what is written after this is not overwritten by a save
        self._thread.join()

    def _run(self) -> None:
        while (snapshot := self._next()) is not None:
            started = time.monotonic()
            try:
                snapshot().to_json(self._path)
            except InputError as error:
                if not self._warned:
                    self._warn(f"{error}; the run goes on, and tries again")
                self._warned = True
            spent = time.monotonic() - started
            with self._changed:
                wait = max(_SECONDS_BETWEEN_SAVES, spent / _LARGEST_SHARE)
                self._changed.wait_for(lambda: self._ended, wait)

    def _next(self) -> Callable[[], _Result] | None:
        """Wait for a snapshot; return None once there is nothing more to save."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._newest is not None)
            snapshot, self._newest = self._newest, None
            return None if self._ended else snapshot


@contextmanager
def autosaving(
    path: Path | None, console: Console, finished: Callable[[Any], Any] = lambda result: result
) -> Iterator[Callable[[Callable[[], Any]], None] | None]:
    """Yield a function that saves snapshots as ``finished`` returns them; None without a path."""
    if path is None or not replaceable(path):
        yield None  # what a pipe was given cannot be taken back
        return

    def warn(text: str) -> None:
        console.print(f"warning: {' '.join(text.split())}", markup=False)

    with Autosave(path, warn) as save:
        yield lambda snapshot: save(lambda: finished(snapshot()))
