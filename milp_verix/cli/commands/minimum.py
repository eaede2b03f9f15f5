"""The command ``milp-verix minimum``: the explanation with the fewest features."""

import sys
from typing import Annotated

import typer

from milp_verix.cli.certificates import certified
from milp_verix.cli.delivery import ProvenDelivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import Costs, FeatureNames, Resume, features_in, number_of
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import QuestionOptions, files_of, numbers_in, question_of
from milp_verix.cli.search_options import SearchOptions
from milp_verix.global_search.minimum import MASTERS, METHODS, minimum_of
from milp_verix.global_search.search import MinimumProgress
from milp_verix.reporting.words.explanation import facts, trace_lines


def minimum(
    *,
    posed: QuestionOptions,
    feature_names: FeatureNames = None,
    method: Annotated[
        str, search_option(metavar="|".join(METHODS), help="What proves the lower bound.")
    ] = "scenarios",
    master: Annotated[
        str, search_option(metavar="|".join(MASTERS), help="What solves the scenarios.")
    ] = "auto",
    costs: Costs = None,
    must: Annotated[
        str,
        question_option(
            metavar="I,J,…", help="Features, by numbers or names, that must be explained."
        ),
    ] = "",
    must_not: Annotated[
        str, question_option(metavar="I,J,…", help="Features that must not be explained.")
    ] = "",
    gap: Annotated[
        float,
        search_option(
            parser=number_of,
            metavar="NUMBER",
            help="Stop once the explanation is that close: 0.03 for 3 %.",
        ),
    ] = 0.0,
    resume: Resume = None,
    search: SearchOptions,
    delivery: ProvenDelivery,
) -> None:
    """Find the explanation with the fewest features, and prove that none has fewer.

    Ctrl-C and the time limit end with the best explanation so far and its proven lower bound. The
    exit codes are those of explain: 0 says that the explanation is locally minimal, not that it is
    proven to be a minimum.
    """
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, costs))
        asked = question_of(posed, feature_names)
        network = asked.network
        status = status_line(errors, "a first explanation …", _told)
        with status as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            result = minimum_of(
                asked.problem,
                costs=None if costs is None else numbers_in(costs, "--costs", network),
                must=features_in(must),
                must_not=features_in(must_not),
                gap=gap,
                method=method,
                master=master,
                search=search.search(),
                progress=show,
                snapshots=save,
                resume=resume,
            )
        result = asked.noted(result)
        result = certified(result, network, delivery.certificate_path)
        delivery.deliver(result, facts)
        if not delivery.quiet and not sys.stdout.isatty():
            typer.echo("\n".join(trace_lines(result.statistics)))
    raise typer.Exit(exit_code(result.minimal, result.statistics.stopped))


def _told(state: MinimumProgress) -> str:
    return f"best {state.size}, none below {state.lower_bound}, round {state.rounds}"
