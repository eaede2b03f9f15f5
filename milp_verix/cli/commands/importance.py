"""The command ``milp-verix importance``: how much each feature has to do with a prediction."""

from typing import Annotated

import typer

from milp_verix.cli.delivery import DrawnDelivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option
from milp_verix.cli.options import FeatureNames, Resume
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import QuestionOptions, files_of, numbers_in, question_of
from milp_verix.cli.search_options import SearchOptions
from milp_verix.duality.importance import importance_of
from milp_verix.duality.marco import EnumerationProgress
from milp_verix.power_indices.indices import INDICES
from milp_verix.reporting.words.importance import importance_facts
from milp_verix.reporting.words.wording import counted


def importance(
    *,
    posed: QuestionOptions,
    feature_names: FeatureNames = None,
    index: Annotated[
        str, question_option(metavar="|".join(INDICES), help="The power index.")
    ] = "shapley",
    beside: Annotated[
        str | None,
        question_option(
            metavar="FILE",
            help="A score of each feature by another tool, such as SHAP values, .npy or .json: "
            "tells the pairs of features that it orders wrongly.",
        ),
    ] = None,
    resume: Resume = None,
    search: SearchOptions,
    delivery: DrawnDelivery,
) -> None:
    """Weigh the features by a power index of the sets that keep the prediction, with brackets.

    Exit codes: 0 every importance is exact; 3 some are proven brackets; 130 interrupted, and the
    brackets so far are written; 2 an argument cannot be used.
    """
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, beside))
        asked = question_of(posed, feature_names)
        scores = None if beside is None else numbers_in(beside, "--beside", asked.network)
        status = status_line(errors, "a first set …", _told)
        with status as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            found = importance_of(
                asked.problem,
                index=index,
                beside=scores,
                search=search.search(),
                progress=show,
                snapshots=save,
                resume=resume,
            )
        found = asked.noted(found)
        delivery.deliver(found, importance_facts)
    raise typer.Exit(exit_code(found.exact, found.statistics.stopped))


def _told(state: EnumerationProgress) -> str:
    return f"{counted(state.abductive + state.contrastive, 'set')} decided"
