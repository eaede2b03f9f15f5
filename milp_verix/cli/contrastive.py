"""The command ``milp-verix contrastive``: the fewest features that change the prediction."""

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
    exit_code,
    groups_of,
    image_shape_in,
    names_of,
    network_of,
    numbers_in,
    refusals,
)
from milp_verix.cli.progress import autosaving
from milp_verix.duality.contrast_search import ContrastiveProgress
from milp_verix.duality.contrastive import contrastive as find_contrast
from milp_verix.reporting.contrast_table import contrast_facts
from milp_verix.reporting.explanation_table import table_of
from milp_verix.reporting.wording import number
from milp_verix.solvers import SOLVERS


def contrastive(
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
    costs: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What each feature costs, .npy or .json. [1 each]"),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="|".join(["auto", *SOLVERS]),
            help="Solver of the programs; also pulp:NAME and pyomo:NAME.",
        ),
    ] = "auto",
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
    """Find the fewest features whose change changes the prediction, and an input that shows it.

    Exit codes: 0 it is proven that no smaller set does, or that none does at all; 3 it is not;
    130 interrupted, and the best set so far is written; 2 an argument cannot be used.
    """
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals(errors), termination_as_interrupt():
        delivery.check_paths()
        network = network_of(model, input_shape, output_name)
        seen = image_shape_in(image_shape, network)
        given = given_input(specification, network, domain, seen)
        with _status(errors) as show, autosaving(json_path, errors, given.noted) as save:
            found = find_contrast(
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
                solver=solver,
                threads=threads,
                time_limit=time_limit,
                check_time_limit=check_time_limit,
                progress=show,
                snapshots=save,
            )
        found = given.noted(found)
        if json_path is not None:
            found.to_json(json_path)
        if not quiet:
            Console(highlight=False).print(table_of(contrast_facts(found)))
        if plot_path is not None:
            found.plot(plot_path)
    raise typer.Exit(exit_code(found.proven, found.statistics.stopped))


@contextmanager
def _status(console: Console) -> Iterator[Callable[[ContrastiveProgress], None]]:
    """Show the best cost and the bound, on a terminal only."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("a first contrast …") as status:

        def show(state: ContrastiveProgress) -> None:
            best = "none yet" if state.cost is None else number(state.cost)
            status.update(
                f"best {best}, none below {number(state.lower_bound)}, round {state.rounds}"
            )

        yield show
