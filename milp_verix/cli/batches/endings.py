"""The end of a study: what is printed, and the exit code."""

from contextlib import suppress
from pathlib import Path

import typer

from milp_verix.cli.batches.progress import print_study, summary
from milp_verix.cli.exit_codes import INTERRUPTED, UNDECIDED
from milp_verix.errors import InputError
from milp_verix.study.batch import Tally
from milp_verix.study.solver_study import read_solver_study


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
