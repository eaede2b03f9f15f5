"""The command ``milp-verix sweep``: the features that keep the prediction, at several radii."""

from dataclasses import replace
from typing import Annotated

import typer

from milp_verix.cli.delivery import DrawnDelivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import FeatureNames, radius_of
from milp_verix.cli.progress import autosaving, progress_bar
from milp_verix.cli.question import CaseOptions, files_of, order_of, question_of
from milp_verix.cli.search_options import CheckOptions, OrderName
from milp_verix.radius.sweep import sweep_of
from milp_verix.reporting.words.radius import sweep_facts
from milp_verix.results.public import EpsilonSweep
from milp_verix.traversal.strategies import STRATEGIES

EXIT_CODES = """\
Exit codes: 0 each explanation is locally minimal; 3 all are sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def sweep(
    *,
    posed: CaseOptions,
    epsilons: Annotated[
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
    feature_names: FeatureNames = None,
    order: OrderName = "influence",
    traversal: Annotated[
        str, search_option(metavar="|".join(STRATEGIES), help="Which checks are asked.")
    ] = "galloping",
    search: CheckOptions,
    delivery: DrawnDelivery,
) -> None:
    """Explain at several radii: features irrelevant at one are irrelevant at all smaller ones."""
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, order))
        asked = question_of(posed, feature_names)

        def noted(found: EpsilonSweep) -> EpsilonSweep:
            return replace(found, levels=tuple(asked.noted(level) for level in found.levels))

        with progress_bar(errors) as show, autosaving(delivery.json_path, errors, noted) as save:
            found = sweep_of(
                asked.problem,
                [radius_of(part) for part in epsilons.split(",")],
                nested=not alone,
                order=order_of(order, asked.network),
                traversal=traversal,
                search=search.search(),
                progress=show,
                snapshots=save,
            )
        found = noted(found)
        delivery.deliver(found, sweep_facts)
    raise typer.Exit(exit_code(found.minimal, found.stopped))
