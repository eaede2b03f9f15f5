"""The command ``milp-verix certify``: a proof of a stored explanation."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from milp_verix.certification.certify import certify as certificate_of
from milp_verix.cli.certificates import written
from milp_verix.cli.delivery import check_folder, refusals, termination_as_interrupt
from milp_verix.cli.exit_codes import UNDECIDED
from milp_verix.cli.help_sections import output_option
from milp_verix.cli.options import ModelPath, Quiet, TimeLimit
from milp_verix.cli.question import Reading, network_of
from milp_verix.errors import InputError
from milp_verix.results.public import Audit, Explanation, Ranges, Relevance, RobustnessRadii
from milp_verix.results.records.json_format import from_data, read_data

_Proven: TypeAlias = Explanation | Audit | Ranges | RobustnessRadii | Relevance
_KINDS: dict[object, type[_Proven]] = {
    kind.kind: kind for kind in (Explanation, Audit, Ranges, RobustnessRadii, Relevance)
}

EXIT_CODES = """\
Exit codes: 0 every certificate is written; 3 for some result no proof was found, and no file is
written; 130 it was interrupted; 2 an argument, a result or the model cannot be used."""


def certify(
    *,
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="An explanation, audit, ranges, radius or relevance, as --json wrote it; or the "
            "folder of results of a study.",
        ),
    ],
    model: ModelPath,
    output: Annotated[
        Path,
        output_option(
            "--output", "-o", metavar="OUT", help="Write the certificate here; a folder for many."
        ),
    ],
    time_limit: TimeLimit = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Write a proof of a stored explanation that is checked without a solver and without trust.

    verix-check MODEL OUT checks it in exact arithmetic; without milp-verix, checker/verix_check.py.
    Of a folder, results that have a certificate in OUT already are left out.
    """
    with refusals(), termination_as_interrupt():
        pairs = _pairs(result, output)
        for path, place in pairs:
            check_folder(place, path, model)
        network, proven = network_of(model, reading), 0
        for path, place in pairs:
            certificate = certificate_of(network, _stored(path), time_limit=time_limit)
            note = written(certificate, network, place)
            proven += certificate.proven
            if not quiet:
                typer.echo(note if path == result else f"{place.name}: {note}")
    if proven < len(pairs):
        raise typer.Exit(UNDECIDED)


def _stored(path: Path) -> _Proven:
    """Return the result in ``path``; ``InputError`` for one of which there are no certificates."""
    data, where = read_data(path)
    kind = data.get("kind")
    if kind not in _KINDS:
        raise InputError(f"{where} holds {kind!r}, of which there are no certificates")
    return from_data(data, where, _KINDS[kind])


def _pairs(result: Path, output: Path) -> list[tuple[Path, Path]]:
    """Return the files of results without a certificate, each with the place of its certificate.

    ``InputError`` for a folder without results, and for an ``output`` that is no folder then.
    """
    if not result.is_dir():
        return [(result, output)]
    found = {path.name.partition(".")[0]: path for path in sorted(result.glob("*/*.json.gz"))}
    if not found:
        raise InputError(f"{result} has no results of a study, such as ab/abcd.json.gz")
    try:
        output.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {output}: {error.strerror}") from error
    places = [(path, output / f"{name}.json") for name, path in found.items()]
    return [(path, place) for path, place in places if not place.exists()]
