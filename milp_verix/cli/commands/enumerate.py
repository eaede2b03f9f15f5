"""The command ``milp-verix enumerate``: all minimal explanations, of both kinds."""

from typing import Annotated, Any

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import Delivery, exit_code
from milp_verix.cli.help_sections import question_option
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedQuestion, Question
from milp_verix.cli.search_options import SearchOptions
from milp_verix.results.public import Enumeration
from milp_verix.searches.importance.marco import LIMIT, EnumerationProgress, enumerate_problem


def enumerate_(
    *,
    posed: NamedQuestion,
    limit: Annotated[
        int | None,
        question_option(metavar="N", min=1, help="Explanations of both kinds together. [all]"),
    ] = None,
    search: SearchOptions,
    delivery: Delivery,
) -> None:
    """List the minimal explanations: sets that keep the prediction, and sets that change it.

    Exit codes: 0 these are provably all, or as many as --limit asked for; 3 there may be others;
    130 interrupted, and the explanations so far are written; 2 an argument cannot be used.
    """

    def search_of(asked: Question, **watching: Any) -> Enumeration:
        return enumerate_problem(asked.problem, limit=limit, search=search.search(), **watching)

    shown = status_line("a first explanation …", _told)
    found = answered(posed, delivery, shown, search_of)
    stopped = found.statistics.stopped
    raise typer.Exit(exit_code(found.complete or stopped == LIMIT, stopped))


def _told(state: EnumerationProgress) -> str:
    return f"{state.abductive} abductive, {state.contrastive} contrastive"
