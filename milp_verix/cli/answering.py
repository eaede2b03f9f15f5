"""The course of a command that answers a question: pose it, search, save and deliver."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import typer
from rich.console import Console

from milp_verix.cli.delivery import (
    Delivery,
    ProvenDelivery,
    certified,
    refusals,
    termination_as_interrupt,
)
from milp_verix.cli.progress import autosaving
from milp_verix.cli.question import CaseOptions, files_of, question_of
from milp_verix.results.shown import Told

Found = TypeVar("Found", bound=Told)
Shown = Callable[[Console], AbstractContextManager[Callable[[Any], None]]]


def answered(
    posed: CaseOptions,
    delivery: Delivery,
    shown: Shown,
    search: Callable[..., Found],
    *files: object,
    explanation: str | None = None,
) -> Found:
    """Return the answer of ``search`` to the question; it is saved, certified, written and printed.

    ``search`` takes the :class:`.Question`, and ``progress`` and ``snapshots`` by name.
    ``posed`` names the question, ``explanation`` the file of a set of features that it is about,
    ``delivery`` the outputs: none is a file that one of these or ``files`` name. ``shown`` shows
    the progress on a console. Errors about arguments end the command.
    """
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, explanation, *files))
        asked = question_of(posed, explanation)
        with shown(errors) as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            found = search(asked, progress=show, snapshots=save)
        found = asked.noted(found)
        check = ""
        if isinstance(delivery, ProvenDelivery):
            found, check = certified(found, asked.network, delivery.certificate_path)
        delivery.deliver(found)
        if check and not delivery.quiet:
            typer.echo(check)
    return found
