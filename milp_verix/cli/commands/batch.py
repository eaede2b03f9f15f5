"""The command ``milp-verix batch``: many inputs, many settings, a journal."""

from pathlib import Path
from typing import Annotated, Any

import typer

from milp_verix.cli.batches.progress import summary, tasks_progress
from milp_verix.cli.delivery import refusals, termination_as_interrupt
from milp_verix.cli.exit_codes import INTERRUPTED, UNDECIDED
from milp_verix.cli.options import (
    CheckTimeLimit,
    Costs,
    FeatureNames,
    ModelPath,
    Quiet,
    Threads,
    number_of,
)
from milp_verix.cli.question import (
    Ball,
    Explained,
    Reading,
    arguments_of,
    names_of,
    network_of,
    numbers_in,
)
from milp_verix.errors import InputError
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.study.batch import Tally, explain_many
from milp_verix.study.input_files import stored_inputs
from milp_verix.study.tasks import FUNCTIONS
from milp_verix.traversal.order import ORDERS

EXIT_CODES = """\
Exit codes: 0 every task is done; 3 some tasks are undecided or failed, and the journal says why;
130 it was interrupted, and the same command goes on where it was; 2 an argument, the model, the
inputs or the journal cannot be used."""


def batch(
    *,
    model: ModelPath,
    inputs: Annotated[
        str,
        typer.Argument(
            metavar="INPUTS",
            help="A .npy file, a .npz file with KEY after a colon, a .csv or .parquet file with a "
            "row for each input, or a folder of pictures.",
        ),
    ],
    epsilon: Annotated[
        str, typer.Option(metavar="E[,E…]", help="Radii, such as 0.01,0.05 or 8/255.")
    ],
    journal: Annotated[
        Path,
        typer.Option(
            metavar="STUDY.jsonl",
            help="A line for each finished task, by which the study goes on; or a folder, with a "
            "file for each process.",
        ),
    ],
    task: Annotated[
        str, typer.Option(metavar=",".join(FUNCTIONS), help="One or several, with commas between.")
    ] = "explain",
    order: Annotated[
        str | None,
        typer.Option(
            metavar=",".join([*ORDERS, "FILE"]), help="Traversal orders, with commas between."
        ),
    ] = None,
    indices: Annotated[
        str | None,
        typer.Option(metavar="0:100", help="The inputs wanted, such as 0:100 or 3,17. [all]"),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="The columns of a table that make an input. [all]"),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the tasks.")] = 1,
    retry: Annotated[
        str, typer.Option(metavar="undecided,failed", help="Do tasks that ended so again.")
    ] = "",
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write whole results with their counterfactuals here. [STUDY.results]",
        ),
    ] = None,
    no_results: Annotated[
        bool, typer.Option("--no-results", help="Leave whole results out: there is the journal.")
    ] = False,
    fsync: Annotated[
        bool, typer.Option("--fsync", help="Force each record to the disk before the next.")
    ] = False,
    ball: Ball,
    feature_names: FeatureNames = None,
    explained: Explained,
    costs: Costs = None,
    solver: Annotated[str | None, typer.Option(help="As of the single commands. [auto]")] = None,
    traversal: Annotated[str | None, typer.Option(help="As of explain.")] = None,
    transformation: Annotated[str | None, typer.Option(help="As of explain.")] = None,
    exactness: Annotated[str | None, typer.Option(help="As of explain.")] = None,
    bounds: Annotated[str | None, typer.Option(help="As of explain.")] = None,
    segments: Annotated[int | None, typer.Option(help="As of explain.")] = None,
    formulation: Annotated[str | None, typer.Option(help="As of explain.")] = None,
    seed: Annotated[int | None, typer.Option(help="As of explain.")] = None,
    method: Annotated[str | None, typer.Option(help="As of minimum.")] = None,
    master: Annotated[str | None, typer.Option(help="As of minimum.")] = None,
    gap: Annotated[
        float | None, typer.Option(parser=number_of, metavar="NUMBER", help="As of minimum.")
    ] = None,
    threads: Threads = 1,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for each task. [none]")] = None,
    check_time_limit: CheckTimeLimit = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Explain many inputs, at several radii, and write a journal from which a study goes on."""
    with refusals() as errors, termination_as_interrupt():
        network = network_of(model, reading)
        options = {
            **arguments_of(network, ball, explained, reading),
            "feature_names": names_of(feature_names, network),
            "threads": threads,
            "time_limit": time_limit,
            "check_time_limit": check_time_limit,
        }
        special = {
            "costs": None if costs is None else numbers_in(costs, "--costs", network),
            "solver": solver,
            "traversal": traversal,
            "transformation": transformation,
            "exactness": exactness,
            "bounds": bounds,
            "segments": segments,
            "formulation": formulation,
            "seed": seed,
            "method": method,
            "master": master,
            "gap": gap,
        }
        options |= {name: value for name, value in special.items() if value is not None}
        given, note = stored_inputs(
            inputs, network, ball.domain, options["image_shape"], _parts(columns)
        )
        if note is not None and not quiet:
            errors.print(f"note: {note}", markup=False)
        with tasks_progress(errors, quiet=quiet) as show:
            tally = explain_many(
                network,
                given,
                epsilon=_radii(epsilon),
                journal=journal,
                task=_parts(task) or [],
                grid=None if order is None else {"order": _orders(order, network)},
                indices=indices,
                workers=workers,
                retry=_parts(retry) or [],
                results=_results(results, none=no_results),
                fsync=fsync,
                progress=show,
                warn=lambda text: errors.print(f"warning: {text}", markup=False),
                **options,
            )
    if not quiet:
        typer.echo(f"{summary(tally)}; the journal is {journal}")
    raise typer.Exit(_exit_code(tally))


def _parts(text: str | None) -> list[str] | None:
    """Return the words in ``text``, with commas between; None for no text."""
    return [part.strip() for part in text.split(",")] if text else None


def _results(folder: Path | None, *, none: bool) -> bool | Path:
    if none and folder is not None:
        raise InputError("--no-results and --results exclude each other; leave one out")
    return folder or not none


def _radii(text: str) -> list[float]:
    try:
        return [number_of(part) for part in text.split(",")]
    except typer.BadParameter as error:
        raise InputError(f"--epsilon: {error.message}") from error


def _orders(text: str, network: OnnxNetwork) -> list[Any]:
    return [
        part if part in ORDERS else numbers_in(part, "--order", network)
        for part in _parts(text) or []
    ]


def _exit_code(tally: Tally) -> int:
    if tally.stopped is not None:
        return INTERRUPTED
    return 0 if tally.complete else UNDECIDED
