"""Progress on the terminal, and results on disk, while a search runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from milp_verix.base.files import Autosave, replaceable
from milp_verix.searches.explain.explain import Progress

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


def status_line(
    first: str, text: Callable[[State], str]
) -> Callable[[Console], AbstractContextManager[Callable[[State], None]]]:
    """Return what shows a line on a terminal, and nothing elsewhere.

    The line is ``first``, and then the ``text`` of the newest state.
    """

    @contextmanager
    def shown(console: Console) -> Iterator[Callable[[State], None]]:
        if not console.is_terminal:
            yield lambda _: None
            return
        with console.status(first) as status:
            yield lambda state: status.update(text(state))

    return shown


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

    with Autosave(lambda result: finished(result).to_json(path), warn) as save:
        yield save
