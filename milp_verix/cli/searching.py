"""The commands that answer one question about one input: explain, minimum, and their siblings.

Each poses its question, searches, saves and delivers; a row says what sets it apart.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from milp_verix.base.number_text import counted, down, up
from milp_verix.cli.app import COMMANDS
from milp_verix.cli.call_options import CallOptions, GivenOptions
from milp_verix.cli.delivery import (
    Continued,
    Delivery,
    DrawnDelivery,
    ProvenDelivery,
    certified,
    refusals,
    termination_as_interrupt,
)
from milp_verix.cli.model_and_input import Question, files_of, question_of
from milp_verix.cli.parameters import ModelAndInput
from milp_verix.cli.progress import autosaving, progress_bar, status_line
from milp_verix.cli.startup import INTERRUPTED, NOT_SOUND, UNDECIDED, UNREACHABLE
from milp_verix.inputs.one_row import refuse_arrays
from milp_verix.oracle import verdict
from milp_verix.results import shown


@dataclass(frozen=True, slots=True)
class _Command:
    """A command: its outputs, its progress on a console, and whether an answer is ``settled``.

    ``more`` follows the first line of its help, ``exit_codes`` its options. ``prepared`` reads what
    is left of the call's own options, and returns notes for the result. ``lines`` are printed
    where the output is no terminal.
    """

    delivery: type[Delivery]
    progress: Callable[[Console], AbstractContextManager[Callable[[Any], None]]]
    settled: Callable[[Any], bool]
    exit_codes: str | None = None
    more: str = ""
    prepared: Callable[[Question], tuple[str, ...]] = lambda _: ()
    lines: Callable[[Any], list[str]] | None = None

    def run(self, case: ModelAndInput, given: GivenOptions, delivery: Delivery) -> Any:
        """Return the answer to the question ``given``; it is saved, certified and printed.

        ``case`` names the network and the input, ``delivery`` the outputs: none is a file that one
        of the options names. Errors about arguments end the command.
        """
        with refusals() as errors, termination_as_interrupt():
            delivery.check_paths(*files_of(case, given))
            question = question_of(case, given)
            question = replace(question, notes=(*question.notes, *self.prepared(question)))
            search = getattr(question.problem, given.options.call)
            file = Continued.of(delivery.json_path, question.own.get("resume"))
            with (
                self.progress(errors) as show,
                autosaving(
                    delivery.json_path, errors, lambda so_far: file.better(question.noted(so_far))
                ) as save,
            ):
                found = search(**question.own, search=given.search, progress=show, snapshots=save)
            found, check = question.noted(found), ""
            if isinstance(delivery, ProvenDelivery):
                found, check = certified(found, question.problem.network, delivery.certificate_path)
            delivery.deliver(found, file)
            if check and not delivery.quiet:
                typer.echo(check)
        if self.lines is not None and not delivery.quiet and not sys.stdout.isatty():
            typer.echo("\n".join(self.lines(found)))
        return found


def _exit_codes(done: str, left: str, so_far: str) -> str:
    return (
        f"Exit codes: 0 {done}; 3 {left} (time limit, or the solver could not tell); 130 it was "
        f"interrupted, and {so_far} written; 2 an argument, the input, the model or the solver "
        "cannot be used."
    )


def _with_rows(question: Question) -> tuple[str, ...]:
    """Read the inputs worth covering, a row of a file each; return notes on their columns."""
    if (source := question.own["rows"]) is None:
        return ()
    from milp_verix.searches.ranges.regions import Numbers
    from milp_verix.study.study_inputs import described_inputs, inputs_of

    problem = question.problem
    inputs, names = problem.inputs, problem.coordinate_names
    if inputs and Path(source).suffix.lower() in (".csv", ".parquet"):
        given = described_inputs(source, inputs)
    else:
        given = inputs_of(source, problem.x.size, None, names)
        refuse_arrays(inputs is not None and inputs.places is not None)
    rows = [given.read(index).reshape(-1) for index in range(given.count)]
    question.own["rows"] = Numbers(np.array(rows))
    return given.remarks


_NECESSARY = {True: "necessary", False: "not necessary", None: "necessity open"}
_SOUND = {True: "sound", False: "not sound", None: "not decided"}

_COMMANDS = {
    "explain": _Command(
        ProvenDelivery,
        progress_bar,
        lambda found: found.minimal,
        _exit_codes(
            "the explanation is locally minimal",
            "it is sound, but features were left undecided",
            "what was found so far is sound and",
        ),
    ),
    "minimum": _Command(
        ProvenDelivery,
        status_line(
            "a first explanation …",
            lambda now: f"best {now.size}, none below {now.lower_bound}, round {now.rounds}",
        ),
        lambda found: found.minimal,
        more="Ctrl-C and the time limit end with the best explanation so far and its proven lower "
        "bound. The exit codes are those of explain: 0 says that the explanation is locally "
        "minimal, not that it is proven to be a minimum. With --at-most: 0 an explanation costs at "
        "most that, 6 none does, proven, 3 neither is known.",
        lines=lambda found: shown.explanation_words.trace_lines(found.statistics),
    ),
    "contrastive": _Command(
        DrawnDelivery,
        status_line(
            "a first contrast …",
            lambda now: (
                f"best {'none yet' if now.cost is None else up(now.cost)}, "
                f"none below {down(now.lower_bound)}, round {now.rounds}"
            ),
        ),
        lambda found: found.proven,
        more="With --minimise distance, find the nearest input that does.\n\n"
        "Exit codes: 0 it is proven that no smaller set does, or that none does at all; 3 it is "
        "not; 130 interrupted, and the best set so far is written; 2 an argument cannot be used.",
    ),
    "inflate": _Command(
        ProvenDelivery,
        status_line("a first box …", lambda now: f"{now.done} ends decided"),
        lambda found: found.maximal,
        _exit_codes(
            "the ranges are maximal",
            "some could be wider, and all are sound",
            "the ranges so far are sound and",
        ),
        prepared=_with_rows,
    ),
    "enumerate": _Command(
        Delivery,
        status_line(
            "a first explanation …",
            lambda now: f"{now.abductive} abductive, {now.contrastive} contrastive",
        ),
        lambda found: found.complete or found.statistics.stopped == "limit",
        more="Exit codes: 0 these are provably all, or as many as --limit asked for; 3 there may "
        "be others; 130 interrupted, and the explanations so far are written; 2 an argument cannot "
        "be used.",
    ),
    "relevance": _Command(
        Delivery,
        status_line(
            "a first check …",
            lambda now: f"{_NECESSARY[now.necessary]}, {counted(now.checks, 'check')}",
        ),
        lambda found: found.settled,
        _exit_codes("both answers are proven", "one is left open", "the answers so far are"),
    ),
    "importance": _Command(
        ProvenDelivery,
        status_line(
            "a first set …",
            lambda now: f"{counted(now.abductive + now.contrastive, 'set')} decided",
        ),
        lambda found: found.exact,
        more="Exit codes: 0 every importance is exact; 3 some are proven brackets; 130 "
        "interrupted, and the brackets so far are written; 2 an argument cannot be used.",
    ),
    "radius": _Command(
        ProvenDelivery,
        status_line(
            "a first bracket …",
            lambda now: (
                f"{now.open} of {now.total} brackets are open"
                if now.total > 1
                else f"between {down(now.lower)} and {up(now.upper)}"
            ),
        ),
        lambda found: found.settled,
        _exit_codes(
            "every bracket is as narrow as asked for",
            "some are wider, and all are sound",
            "the brackets so far are sound and",
        ),
    ),
    "sweep": _Command(
        DrawnDelivery,
        progress_bar,
        lambda found: found.minimal,
        _exit_codes(
            "each explanation is locally minimal",
            "all are sound, but features were left undecided",
            "what was found so far is sound and",
        ),
    ),
    "audit": _Command(
        ProvenDelivery,
        status_line(
            "checking the set …",
            lambda now: (
                f"{_SOUND[now.sound]}; {now.done} of {counted(now.total, 'feature')} tried, "
                f"{now.kept} needed"
                if now.done or now.activity
                else "checking the set …"
            ),
        ),
        lambda found: found.sound is not None,
        _exit_codes(
            "the explanation is sound, proven; 1 it is not, and there is a counterexample",
            "neither is known",
            "what was found so far is",
        ),
    ),
}


def _function(name: str, row: _Command) -> Callable[..., None]:
    def command(*, case: ModelAndInput, given: GivenOptions, delivery: Delivery) -> None:
        found = row.run(case, given, delivery)
        if getattr(found, "statistics", found).stopped == verdict.INTERRUPTED:
            raise typer.Exit(INTERRUPTED)
        if getattr(found, "at_most", None) is not None:
            answers = {True: 0, False: UNREACHABLE, None: UNDECIDED}
            raise typer.Exit(answers[found.reachable])
        if not row.settled(found):
            raise typer.Exit(UNDECIDED)
        raise typer.Exit(NOT_SOUND if name == "audit" and not found.sound else 0)

    command.__annotations__ |= {
        "given": Annotated[GivenOptions, CallOptions(name)],
        "delivery": row.delivery,
    }
    command.__doc__ = f"{COMMANDS[name]}\n\n{row.more}"
    return command


FUNCTIONS = {name: (_function(name, row), row.exit_codes) for name, row in _COMMANDS.items()}
