"""The end of a command: a JSON file, a picture, a summary, and an exit code."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from rich.console import Console

from milp_verix.base.errors import InputError, MilpVerixError
from milp_verix.cli.exit_codes import INTERRUPTED, UNDECIDED, UNUSABLE
from milp_verix.cli.options import CertificatePath, JsonPath, PlotPath, Quiet
from milp_verix.cli.terminal import Terminal
from milp_verix.oracle import statistics
from milp_verix.results.shown import Told
from milp_verix.views.figures.parts.sheet import plot_format


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Destinations of the result of a command; checked before anything is computed."""

    json_path: JsonPath = None
    quiet: Quiet = False

    def check_paths(self, *inputs: Path) -> None:
        """Refuse files that cannot be written, ``inputs``, and a file for two outputs."""
        outputs = [path for path in vars(self).values() if isinstance(path, Path)]
        for place, path in enumerate(outputs):
            check_folder(path, *inputs, *outputs[:place])

    def deliver(self, result: Told) -> None:
        """Write the result, print its facts, and draw it, as far as that is asked for.

        If one of these fails, the others are still done.
        """
        with ExitStack() as last_first:
            last_first.callback(self.draw, result)
            if not self.quiet:
                last_first.callback(lambda: Terminal().print(result.summary()))
            if self.json_path is not None:
                last_first.callback(result.to_json, self.json_path)

    def draw(self, result: Any) -> None:
        """Draw nothing: the result of the command has no picture."""


@dataclass(frozen=True, kw_only=True)
class DrawnDelivery(Delivery):
    """Destinations of a result that has a picture."""

    plot_path: PlotPath = None

    def check_paths(self, *inputs: Path) -> None:
        """Refuse what :meth:`Delivery.check_paths` does, and a picture in no known format."""
        super().check_paths(*inputs)
        if self.plot_path is not None:
            plot_format(self.plot_path)

    def draw(self, result: Any) -> None:
        """Draw ``result`` if that is asked for."""
        if self.plot_path is not None:
            result.plot(self.plot_path)


@dataclass(frozen=True, kw_only=True)
class ProvenDelivery(DrawnDelivery):
    """Destinations of a result that has a picture, and of its proof."""

    certificate_path: CertificatePath = None


@contextmanager
def refusals() -> Iterator[Console]:
    """Yield a console on stderr; turn errors about arguments, models and solvers into one line.

    The line goes to that console, and an exit code ends the command.
    """
    console = Terminal(stderr=True, soft_wrap=True)
    try:
        yield console
    except MilpVerixError as error:
        console.print(f"error: {' '.join(str(error).split())}", markup=False)
        raise typer.Exit(UNUSABLE) from error
    except KeyboardInterrupt as error:
        console.print("interrupted; what --json holds, if anything, is sound", markup=False)
        raise typer.Exit(INTERRUPTED) from error


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


def exit_code(settled: bool, stopped: str | None) -> int:
    """Return the exit code of a search that is settled or not, and stopped early or not."""
    if stopped == statistics.INTERRUPTED:
        return INTERRUPTED
    return 0 if settled else UNDECIDED


def check_folder(path: Path | None, *others: Path | None) -> None:
    """Refuse an output that cannot be written, or is one of ``others``, before any work."""
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"cannot write {path}: {path.parent} is no folder, or {path.name} is one")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"cannot write {path}: permission denied; choose another place")
    if path.resolve() in {other.resolve() for other in others if other is not None}:
        raise InputError(f"{path} is another file of this command, too; choose another place")
