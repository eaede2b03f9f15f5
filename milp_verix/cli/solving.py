"""The commands on solvers: export a program for one, show those that are here.

Exit codes of ``solvers``: 0 every solver installed passes its self-test; 2 one does not, or a name
is not known.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from milp_verix.base import version
from milp_verix.base.errors import InputError, printable
from milp_verix.base.files import replacing, write_atomically
from milp_verix.base.number_text import counted
from milp_verix.base.tolerances import Tolerances
from milp_verix.cli.call_options import CallOptions, GivenOptions
from milp_verix.cli.delivery import Terminal, check_folder, refusals
from milp_verix.cli.model_and_input import files_of, question_of
from milp_verix.cli.parameters import (
    File,
    ModelAndInput,
    output_option,
    question_option,
    search_option,
)
from milp_verix.cli.startup import UNUSABLE
from milp_verix.comparison.compare import read_checks
from milp_verix.comparison.exported import write_programs
from milp_verix.comparison.self_test import SolverReport, report_on
from milp_verix.comparison.timed_solver import Relaxations, size_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.check_program import column_map
from milp_verix.results.base import array_hash
from milp_verix.solvers import OWN_ENGINES, SOLVERS, added_solvers
from milp_verix.solvers.session import CAPABILITIES, PROGRAM_NEEDS
from verix_encodings import Encoding
from verix_encodings.arrays import FloatArray


def export(
    *,
    case: ModelAndInput,
    out: Annotated[
        Path,
        output_option("FILE", "Write the program here: .lp or .mps. With --checks, a folder."),
    ],
    given: Annotated[GivenOptions, CallOptions("export")],
    rival: Annotated[
        str | None,
        question_option(
            "CLASS|all",
            "Classification: the class whose margin counts. [the runner-up; all with --checks]",
        ),
    ] = None,
    checks: Annotated[
        File,
        question_option(
            "FILE", "Write the programs of the checks that compare --save-checks keeps."
        ),
    ] = None,
    columns: Annotated[
        File, output_option("OUT", "Write the map from columns to inputs and neurons here, as CSV.")
    ] = None,
) -> None:
    """Write the program of one check: its least cost gives the highest margin."""
    with refusals():
        number = _class_number(rival, several=checks is not None)
        if checks is not None:
            _export_checks(case, given, checks, number, out)
            return
        check_folder(out, *files_of(case, given))
        check_folder(columns, out, *files_of(case, given))
        question = question_of(case, given)
        problem, network = question.problem, question.problem.network
        against = getattr(problem.question, "against", None)
        regression = given["delta"] is not None
        index, what = _margin(network, problem.x, number, against, regression=regression)
        encoding = problem.export(**question.own, search=given.search)
        row, constant = encoding.output.row(index, encoding.program.columns)
        equation = f"{what} = {constant:.17g} - cost; above 0 the prediction changes"
        ball = problem.ball
        comments = (
            f"milp-verix {version()}: one check of {network.name}, SHA-256 {network.sha256}",
            f"input SHA-256 {array_hash(problem.x)}; {ball.norm} ball, radius {ball.epsilon}",
            f"formulation {given['formulation']}, bounds by {given['bounds']}; features free: "
            f"{given['free']}",
            equation,
            "columns: x inputs, z pre-activations, a activations, d phases, s slacks; the number "
            "of the node and of the neuron behind each",
        )
        _write(encoding, -row, out, tuple(map(printable, comments)))
        if columns is not None:
            write_atomically(columns, column_map(encoding.program))
        relaxed = Relaxations(Tolerances()).solve(encoding.program, -row)
    size = size_of(encoding.program)
    print_out = Terminal(soft_wrap=True).print
    print_out(f"{out}: columns: {size.columns}, rows: {size.rows}, binaries: {size.binaries}")
    print_out(equation)
    text = "not known: HiGHS takes no quadratic row" if relaxed is None else f"{relaxed:.9g}"
    print_out(f"optimum of the linear relaxation: {text}")
    print_out(
        f"largest big-M {size.largest_big_m:.4g}; coefficients from {size.least_coefficient:.4g} "
        f"to {size.largest_coefficient:.4g}"
    )


def _class_number(rival: str | None, *, several: bool) -> int | None:
    """Return the class that ``--rival`` names; None for the usual one, or all of ``several``."""
    if rival is None or (several and rival == "all"):
        return None
    try:
        return int(rival)
    except ValueError:
        more = "or all" if several else "and all with --checks"
        raise InputError(f"--rival is the number of a class, {more}, got {rival!r}") from None


def _export_checks(
    case: ModelAndInput, given: GivenOptions, checks: Path, rival: int | None, out: Path
) -> None:
    """Write the programs of a file of checks to the folder ``out``."""
    if given["free"] not in (None, "all"):
        raise InputError("--checks has the free features of each check: leave --free out")
    question = question_of(case, given)
    problem, network = question.problem, question.problem.network
    listed = read_checks(checks, problem.features.count)
    about = (
        f"milp-verix {version()}: {network.name}, SHA-256 {network.sha256}",
        f"input SHA-256 {array_hash(problem.x)}; {problem.ball.norm} ball, radius "
        f"{problem.ball.epsilon}; formulation {given['formulation']}, bounds by {given['bounds']}",
    )
    count = write_programs(
        problem,
        listed,
        rival,
        given.search,
        out,
        quadratic=bool(given["quadratic"]),
        comments=tuple(map(printable, about)),
    )
    Terminal(soft_wrap=True).print(f"{out}: {counted(count, 'file')}, and manifest.csv")


def _margin(
    network: LoadedModel,
    x: Any,
    rival: int | None,
    against: Sequence[int] | None,
    *,
    regression: bool,
) -> tuple[int, str]:
    """Return the number and the name of the margin to maximise, of ``against`` or of all others."""
    if regression:
        if rival is not None:
            raise InputError("--rival belongs to classification: leave it or --delta out")
        return 0, "margin of the first output, upwards"
    scores = network.outputs_at(network.as_input(np.asarray(x)))
    predicted = int(np.argmax(scores))
    others = np.delete(np.arange(scores.size), predicted) if against is None else np.array(against)
    if rival is None:
        rival = int(others[np.argmax(scores[others])]) if others.size else predicted
    elif rival not in others:
        raise InputError(
            f"--rival is a class of 0..{scores.size - 1} other than the predicted one, "
            f"{predicted}, and one of those --against; got {rival}"
        )
    return int(np.sum(others < rival)), f"f_{rival} - f_{predicted}"


def _write(encoding: Encoding, cost: FloatArray, out: Path, comments: tuple[str, ...]) -> None:
    """Write the program of ``cost``; raises ``InputError`` for what the format cannot hold."""
    try:
        with replacing(out) as target:
            encoding.program.write(target, cost, comments)
    except ValueError as error:
        raise InputError(str(error)) from error


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
        File, output_option("FILE", "Write the table here, too.", "--json")
    ] = None,
    check: Annotated[
        bool, search_option(None, "Put them to the suite of a hundred programs, too.", "--check")
    ] = False,
) -> None:
    """Show the solvers: installed or not, version, licence, abilities, and a self-test."""
    with refusals():
        check_folder(json_path)
        reports = [report_on(name) for name in names or [*SOLVERS, *OWN_ENGINES, *added_solvers()]]
        if json_path is not None:
            rows = [{**asdict(report), "installed": report.installed} for report in reports]
            text = json.dumps(rows, indent=2, default=sorted, ensure_ascii=False)
            write_atomically(json_path, text + "\n")
    Terminal().print(_table(reports))
    failed = any(report.installed and report.problem for report in reports)
    for report in reports if check else ():
        if report.installed:
            from milp_verix.testing import check_solver

            found = check_solver(report.name)
            failed |= not found.passed
            text = "\n  ".join([found.sentence(), *map(str, found.failures[1:])])
            Terminal(soft_wrap=True).print(Text(text))
    if failed:
        raise typer.Exit(UNUSABLE)


def _table(reports: Sequence[SolverReport]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for header in ("solver", "version", "licence", "takes", "does", "self-test"):
        table.add_column(header, overflow="fold", no_wrap=header in ("solver", "version"))
    for report in reports:
        has = [name for name in CAPABILITIES if name in report.features]
        does = [CAPABILITIES[name] for name in has if name not in PROGRAM_NEEDS]
        table.add_row(
            Text(report.name, style="bold" if report.installed else "dim"),
            Text(report.version or "–"),
            Text(report.licence),
            Text(", ".join(name for name in has if name in PROGRAM_NEEDS) or "–"),
            Text(", ".join(does) or "–"),
            _outcome(report),
        )
    return table


def _outcome(report: SolverReport) -> Text:
    if not report.installed:
        return Text(f"not here: {report.problem}", style="dim")
    if report.problem:
        return Text(f"FAILED: {report.problem}", style="bold red")
    return Text(f"passed in {report.seconds:.2f} s", style="green")


FUNCTIONS = {"export": (export, None), "solvers": (solvers, None)}
