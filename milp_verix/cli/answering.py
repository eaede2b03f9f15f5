"""The course of a command that answers a question: pose it, search, save and deliver."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import typer
from rich.console import Console

from milp_verix.cli.asked import Asked
from milp_verix.cli.delivery import (
    Delivery,
    ProvenDelivery,
    certified,
    refusals,
    termination_as_interrupt,
)
from milp_verix.cli.progress import autosaving
from milp_verix.cli.question import Case, Question, files_of, question_of

Shown = Callable[[Console], AbstractContextManager[Callable[[Any], None]]]


def answered(
    case: Case,
    asked: Asked,
    delivery: Delivery,
    shown: Shown,
    prepared: Callable[[Question], tuple[str, ...]] = lambda question: (),
) -> Any:
    """Return the answer to the question that is ``asked``; it is saved, certified and printed.

    ``case`` names the network and the input, ``delivery`` the outputs: none is a file that one of
    the options names. ``shown`` shows the progress on a console. ``prepared`` reads what is left of
    the call's own options, and returns notes for the result. Errors about arguments end the
    command.
    """
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(case, asked))
        question = question_of(case, asked)
        notes = prepared(question)
        question = replace(question, notes=(*question.notes, *notes))
        search = getattr(question.problem, asked.options.call)
        with (
            shown(errors) as show,
            autosaving(delivery.json_path, errors, question.noted) as save,
        ):
            found = search(**question.own, search=asked.search(), progress=show, snapshots=save)
        found = question.noted(found)
        check = ""
        if isinstance(delivery, ProvenDelivery):
            found, check = certified(found, question.network, delivery.certificate_path)
        delivery.deliver(found)
        if check and not delivery.quiet:
            typer.echo(check)
    return found
