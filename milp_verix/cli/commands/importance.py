"""The command ``milp-verix importance``: how much each feature has to do with a prediction."""

from typing import Annotated

import typer

from milp_verix.base.number_text import counted
from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case
from milp_verix.searches.importance import EnumerationProgress


def importance(
    *,
    case: Case,
    asked: Annotated[Asked, Options("importance")],
    delivery: ProvenDelivery,
) -> None:
    """Weigh the features by a power index of the sets that keep the prediction, with brackets.

    Exit codes: 0 every importance is exact; 3 some are proven brackets; 130 interrupted, and the
    brackets so far are written; 2 an argument cannot be used.
    """
    found = answered(case, asked, delivery, status_line("a first set …", _told))
    raise typer.Exit(exit_code(found.exact, found.statistics.stopped))


def _told(state: EnumerationProgress) -> str:
    return f"{counted(state.abductive + state.contrastive, 'set')} decided"
