"""The command ``milp-verix explain``: the features that keep the prediction."""

from typing import Any

import typer

from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.options import Resume
from milp_verix.cli.progress import progress_bar
from milp_verix.cli.question import NamedQuestion, Question, order_of
from milp_verix.cli.search_options import OrderName, TraversalOptions
from milp_verix.results.public import Explanation
from milp_verix.searches.explain.explain import explain_problem

EXIT_CODES = """\
Exit codes: 0 the explanation is locally minimal; 3 it is sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def explain(
    *,
    posed: NamedQuestion,
    order: OrderName = "influence",
    resume: Resume = None,
    search: TraversalOptions,
    delivery: ProvenDelivery,
) -> None:
    """Find features that, when fixed, keep the prediction while all other features may change."""

    def search_of(asked: Question, **watching: Any) -> Explanation:
        return explain_problem(
            asked.problem,
            order=order_of(order, asked.network),
            transformation=search.transformation,
            traversal=search.traversal,
            search=search.search(),
            resume=resume,
            **watching,
        )

    found = answered(posed, delivery, progress_bar, search_of, order)
    raise typer.Exit(exit_code(found.minimal, found.statistics.stopped))
