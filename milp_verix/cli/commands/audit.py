"""The command ``milp-verix audit``: is an explanation sound, is it minimal."""

from typing import Annotated, Any

import typer

from milp_verix.base.number_text import counted
from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.exit_codes import NOT_SOUND
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedQuestion, Question
from milp_verix.cli.search_options import TraversalOptions
from milp_verix.results.public import Audit
from milp_verix.searches.audit.audit import audit_of
from milp_verix.searches.audit.search import AuditProgress
from milp_verix.searches.explain.order import ORDERS

EXIT_CODES = """\
Exit codes: 0 the explanation is sound, proven; 1 it is not, and there is a counterexample; 3
neither is known (time limit, or the solver could not tell); 130 it was interrupted, and what was
found so far is written; 2 an argument, the input, the model or the solver cannot be used."""


def audit(
    *,
    posed: NamedQuestion,
    explanation: Annotated[
        str,
        question_option(
            metavar="FILE",
            help="The explanation: a .json list of features, a mask of the input or its "
            "pixels (.json or .npy), or a result that explain --json wrote.",
        ),
    ],
    sound_only: Annotated[
        bool, question_option("--sound-only", help="End once soundness is decided.")
    ] = False,
    minimum: Annotated[
        bool, question_option("--minimum", help="Search the smallest sound set, too.")
    ] = False,
    order: Annotated[
        str, search_option(metavar="|".join(ORDERS), help="Order in which features are tried.")
    ] = "influence",
    search: TraversalOptions,
    delivery: ProvenDelivery,
) -> None:
    """Judge an explanation by any tool: sound or not, minimal or not, proofs and witnesses."""

    def search_of(asked: Question, **watching: Any) -> Audit:
        return audit_of(
            asked.problem,
            asked.explanation,
            sound_only=sound_only,
            minimum=minimum,
            order=order,
            transformation=search.transformation,
            traversal=search.traversal,
            search=search.search(),
            **watching,
        )

    shown = status_line("checking the set …", _told)
    found = answered(posed, delivery, shown, search_of, order, explanation=explanation)
    code = exit_code(found.sound is not None, found.statistics.stopped)
    raise typer.Exit(NOT_SOUND if code == 0 and not found.sound else code)


def _told(state: AuditProgress) -> str:
    word = {True: "sound", False: "not sound", None: "not decided"}[state.sound]
    tried = f"{state.done} of {counted(state.total, 'feature')} tried, {state.kept} needed"
    return f"{word}; {tried}" if state.done or state.activity else "checking the set …"
