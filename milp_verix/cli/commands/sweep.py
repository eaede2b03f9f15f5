"""The command ``milp-verix sweep``: the features that keep the prediction, at several radii."""

from typing import Annotated, Any

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import DrawnDelivery, exit_code
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import radius_of
from milp_verix.cli.progress import progress_bar
from milp_verix.cli.question import NamedCase, Question, order_of
from milp_verix.cli.search_options import CheckOptions, OrderName
from milp_verix.results.public import EpsilonSweep
from milp_verix.searches.explain.strategies import STRATEGIES
from milp_verix.searches.radius.sweep import sweep_of

EXIT_CODES = """\
Exit codes: 0 each explanation is locally minimal; 3 all are sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def sweep(
    *,
    posed: NamedCase,
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
    order: OrderName = "influence",
    traversal: Annotated[
        str, search_option(metavar="|".join(STRATEGIES), help="Which checks are asked.")
    ] = "galloping",
    search: CheckOptions,
    delivery: DrawnDelivery,
) -> None:
    """Explain at several radii: features irrelevant at one are irrelevant at all smaller ones."""

    def search_of(asked: Question, **watching: Any) -> EpsilonSweep:
        return sweep_of(
            asked.problem,
            [radius_of(part) for part in epsilons.split(",")],
            nested=not alone,
            order=order_of(order, asked.network),
            traversal=traversal,
            search=search.search(),
            **watching,
        )

    found = answered(posed, delivery, progress_bar, search_of, order)
    raise typer.Exit(exit_code(found.minimal, found.stopped))
