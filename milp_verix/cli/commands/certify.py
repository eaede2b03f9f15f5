"""The command ``milp-verix certify``: a proof of a stored explanation."""

from pathlib import Path
from typing import Annotated

import typer

from milp_verix.cli.delivery import (
    check_folder,
    places_of,
    refusals,
    stored_proof,
    termination_as_interrupt,
)
from milp_verix.cli.exit_codes import UNDECIDED
from milp_verix.cli.help_sections import output_option, search_option
from milp_verix.cli.options import ModelPath, Quiet
from milp_verix.cli.question import Reading, network_of

EXIT_CODES = """\
Exit codes: 0 every certificate is written; 3 for some result no proof was found, and no file is
written; 130 it was interrupted; 2 an argument, a result or the model cannot be used."""


def certify(
    *,
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="An explanation, audit, ranges, radius, relevance or importance, as --json wrote "
            "it; or the folder of results of a study.",
        ),
    ],
    model: ModelPath,
    output: Annotated[
        Path,
        output_option(
            "--output", "-o", metavar="OUT", help="Write the certificate here; a folder for many."
        ),
    ],
    time_limit: Annotated[
        float | None, search_option(metavar="SECONDS", help="Seconds for the search. [none]")
    ] = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Write a proof of a stored explanation that is checked without a solver and without trust.

    verix-check MODEL OUT checks it in exact arithmetic; without milp-verix, checker/verix_check.py.
    Of a folder, results that have a certificate in OUT already are left out.
    """
    with refusals(), termination_as_interrupt():
        pairs = places_of(result, output)
        for path, place in pairs:
            check_folder(place, path, model)
        network, proven = network_of(model, reading), 0
        for path, place in pairs:
            found, note = stored_proof(path, place, [network], time_limit)
            proven += found
            if not quiet:
                typer.echo(note if path == result else f"{place.name}: {note}")
    if proven < len(pairs):
        raise typer.Exit(UNDECIDED)
