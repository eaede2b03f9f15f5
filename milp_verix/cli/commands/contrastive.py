"""The command ``milp-verix contrastive``: the least change that changes the prediction."""

from typing import Annotated

import typer

from milp_verix.cli.delivery import Delivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option
from milp_verix.cli.options import (
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
from milp_verix.duality.contrast_search import ContrastiveProgress
from milp_verix.duality.contrastive import MEASURES
from milp_verix.duality.contrastive import contrastive as find_contrast
from milp_verix.reporting.contrast_table import contrast_facts
from milp_verix.reporting.wording import number


def contrastive(
    *,
    subject: Subject,
    ball: Ball,
    described: Described,
    feature_names: FeatureNames = None,
    explained: Explained,
    costs: Costs = None,
    must_not: Annotated[
        str,
        question_option(
            metavar="I,J,…", help="Features, by numbers or names, that must not change."
        ),
    ] = "",
    minimise: Annotated[
        str,
        question_option(
            metavar="|".join(MEASURES),
            help="The number of features that change, or the distance: each change as a share of "
            "the radius, or of the domain where that is smaller.",
        ),
    ] = "features",
    solver: SolverName = "auto",
    threads: Threads = 1,
    time_limit: TimeLimit = None,
    check_time_limit: CheckTimeLimit = None,
    resume: Resume = None,
    json_path: JsonPath = None,
    plot_path: PlotPath = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Find the fewest features whose change changes the prediction, and an input that shows it.

    With --minimise distance, find the nearest input that does.

    Exit codes: 0 it is proven that no smaller set does, or that none does at all; 3 it is not;
    130 interrupted, and the best set so far is written; 2 an argument cannot be used.
    """
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(subject, ball, described, costs))
        asked = question_of(subject, ball, explained, reading, described)
        network = asked.network
        status = status_line(errors, "a first contrast …", _told)
        with status as show, autosaving(json_path, errors, asked.noted) as save:
            found = find_contrast(
                network,
                asked.x,
                **asked.arguments,
                feature_names=names_of(feature_names, network),
                costs=None if costs is None else numbers_in(costs, "--costs", network),
                must_not=features_in(must_not),
                minimise=minimise,
                solver=solver,
                threads=threads,
                time_limit=time_limit,
                check_time_limit=check_time_limit,
                progress=show,
                snapshots=save,
                resume=resume,
            )
        found = asked.noted(found)
        delivery.deliver(found, contrast_facts, found.plot)
    raise typer.Exit(exit_code(found.proven, found.statistics.stopped))


def _told(state: ContrastiveProgress) -> str:
    best = "none yet" if state.cost is None else number(state.cost)
    return f"best {best}, none below {number(state.lower_bound)}, round {state.rounds}"
