"""A comparison of solvers over many inputs: the options of ``compare`` for it, and its course."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from milp_verix.base.arguments import radius_in
from milp_verix.base.errors import InputError
from milp_verix.cli.batches.progress import deliver, exit_code, tasks_progress
from milp_verix.cli.exit_codes import DISAGREEMENT
from milp_verix.cli.help_sections import output_option, question_option, search_option
from milp_verix.cli.question import QuestionOptions, arguments_of, network_of
from milp_verix.problem.search import USUAL, Search
from milp_verix.study.batch import run_parts
from milp_verix.study.input_files import stored_inputs
from milp_verix.study.parts import Part, part_of
from milp_verix.study.solver_study import read_solver_study

_OF_SEARCH = ("bounds", "segments", "threads", "warm", "time_limit", "check_time_limit")


@dataclass(frozen=True, kw_only=True)
class Many:
    """The options of a comparison over many inputs."""

    indices: Annotated[
        str | None,
        question_option(
            metavar="0:100",
            help="Compare on these inputs of the file INPUT, such as images.npz:images, and write "
            "a --journal. [one input]",
        ),
    ] = None
    radii: Annotated[
        str | None, question_option(metavar="E,…", help="With --indices: more radii.")
    ] = None
    journal: Annotated[
        Path | None,
        output_option(
            metavar="STUDY.jsonl",
            help="With --indices: a line for each input, by which the same command goes on.",
        ),
    ] = None
    workers: Annotated[
        int, search_option(metavar="N", min=1, help="With --indices: processes that share inputs.")
    ] = 1


@dataclass(frozen=True, slots=True, eq=False)
class Solvers:
    """The question and the ``pairs`` of a comparison over many inputs.

    ``files`` are those for the summary, for each check and for the picture, where they are wanted.
    """

    posed: QuestionOptions
    search: Search
    pairs: dict[str, Any]
    files: tuple[Path | None, Path | None, Path | None]
    quiet: bool

    def over(self, many: Many, errors: Console) -> int:
        """Compare on many inputs, write the journal and the files; return the exit code."""
        if many.journal is None:
            raise InputError("give --journal STUDY.jsonl with --indices: the study goes on from it")
        part = self._part(many, errors)
        with tasks_progress(errors, quiet=self.quiet) as show:
            tally = run_parts(
                [part], many.journal, workers=many.workers, results=False, progress=show
            )
        deliver(tally, many.journal, quiet=self.quiet)
        if not tally.done + tally.undecided:
            return exit_code(tally)
        study = read_solver_study(many.journal, warn=lambda _: None)
        writers = (study.summary_to_csv, study.to_csv, study.plot)
        for path, write in zip(self.files, writers, strict=True):
            if path is not None:
                write(path)
        return DISAGREEMENT if study.disagreements else exit_code(tally)

    def _part(self, many: Many, errors: Console) -> Part:
        posed = self.posed
        if posed.inputs is not None:
            raise InputError("described inputs are compared by: milp-verix batch --task compare")
        if posed.epsilon is None:
            raise InputError("--epsilon is missing: give the radius of the ball")
        network = network_of(posed.model, posed)
        options = {**arguments_of(network, posed, posed, posed), **self.pairs}
        given = {name: getattr(self.search, name) for name in _OF_SEARCH}
        usual = {name: getattr(USUAL, name) for name in _OF_SEARCH}
        options |= {name: value for name, value in given.items() if value != usual[name]}
        source = stored_inputs(posed.specification, network, None, options)
        for note in () if self.quiet else source.told:
            errors.print(f"note: {note}", markup=False)
        return part_of(
            network,
            source,
            epsilon=[posed.epsilon, *map(radius_in, many.radii.split(",") if many.radii else ())],
            task="compare",
            indices=many.indices,
            options=options,
        )
