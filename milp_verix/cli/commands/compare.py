"""The command ``milp-verix compare``: solvers and formulations side by side."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from milp_verix.base.errors import InputError
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.batches.progress import Many, Solvers
from milp_verix.cli.delivery import check_folder, refusals, termination_as_interrupt
from milp_verix.cli.exit_codes import DISAGREEMENT, INTERRUPTED, UNDECIDED
from milp_verix.cli.help_sections import output_option
from milp_verix.cli.options import JsonPath, PlotPath, Quiet
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import Case, files_of, question_of
from milp_verix.cli.terminal import Terminal
from milp_verix.comparison.stored_checks import checks_of, read_checks, write_checks
from milp_verix.results.comparison import Comparison, Pair
from milp_verix.views.figures.parts.writing import plot_format
from milp_verix.views.words.comparison import remarks

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
    case: Case,
    asked: Annotated[Asked, Options("compare", without=("relaxations",))],
    written: Written,
    many: Many,
) -> None:
    """Run the same checks, or the same explanation, on solvers and formulations side by side."""
    with refusals() as errors, termination_as_interrupt():
        written.check_paths(*files_of(case, asked))
        checks, ordered = asked["checks"], asked["order"] != "influence"
        if checks is not None and (ordered or written.save_checks is not None):
            raise InputError(
                "--checks are answered as they are: leave --order and --save-checks out"
            )
        if written.each is not None and asked["task"] != "check":
            raise InputError("--each needs --task check: explanations ask checks of their own")
        relaxations = written.each is not None
        if many.indices is not None or many.journal is not None:
            if asked["task"] != "check" or checks is not None or ordered:
                raise InputError("over many inputs, each has its own checks: leave these out")
            if written.json_path is not None or written.save_checks is not None:
                raise InputError("a --journal has the results: leave --json and --save-checks out")
            files = written.csv_path, written.each, written.plot_path
            study = Solvers(case, asked, relaxations, files, written.quiet)
            raise typer.Exit(study.over(many, errors))
        question = question_of(case, asked)
        own = {**question.own, "relaxations": relaxations}
        if checks is not None:
            own["checks"] = read_checks(checks, question.problem.features.count)
        status = status_line("…", _told)
        with status(errors) as show, autosaving(written.json_path, errors) as save:
            found = question.problem.compare(
                **own, search=asked.search(), progress=show, snapshots=save
            )
        written.deliver(found, question.notes)
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
