"""The command ``milp-verix compare``: solvers and formulations side by side."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from milp_verix.base.errors import InputError
from milp_verix.cli.batches.progress import Many, Solvers
from milp_verix.cli.delivery import check_folder, refusals, termination_as_interrupt
from milp_verix.cli.exit_codes import DISAGREEMENT, INTERRUPTED, UNDECIDED
from milp_verix.cli.help_sections import output_option, question_option, search_option
from milp_verix.cli.options import JsonPath, PlotPath, Quiet
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import QuestionOptions, files_of, order_of, question_of
from milp_verix.cli.search_options import BoundOptions
from milp_verix.cli.terminal import Terminal
from milp_verix.comparison.compare import TASKS, compare_solvers
from milp_verix.comparison.stored_checks import checks_of, read_checks, write_checks
from milp_verix.results.comparison import Comparison
from milp_verix.results.records.comparison import Pair
from milp_verix.searches.explain.order import ORDERS
from milp_verix.solvers import CHECKERS, SOLVERS
from milp_verix.views.figures.parts.writing import plot_format
from milp_verix.views.words.comparison import remarks
from verix_encodings import FORMULATIONS

EXIT_CODES = """\
Exit codes: 0 no answers contradict each other and everything was decided; 2 an argument, the input,
the model or the solvers cannot be used; 3 no answers contradict each other, but something was left
undecided; 4 two answers contradict each other, and the check is written as disagreement-N.lp; 130
it was interrupted, and what was finished by then is reported."""

_UNLIMITED = 1000


@dataclass(frozen=True, kw_only=True)
class Written:
    """The files of a comparison."""

    json_path: JsonPath = None
    csv_path: Annotated[
        Path | None, output_option("--csv", metavar="OUT", help="Write a line for each run here.")
    ] = None
    each: Annotated[
        Path | None,
        output_option(metavar="OUT", help="Write a line for each check and run here, as CSV."),
    ] = None
    plot_path: PlotPath = None
    save_checks: Annotated[
        Path | None,
        output_option(metavar="FILE", help="Write the checks here, or those of an explanation."),
    ] = None
    disagreements: Annotated[
        Path, output_option(metavar="FOLDER", help="Where checks go that solvers disagree on.")
    ] = Path()
    quiet: Quiet = False

    def check_paths(self, *read: Path) -> None:
        """Raise ``InputError`` for a file that cannot be written, or that was ``read``."""
        for path in (self.json_path, self.csv_path, self.each, self.plot_path, self.save_checks):
            check_folder(path, *read)
        if self.plot_path is not None:
            plot_format(self.plot_path)
        if not self.disagreements.is_dir():
            raise InputError(f"--disagreements {self.disagreements} is no folder")

    def deliver(self, found: Comparison, notes: tuple[str, ...]) -> None:
        """Write all files but the programs of disagreements, and print the table.

        If one of these fails, or Ctrl-C ends it, the others are still done.
        """
        with ExitStack() as last_first:
            if self.plot_path is not None and found.runs:
                last_first.callback(found.plot, self.plot_path)
            if not self.quiet:
                last_first.callback(_print, found, notes)
            explanations = [run.explanation for run in found.runs if run.explanation is not None]
            checks = checks_of(explanations[0]) if explanations else found.checks
            if self.save_checks is not None and checks is not None:
                last_first.callback(write_checks, self.save_checks, checks, found.features)
            if self.each is not None:
                last_first.callback(found.each_to_csv, self.each)
            if self.csv_path is not None:
                last_first.callback(found.to_csv, self.csv_path)
            if self.json_path is not None:
                last_first.callback(found.to_json, self.json_path)


def compare(
    *,
    posed: QuestionOptions,
    solvers: Annotated[
        str | None,
        search_option(
            metavar=",".join([*SOLVERS, *CHECKERS]), help="With commas between. [all installed]"
        ),
    ] = None,
    formulations: Annotated[
        str,
        search_option(
            metavar=",".join([*FORMULATIONS, "partition:N"]), help="With commas between."
        ),
    ] = "big_m",
    task: Annotated[
        str,
        search_option(
            metavar="|".join(TASKS),
            help="Answer the same checks; or find an explanation, a minimum or a contrast each.",
        ),
    ] = "check",
    master: Annotated[
        str | None,
        search_option(
            metavar="auto|tree|program",
            help="Of minima: the solver's programs, or our own tree, the same for all. [program,"
            " or auto where hitting sets answer]",
        ),
    ] = None,
    checks: Annotated[
        Path | None,
        question_option(
            metavar="FILE", help="Answer these checks. [those that decide an explanation]"
        ),
    ] = None,
    most_checks: Annotated[
        int | None,
        search_option(
            metavar="N",
            min=1,
            help="The most checks of the explanation, of those that bounds leave open. [all]",
        ),
    ] = None,
    rounds: Annotated[
        int, search_option(metavar="N", min=1, help="Runs of each pair, in turns.")
    ] = 1,
    order: Annotated[
        str | None,
        search_option(
            metavar="|".join([*ORDERS, "FILE"]),
            help="Traversal order; FILE is a .npy or .json list of all features. [explain's]",
        ),
    ] = None,
    search: BoundOptions,
    written: Written,
    many: Many,
) -> None:
    """Run the same checks, or the same explanation, on solvers and formulations side by side."""
    with refusals() as errors, termination_as_interrupt():
        written.check_paths(*files_of(posed, order, checks))
        if checks is not None and (order is not None or written.save_checks is not None):
            raise InputError(
                "--checks are answered as they are: leave --order and --save-checks out"
            )
        if written.each is not None and task != "check":
            raise InputError("--each needs --task check: explanations ask checks of their own")
        pairs: dict[str, Any] = {
            "solvers": None if solvers is None else solvers.split(","),
            "formulations": formulations.split(","),
            "most_checks": most_checks,
            "rounds": rounds,
            "relaxations": written.each is not None,
        }
        if many.indices is not None or many.journal is not None:
            if task != "check" or checks is not None or order is not None:
                raise InputError("over many inputs, each has its own checks: leave these out")
            if written.json_path is not None or written.save_checks is not None:
                raise InputError("a --journal has the results: leave --json and --save-checks out")
            files = written.csv_path, written.each, written.plot_path
            study = Solvers(posed, search.search(), pairs, files, written.quiet)
            raise typer.Exit(study.over(many, errors))
        asked = question_of(posed)
        count = asked.problem.features.count
        status = status_line("…", _told)
        with status(errors) as show, autosaving(written.json_path, errors) as save:
            found = compare_solvers(
                asked.problem,
                **pairs,
                task=task,
                master=master,
                checks=None if checks is None else read_checks(checks, count),
                search=search.search(),
                progress=show,
                snapshots=save,
                order="influence" if order is None else order_of(order, asked.network),
            )
        written.deliver(found, asked.notes)
        for path, what in zip(
            found.write_disagreements(written.disagreements), found.disagreements, strict=True
        ):
            errors.print(f"error: {what}; the program is in {path}", markup=False)
    raise typer.Exit(_exit_code(found))


def _print(found: Comparison, notes: tuple[str, ...]) -> None:
    console = Terminal(soft_wrap=True)
    table = found.table()
    if not console.is_terminal:
        # a file has no width: columns must not lose digits there
        wide = console.options.update(width=_UNLIMITED)
        console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(table)
    for line in (*remarks(found), *notes):
        console.print(line, markup=False)


def _exit_code(found: Comparison) -> int:
    if not found.agree:
        return DISAGREEMENT
    if found.stopped is not None:
        return INTERRUPTED
    return 0 if found.complete else UNDECIDED


def _told(pair: Pair) -> str:
    return f"{pair} …"
