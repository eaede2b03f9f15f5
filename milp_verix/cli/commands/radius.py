"""The command ``milp-verix radius``: the largest radius at which features do not matter."""

from typing import Annotated

import typer

from milp_verix.base.number_text import down, up
from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case
from milp_verix.searches.radius_search import RadiusProgress

EXIT_CODES = """\
Exit codes: 0 every bracket is as narrow as asked for; 3 some are wider, and all are sound (time
limit, or the solver could not tell); 130 it was interrupted, and the brackets so far are sound and
written; 2 an argument, the input, the model or the solver cannot be used."""


def radius(
    *,
    case: Case,
    asked: Annotated[Asked, Options("radius")],
    delivery: ProvenDelivery,
) -> None:
    """Bracket the largest radius up to which features may change, and the prediction stays."""
    found = answered(case, asked, delivery, status_line("a first bracket …", _told))
    raise typer.Exit(exit_code(found.settled, found.statistics.stopped))


def _told(state: RadiusProgress) -> str:
    if state.total > 1:
        return f"{state.open} of {state.total} brackets are open"
    return f"between {down(state.lower)} and {up(state.upper)}"
