"""Progress on the terminal, and results on disk, while a search or a study runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    ProgressColumn,
    Task,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from milp_verix.base.files import Autosave, replaceable
from milp_verix.base.number_text import counted
from milp_verix.searches.explain_search import Progress

if TYPE_CHECKING:
    from milp_verix.study.study_run import Tally

State = TypeVar("State")
_SECONDS_BETWEEN_LINES = 10.0


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
        *("features", BarColumn(), MofNCompleteColumn()),
        *("explanation so far: {task.fields[size]}", TimeElapsedColumn()),
        *("left:", TimeRemainingColumn(), _Activity()),
    )
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("features", total=None, size=0, activity="", since=0.0)

        def show(state: Progress) -> None:
            fields: dict[str, Any] = {"activity": state.activity, "since": time.monotonic()}
            size = state.explanation_size
            bar.update(task, completed=state.done, total=state.total, size=size, **fields)

        yield show


def status_line(
    first: str, text: Callable[[State], str]
) -> Callable[[Console], AbstractContextManager[Callable[[State], None]]]:
    """Return what shows a line on a terminal: ``first``, and then the ``text`` of a state."""

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


@contextmanager
def tasks_progress(console: Console, *, quiet: bool) -> Iterator[Callable[["Tally"], None]]:
    """Show tasks, rate, time left and failures: in place on a terminal, else unless ``quiet``."""
    if not console.is_terminal:
        yield (lambda _: None) if quiet else _lines(console)
        return
    columns = "tasks", BarColumn(), MofNCompleteColumn(), "{task.fields[pace]}", TimeElapsedColumn()
    with Bar(*columns, console=console, transient=True) as bar:
        shown = bar.add_task("tasks", total=None, pace="")

        def show(tally: "Tally") -> None:
            bar.update(shown, total=tally.total, completed=tally.ended, pace=_pace(tally))

        yield show


def summary(tally: "Tally") -> str:
    """Return ``"12 of 20 tasks, 9 known before, 3 s: 10 done, 2 undecided, 0 failed"``."""
    counts = [f"{tally.done} done", f"{tally.undecided} undecided", f"{tally.failed} failed"]
    known = f", {tally.known} known before" if tally.known else ""
    stopped = "interrupted: " if tally.stopped else ""
    return (
        f"{stopped}{tally.ended} of {counted(tally.total, 'task')}{known}, "
        f"{_clock(tally.seconds)}: {', '.join(counts)}"
    )


def _lines(console: Console) -> Callable[["Tally"], None]:
    last = time.monotonic()

    def show(tally: "Tally") -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            console.print(
                f"{tally.ended} of {counted(tally.total, 'task')}, {_pace(tally)}", markup=False
            )

    return show


def _pace(tally: "Tally") -> str:
    """Return ``"2.1 a second, 40 s left, 1 undecided"``; the rate is that of this run."""
    words = []
    ended = tally.ended - tally.known
    if ended and tally.seconds:
        rate = ended / tally.seconds
        pace = f"{rate:.3g} a second" if rate >= 1 else f"{1 / rate:.3g} s each"
        words += [pace, f"{_clock((tally.total - tally.ended) / rate)} left"]
    if tally.undecided:
        words.append(f"{tally.undecided} undecided")
    if tally.failed:
        words.append(f"{tally.failed} failed")
    return ", ".join(words)


def _clock(seconds: float) -> str:
    """Return ``"40 s"``, ``"12 min"`` or ``"3.5 h"``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
