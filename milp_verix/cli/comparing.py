"""The command ``milp-verix compare``: solvers and formulations on one input or many."""

import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from milp_verix.base.arguments import refusing_no_bounds
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.stored_numbers import json_in
from milp_verix.cli import delivery, parameters
from milp_verix.cli.call_options import CallOptions, GivenOptions, radii_in
from milp_verix.cli.model_and_input import files_of, network_of, question_of
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.startup import DISAGREEMENT, EMPTY, INTERRUPTED, UNDECIDED
from milp_verix.cli.studying import studied
from milp_verix.comparison.compare import checks_of, compare_solvers, read_checks, write_checks
from milp_verix.comparison.repeated import differences, question_of_record
from milp_verix.oracle.verdict import INTERRUPTED as STOPPED
from milp_verix.problem.option_rows import fitting
from milp_verix.results.comparison import Comparison
from milp_verix.results.solver_times import SHIFT
from milp_verix.study.solver_study import read_solver_study
from milp_verix.study.study_inputs import stored_inputs
from milp_verix.study.study_run import part_of
from milp_verix.views.plot import plot_format
from milp_verix.views.text_tables import remarks

_OF_PAIRS = ("solvers", "formulations", "most_checks", "rounds", "seeds", "substitutes")


def _repeat(record: Path | None) -> None:
    """Ask the question of a ``record`` again, print what differs, and end the command."""
    if record is None:
        return
    with delivery.refusals(), TemporaryDirectory(prefix="milp-verix-") as folder:
        with refusing(f"{record} cannot be read as JSON", OSError, ValueError):
            before = json_in(record)
        if not isinstance(before, dict):
            raise InputError(f"{record} is no comparison that --json wrote")
        arguments, after = question_of_record(before), Path(folder) / "again.json"
        if before["checks"] is not None:
            checks = Path(folder) / "checks.json"
            write_checks(checks, before["checks"], before["features"])
            arguments += ["--checks", str(checks)]
        command = [sys.executable, "-m", "milp_verix", *arguments, "--quiet", "--json", str(after)]
        code = subprocess.run(command, check=False).returncode
        if not after.exists():
            raise InputError(f"the command of {record} ended with exit code {code}, and no record")
        lines, differ = differences(before, json_in(after))
        for line in lines:
            delivery.Terminal(soft_wrap=True).print(line, markup=False)
    raise typer.Exit(DISAGREEMENT if differ else code)


@dataclass(frozen=True, kw_only=True)
class Written:
    """The files of a comparison."""

    json_path: parameters.JsonPath = None
    csv_path: Annotated[
        parameters.File, parameters.output_option("OUT", "Write a line for each run here.", "--csv")
    ] = None
    each: Annotated[
        parameters.File,
        parameters.output_option(
            "OUT", "Write a line for each program and run here, as CSV or .parquet."
        ),
    ] = None
    plot_path: parameters.PlotPath = None
    save_checks: Annotated[
        parameters.File,
        parameters.output_option("FILE", "Write the checks here, or those of an explanation."),
    ] = None
    disagreements: Annotated[
        Path, parameters.output_option("FOLDER", "Where checks go that solvers disagree on.")
    ] = Path()
    quiet: parameters.Quiet = False
    repeat: Annotated[
        parameters.File,
        typer.Option(
            metavar="RECORD.json",
            help="Ask the question of this --json again, and print what differs; nothing else.",
            rich_help_panel=parameters.OUTPUT,
            is_eager=True,
            callback=_repeat,
        ),
    ] = None

    def check_paths(self, *read: Path) -> None:
        """Raise ``InputError`` for a file that cannot be written, or that was ``read``."""
        for path in (self.json_path, self.csv_path, self.each, self.plot_path, self.save_checks):
            delivery.check_folder(path, *read)
        if self.plot_path is not None:
            plot_format(self.plot_path)
        if not self.disagreements.is_dir():
            raise InputError(f"--disagreements {self.disagreements} is no folder")

    def deliver(self, found: Comparison, notes: tuple[str, ...]) -> None:
        """Write files and print the table; if one of these fails, the others are still done."""
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


@dataclass(frozen=True, kw_only=True)
class Many:
    """The options of a comparison over many inputs."""

    indices: Annotated[
        parameters.Text,
        parameters.question_option(
            "0:100",
            "Compare on these inputs of the file INPUT, such as images.npz:images, and write "
            "a --journal. [one input]",
        ),
    ] = None
    radii: Annotated[
        parameters.Text, parameters.question_option("E,…", "With --indices: more radii.")
    ] = None
    journal: Annotated[
        parameters.File,
        parameters.output_option(
            "STUDY.jsonl",
            "With --indices: a line for each input, by which the same command goes on.",
        ),
    ] = None
    shift: parameters.Shift = SHIFT
    workers: Annotated[
        int, parameters.search_option("N", "With --indices: processes that share inputs.", min=1)
    ] = 1


