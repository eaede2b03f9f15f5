"""The command ``milp-verix batch``: many inputs, many settings, a journal."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from milp_verix.base.errors import InputError
from milp_verix.cli.call_options import CallOptions, GivenOptions, list_in, order_in, radii_in
from milp_verix.cli.delivery import SECONDS, Terminal, refusals, termination_as_interrupt
from milp_verix.cli.model_and_input import network_of
from milp_verix.cli.parameters import (
    File,
    ModelOptions,
    Quiet,
    Text,
    output_option,
    question_option,
    search_option,
)
from milp_verix.cli.progress import summary, tasks_progress
from milp_verix.cli.startup import INTERRUPTED, UNDECIDED
from milp_verix.cli.stored_results import places_of, stored_proof
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.results.solver_times import SHIFT
from milp_verix.searches.order import ORDERS
from milp_verix.study.journal import default_folder
from milp_verix.study.solver_study import SolverStudy, read_solver_study
from milp_verix.study.study_file import OVERRIDES, study_in
from milp_verix.study.study_inputs import stored_inputs
from milp_verix.study.study_run import Part, Tally, part_of, run_parts
from milp_verix.study.tasks import FUNCTIONS as TASKS, LIMITS
from milp_verix.views.text_tables import meaning

_SAID = ("epsilon", "task", "order")
"""Options that a study takes several values of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Options that say which tasks a study has."""

    epsilon: Annotated[
        Text, question_option("E[,E…]", "Radii, such as 0.01,0.05 or 8/255, or files of radii.")
    ] = None
    task: Annotated[
        str, question_option(",".join(TASKS), "One or several, with commas between.")
    ] = "explain"
    order: Annotated[
        Text, search_option(",".join([*ORDERS, "FILE"]), "Traversal orders, with commas between.")
    ] = None
    indices: Annotated[
        Text, question_option("0:100", "The inputs wanted, such as 0:100 or 3,17. [all]")
    ] = None
    columns: Annotated[
        Text, question_option("A,B,…", "The columns of a table that make an input. [all]")
    ] = None

    def grid(self, network: LoadedModel) -> dict[str, list[Any]] | None:
        """Return the orders, by name or as lists from files; None for the usual one."""
        if self.order is None:
            return None
        return {"order": [order_in(part, "--order", network) for part in list_in(self.order) or []]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Options that say how a study is done; the answers do not depend on them."""

    journal: Annotated[
        File,
        output_option(
            "STUDY.jsonl",
            "A line for each finished task, by which the study goes on; or a folder, with a "
            "file for each process.",
        ),
    ] = None
    workers: Annotated[int, search_option("N", "Processes that share the tasks.", min=1)] = 1
    scheduler: Annotated[
        Text, search_option("tcp://HOST:PORT", "A Dask scheduler, whose workers share the tasks.")
    ] = None
    retry: Annotated[str, search_option("undecided,failed", "Do tasks that ended so again.")] = ""
    results: Annotated[
        File,
        output_option(
            "FOLDER", "Write whole results with their counterfactuals here. [STUDY.results]"
        ),
    ] = None
    no_results: Annotated[
        bool, output_option(None, "Leave whole results out: there is the journal.", "--no-results")
    ] = False
    certificate: Annotated[
        File,
        output_option("FOLDER", "Write a proof of each result here, as certify does of a folder."),
    ] = None
    fsync: Annotated[
        bool, output_option(None, "Force each record to the disk before the next.", "--fsync")
    ] = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``run_parts``, each by the name of its option."""
        if self.no_results and self.results is not None:
            raise InputError("--no-results and --results exclude each other; leave one out")
        if self.no_results and self.certificate is not None:
            raise InputError("--certificate needs whole results; leave --no-results out")
        return {
            "journal": self.journal,
            "workers": self.workers,
            "scheduler": self.scheduler,
            "retry": list_in(self.retry) or [],
            "results": self.results or not self.no_results,
            "fsync": self.fsync,
        }


def batch(
    *,
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="The model, as for explain; or a study file, STUDY.toml, which names networks, "
            "INPUTS and settings.",
        ),
    ],
    xs: Annotated[
        Text,
        typer.Argument(
            metavar="INPUTS",
            help="A .npy file, a .npz file with KEY after a colon, a .csv or .parquet file with a "
            "row for each input, or a folder of pictures.",
        ),
    ] = None,
    wanted: Wanted,
    course: Course,
    given: Annotated[GivenOptions, CallOptions("many", _SAID, study=True)],
    reading: ModelOptions,
    quiet: Quiet = False,
) -> None:
    """Explain many inputs, at several radii, and write a journal from which a study goes on."""
    with refusals() as errors, termination_as_interrupt():
        steps = course.arguments()
        if model.suffix.lower() == ".toml":
            limits = {name: given[name] for name in LIMITS}
            beside = {**steps, **limits, "indices": wanted.indices}
            parts, steps = study_in(model, {name: beside[name] for name in _given(context, model)})
        else:
            if xs is None or wanted.epsilon is None or course.journal is None:
                raise InputError("give INPUTS, --epsilon and --journal; or a study file .toml")
            network = network_of(model, reading)
            options = given.question(network)
            rest = {**given.own(network), **given.searched()}
            options |= {name: value for name, value in rest.items() if value is not None}
            described = options.pop("inputs")
            names, source = list_in(wanted.columns), cast("Any", xs)
            if described is None:
                source = stored_inputs(xs, network, names, options)
                names = None
            elif options["domain"] == UNIT_DOMAIN:
                del options["domain"]  # the description has one for each feature
            part = part_of(
                network,
                source,
                epsilon=radii_in(wanted.epsilon, "--epsilon", network),
                task=list_in(wanted.task) or [],
                grid=wanted.grid(network),
                indices=wanted.indices,
                columns=names,
                inputs=described,
                options=options,
            )
            parts = [part]
        notes = dict.fromkeys(note for part in parts for note in part.inputs.remarks)
        for note in () if quiet else notes:
            errors.print(f"note: {note}", markup=False)
        steps["warn"] = lambda text: errors.print(f"warning: {text}", markup=False)
        _, code = studied(parts, steps, errors, quiet=quiet)
        if course.certificate is not None:
            _certify(parts, steps, course.certificate, quiet=quiet)
    raise typer.Exit(code)


def studied(
    parts: Sequence[Part], steps: dict[str, Any], errors: Console, *, quiet: bool
) -> tuple[Tally, int]:
    """Do a study and print how it ended, of one of solvers each pair; return its exit code, too."""
    shift = steps.pop("shift", SHIFT)
    with tasks_progress(errors, quiet=quiet) as show:
        tally = run_parts(parts, **steps, progress=show, command=sys.argv[1:])
    if not quiet:
        typer.echo(f"{summary(tally)}; the journal is {steps['journal']}")
        if tally.failure is not None:
            typer.echo(f"the first that failed: {tally.failure}")
        if tally.done:
            with suppress(InputError):  # a study of explanations
                _print(read_solver_study(steps["journal"], shift=shift, warn=lambda _: None))
    if tally.stopped is not None:
        return tally, INTERRUPTED
    return tally, 0 if tally.complete else UNDECIDED


def _print(study: SolverStudy) -> None:
    """Print a study of solvers: a line for each pair, contradictions, pairs that were not asked."""
    console = Terminal(soft_wrap=True)
    words = [f"not asked: {text}" for text in study.skipped]
    if study.rows:
        console.print_table(study.table())
        none = "no two definite answers contradict each other"
        told = [f"contradiction: {text}" for text in study.disagreements] or [none]
        words = [meaning(study.times), *told, *words]
    for line in words:
        console.print(line, markup=False)


def _certify(parts: Sequence[Part], steps: dict[str, Any], folder: Path, *, quiet: bool) -> None:
    """Write certificates of whole results to ``folder``, and how many there are."""
    results = steps["results"]
    stored = results if isinstance(results, Path) else default_folder(Path(steps["journal"]))
    networks = [part.network for part in parts]
    pairs, proven = places_of(stored, folder), 0
    for path, place in pairs:
        with suppress(InputError):  # contrasts have none
            proven += stored_proof(path, place, networks, SECONDS)[0]
    if not quiet:
        typer.echo(f"{proven} of {len(pairs)} results have a new certificate in {folder}")


def _given(context: typer.Context, path: Path) -> list[str]:
    """Return the names of the options given beside a study file: they replace keys of it."""
    known = {"no_results": "results"} | {name: name for name in OVERRIDES}
    given: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in ("model", "quiet") or source is None or source.name != "COMMANDLINE":
            continue
        if name not in known:
            raise InputError(
                f"{parameter.opts[0]} says what is asked, and {path} does: leave it out. Beside a "
                f"study file, these may be given: "
                f"{', '.join('--' + known.replace('_', '-') for known in OVERRIDES)}"
            )
        given.append(known[name])
    return given


FUNCTIONS = {
    "batch": (
        batch,
        "Exit codes: 0 every task is done; 3 some tasks are undecided or failed, and the journal "
        "says why; 130 it was interrupted, and the same command goes on where it was; 2 an "
        "argument, the model, the inputs or the journal cannot be used.",
    )
}
