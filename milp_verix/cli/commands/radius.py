"""The command ``milp-verix radius``: the largest radius at which features do not matter."""

from typing import Annotated, Any

import typer

from milp_verix.base.number_text import down, up
from milp_verix.cli.answering import answered
from milp_verix.cli.delivery import ProvenDelivery, exit_code
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import number_of, radius_of
from milp_verix.cli.progress import status_line
from milp_verix.cli.question import NamedCase, Question, freed_features
from milp_verix.cli.search_options import CheckOptions
from milp_verix.results.public import RobustnessRadii
from milp_verix.searches.radius.robustness import radius_of as bracketed_radius
from milp_verix.searches.radius.search import RadiusProgress

EXIT_CODES = """\
Exit codes: 0 every bracket is as narrow as asked for; 3 some are wider, and all are sound (time
limit, or the solver could not tell); 130 it was interrupted, and the brackets so far are sound and
written; 2 an argument, the input, the model or the solver cannot be used."""


def radius(
    *,
    posed: NamedCase,
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
    search: CheckOptions,
    delivery: ProvenDelivery,
) -> None:
    """Bracket the largest radius up to which features may change, and the prediction stays."""

    def search_of(asked: Question, **watching: Any) -> RobustnessRadii:
        return bracketed_radius(
            asked.problem,
            free=freed_features(free, asked.network),
            each=each,
            largest=largest,
            tolerance=tolerance,
            scale=scale,
            search=search.search(),
            **watching,
        )

    found = answered(posed, delivery, status_line("a first bracket …", _told), search_of, free)
    raise typer.Exit(exit_code(found.settled, found.statistics.stopped))


def _told(state: RadiusProgress) -> str:
    if state.total > 1:
        return f"{state.open} of {state.total} brackets are open"
    return f"between {down(state.lower)} and {up(state.upper)}"
