"""The command ``milp-verix minimum``: the explanation with the fewest features."""

from typing import Annotated

import typer

from milp_verix.cli.certificates import certified
from milp_verix.cli.delivery import (
    Delivery,
    check_folder,
    exit_code,
    refusals,
    termination_as_interrupt,
)
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import (
    CertificatePath,
    CheckTimeLimit,
    Costs,
    FeatureNames,
    JsonPath,
    PlotPath,
    Quiet,
    Resume,
    SolverName,
    Threads,
    TimeLimit,
    features_in,
    number_of,
)
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import (
    Ball,
    Described,
    Explained,
    Reading,
    Subject,
    files_of,
    names_of,
    numbers_in,
    question_of,
)
from milp_verix.global_search.minimum import MASTERS, METHODS
from milp_verix.global_search.minimum import minimum as find_minimum
from milp_verix.global_search.search import MinimumProgress
from milp_verix.reporting.explanation_table import facts


def minimum(
    *,
    subject: Subject,
    ball: Ball,
    described: Described,
    feature_names: FeatureNames = None,
    explained: Explained,
    solver: SolverName = "auto",
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
    threads: Threads = 1,
    time_limit: TimeLimit = None,
    check_time_limit: CheckTimeLimit = None,
    resume: Resume = None,
    json_path: JsonPath = None,
    plot_path: PlotPath = None,
    certificate_path: CertificatePath = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Find the explanation with the fewest features, and prove that none has fewer.

    Ctrl-C and the time limit end with the best explanation so far and its proven lower bound. The
    exit codes are those of explain: 0 says that the explanation is locally minimal, not that it is
    proven to be a minimum.
    """
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals() as errors, termination_as_interrupt():
        read = files_of(subject, ball, described, costs)
        delivery.check_paths(*read)
        check_folder(certificate_path, json_path, plot_path, *read)
        asked = question_of(subject, ball, explained, reading, described)
        network = asked.network
        status = status_line(errors, "a first explanation …", _told)
        with status as show, autosaving(json_path, errors, asked.noted) as save:
            result = find_minimum(
                network,
                asked.x,
                **asked.arguments,
                feature_names=names_of(feature_names, network),
                costs=None if costs is None else numbers_in(costs, "--costs", network),
                must=features_in(must),
                must_not=features_in(must_not),
                gap=gap,
                solver=solver,
                method=method,
                master=master,
                threads=threads,
                time_limit=time_limit,
                check_time_limit=check_time_limit,
                progress=show,
                snapshots=save,
                resume=resume,
            )
        result = asked.noted(result)
        result = certified(result, network, certificate_path)
        delivery.deliver(result, facts, result.plot)
    raise typer.Exit(exit_code(result.minimal, result.statistics.stopped))


def _told(state: MinimumProgress) -> str:
    return f"best {state.size}, none below {state.lower_bound}, round {state.rounds}"
