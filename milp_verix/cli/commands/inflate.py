"""The command ``milp-verix inflate``: the ranges within which the prediction stays."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from milp_verix.auditing.feature_sets import groups_for
from milp_verix.cli.certificates import certified
from milp_verix.cli.commands.audit import explanation_in
from milp_verix.cli.delivery import ProvenDelivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import FeatureNames, number_of, radius_of
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import QuestionOptions, files_of, network_of, question_of
from milp_verix.cli.search_options import CheckOptions
from milp_verix.problem.problem import PosedProblem
from milp_verix.ranges.inflate import inflate_problem
from milp_verix.ranges.search import RangesProgress
from milp_verix.reporting.words.ranges import ranges_facts
from milp_verix.study.described_rows import described_inputs
from milp_verix.study.inputs import inputs_of

EXIT_CODES = """\
Exit codes: 0 the ranges are maximal; 3 some could be wider, and all are sound (time limit, or the
solver could not tell); 130 it was interrupted, and the ranges so far are sound and written; 2 an
argument, the input, the model or the solver cannot be used."""


def inflate(
    *,
    posed: QuestionOptions,
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
    feature_names: FeatureNames = None,
    search: CheckOptions,
    delivery: ProvenDelivery,
) -> None:
    """Find the widest ranges of kept features within which the prediction provably stays."""
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, explanation, rows))
        network = network_of(posed.model, posed)
        kept = None if explanation is None else explanation_in(explanation, network)
        groups = None if kept is None else groups_for(kept, None)
        asked = question_of(posed, feature_names, network=network, features=groups)
        status = status_line(errors, "a first box …", _told)
        with status as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            found = inflate_problem(
                asked.problem,
                kept,
                rows=None if rows is None else _rows(rows, asked.problem),
                within=within,
                resolution=resolution,
                search=search.search(),
                progress=show,
                snapshots=save,
            )
        found = certified(asked.noted(found), network, delivery.certificate_path)
        delivery.deliver(found, ranges_facts)
    raise typer.Exit(exit_code(found.maximal, found.statistics.stopped))


def _rows(source: str, problem: PosedProblem) -> Any:
    """Return the inputs in a file, as an array with one in each row."""
    inputs = problem.inputs
    table = Path(source).suffix.lower() in (".csv", ".parquet")
    given = (
        described_inputs(source, inputs) if inputs and table else inputs_of(source, problem.x.size)
    )
    return np.array([given.read(index).reshape(-1) for index in range(given.count)])


def _told(state: RangesProgress) -> str:
    return f"{state.done} ends decided"
