"""The command ``milp-verix inflate``: the ranges within which the prediction stays."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import number_of, radius_of
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedQuestion, Question
from milp_verix.cli.search_options import CheckOptions
from milp_verix.inputs.placement import refuse_arrays
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.public import Ranges
from milp_verix.searches.ranges.inflate import inflate_problem
from milp_verix.searches.ranges.regions import Numbers
from milp_verix.searches.ranges.search import RangesProgress
from milp_verix.study.inputs import described_inputs, inputs_of

EXIT_CODES = """\
Exit codes: 0 the ranges are maximal; 3 some could be wider, and all are sound (time limit, or the
solver could not tell); 130 it was interrupted, and the ranges so far are sound and written; 2 an
argument, the input, the model or the solver cannot be used."""


def inflate(
    *,
    posed: NamedQuestion,
    explanation: Annotated[
        str | None,
        question_option(
            metavar="FILE",
            help="The features to keep, as for audit; by default those that explain finds.",
        ),
    ] = None,
    rows: Annotated[
        str | None,
        question_option(
            metavar="FILE",
            help="Inputs worth covering, and counted: a .npy or .npz file, or a table.",
        ),
    ] = None,
    within: Annotated[
        float,
        question_option(
            parser=radius_of,
            metavar="NUMBER|SHARE",
            help="The farthest that kept features may move. [the domain]",
        ),
    ] = np.inf,
    resolution: Annotated[
        float,
        search_option(
            parser=number_of,
            metavar="NUMBER",
            help="Width of the brackets of real ends, as a share of the feature's room.",
        ),
    ] = 0.01,
    search: CheckOptions,
    delivery: ProvenDelivery,
) -> None:
    """Find the widest ranges of kept features within which the prediction provably stays."""

    def search_of(asked: Question, **watching: Any) -> Ranges:
        given, told = (None, ()) if rows is None else _rows(rows, asked.problem)
        found = inflate_problem(
            asked.problem,
            asked.explanation,
            rows=given,
            within=within,
            resolution=resolution,
            search=search.search(),
            **watching,
        )
        return replace(found, notes=(*found.notes, *told))

    shown = status_line("a first box …", _told)
    found = answered(posed, delivery, shown, search_of, rows, explanation=explanation)
    raise typer.Exit(exit_code(found.maximal, found.statistics.stopped))


def _rows(source: str, problem: PosedProblem) -> tuple[Numbers, tuple[str, ...]]:
    """Return the inputs in a file, with one in each row, and notes on its columns."""
    inputs, names = problem.inputs, problem.coordinate_names
    if inputs and Path(source).suffix.lower() in (".csv", ".parquet"):
        given = described_inputs(source, inputs)
    else:
        given = inputs_of(source, problem.x.size, None, names)
        refuse_arrays(inputs is not None and inputs.places is not None)
    rows = [given.read(index).reshape(-1) for index in range(given.count)]
    return Numbers(np.array(rows)), given.told


def _told(state: RangesProgress) -> str:
    return f"{state.done} ends decided"
