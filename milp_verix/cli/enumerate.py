"""The command ``milp-verix enumerate``: all minimal explanations, of both kinds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

from milp_verix.cli.delivery import JsonPath, Quiet, given_input, termination_as_interrupt
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
    check_folder,
    exit_code,
    groups_of,
    image_shape_in,
    names_of,
    network_of,
    refusals,
)
from milp_verix.cli.progress import autosaving
from milp_verix.duality.marco import LIMIT, EnumerationProgress, enumerate_explanations
from milp_verix.reporting.contrast_table import enumeration_facts
from milp_verix.reporting.explanation_table import table_of
from milp_verix.solvers import SOLVERS


def enumerate_(
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
    limit: Annotated[
        int | None, typer.Option(min=1, help="Explanations of both kinds together. [all]")
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
    input_shape: InputShape = None,
    output_name: OutputName = None,
    image_shape: ImageShape = None,
    quiet: Quiet = False,
) -> None:
    """List the minimal explanations: sets that keep the prediction, and sets that change it.

    Exit codes: 0 these are provably all, or as many as --limit asked for; 3 there may be others;
    130 interrupted, and the explanations so far are written; 2 an argument cannot be used.
    """
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    with refusals(errors), termination_as_interrupt():
        check_folder(json_path)
        network = network_of(model, input_shape, output_name)
        seen = image_shape_in(image_shape, network)
        given = given_input(specification, network, domain, seen)
        with _status(errors) as show, autosaving(json_path, errors, given.noted) as save:
            found = enumerate_explanations(
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
                limit=limit,
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
            Console(highlight=False).print(table_of(enumeration_facts(found)))
    stopped = found.statistics.stopped
    raise typer.Exit(exit_code(found.complete or stopped == LIMIT, stopped))


@contextmanager
def _status(console: Console) -> Iterator[Callable[[EnumerationProgress], None]]:
    """Show how many were found, on a terminal only."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("a first explanation …") as status:

        def show(state: EnumerationProgress) -> None:
            status.update(f"{state.abductive} abductive, {state.contrastive} contrastive")

        yield show
