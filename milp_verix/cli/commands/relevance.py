"""The command ``milp-verix relevance``: the part of protected features in a decision."""

from typing import Annotated, Any

import typer

from milp_verix.base.number_text import counted
from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import Delivery, exit_code
from milp_verix.cli.help_sections import question_option
from milp_verix.cli.options import features_in
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedQuestion, Question
from milp_verix.cli.search_options import SearchOptions
from milp_verix.results.public import Relevance
from milp_verix.searches.importance.relevance import RelevanceProgress, relevance_of

EXIT_CODES = """\
Exit codes: 0 both answers are proven; 3 one is left open (time limit, or the solver could not
tell); 130 it was interrupted, and the answers so far are written; 2 an argument, the input, the
model or the solver cannot be used."""


def relevance(
    *,
    posed: NamedQuestion,
    protected: Annotated[
        str,
        question_option(
            metavar="NAME[,NAME…]",
            help="The protected features, by name or number; several count as one.",
        ),
    ],
    search: SearchOptions,
    delivery: Delivery,
) -> None:
    """Tell if protected features are in every explanation of a decision, in some, or in none."""

    def search_of(asked: Question, **watching: Any) -> Relevance:
        features = features_in(protected)
        return relevance_of(asked.problem, features, search=search.search(), **watching)

    found = answered(posed, delivery, status_line("a first check …", _told), search_of)
    raise typer.Exit(exit_code(found.settled, found.statistics.stopped))


def _told(state: RelevanceProgress) -> str:
    necessary = {True: "necessary", False: "not necessary", None: "necessity open"}
    return f"{necessary[state.necessary]}, {counted(state.checks, 'check')}"
