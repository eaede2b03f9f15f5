"""The command line: ``milp-verix explain MODEL INPUT --epsilon E``.

Exit codes: 0 the explanation is locally minimal; 3 it is sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from milp_verix.ball import NORMS
from milp_verix.errors import InputError, MilpVerixError
from milp_verix.explain import Progress, explain
from milp_verix.explanation import Explanation
from milp_verix.features import FeaturesLike
from milp_verix.inputs import read_input, scale_bytes
from milp_verix.onnx_network import load_network
from milp_verix.order import ORDERS, TRANSFORMATIONS
from milp_verix.plotting import plot_format
from milp_verix.progress import Autosave, progress_bar
from milp_verix.report import summary
from milp_verix.solvers import SOLVERS
from milp_verix.tightening import BOUNDS
from verix_encodings import FORMULATIONS
from verix_encodings.enclosure import DEFAULT_SEGMENTS

UNUSABLE = 2
UNDECIDED = 3
INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    app()


def _print_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        typer.echo(f"milp-verix {version('milp-verix')}")
    except PackageNotFoundError:
        typer.echo("milp-verix, not installed as a package")
    raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Explain neural-network predictions with proofs."""


@app.command("explain", epilog="\n".join(str(__doc__).splitlines()[2:]))
def _explain(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The network, an ONNX file.")],
    specification: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="A .npy file, a .npz file with KEY[INDEX] after a colon, or a .png. Bytes 0..255 "
            "are scaled to the domain.",
        ),
    ],
    epsilon: Annotated[
        float, typer.Option(help="Radius of the ball, in the units of the network's input.")
    ],
    norm: Annotated[str, typer.Option(metavar="|".join(NORMS), help="Norm of the ball.")] = "linf",
    delta: Annotated[
        float | None,
        typer.Option(help="Regression: the change of an output that counts. [classification]"),
    ] = None,
    domain: Annotated[
        tuple[float, float],
        typer.Option(metavar="LO HI", help="Ends of the input domain; inf and -inf are allowed."),
    ] = (0.0, 1.0),
    features: Annotated[
        str | None,
        typer.Option(
            metavar="pixels|FILE",
            help="What is freed together: a pixel with its channels, or groups from a file, .npy "
            "(a group number for each coordinate) or .json (lists of coordinates). "
            "[each coordinate]",
        ),
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            metavar="|".join([*ORDERS, "FILE"]),
            help="Traversal order; FILE is a .npy or .json list of all features.",
        ),
    ] = "sensitivity",
    transformation: Annotated[
        str, typer.Option(metavar="|".join(TRANSFORMATIONS), help="For the order sensitivity.")
    ] = "reversal",
    label: Annotated[
        int | None, typer.Option(help="The class explained; it must be the one predicted.")
    ] = None,
    output: Annotated[
        int | None, typer.Option(help="Regression: the one output explained. [all]")
    ] = None,
    solver: Annotated[
        str, typer.Option(metavar="|".join(["auto", *SOLVERS]), help="Solver of the programs.")
    ] = "auto",
    bounds: Annotated[
        str,
        typer.Option(
            metavar="|".join(BOUNDS),
            help="How neurons are bounded: each tighter and slower than the one before.",
        ),
    ] = "crown",
    segments: Annotated[
        int, typer.Option(min=1, help="Pieces that enclose each smooth activation.")
    ] = DEFAULT_SEGMENTS,
    formulation: Annotated[
        str,
        typer.Option(
            metavar="|".join([*FORMULATIONS, "partition:N"]),
            help="How ReLUs become rows and columns; not every solver takes every one.",
        ),
    ] = "big_m",
    threads: Annotated[int, typer.Option(min=1, help="Threads that the solver may use.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for the explanation. [none]")
    ] = None,
    check_time_limit: Annotated[float, typer.Option(help="Seconds for each check.")] = 300.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order random.")] = 0,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the result here.")
    ] = None,
    plot_path: Annotated[
        Path | None,
        typer.Option("--plot", metavar="OUT", help="Draw the result here: .png, .svg, .pdf."),
    ] = None,
    input_shape: Annotated[
        str | None,
        typer.Option(metavar="N,N,…", help="The input's shape, where the model leaves it open."),
    ] = None,
    output_name: Annotated[
        str | None, typer.Option(help="The model's output to explain, where it has several.")
    ] = None,
    image_shape: Annotated[
        str | None,
        typer.Option(metavar="H,W[,C]", help="Draw an input that is not shaped as an image so."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
) -> None:
    """Find the features that, when fixed, keep the prediction whatever the others do."""
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    with _refusals(errors), _termination_as_interrupt():
        picture_shape = _shape(image_shape, "--image-shape")
        for path in (json_path, plot_path):
            _check_folder(path)
        if plot_path is not None:
            plot_format(plot_path)
        network = load_network(
            model, input_shape=_shape(input_shape, "--input-shape"), output=output_name
        )
        if picture_shape is not None and prod(picture_shape) != network.input_size:
            raise InputError(
                f"--image-shape {image_shape} has {prod(picture_shape)} values, the network's "
                f"input has {network.input_size}"
            )
        given = read_input(specification, network.input_shape)
        x = scale_bytes(given, domain, network.dtype)
        with progress_bar(errors) as show:
            result = explain(
                network,
                x,
                epsilon=epsilon,
                norm=norm,
                delta=delta,
                domain=domain,
                features=_features(features),
                order=_order(order),
                transformation=transformation,
                label=label,
                output=output,
                solver=solver,
                bounds=bounds,
                segments=segments,
                formulation=formulation,
                threads=threads,
                time_limit=time_limit,
                check_time_limit=check_time_limit,
                seed=seed,
                progress=_all_of(show, json_path and Autosave(json_path)),
            )
        if x is not given:
            note = f"the input's bytes were scaled from 0..255 to [{domain[0]:g}, {domain[1]:g}]"
            result = replace(result, notes=(*result.notes, note))
        if json_path is not None:
            result.to_json(json_path)
        if not quiet:
            Console(highlight=False).print(summary(result))
        if plot_path is not None:
            result.plot(plot_path, image_shape=picture_shape)
    raise typer.Exit(_exit_code(result))


def _exit_code(result: Explanation) -> int:
    if result.statistics.stopped == "interrupted":
        return INTERRUPTED
    return 0 if result.minimal else UNDECIDED


@contextmanager
def _refusals(console: Console) -> Iterator[None]:
    """Turn what cannot be used into one line and an exit code."""
    try:
        yield
    except MilpVerixError as error:
        console.print(f"error: {' '.join(str(error).split())}", markup=False)
        raise typer.Exit(UNUSABLE) from error
    except KeyboardInterrupt as error:
        console.print("interrupted outside the checks; what --json holds is sound", markup=False)
        raise typer.Exit(INTERRUPTED) from error


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, so that a job that is cancelled keeps what it found."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _all_of(*listeners: Any) -> Any:
    active = [listener for listener in listeners if listener]

    def notify(state: Progress) -> None:
        for listener in active:
            listener(state)

    return notify


def _shape(text: str | None, option: str) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{option} is numbers with commas between, got {text!r}") from error


def _features(given: str | None) -> FeaturesLike:
    return given if given is None or given == "pixels" else _numbers(given, "--features")


def _order(given: str) -> Any:
    return given if given in ORDERS else _numbers(given, "--order")


def _numbers(file: str, option: str) -> Any:
    """Return what a .npy or .json file holds, for an option that takes a name or a file."""
    path = Path(file)
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{option}: cannot read {path}: {error.strerror}") from error
    except (ValueError, EOFError) as error:
        raise InputError(f"{option}: cannot read {path}: {error}") from error
    known = ", ".join(ORDERS) if option == "--order" else "pixels"
    raise InputError(f"{option} is {known} or a .npy or .json file, got {file!r}")


def _check_folder(path: Path | None) -> None:
    """Refuse an output whose folder does not exist before anything is computed."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise InputError(f"cannot write {path}: {path.parent} is no folder, or {path.name} is one")
