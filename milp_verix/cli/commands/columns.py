"""The command ``milp-verix columns``: the part that columns play in the decisions of a study."""

from pathlib import Path
from typing import Annotated

import typer

from milp_verix.cli.delivery import check_folder, refusals
from milp_verix.cli.help_sections import output_option
from milp_verix.cli.options import PlotPath, Quiet
from milp_verix.cli.terminal import Terminal
from milp_verix.study.table import use_of_columns
from milp_verix.views.figures.plot import plot_format
from milp_verix.views.words.text_tables import columns_sentence, columns_table

EXIT_CODES = "Exit codes: 0 the columns are shown; 2 the study cannot be used."


def columns(
    *,
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The journal of a study, a file or a folder.")
    ],
    results: Annotated[
        Path | None,
        output_option(
            metavar="FOLDER", help="Whole results of the study, where they are not beside it."
        ),
    ] = None,
    plot_path: PlotPath = None,
    quiet: Quiet = False,
) -> None:
    """Show for each column how often the decisions of a study need it, and its typical values."""
    with refusals() as errors:
        check_folder(plot_path)
        if plot_path is not None:
            plot_format(plot_path)
        use = use_of_columns(
            study, results, lambda told: errors.print(f"warning: {told}", markup=False)
        )
        if not quiet:
            console = Terminal()
            console.print(columns_sentence(use), markup=False)
            console.print(columns_table(use))
        if plot_path is not None:
            from milp_verix.views.figures.plot import plot_columns

            plot_columns(use, plot_path)
