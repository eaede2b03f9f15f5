"""The command ``milp-verix minimum``: the explanation with the fewest features."""

import sys
from typing import Annotated, Any

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import Costs, Resume, features_in, number_of
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedQuestion, Question, numbers_in
from milp_verix.cli.search_options import SearchOptions
from milp_verix.results.public import Explanation
from milp_verix.searches.minimum.minimum import MASTERS, METHODS, minimum_of
from milp_verix.searches.minimum.search import MinimumProgress
from milp_verix.views.words.explanation import trace_lines


def minimum(
    *,
    posed: NamedQuestion,
    method: Annotated[
        str, search_option(metavar="|".join(METHODS), help="What proves the lower bound.")
    ] = "scenarios",
    master: Annotated[
        str, search_option(metavar="|".join(MASTERS), help="What solves the scenarios.")
    ] = "auto",
    costs: Costs = None,
    must: Annotated[
        str,
        question_option(
            metavar="I,J,…", help="Features, by numbers or names, that must be explained."
        ),
    ] = "",
    must_not: Annotated[
        str, question_option(metavar="I,J,…", help="Features that must not be explained.")
    ] = "",
    gap: Annotated[
        float,
        search_option(
            parser=number_of,
            metavar="NUMBER",
            help="Stop once the explanation is that close: 0.03 for 3 %.",
        ),
    ] = 0.0,
    resume: Resume = None,
    search: SearchOptions,
    delivery: ProvenDelivery,
) -> None:
    """Find the explanation with the fewest features, and prove that none has fewer.

    Ctrl-C and the time limit end with the best explanation so far and its proven lower bound. The
    exit codes are those of explain: 0 says that the explanation is locally minimal, not that it is
    proven to be a minimum.
    """

    def search_of(asked: Question, **watching: Any) -> Explanation:
        return minimum_of(
            asked.problem,
            costs=None if costs is None else numbers_in(costs, "--costs", asked.network),
            must=features_in(must),
            must_not=features_in(must_not),
            gap=gap,
            method=method,
            master=master,
            search=search.search(),
            resume=resume,
            **watching,
        )

    shown = status_line("a first explanation …", _told)
    found = answered(posed, delivery, shown, search_of, costs)
    if not delivery.quiet and not sys.stdout.isatty():
        typer.echo("\n".join(trace_lines(found.statistics)))
    raise typer.Exit(exit_code(found.minimal, found.statistics.stopped))


def _told(state: MinimumProgress) -> str:
    return f"best {state.size}, none below {state.lower_bound}, round {state.rounds}"
