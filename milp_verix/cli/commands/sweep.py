"""The command ``milp-verix sweep``: the features that keep the prediction, at several radii."""

from typing import Annotated

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import DrawnDelivery, exit_code
from milp_verix.cli.progress import progress_bar
from milp_verix.cli.question import Case

EXIT_CODES = """\
Exit codes: 0 each explanation is locally minimal; 3 all are sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def sweep(
    *,
    case: Case,
    asked: Annotated[Asked, Options("sweep")],
    delivery: DrawnDelivery,
) -> None:
    """Explain at several radii: features irrelevant at one are irrelevant at all smaller ones."""
    found = answered(case, asked, delivery, progress_bar)
    raise typer.Exit(exit_code(found.minimal, found.stopped))
