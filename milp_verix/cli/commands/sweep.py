"""The command ``milp-verix sweep``: the features that keep the prediction, at several radii."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from milp_verix.cli.delivery import Delivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import (
    BoundsName,
    CheckTimeLimit,
    FeatureNames,
    FormulationName,
    JsonPath,
    PlotPath,
    Quiet,
    Segments,
    SolverName,
    Threads,
    TimeLimit,
    radius_of,
)
from milp_verix.cli.progress import autosaving, progress_bar
from milp_verix.cli.question import (
    Ball,
    Case,
    Described,
    Explained,
    Question,
    Reading,
    files_of,
    names_of,
    numbers_in,
    question_of,
)
from milp_verix.radius.sweep import epsilon_sweep
from milp_verix.reporting.radius_table import sweep_facts
from milp_verix.results.radii import EpsilonSweep
from milp_verix.traversal.order import ORDERS
from milp_verix.traversal.strategies import STRATEGIES
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS

EXIT_CODES = """\
Exit codes: 0 each explanation is locally minimal; 3 all are sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def sweep(
    *,
    case: Case,
    epsilon: Annotated[
        str,
        question_option(
            metavar="E,E,…",
            help="Radii, such as 1,0.1,0.05 or 8/255,1/255; with --inputs also 1%,10%,inf.",
        ),
    ],
    alone: Annotated[
        bool,
        question_option(
            "--alone", help="Explain each radius by itself, so that the sets are not nested."
        ),
    ] = False,
    ball: Ball,
    described: Described,
    feature_names: FeatureNames = None,
    order: Annotated[
        str,
        search_option(
            metavar="|".join([*ORDERS, "FILE"]),
            help="Traversal order; FILE is a .npy or .json list of all features.",
        ),
    ] = "influence",
    traversal: Annotated[
        str, search_option(metavar="|".join(STRATEGIES), help="Which checks are asked.")
    ] = "galloping",
    explained: Explained,
    solver: SolverName = "auto",
    bounds: BoundsName = "crown",
    segments: Segments = DEFAULT_SEGMENTS,
    formulation: FormulationName = "big_m",
    threads: Threads = 1,
    time_limit: TimeLimit = None,
    check_time_limit: CheckTimeLimit = None,
    json_path: JsonPath = None,
    plot_path: PlotPath = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Explain at several radii: features irrelevant at one are irrelevant at all smaller ones."""
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(case, ball, described, order))
        asked = question_of(case, ball, explained, reading, described)
        network = asked.network

        def noted(found: EpsilonSweep) -> EpsilonSweep:
            return replace(found, levels=tuple(asked.noted(level) for level in found.levels))

        with progress_bar(errors) as show, autosaving(json_path, errors, noted) as save:
            found = epsilon_sweep(
                network,
                asked.x,
                epsilons=[radius_of(part) for part in epsilon.split(",")],
                nested=not alone,
                **asked.arguments,
                feature_names=names_of(feature_names, network),
                order=_order(order, asked),
                traversal=traversal,
                solver=solver,
                bounds=bounds,
                segments=segments,
                formulation=formulation,
                threads=threads,
                time_limit=time_limit,
                check_time_limit=check_time_limit,
                progress=show,
                snapshots=save,
            )
        found = noted(found)
        delivery.deliver(found, sweep_facts, found.plot)
    raise typer.Exit(exit_code(found.minimal, found.stopped))


def _order(given: str, asked: Question) -> Any:
    return given if given in ORDERS else numbers_in(given, "--order", asked.network)
