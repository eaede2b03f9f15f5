"""The command ``milp-verix certify``: a proof of a stored explanation."""

from pathlib import Path
from typing import Annotated

import typer

from milp_verix.certification.certify import certify as find_certificate
from milp_verix.cli.certificates import written
from milp_verix.cli.delivery import check_folder, refusals, termination_as_interrupt
from milp_verix.cli.exit_codes import UNDECIDED
from milp_verix.cli.help_sections import output_option
from milp_verix.cli.options import ModelPath, Quiet, TimeLimit
from milp_verix.cli.question import Reading, network_of
from milp_verix.results.public import Audit, Explanation, Ranges
from milp_verix.results.records.json_format import from_data, read_data

EXIT_CODES = """\
Exit codes: 0 the certificate is written; 3 no proof was found, and no file is written; 130 it was
interrupted; 2 an argument, the result or the model cannot be used."""


def certify(
    *,
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="An explanation, audit or ranges, as --json wrote it."
        ),
    ],
    model: ModelPath,
    output: Annotated[
        Path, output_option("--output", "-o", metavar="OUT", help="Write the certificate here.")
    ],
    time_limit: TimeLimit = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Write a proof of a stored explanation that is checked without a solver and without trust.

    verix-check MODEL OUT checks it in exact arithmetic; without milp-verix, checker/verix_check.py.
    """
    with refusals(), termination_as_interrupt():
        check_folder(output, result, model)
        data, where = read_data(result)
        kinds: dict[object, type[Explanation | Audit | Ranges]] = {"audit": Audit, "ranges": Ranges}
        stored = from_data(data, where, kinds.get(data.get("kind"), Explanation))
        network = network_of(model, reading)
        certificate = find_certificate(network, stored, time_limit=time_limit)
        note = written(certificate, network, output)
        if not quiet:
            typer.echo(note)
    if not certificate.proven:
        raise typer.Exit(UNDECIDED)
