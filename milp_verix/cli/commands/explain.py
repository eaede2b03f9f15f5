"""The command ``milp-verix explain``: the features that keep the prediction."""

import typer

from milp_verix.cli.certificates import certified
from milp_verix.cli.delivery import ProvenDelivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.options import FeatureNames, Resume
from milp_verix.cli.progress import autosaving, progress_bar
from milp_verix.cli.question import QuestionOptions, files_of, order_of, question_of
from milp_verix.cli.search_options import OrderName, TraversalOptions
from milp_verix.reporting.words.explanation import facts
from milp_verix.traversal.explain import explain_problem

EXIT_CODES = """\
Exit codes: 0 the explanation is locally minimal; 3 it is sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def explain(
    *,
    posed: QuestionOptions,
    feature_names: FeatureNames = None,
    order: OrderName = "influence",
    resume: Resume = None,
    search: TraversalOptions,
    delivery: ProvenDelivery,
) -> None:
    """Find features that, when fixed, keep the prediction while all other features may change."""
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, order))
        asked = question_of(posed, feature_names)
        network = asked.network
        with (
            progress_bar(errors) as show,
            autosaving(delivery.json_path, errors, asked.noted) as save,
        ):
            result = explain_problem(
                asked.problem,
                order=order_of(order, network),
                transformation=search.transformation,
                traversal=search.traversal,
                search=search.search(),
                progress=show,
                snapshots=save,
                resume=resume,
            )
        result = asked.noted(result)
        result = certified(result, network, delivery.certificate_path)
        delivery.deliver(result, facts)
    raise typer.Exit(exit_code(result.minimal, result.statistics.stopped))
