"""The command ``milp-verix solvers``: installed solvers, their capabilities, and a self-test.

Exit codes: 0 every solver installed passes its self-test; 2 one does not, or a name is not known.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from milp_verix.base.files import write_atomically
from milp_verix.cli.delivery import check_folder, refusals
from milp_verix.cli.exit_codes import UNUSABLE
from milp_verix.cli.help_sections import output_option
from milp_verix.cli.terminal import Terminal
from milp_verix.comparison.self_test import SolverReport, report_on
from milp_verix.solvers import CHECKERS, SOLVERS, added_solvers
from milp_verix.solvers.session import CAPABILITIES, PROGRAM_NEEDS

_SHORT = {name: name for name in PROGRAM_NEEDS}


def solvers(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Solvers, such as highs, pulp:HiGHS, pyomo:gurobi_direct. [all with a name]",
            show_default=False,
        ),
    ] = None,
    json_path: Annotated[
        Path | None, output_option("--json", metavar="FILE", help="Write the table here, too.")
    ] = None,
) -> None:
    """Show the solvers: installed or not, version, licence, abilities, and a self-test."""
    with refusals():
        if json_path is not None:
            check_folder(json_path)
        reports = [report_on(name) for name in names or [*SOLVERS, *CHECKERS, *added_solvers()]]
        if json_path is not None:
            write_atomically(json_path, _json(reports))
    Terminal().print(_table(reports))
    if any(report.installed and report.problem for report in reports):
        raise typer.Exit(UNUSABLE)


def _table(reports: Sequence[SolverReport]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for header in ("solver", "version", "licence", "takes", "does", "self-test"):
        table.add_column(header, overflow="fold", no_wrap=header in ("solver", "version"))
    for report in reports:
        table.add_row(
            Text(report.name, style="bold" if report.installed else "dim"),
            Text(report.version or "–"),
            Text(report.licence),
            Text(_listed(report.features & PROGRAM_NEEDS, _SHORT)),
            Text(_listed(report.features - PROGRAM_NEEDS, CAPABILITIES)),
            _outcome(report),
        )
    return table


def _listed(names: frozenset[str], words: Mapping[str, str]) -> str:
    return ", ".join(words[name] for name in CAPABILITIES if name in names) or "–"


def _outcome(report: SolverReport) -> Text:
    if not report.installed:
        return Text(f"not here: {report.problem}", style="dim")
    if report.problem:
        return Text(f"FAILED: {report.problem}", style="bold red")
    return Text(f"passed in {report.seconds:.2f} s", style="green")


def _json(reports: Sequence[SolverReport]) -> str:
    rows = [{**asdict(report), "installed": report.installed} for report in reports]
    return json.dumps(rows, indent=2, default=sorted, ensure_ascii=False) + "\n"
