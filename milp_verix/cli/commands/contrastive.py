"""The command ``milp-verix contrastive``: the least change that changes the prediction."""

from typing import Annotated, Any

import typer

from milp_verix.base.number_text import down, up
from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import DrawnDelivery, exit_code
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import Costs, Resume, features_in
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedQuestion, Question, numbers_in
from milp_verix.cli.search_options import SearchOptions
from milp_verix.results.public import ContrastiveExplanation
from milp_verix.searches.contrast.contrast_search import ContrastiveProgress
from milp_verix.searches.contrast.contrastive import MEASURES, contrastive_of


def contrastive(
    *,
    posed: NamedQuestion,
    costs: Costs = None,
    must_not: Annotated[
        str,
        question_option(
            metavar="I,J,…", help="Features, by numbers or names, that must not change."
        ),
    ] = "",
    minimise: Annotated[
        str,
        question_option(
            metavar="|".join(MEASURES),
            help="The number of features that change, or the distance: each change as a share of "
            "the radius, or of the domain where that is smaller.",
        ),
    ] = "features",
    count: Annotated[
        int,
        search_option(
            "--count",
            metavar="N",
            min=1,
            help="Changes to find, each without the sets of features of those before.",
        ),
    ] = 1,
    resume: Resume = None,
    search: SearchOptions,
    delivery: DrawnDelivery,
) -> None:
    """Find the fewest features whose change changes the prediction, and an input that shows it.

    With --minimise distance, find the nearest input that does.

    Exit codes: 0 it is proven that no smaller set does, or that none does at all; 3 it is not;
    130 interrupted, and the best set so far is written; 2 an argument cannot be used.
    """

    def search_of(asked: Question, **watching: Any) -> ContrastiveExplanation:
        return contrastive_of(
            asked.problem,
            costs=None if costs is None else numbers_in(costs, "--costs", asked.network),
            must_not=features_in(must_not),
            minimise=minimise,
            count=count,
            search=search.search(),
            resume=resume,
            **watching,
        )

    shown = status_line("a first contrast …", _told)
    found = answered(posed, delivery, shown, search_of, costs)
    raise typer.Exit(exit_code(found.proven, found.statistics.stopped))


def _told(state: ContrastiveProgress) -> str:
    best = "none yet" if state.cost is None else up(state.cost)
    return f"best {best}, none below {down(state.lower_bound)}, round {state.rounds}"
