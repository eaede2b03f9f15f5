"""Where a result goes: a JSON file, a picture, a summary, and an exit code."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TypeAlias

import typer
from numpy.typing import NDArray
from rich.console import Console

from milp_verix.cli_options import INTERRUPTED, UNDECIDED, check_folder, shape_of
from milp_verix.errors import InputError
from milp_verix.explanation import Explanation
from milp_verix.features import image_layout
from milp_verix.inputs import read_input, scale_bytes
from milp_verix.onnx_network import OnnxNetwork
from milp_verix.plotting import plot_format
from milp_verix.report import summary

JsonPath: TypeAlias = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Write the result here.")
]
PlotPath: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plot", metavar="OUT", help="Draw the result here: .png, .svg, .pdf."),
]
ImageShape: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="H,W[,C]", help="Draw an input that is not shaped as an image so."),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where the result of a command goes; checked before anything is computed."""

    json_path: Path | None
    plot_path: Path | None
    image_shape: str | None
    quiet: bool

    def check_paths(self) -> None:
        """Refuse files that cannot be written."""
        for path in (self.json_path, self.plot_path):
            check_folder(path)
        if self.plot_path is not None:
            plot_format(self.plot_path)

    def check_image(self, network: OnnxNetwork) -> None:
        """Refuse an image shape that does not hold the network's input."""
        shape = shape_of(self.image_shape, "--image-shape")
        if shape is not None and prod(shape) != network.input_size:
            raise InputError(
                f"--image-shape {self.image_shape} has {prod(shape)} values, the network's "
                f"input has {network.input_size}"
            )
        if shape is not None and image_layout(shape) is None:
            raise InputError(
                f"--image-shape {self.image_shape} is no image: height and width of at least 4 "
                "pixels, and 1, 3 or 4 channels if it has any"
            )

    def deliver(self, result: Explanation) -> int:
        """Write, print and draw the result; return the exit code."""
        if self.json_path is not None:
            result.to_json(self.json_path)
        if not self.quiet:
            Console(highlight=False).print(summary(result))
        if self.plot_path is not None:
            shape = shape_of(self.image_shape, "--image-shape")
            result.plot(self.plot_path, image_shape=shape)
        return _exit_code(result)


@dataclass(frozen=True, slots=True, eq=False)
class GivenInput:
    """The input of a command: ``x`` in the units of the domain, and what was done to it."""

    x: NDArray[Any]
    notes: tuple[str, ...]

    def noted(self, result: Explanation) -> Explanation:
        """Return the result with a note of what was done to the input."""
        return replace(result, notes=(*result.notes, *self.notes))


def given_input(
    specification: str, network: OnnxNetwork, domain: tuple[float, float]
) -> GivenInput:
    """Read the input that a command names, bytes scaled to the domain."""
    given = read_input(specification, network.input_shape)
    x = scale_bytes(given, domain, network.dtype)
    note = f"the input's bytes were scaled from 0..255 to [{domain[0]:g}, {domain[1]:g}]"
    return GivenInput(x, () if x is given else (note,))


def _exit_code(result: Explanation) -> int:
    if result.statistics.stopped == "interrupted":
        return INTERRUPTED
    return 0 if result.minimal else UNDECIDED


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, so that a job that is cancelled keeps what it found."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
