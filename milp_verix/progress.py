"""What a running explanation shows and leaves on disk before it is done."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from milp_verix.errors import InputError
from milp_verix.explain import Progress
from milp_verix.serialisation import replaceable

_SECONDS_BETWEEN_SAVES = 5.0
_LARGEST_SHARE = 0.05


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
    )
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("features", total=None, size=0)

        def show(state: Progress) -> None:
            size = state.explanation_size
            bar.update(task, completed=state.done, total=state.total, size=size)

        yield show


@dataclass(slots=True)
class Autosave:
    """Writes the sound explanation so far to ``path`` now and then, so that a crash loses little.

    The first check is saved; then saves are at least five seconds apart and take at most one
    twentieth of the time.
    """

    path: Path
    _next: float = -math.inf

    def __call__(self, state: Progress) -> None:
        """Save if it is time to."""
        started = time.monotonic()
        if started < self._next or not replaceable(self.path):
            return  # what a pipe was given cannot be taken back
        with suppress(InputError):  # a disk that is full now may not be so at the end, which tells
            state.snapshot().to_json(self.path)
        now = time.monotonic()
        self._next = now + max(_SECONDS_BETWEEN_SAVES, (now - started) / _LARGEST_SHARE)
