"""The command ``milp-verix enumerate``: all minimal explanations, of both kinds."""

from typing import Annotated

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import Delivery, exit_code
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case
from milp_verix.searches.importance import LIMIT, EnumerationProgress


def enumerate_(
    *,
    case: Case,
    asked: Annotated[Asked, Options("enumerate")],
    delivery: Delivery,
) -> None:
    """List the minimal explanations: sets that keep the prediction, and sets that change it.

    Exit codes: 0 these are provably all, or as many as --limit asked for; 3 there may be others;
    130 interrupted, and the explanations so far are written; 2 an argument cannot be used.
    """
    found = answered(case, asked, delivery, status_line("a first explanation …", _told))
    stopped = found.statistics.stopped
    raise typer.Exit(exit_code(found.complete or stopped == LIMIT, stopped))


def _told(state: EnumerationProgress) -> str:
    return f"{state.abductive} abductive, {state.contrastive} contrastive"
