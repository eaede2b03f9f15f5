"""The command ``milp-verix radius``: the largest radius at which features do not matter."""

from typing import Annotated

import typer

from milp_verix.cli.delivery import DrawnDelivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import FeatureNames, number_of, radius_of
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import CaseOptions, files_of, freed_features, question_of
from milp_verix.cli.search_options import CheckOptions
from milp_verix.radius.robustness import radius_of as bracketed_radius
from milp_verix.radius.search import RadiusProgress
from milp_verix.reporting.words.radius import radii_facts
from milp_verix.reporting.words.wording import number

EXIT_CODES = """\
Exit codes: 0 every bracket is as narrow as asked for; 3 some are wider, and all are sound (time
limit, or the solver could not tell); 130 it was interrupted, and the brackets so far are sound and
written; 2 an argument, the input, the model or the solver cannot be used."""


def radius(
    *,
    posed: CaseOptions,
    free: Annotated[
        str,
        question_option(
            metavar="all|NAME[,NAME…]|FILE",
            help="Features that change together; FILE is a .npy or .json list.",
        ),
    ] = "all",
    each: Annotated[
        bool, question_option("--each", help="Bracket the radius of each feature alone.")
    ] = False,
    largest: Annotated[
        float | None,
        question_option(
            parser=number_of,
            metavar="NUMBER",
            help="The largest radius to ask about. [the domain's]",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        search_option(
            parser=number_of,
            metavar="NUMBER",
            help="Width of a bracket as a share of its upper end: 0.01 for 1 %.",
        ),
    ] = 0.01,
    scale: Annotated[
        float,
        question_option(
            parser=radius_of,
            metavar="NUMBER|SHARE",
            help="With --inputs, the unit of radii: 1 is each feature's own, 100% its range.",
        ),
    ] = 1.0,
    feature_names: FeatureNames = None,
    search: CheckOptions,
    delivery: DrawnDelivery,
) -> None:
    """Bracket the largest radius up to which features may change, and the prediction stays."""
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, free))
        asked = question_of(posed, feature_names)
        status = status_line(errors, "a first bracket …", _told)
        with status as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            found = bracketed_radius(
                asked.problem,
                free=freed_features(free, asked.network),
                each=each,
                largest=largest,
                tolerance=tolerance,
                scale=scale,
                search=search.search(),
                progress=show,
                snapshots=save,
            )
        found = asked.noted(found)
        delivery.deliver(found, radii_facts)
    raise typer.Exit(exit_code(found.settled, found.statistics.stopped))


def _told(state: RadiusProgress) -> str:
    if state.total > 1:
        return f"{state.open} of {state.total} brackets are open"
    return f"between {number(state.lower)} and {number(state.upper)}"
