"""The command ``milp-verix relevance``: the part of protected features in a decision."""

from typing import Annotated

import typer

from milp_verix.base.number_text import counted
from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import Delivery, exit_code
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case
from milp_verix.searches.relevance import RelevanceProgress

EXIT_CODES = """\
Exit codes: 0 both answers are proven; 3 one is left open (time limit, or the solver could not
tell); 130 it was interrupted, and the answers so far are written; 2 an argument, the input, the
model or the solver cannot be used."""


def relevance(
    *,
    case: Case,
    asked: Annotated[Asked, Options("relevance")],
    delivery: Delivery,
) -> None:
    """Tell if protected features are in every explanation of a decision, in some, or in none."""
    found = answered(case, asked, delivery, status_line("a first check …", _told))
    raise typer.Exit(exit_code(found.settled, found.statistics.stopped))


def _told(state: RelevanceProgress) -> str:
    necessary = {True: "necessary", False: "not necessary", None: "necessity open"}
    return f"{necessary[state.necessary]}, {counted(state.checks, 'check')}"
