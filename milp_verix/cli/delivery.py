"""The end of a command: a JSON file, a picture, a certificate, a summary, and an exit code."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
import typer
from rich.console import Console
from rich.segment import Segment

from milp_verix.base.errors import InputError, MilpVerixError, check_command, printable
from milp_verix.cli.parameters import File, JsonPath, PlotPath, Quiet, output_option
from milp_verix.cli.startup import INTERRUPTED, UNUSABLE
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results.shown import Certified, Stated

if TYPE_CHECKING:
    from milp_verix.certificates.certificate import Certificate

SECONDS = 60.0
"""Time for a certificate that an option of another command asks for."""
_UNLIMITED = 1000

Found = TypeVar("Found", bound=Stated)


def certified(result: Found, network: LoadedModel, path: Path | None) -> tuple[Found, str]:
    """Write a certificate of ``result`` to ``path``; return the result with a note about it.

    With it comes how to check it, a line of its own, since tables break lines. Nothing is done if
    ``path`` is None. If there is no proof, no file is written, and the note says why. Ctrl-C ends
    the search for a proof, and the result is kept.
    """
    if path is None or not isinstance(result, Certified):
        return result, ""
    try:
        note, check = written(result.certify(network, time_limit=SECONDS), network, path)
    except KeyboardInterrupt:
        note, check = "no certificate: interrupted", ""
    given: Any = result
    noted: Found = replace(given, notes=(*given.notes, note))
    return noted, check


def written(certificate: "Certificate", network: LoadedModel, path: Path) -> tuple[str, str]:
    """Write a certificate if there is one; return what it shows, and how to check it."""
    if not certificate.proven:
        return str(certificate), ""
    certificate.to_json(path)
    model = network.path or "MODEL.onnx"
    if certificate.model_name is not None:
        model = path.parent / certificate.model_name
    return str(certificate), f"to check it: {check_command(Path(model), path)}"


class Terminal(Console):
    """Prints tables and lines to stdout, or to stderr."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        stream: Any = sys.stderr if stderr else sys.stdout
        super().__init__(
            file=getattr(stream, "inner", stream), highlight=False, soft_wrap=soft_wrap
        )

    def print_table(self, table: Any) -> None:
        """Print a table; a file has no width, so its columns lose no digits there."""
        if not self.is_terminal:
            wide = self.options.update(width=_UNLIMITED)
            self.width = max(self.width, self.measure(table, options=wide).maximum)
        self.print(table)

    def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
        """Yield the parts of what is printed, with escapes in their texts."""
        for part in super().render(*args, **options):
            text = part.text if part.control else printable(part.text, "\n")
            yield Segment(text, part.style, part.control)


@dataclass(frozen=True, slots=True)
class Continued:
    """The result that stood in a file ``before`` a search that goes on from it writes there.

    ``before`` is None where the search writes elsewhere.
    """

    before: Any = None

    @classmethod
    def of(cls, path: Path | None, resumed: Any) -> "Continued":
        """Read what stands in ``path`` if it is what is ``resumed``."""
        if path is None or not isinstance(resumed, str | Path):
            return cls()
        with suppress(InputError, OSError, KeyError):  # the search refuses the file
            if path.samefile(resumed):
                from milp_verix.results.json_format import KINDS, from_data, read_data

                data, where = read_data(path)
                return cls(from_data(data, where, KINDS[data["kind"]]))
        return cls()

    def loses(self, found: Any) -> bool:
        """Return whether ``found`` has a smaller bound or costs more, for the same objective."""

        def ends(result: Any) -> tuple[float, float]:
            cost = result.cost
            return getattr(result, "lower_bound", None) or 0, np.inf if cost is None else cost

        before = self.before
        if type(found) is not type(before) or not hasattr(before, "cost"):
            return False
        objective = ("costs", "must", "must_not")
        same = all(getattr(found, name, 0) == getattr(before, name, 0) for name in objective)
        (bound, cost), (reached, paid) = ends(found), ends(before)
        return same and (bound < reached or cost > paid)

    def better(self, found: Any) -> Any:
        """Return what the file is to hold: what it held where ``found`` loses some of it."""
        return self.before if self.loses(found) else found


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Destinations of the result of a command; checked before anything is computed."""

    json_path: JsonPath = None
    quiet: Quiet = False

    def check_paths(self, *inputs: Path) -> None:
        """Refuse files that cannot be written, ``inputs``, a file twice, and unknown pictures."""
        outputs = [path for path in vars(self).values() if isinstance(path, Path)]
        for place, path in enumerate(outputs):
            check_folder(path, *inputs, *outputs[:place])
        if (picture := vars(self).get("plot_path")) is not None:
            from milp_verix.views.plot import plot_format

            plot_format(picture)

    def deliver(self, result: Any, continued: Continued = Continued()) -> None:
        """Write, print and draw the result; if one of these fails, the others are still done.

        A file in which the search was ``continued`` keeps what was better there.
        """
        with ExitStack() as last_first:
            if (picture := vars(self).get("plot_path")) is not None:
                last_first.callback(result.plot, picture)
            if not self.quiet:
                last_first.callback(lambda: Terminal().print(result.summary()))
            if self.json_path is not None:
                last_first.callback(continued.better(result).to_json, self.json_path)
                if continued.loses(result):
                    Terminal(stderr=True, soft_wrap=True).print(
                        f"{self.json_path} keeps the earlier result: this run did not come as far; "
                        "give it more time",
                        markup=False,
                    )


@dataclass(frozen=True, kw_only=True)
class DrawnDelivery(Delivery):
    """Destinations of a result that has a picture."""

    plot_path: PlotPath = None


@dataclass(frozen=True, kw_only=True)
class ProvenDelivery(DrawnDelivery):
    """Destinations of a result that has a picture, and of its proof."""

    certificate_path: Annotated[
        File,
        output_option(
            "OUT", "Write a proof here that verix-check checks without a solver.", "--certificate"
        ),
    ] = None


@contextmanager
def refusals() -> Iterator[Console]:
    """Yield a console on stderr; an error a user may mend is a line there, and ends the command."""
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
