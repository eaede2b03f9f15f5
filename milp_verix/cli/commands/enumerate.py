"""The command ``milp-verix enumerate``: all minimal explanations, of both kinds."""

from typing import Annotated

import typer

from milp_verix.cli.delivery import Delivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option
from milp_verix.cli.options import FeatureNames
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import QuestionOptions, files_of, question_of
from milp_verix.cli.search_options import SearchOptions
from milp_verix.duality.marco import LIMIT, EnumerationProgress, enumerate_problem
from milp_verix.reporting.words.contrast import enumeration_facts


def enumerate_(
    *,
    posed: QuestionOptions,
    feature_names: FeatureNames = None,
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
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed))
        asked = question_of(posed, feature_names)
        status = status_line(errors, "a first explanation …", _told)
        with status as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            found = enumerate_problem(
                asked.problem,
                limit=limit,
                search=search.search(),
                progress=show,
                snapshots=save,
            )
        found = asked.noted(found)
        delivery.deliver(found, enumeration_facts)
    stopped = found.statistics.stopped
    raise typer.Exit(exit_code(found.complete or stopped == LIMIT, stopped))


def _told(state: EnumerationProgress) -> str:
    return f"{state.abductive} abductive, {state.contrastive} contrastive"
