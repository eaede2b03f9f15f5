"""The command ``milp-verix importance``: how much each feature has to do with a prediction."""

from typing import Annotated, Any

import typer

from milp_verix.base.number_text import counted
from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.help_sections import question_option
from milp_verix.cli.options import Resume
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedQuestion, Question, numbers_in
from milp_verix.cli.search_options import SearchOptions
from milp_verix.results.power_indices.indices import INDICES
from milp_verix.results.public import Importance
from milp_verix.searches.importance.importance import importance_of
from milp_verix.searches.importance.marco import EnumerationProgress


def importance(
    *,
    posed: NamedQuestion,
    index: Annotated[
        str, question_option(metavar="|".join(INDICES), help="The power index.")
    ] = "shapley",
    beside: Annotated[
        str | None,
        question_option(
            metavar="FILE",
            help="A score of each feature by another tool, such as SHAP values, .npy or .json: "
            "tells the pairs of features that it orders otherwise than proven.",
        ),
    ] = None,
    resume: Resume = None,
    search: SearchOptions,
    delivery: ProvenDelivery,
) -> None:
    """Weigh the features by a power index of the sets that keep the prediction, with brackets.

    Exit codes: 0 every importance is exact; 3 some are proven brackets; 130 interrupted, and the
    brackets so far are written; 2 an argument cannot be used.
    """

    def search_of(asked: Question, **watching: Any) -> Importance:
        return importance_of(
            asked.problem,
            index=index,
            beside=None if beside is None else numbers_in(beside, "--beside", asked.network),
            search=search.search(),
            resume=resume,
            **watching,
        )

    found = answered(posed, delivery, status_line("a first set …", _told), search_of, beside)
    raise typer.Exit(exit_code(found.exact, found.statistics.stopped))


def _told(state: EnumerationProgress) -> str:
    return f"{counted(state.abductive + state.contrastive, 'set')} decided"
