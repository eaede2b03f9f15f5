"""The end of a command: a JSON file, a picture, a summary, and an exit code.

Certificates beside the result of a command.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias, TypeVar, get_args

import typer
from rich.console import Console

from milp_verix.base.errors import InputError, MilpVerixError, check_command, refusing
from milp_verix.certificates.certificate import Certificate
from milp_verix.cli.exit_codes import INTERRUPTED, UNDECIDED, UNUSABLE
from milp_verix.cli.options import CertificatePath, JsonPath, PlotPath, Quiet
from milp_verix.cli.terminal import Terminal
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle import statistics
from milp_verix.results.audit import Audit
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.json_format import from_data, read_data
from milp_verix.results.ranges import Ranges, RobustnessRadii
from milp_verix.results.shown import Certified, Told
from milp_verix.views.figures.parts.writing import plot_format

SECONDS = 60.0
"""Time for a certificate that an option of another command asks for."""


_Proven: TypeAlias = Explanation | Audit | Ranges | RobustnessRadii | Relevance | Importance
_KINDS: dict[object, type[_Proven]] = {kind.kind: kind for kind in get_args(_Proven)}

Found = TypeVar("Found", bound=Told)


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


def written(certificate: Certificate, network: LoadedModel, path: Path) -> tuple[str, str]:
    """Write a certificate if there is one; return what it shows, and how to check it."""
    if not certificate.proven:
        return str(certificate), ""
    certificate.to_json(path)
    model = network.path or "MODEL.onnx"
    if certificate.model_name is not None:
        model = path.parent / certificate.model_name
    return str(certificate), f"to check it: {check_command(Path(model), path)}"


def stored_proof(
    path: Path, place: Path, networks: Sequence[LoadedModel], time_limit: float | None
) -> tuple[bool, str]:
    """Write the certificate of the result in ``path`` to ``place``, if one is found.

    Of several ``networks``, the result is about the one with its hash. Returns whether it is
    proven, and words on it. Raises ``InputError`` as :func:`milp_verix.certify` does.
    """
    from milp_verix.certificates.certify import certify  # it loads the checker

    result = _stored(path)
    own = [one for one in networks if one.sha256 == result.model.sha256]
    network = (own or networks)[0]
    certificate = certify(network, result, time_limit=time_limit)
    return certificate.proven, "; ".join(filter(None, written(certificate, network, place)))


def _stored(path: Path) -> _Proven:
    """Return the result in ``path``; ``InputError`` for one of which there are no certificates."""
    data, where = read_data(path)
    kind = data.get("kind")
    if kind not in _KINDS:
        raise InputError(f"{where} holds {kind!r}, of which there are no certificates")
    return from_data(data, where, _KINDS[kind])


def places_of(result: Path, output: Path) -> list[tuple[Path, Path]]:
    """Return the files of results without a certificate, each with the place of its certificate.

    ``InputError`` for a folder without results, and for an ``output`` that is no folder then.
    """
    if not result.is_dir():
        return [(result, output)]
    found = {path.name.partition(".")[0]: path for path in sorted(result.glob("*/*.json.gz"))}
    if not found:
        raise InputError(f"{result} has no results of a study, such as ab/abcd.json.gz")
    with refusing(f"cannot make the folder {output}"):
        output.mkdir(exist_ok=True)
    places = [(path, output / f"{name}.json") for name, path in found.items()]
    return [(path, place) for path, place in places if not place.exists()]


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
