"""The command ``milp-verix minimum``: the explanation with the fewest features."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

from milp_verix.cli.delivery import (
    Delivery,
    JsonPath,
    PlotPath,
    Quiet,
    given_input,
    termination_as_interrupt,
)
from milp_verix.cli.options import (
    Delta,
    DomainEnds,
    Epsilon,
    FeatureNames,
    Groups,
    ImageShape,
    InputPath,
    InputShape,
    Label,
    ModelPath,
    Norm,
    Output,
    OutputName,
    groups_of,
    image_shape_in,
    names_of,
    network_of,
    number_of,
    numbers_in,
    refusals,
)
from milp_verix.cli.progress import autosaving
from milp_verix.errors import InputError
from milp_verix.global_search.minimum import MASTERS, METHODS
from milp_verix.global_search.minimum import minimum as find_minimum
from milp_verix.global_search.search import MinimumProgress
from milp_verix.solvers import SOLVERS


def minimum(
    *,
    model: ModelPath,
    specification: InputPath,
    epsilon: Epsilon,
    norm: Norm = "linf",
    delta: Delta = None,
    domain: DomainEnds = (0.0, 1.0),
    features: Groups = None,
    feature_names: FeatureNames = None,
    label: Label = None,
    output: Output = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="|".join(["auto", *SOLVERS]),
            help="Solver of the programs; also pulp:NAME and pyomo:NAME.",
        ),
    ] = "auto",
    method: Annotated[
        str, typer.Option(metavar="|".join(METHODS), help="What proves the lower bound.")
    ] = "scenarios",
    master: Annotated[
        str, typer.Option(metavar="|".join(MASTERS), help="What solves the scenarios.")
    ] = "auto",
    costs: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What each feature costs, .npy or .json. [1 each]"),
    ] = None,
    must: Annotated[
        str, typer.Option(metavar="I,J,…", help="Features that must be explained.")
    ] = "",
    must_not: Annotated[
        str, typer.Option(metavar="I,J,…", help="Features that must not be explained.")
    ] = "",
    gap: Annotated[
        float,
        typer.Option(
            parser=number_of,
            metavar="NUMBER",
            help="Stop once the explanation is that close: 0.03 for 3 %.",
        ),
    ] = 0.0,
    threads: Annotated[int, typer.Option(min=1, help="Threads that the solver may use.")] = 1,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for the search. [none]")] = None,
    check_time_limit: Annotated[float, typer.Option(help="Seconds for each check.")] = 300.0,
    json_path: JsonPath = None,
    plot_path: PlotPath = None,
    input_shape: InputShape = None,
    output_name: OutputName = None,
    image_shape: ImageShape = None,
    quiet: Quiet = False,
) -> None:
    """Find the explanation with the fewest features, and prove that none has fewer.

    Ctrl-C and the time limit end with the best explanation so far and its proven lower bound. The
    exit codes are those of explain: 0 says that the explanation is locally minimal, not that it is
    proven to be a minimum.
    """
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals(errors), termination_as_interrupt():
        delivery.check_paths()
        network = network_of(model, input_shape, output_name)
        seen = image_shape_in(image_shape, network)
        given = given_input(specification, network, domain, seen)
        with _status(errors) as show, autosaving(json_path, errors, given.noted) as save:
            result = find_minimum(
                network,
                given.x,
                epsilon=epsilon,
                norm=norm,
                delta=delta,
                domain=domain,
                features=groups_of(features, network),
                feature_names=names_of(feature_names, network),
                label=label,
                output=output,
                image_shape=seen,
                costs=None if costs is None else numbers_in(costs, "--costs", network),
                must=_listed(must, "--must"),
                must_not=_listed(must_not, "--must-not"),
                gap=gap,
                solver=solver,
                method=method,
                master=master,
                threads=threads,
                time_limit=time_limit,
                check_time_limit=check_time_limit,
                progress=show,
                snapshots=save,
            )
        code = delivery.deliver(given.noted(result))
    raise typer.Exit(code)


def _listed(text: str, option: str) -> list[int]:
    """Return the features in ``text``, numbers with commas between."""
    try:
        return [int(number) for number in text.split(",")] if text.strip() else []
    except ValueError as error:
        raise InputError(
            f"{option} lists features with commas between, like 3,17; got {text!r}"
        ) from error


@contextmanager
def _status(console: Console) -> Iterator[Callable[[MinimumProgress], None]]:
    """Show the best size and the bound, on a terminal only."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("a first explanation …") as status:

        def show(state: MinimumProgress) -> None:
            status.update(
                f"best {state.size}, none below {state.lower_bound}, round {state.rounds}"
            )

        yield show