def compare(
    *,
    case: parameters.ModelAndInput,
    given: Annotated[GivenOptions, CallOptions("compare", without=("relaxations",))],
    files: Written,
    many: Many,
) -> None:
    """Run the same checks, or the same explanation, on solvers and formulations side by side."""
    with delivery.refusals() as errors, delivery.termination_as_interrupt():
        files.check_paths(*files_of(case, given))
        checks, ordered = given["checks"], given["order"] != "influence"
        if checks is not None and (ordered or files.save_checks is not None):
            raise InputError(
                "--checks are answered as they are: leave --order and --save-checks out"
            )
        if files.each is not None and given["task"] != "check":
            raise InputError("--each needs --task check: explanations ask checks of their own")
        if many != Many():
            if given["task"] != "check" or checks is not None or ordered or given["resume"]:
                raise InputError("over many inputs, each has its own checks: leave these out")
            if files.json_path is not None or files.save_checks is not None:
                raise InputError("a --journal has the results: leave --json and --save-checks out")
            raise typer.Exit(_over_many(case, given, files, many, errors))
        question = question_of(case, given)
        recorded = files.each is not None or files.json_path is not None
        own = {**question.own, "relaxations": recorded}
        if checks is not None:
            own["checks"] = read_checks(checks, question.problem.features.count)
        status = status_line("…", "{} …".format)
        with (
            status(errors) as show,
            autosaving(files.json_path, errors, _unfinished) as save,
            refusing_no_bounds(),
        ):
            own |= {"search": given.search, "progress": show, "snapshots": save}
            found = compare_solvers(question.problem, **fitting("compare", own))
            found = replace(found, command=_command())
        files.deliver(found, question.notes)
        for path, what in zip(
            found.write_disagreements(files.disagreements), found.disagreements, strict=True
        ):
            errors.print(f"error: {what}; the program is in {path}", markup=False)
    for text in found.unequal:
        errors.print(f"error: {text}", markup=False)
    if not found.agree:
        raise typer.Exit(DISAGREEMENT)
    if found.empty is not None and found.stopped != STOPPED:
        errors.print(f"error: {found.empty}", markup=False)
        raise typer.Exit(EMPTY)
    if found.stopped == STOPPED:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if found.complete else UNDECIDED)


def _command() -> tuple[str, ...]:
    return tuple(sys.argv[1:])


def _unfinished(found: Comparison) -> Comparison:
    """Return what a file holds that outlives its process: how to go on, and that it is a part."""
    return replace(found, command=_command(), stopped=found.stopped or "not finished yet")


def _over_many(
    case: parameters.ModelAndInput, given: GivenOptions, files: Written, many: Many, errors: Console
) -> int:
    """Compare on many inputs, write the journal and the files; return the exit code."""
    if many.journal is None:
        raise InputError(
            "--indices, --radii, --shift and --workers are of a study: give --journal STUDY.jsonl, "
            "from which it goes on"
        )
    if given["inputs"] is not None:
        raise InputError("described inputs are compared by: milp-verix batch --task compare")
    if given["epsilon"] is None:
        raise InputError("--epsilon is missing: give the radius of the ball")
    network = network_of(case.model, case)
    options = given.question(network)
    radius = options.pop("epsilon")
    own = given.own(network)
    options |= {name: own[name] for name in _OF_PAIRS} | given.search.given()
    source = stored_inputs(case.specification, network, None, options)
    for note in () if files.quiet else source.remarks:
        errors.print(f"note: {note}", markup=False)
    more = [] if many.radii is None else radii_in(many.radii, "--radii", network)
    part = part_of(
        network,
        source,
        epsilon=[radius, *more],
        task="compare",
        indices=many.indices,
        options={**options, "relaxations": files.each is not None},
    )
    course = {"journal": many.journal, "workers": many.workers, "shift": many.shift}
    tally, code = studied([part], {**course, "results": False}, errors, quiet=files.quiet)
    if not tally.done + tally.undecided:
        return code
    study = read_solver_study(many.journal, shift=many.shift, warn=lambda _: None)
    if not study.rows:
        errors.print("error: There is no program to compare solvers by.", markup=False)
        code = EMPTY
    for path, write in (
        (files.csv_path, study.summary_to_csv),
        (files.each, study.to_csv),
        (files.plot_path, study.plot),
    ):
        if path is not None and (study.rows or write != study.plot):
            write(path)
    return DISAGREEMENT if study.disagreements else code


def _print(found: Comparison, notes: tuple[str, ...]) -> None:
    console = delivery.Terminal(soft_wrap=True)
    console.print_table(found.table())
    for line in (*remarks(found), *notes):
        console.print(line, markup=False)


FUNCTIONS = {
    "compare": (
        compare,
        "Exit codes: 0 no answers contradict each other and everything was decided; 2 an argument, "
        "the input, the model or the solvers cannot be used; 3 no answers contradict each other, "
        "but something was left undecided; 4 two answers contradict each other, and the check is "
        "written as disagreement-N.lp, or two solvers got unequal programs; 5 there was nothing to "
        "compare; 130 it was interrupted, and what was finished by then is reported.",
    )
}
