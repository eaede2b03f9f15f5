"""Delivery of a result: a JSON file, a picture, a summary, and an exit code."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TypeAlias, TypeVar

import typer
from numpy.typing import NDArray
from rich.console import Console

from milp_verix.cli.inputs import decoded_note, read_input, scale_bytes
from milp_verix.cli.options import check_folder, exit_code
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.reporting.explanation_table import summary
from milp_verix.reporting.figures.writing import plot_format
from milp_verix.results.public import ContrastiveExplanation, Enumeration, Explanation

JsonPath: TypeAlias = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Write the result here.")
]
PlotPath: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plot", metavar="OUT", help="Draw the result here: .png, .svg, .pdf."),
]
Noted = TypeVar("Noted", Explanation, ContrastiveExplanation, Enumeration)

Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Destinations of a command's result; checked before anything is computed."""

    json_path: Path | None
    plot_path: Path | None
    quiet: bool

    def check_paths(self) -> None:
        """Refuse files that cannot be written."""
        for path in (self.json_path, self.plot_path):
            check_folder(path)
        if self.plot_path is not None:
            plot_format(self.plot_path)

    def deliver(self, result: Explanation) -> int:
        """Write, print and draw the result; return the exit code.

        If one of these fails, the others are still done.
        """
        with ExitStack() as last_first:
            if self.plot_path is not None:
                last_first.callback(result.plot, self.plot_path)
            if not self.quiet:
                last_first.callback(lambda: Console(highlight=False).print(summary(result)))
            if self.json_path is not None:
                last_first.callback(result.to_json, self.json_path)
        return exit_code(result.minimal, result.statistics.stopped)


@dataclass(frozen=True, slots=True, eq=False)
class GivenInput:
    """The input of a command: ``x`` in the units of the domain, and how it was converted."""

    x: NDArray[Any]
    notes: tuple[str, ...]

    def noted(self, result: Noted) -> Noted:
        """Return the result with a note of how the input was converted."""
        return replace(result, notes=(*result.notes, *self.notes))


def given_input(
    specification: str,
    network: OnnxNetwork,
    domain: tuple[float, float],
    image_shape: tuple[int, ...] | None,
) -> GivenInput:
    """Read the input that a command names, bytes scaled to the domain."""
    given = read_input(specification, network.input_shape, image_shape)
    x = scale_bytes(given, domain, network.dtype)
    scaled = f"the input's bytes were scaled from 0..255 to [{domain[0]:g}, {domain[1]:g}]"
    notes = (decoded_note(specification), None if x is given else scaled)
    return GivenInput(x, tuple(note for note in notes if note is not None))


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that a cancelled job keeps its result so far."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
