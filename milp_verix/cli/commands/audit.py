"""The command ``milp-verix audit``: is an explanation sound, is it minimal."""

from typing import Annotated

import typer

from milp_verix.base.number_text import counted
from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.exit_codes import NOT_SOUND
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case
from milp_verix.searches.audit import AuditProgress

EXIT_CODES = """\
Exit codes: 0 the explanation is sound, proven; 1 it is not, and there is a counterexample; 3
neither is known (time limit, or the solver could not tell); 130 it was interrupted, and what was
found so far is written; 2 an argument, the input, the model or the solver cannot be used."""


def audit(
    *,
    case: Case,
    asked: Annotated[Asked, Options("audit")],
    delivery: ProvenDelivery,
) -> None:
    """Judge an explanation by any tool: sound or not, minimal or not, proofs and witnesses."""
    found = answered(case, asked, delivery, status_line("checking the set …", _told))
    code = exit_code(found.sound is not None, found.statistics.stopped)
    raise typer.Exit(NOT_SOUND if code == 0 and not found.sound else code)


def _told(state: AuditProgress) -> str:
    word = {True: "sound", False: "not sound", None: "not decided"}[state.sound]
    tried = f"{state.done} of {counted(state.total, 'feature')} tried, {state.kept} needed"
    return f"{word}; {tried}" if state.done or state.activity else "checking the set …"
