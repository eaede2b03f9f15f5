"""The command ``milp-verix relevance``: the part of protected features in a decision."""

from typing import Annotated

import typer

from milp_verix.cli.delivery import Delivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option
from milp_verix.cli.options import FeatureNames, features_in
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import QuestionOptions, files_of, question_of
from milp_verix.cli.search_options import SearchOptions
from milp_verix.duality.relevance import RelevanceProgress, relevance_of
from milp_verix.reporting.words.relevance import relevance_facts
from milp_verix.reporting.words.wording import counted

EXIT_CODES = """\
Exit codes: 0 both answers are proven; 3 one is left open (time limit, or the solver could not
tell); 130 it was interrupted, and the answers so far are written; 2 an argument, the input, the
model or the solver cannot be used."""


def relevance(
    *,
    posed: QuestionOptions,
    protected: Annotated[
        str,
        question_option(
            metavar="NAME[,NAME…]",
            help="The protected features, by name or number; several count as one.",
        ),
    ],
    feature_names: FeatureNames = None,
    search: SearchOptions,
    delivery: Delivery,
) -> None:
    """Tell if protected features are in every explanation of a decision, in some, or in none."""
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed))
        asked = question_of(posed, feature_names)
        status = status_line(errors, "a first check …", _told)
        with status as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            found = relevance_of(
                asked.problem,
                features_in(protected),
                search=search.search(),
                progress=show,
                snapshots=save,
            )
        found = asked.noted(found)
        delivery.deliver(found, relevance_facts)
    raise typer.Exit(exit_code(found.settled, found.statistics.stopped))


def _told(state: RelevanceProgress) -> str:
    necessary = {True: "necessary", False: "not necessary", None: "necessity open"}
    return f"{necessary[state.necessary]}, {counted(state.checks, 'check')}"
