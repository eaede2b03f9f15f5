"""Options that the commands share, how they are read, and exit codes."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console

from milp_verix.cli.exit_codes import INTERRUPTED, UNDECIDED, UNUSABLE
from milp_verix.cli.inputs import read_texts
from milp_verix.errors import InputError, MilpVerixError
from milp_verix.image_shape import image_shape_of
from milp_verix.onnx_reader.onnx_network import OnnxNetwork, load_network
from milp_verix.oracle.bound_tightening import BOUNDS
from milp_verix.problem.ball import NORMS
from milp_verix.problem.features import FeaturesLike
from milp_verix.records import statistics
from milp_verix.stored_numbers import array_in, json_in
from milp_verix.traversal.order import ORDERS
from verix_encodings import FORMULATIONS

_RATIO = re.compile(r"([+-]?\d*\.?\d+) ?/ ?(\d*\.?\d+)", re.ASCII)


def number_of(text: str | float) -> float:
    """Return the number that an option names: ``0.05``, ``inf``, or a ratio such as ``8/255``.

    A ratio is evaluated exactly and rounded once.
    """
    ratio = _RATIO.fullmatch(str(text).strip())
    try:
        return float(Fraction(ratio[1]) / Fraction(ratio[2]) if ratio else text)
    except ZeroDivisionError as error:
        raise typer.BadParameter(f"{text!r} divides by zero.") from error
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(
            f"{text!r} is no number; give one such as 0.05, 1e-3 or 8/255."
        ) from error


_LONGEST_NUMBER = 1000
_LONGEST_TEXT = 2**20
"""Bytes in a file for each number, and besides: far more than any needs."""

ModelPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The network, an ONNX file.")
]
InputPath: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="A .npy file, a .npz file with KEY[INDEX] after a colon, or a picture (PNG, JPEG, "
        "BMP, GIF, WebP, TIFF). Bytes 0..255 are scaled to the domain.",
    ),
]
Epsilon: TypeAlias = Annotated[
    float,
    typer.Option(
        parser=number_of,
        metavar="NUMBER",
        help="Radius of the ball, in the units of the network's input; fractions are allowed, "
        "such as 8/255.",
    ),
]
Norm: TypeAlias = Annotated[str, typer.Option(metavar="|".join(NORMS), help="Norm of the ball.")]
Delta: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number_of,
        metavar="NUMBER",
        help="Regression: the change of an output that counts. [classification]",
    ),
]
DomainEnds: TypeAlias = Annotated[
    tuple[float, float],
    typer.Option(
        parser=number_of,
        metavar="LO HI",
        help="Ends of the input domain; inf and -inf are allowed.",
    ),
]
Groups: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="pixels|FILE",
        help="What is freed together: a pixel with its channels, or groups from a file, .npy "
        "(a group number for each coordinate) or .json (lists of coordinates). "
        "[each coordinate]",
    ),
]
FeatureNames: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="What to call the features: a list of texts, .json, .npy or .npz:KEY. [numbers]",
    ),
]
Label: TypeAlias = Annotated[
    int | None, typer.Option(help="The class explained; it must be the one predicted.")
]
Output: TypeAlias = Annotated[
    int | None, typer.Option(help="Regression: the one output explained. [all]")
]
BoundsName: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="|".join(BOUNDS),
        help="How neurons are bounded: each tighter and slower than the one before.",
    ),
]
Segments: TypeAlias = Annotated[
    int, typer.Option(min=1, help="Pieces that enclose each smooth activation.")
]
FormulationName: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="|".join([*FORMULATIONS, "partition:N"]),
        help="How ReLUs become rows and columns; not every solver takes every one.",
    ),
]
InputShape: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="N,N,…", help="The input's shape, where the model leaves it open."),
]
ImageShape: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="H,W[,C]",
        help="How a flat input is an image, such as 28,28 or 32,32,3, or 3,32,32 where channels "
        "come first. Pixels, pictures and plots follow it.",
    ),
]
OutputName: TypeAlias = Annotated[
    str | None, typer.Option(help="The model's output to explain, where it has several.")
]


@contextmanager
def refusals(console: Console) -> Iterator[None]:
    """Turn errors about arguments, models and solvers into one line and an exit code."""
    try:
        yield
    except MilpVerixError as error:
        console.print(f"error: {' '.join(str(error).split())}", markup=False)
        raise typer.Exit(UNUSABLE) from error
    except KeyboardInterrupt as error:
        console.print("interrupted; what --json holds, if anything, is sound", markup=False)
        raise typer.Exit(INTERRUPTED) from error


def shape_of(text: str | None, option: str) -> tuple[int, ...] | None:
    """Return the shape that an option names."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in re.split("[,x×]", text))
    except ValueError as error:
        raise InputError(
            f"{option} is whole numbers with commas between, such as 28,28; got {text!r}"
        ) from error


def network_of(model: Path, input_shape: str | None, output_name: str | None) -> OnnxNetwork:
    """Load the network that the arguments MODEL, --input-shape and --output-name name."""
    shape = shape_of(input_shape, "--input-shape")
    return load_network(model, input_shape=shape, output=output_name)


def image_shape_in(text: str | None, network: OnnxNetwork) -> tuple[int, ...] | None:
    """Return the image shape that --image-shape names; ``InputError`` where it does not fit."""
    return image_shape_of(shape_of(text, "--image-shape"), network.input_shape)


def groups_of(given: str | None, network: OnnxNetwork) -> FeaturesLike:
    """Return the feature groups that the option --features names."""
    if given is None or given == "pixels":
        return given
    groups: FeaturesLike = numbers_in(given, "--features", network)
    return groups


def names_of(given: str | None, network: OnnxNetwork) -> Any:
    """Return the texts that the option --feature-names names."""
    if given is None:
        return None
    if given.lower().endswith(".json"):
        return numbers_in(given, "--feature-names", network)
    return read_texts(given, network.input_size)


def numbers_in(file: str, option: str, network: OnnxNetwork) -> Any:
    """Return the numbers in a .npy or .json file, for an option that takes a name or a file.

    No option takes more than a number for each coordinate of the network's input.
    """
    path, most = Path(file), network.input_size
    try:
        if path.suffix == ".npy":
            return array_in(path, most=most)
        if path.suffix == ".json":
            return json_in(path, _LONGEST_TEXT + most * _LONGEST_NUMBER)
    except OSError as error:
        raise InputError(f"{option}: cannot read {path}: {error.strerror}") from error
    except InputError as error:
        raise InputError(f"{option}: {error}") from error
    except ValueError as error:
        raise InputError(f"{option}: cannot read {path}: {error}") from error
    known = {"--order": ", ".join(ORDERS), "--free": "all", "--costs": ""}.get(option, "pixels")
    either = f"{known} or " if known else ""
    raise InputError(f"{option} is {either}a .npy or .json file, got {file!r}")


def exit_code(settled: bool, stopped: str | None) -> int:
    """Return the exit code of a search that is settled or not, and stopped early or not."""
    if stopped == statistics.INTERRUPTED:
        return INTERRUPTED
    return 0 if settled else UNDECIDED


def check_folder(path: Path | None) -> None:
    """Refuse an output that cannot be written before anything is computed."""
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"cannot write {path}: {path.parent} is no folder, or {path.name} is one")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"cannot write {path}: permission denied; choose another place")
