"""The command ``milp-verix inflate``: the ranges within which the prediction stays."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import Case, Question
from milp_verix.inputs.one_row import refuse_arrays
from milp_verix.problem.problem import PosedProblem
from milp_verix.searches.ranges.regions import Numbers
from milp_verix.searches.ranges.search import RangesProgress
from milp_verix.study.inputs import described_inputs, inputs_of

EXIT_CODES = """\
Exit codes: 0 the ranges are maximal; 3 some could be wider, and all are sound (time limit, or the
solver could not tell); 130 it was interrupted, and the ranges so far are sound and written; 2 an
argument, the input, the model or the solver cannot be used."""


def inflate(
    *,
    case: Case,
    asked: Annotated[Asked, Options("inflate")],
    delivery: ProvenDelivery,
) -> None:
    """Find the widest ranges of kept features within which the prediction provably stays."""
    shown = status_line("a first box …", _told)
    found = answered(case, asked, delivery, shown, _with_rows)
    raise typer.Exit(exit_code(found.maximal, found.statistics.stopped))


def _with_rows(question: Question) -> tuple[str, ...]:
    """Read the rows that are worth covering; return notes on their columns."""
    source = question.own["rows"]
    if source is None:
        return ()
    question.own["rows"], told = _rows(source, question.problem)
    return told


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
