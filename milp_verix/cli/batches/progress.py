"""Progress and end of a study: a bar on a terminal, elsewhere a line every few seconds."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    TextColumn,
    TimeElapsedColumn,
)

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted
from milp_verix.cli.exit_codes import INTERRUPTED, UNDECIDED
from milp_verix.cli.terminal import Terminal
from milp_verix.study.batch import Tally
from milp_verix.study.solver_study import SolverStudy, read_solver_study
from milp_verix.views.words.solver_study import meaning

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def tasks_progress(console: Console, *, quiet: bool) -> Iterator[Callable[[Tally], None]]:
    """Show tasks, rate, time left and failures; a terminal shows them in place.

    Nothing is shown where it is ``quiet`` and no terminal.
    """
    if not console.is_terminal:
        yield (lambda _: None) if quiet else _lines(console)
        return
    columns = (
        *(
            TextColumn("tasks"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
        ),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        shown = bar.add_task("tasks", total=None, pace="")

        def show(tally: Tally) -> None:
            bar.update(shown, total=tally.total, completed=tally.ended, pace=_pace(tally))

        yield show


def summary(tally: Tally) -> str:
    """Return ``"12 of 20 tasks, 9 known before, 3 s: 10 done, 2 undecided, 0 failed"``."""
    counts = [f"{tally.done} done", f"{tally.undecided} undecided", f"{tally.failed} failed"]
    known = f", {tally.known} known before" if tally.known else ""
    stopped = "interrupted: " if tally.stopped else ""
    return (
        f"{stopped}{tally.ended} of {counted(tally.total, 'task')}{known}, "
        f"{_clock(tally.seconds)}: {', '.join(counts)}"
    )


def _lines(console: Console) -> Callable[[Tally], None]:
    last = time.monotonic()

    def show(tally: Tally) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            console.print(
                f"{tally.ended} of {counted(tally.total, 'task')}, {_pace(tally)}", markup=False
            )

    return show


def _pace(tally: Tally) -> str:
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


def print_study(study: SolverStudy) -> None:
    """Print a study of solvers: a line for each pair, contradictions, pairs that were not asked."""
    console = Terminal(soft_wrap=True)
    console.print(study.table())
    none = "no two definite answers contradict each other"
    told = [f"contradiction: {text}" for text in study.disagreements] or [none]
    told += [f"not asked: {text}" for text in study.skipped]
    for line in (meaning(study.times), *told):
        console.print(line, markup=False)


def deliver(tally: Tally, journal: Path, *, quiet: bool) -> None:
    """Print how a study ended; of one of solvers, the summary of each pair."""
    if quiet:
        return
    typer.echo(f"{summary(tally)}; the journal is {journal}")
    if tally.failure is not None:
        typer.echo(f"the first that failed: {tally.failure}")
    if not tally.done:
        return
    with suppress(InputError):  # a study of explanations
        print_study(read_solver_study(journal, warn=lambda _: None))


def exit_code(tally: Tally) -> int:
    """Return the exit code of a study."""
    if tally.stopped is not None:
        return INTERRUPTED
    return 0 if tally.complete else UNDECIDED
