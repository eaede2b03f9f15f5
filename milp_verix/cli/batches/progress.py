"""Progress and end of a study: a bar on a terminal, elsewhere a line every few seconds.

A comparison of solvers over many inputs: the options of ``compare`` for it, and its course.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    TextColumn,
    TimeElapsedColumn,
)

from milp_verix.base.arguments import radius_in
from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted
from milp_verix.cli.asked import Asked
from milp_verix.cli.exit_codes import DISAGREEMENT, INTERRUPTED, UNDECIDED
from milp_verix.cli.help_sections import output_option, question_option, search_option
from milp_verix.cli.question import Case, network_of
from milp_verix.cli.terminal import Terminal
from milp_verix.study.batch import Tally, run_parts
from milp_verix.study.inputs import stored_inputs
from milp_verix.study.parts import Part, part_of
from milp_verix.study.solver_study import SolverStudy, read_solver_study
from milp_verix.views.words.text_tables import meaning

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


_OF_PAIRS = ("solvers", "formulations", "most_checks", "rounds")


@dataclass(frozen=True, kw_only=True)
class Many:
    """The options of a comparison over many inputs."""

    indices: Annotated[
        str | None,
        question_option(
            metavar="0:100",
            help="Compare on these inputs of the file INPUT, such as images.npz:images, and write "
            "a --journal. [one input]",
        ),
    ] = None
    radii: Annotated[
        str | None, question_option(metavar="E,…", help="With --indices: more radii.")
    ] = None
    journal: Annotated[
        Path | None,
        output_option(
            metavar="STUDY.jsonl",
            help="With --indices: a line for each input, by which the same command goes on.",
        ),
    ] = None
    workers: Annotated[
        int, search_option(metavar="N", min=1, help="With --indices: processes that share inputs.")
    ] = 1


@dataclass(frozen=True, slots=True, eq=False)
class Solvers:
    """The question of a comparison over many inputs, and what is ``asked`` of each.

    ``files`` are those for the summary, for each check and for the picture, where they are wanted.
    """

    case: Case
    asked: Asked
    relaxations: bool
    files: tuple[Path | None, Path | None, Path | None]
    quiet: bool

    def over(self, many: Many, errors: Console) -> int:
        """Compare on many inputs, write the journal and the files; return the exit code."""
        if many.journal is None:
            raise InputError("give --journal STUDY.jsonl with --indices: the study goes on from it")
        part = self._part(many, errors)
        with tasks_progress(errors, quiet=self.quiet) as show:
            tally = run_parts(
                [part], many.journal, workers=many.workers, results=False, progress=show
            )
        deliver(tally, many.journal, quiet=self.quiet)
        if not tally.done + tally.undecided:
            return exit_code(tally)
        study = read_solver_study(many.journal, warn=lambda _: None)
        writers = (study.summary_to_csv, study.to_csv, study.plot)
        for path, write in zip(self.files, writers, strict=True):
            if path is not None:
                write(path)
        return DISAGREEMENT if study.disagreements else exit_code(tally)

    def _part(self, many: Many, errors: Console) -> Part:
        case, asked = self.case, self.asked
        if asked["inputs"] is not None:
            raise InputError("described inputs are compared by: milp-verix batch --task compare")
        if asked["epsilon"] is None:
            raise InputError("--epsilon is missing: give the radius of the ball")
        network = network_of(case.model, case)
        options = asked.question(network)
        radius = options.pop("epsilon")
        own = asked.own(network)
        options |= {name: own[name] for name in _OF_PAIRS} | {"relaxations": self.relaxations}
        options |= asked.search().given()
        source = stored_inputs(case.specification, network, None, options)
        for note in () if self.quiet else source.told:
            errors.print(f"note: {note}", markup=False)
        return part_of(
            network,
            source,
            epsilon=[radius, *map(radius_in, many.radii.split(",") if many.radii else ())],
            task="compare",
            indices=many.indices,
            options=options,
        )
