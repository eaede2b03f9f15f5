"""The command ``milp-verix report``: a study, a result or a comparison as one page of HTML."""

from pathlib import Path
from typing import Annotated

import typer

from milp_verix.cli.delivery import check_folder, refusals
from milp_verix.cli.help_sections import output_option
from milp_verix.cli.options import Quiet
from milp_verix.study.report import write_report

EXIT_CODES = "Exit codes: 0 the report is written; 2 the source cannot be used."


def report(
    *,
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY",
            help="The journal of a study, a file or a folder; or the JSON of a result, or the JSON "
            "or CSV of compare.",
        ),
    ],
    output: Annotated[Path, output_option("--output", "-o", metavar="FILE", help="The page.")],
    gallery: Annotated[
        int,
        output_option(
            metavar="N", min=0, help="The most explanations of a study shown, spread evenly."
        ),
    ] = 1000,
    counterfactuals: Annotated[
        int | None,
        output_option(
            metavar="N", min=0, help="The most for each explanation. [4; 24 for one result]"
        ),
    ] = None,
    results: Annotated[
        Path | None,
        output_option(
            metavar="FOLDER", help="Whole results of the study, where they are not beside it."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a page with tables, distributions and a gallery that needs no network."""
    with refusals() as errors:
        check_folder(output)
        text = write_report(
            study,
            output,
            gallery=gallery,
            counterfactuals=counterfactuals,
            results=results,
            warn=lambda told: errors.print(f"warning: {told}", markup=False),
        )
    if not quiet:
        typer.echo(f"{output}: {len(text.encode()) / 1e6:.2f} MB")
