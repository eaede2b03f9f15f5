"""The command ``milp-verix contrastive``: the least change that changes the prediction."""

from typing import Annotated

import typer

from milp_verix.base.number_text import down, up
from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import DrawnDelivery, exit_code
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case
from milp_verix.searches.contrast.contrast_search import ContrastiveProgress


def contrastive(
    *,
    case: Case,
    asked: Annotated[Asked, Options("contrastive")],
    delivery: DrawnDelivery,
) -> None:
    """Find the fewest features whose change changes the prediction, and an input that shows it.

    With --minimise distance, find the nearest input that does.

    Exit codes: 0 it is proven that no smaller set does, or that none does at all; 3 it is not;
    130 interrupted, and the best set so far is written; 2 an argument cannot be used.
    """
    found = answered(case, asked, delivery, status_line("a first contrast …", _told))
    raise typer.Exit(exit_code(found.proven, found.statistics.stopped))


def _told(state: ContrastiveProgress) -> str:
    best = "none yet" if state.cost is None else up(state.cost)
    return f"best {best}, none below {down(state.lower_bound)}, round {state.rounds}"
