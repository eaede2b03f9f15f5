"""The command ``milp-verix minimum``: the explanation with the fewest features."""

import sys
from typing import Annotated

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case
from milp_verix.searches.minimum.minimum_search import MinimumProgress
from milp_verix.views.words.explanation_words import trace_lines


def minimum(
    *,
    case: Case,
    asked: Annotated[Asked, Options("minimum")],
    delivery: ProvenDelivery,
) -> None:
    """Find the explanation with the fewest features, and prove that none has fewer.

    Ctrl-C and the time limit end with the best explanation so far and its proven lower bound. The
    exit codes are those of explain: 0 says that the explanation is locally minimal, not that it is
    proven to be a minimum.
    """
    found = answered(case, asked, delivery, status_line("a first explanation …", _told))
    if not delivery.quiet and not sys.stdout.isatty():
        typer.echo("\n".join(trace_lines(found.statistics)))
    raise typer.Exit(exit_code(found.minimal, found.statistics.stopped))


def _told(state: MinimumProgress) -> str:
    return f"best {state.size}, none below {state.lower_bound}, round {state.rounds}"
