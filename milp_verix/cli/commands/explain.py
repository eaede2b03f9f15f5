"""The command ``milp-verix explain``: the features that keep the prediction."""

from typing import Annotated

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.progress import progress_bar
from milp_verix.cli.question import Case

EXIT_CODES = """\
Exit codes: 0 the explanation is locally minimal; 3 it is sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def explain(
    *,
    case: Case,
    asked: Annotated[Asked, Options("explain")],
    delivery: ProvenDelivery,
) -> None:
    """Find features that, when fixed, keep the prediction while all other features may change."""
    found = answered(case, asked, delivery, progress_bar)
    raise typer.Exit(exit_code(found.minimal, found.statistics.stopped))
