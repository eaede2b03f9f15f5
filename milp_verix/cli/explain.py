"""The command ``milp-verix explain``: the features that keep the prediction."""

from typing import Annotated, Any

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
    BoundsName,
    Delta,
    DomainEnds,
    Epsilon,
    FeatureNames,
    FormulationName,
    Groups,
    ImageShape,
    InputPath,
    InputShape,
    Label,
    ModelPath,
    Norm,
    Output,
    OutputName,
    Segments,
    groups_of,
    image_shape_in,
    names_of,
    network_of,
    numbers_in,
    refusals,
)
from milp_verix.cli.progress import autosaving, progress_bar
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.oracle.oracle import EXACTNESS
from milp_verix.solvers import SOLVERS
from milp_verix.traversal.explain import explain as find_explanation
from milp_verix.traversal.order import ORDERS, TRANSFORMATIONS
from milp_verix.traversal.strategies import STRATEGIES
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS

EXIT_CODES = """\
Exit codes: 0 the explanation is locally minimal; 3 it is sound, but features were left undecided
(time limit, or the solver could not tell); 130 it was interrupted, and what was found so far is
sound and written; 2 an argument, the input, the model or the solver cannot be used."""


def explain(
    *,
    model: ModelPath,
    specification: InputPath,
    epsilon: Epsilon,
    norm: Norm = "linf",
    delta: Delta = None,
    domain: DomainEnds = (0.0, 1.0),
    features: Groups = None,
    feature_names: FeatureNames = None,
    order: Annotated[
        str,
        typer.Option(
            metavar="|".join([*ORDERS, "FILE"]),
            help="Traversal order; FILE is a .npy or .json list of all features.",
        ),
    ] = "influence",
    transformation: Annotated[
        str, typer.Option(metavar="|".join(TRANSFORMATIONS), help="For the order sensitivity.")
    ] = "reversal",
    traversal: Annotated[
        str, typer.Option(metavar="|".join(STRATEGIES), help="Which checks are asked.")
    ] = "galloping",
    label: Label = None,
    output: Output = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="|".join(["auto", *SOLVERS]),
            help="Solver of the programs; also pulp:NAME and pyomo:NAME.",
        ),
    ] = "auto",
    exactness: Annotated[
        str,
        typer.Option(
            metavar="|".join(EXACTNESS),
            help="How far a check goes; all but exact leave features undecided.",
        ),
    ] = "exact",
    bounds: BoundsName = "crown",
    segments: Segments = DEFAULT_SEGMENTS,
    formulation: FormulationName = "big_m",
    threads: Annotated[int, typer.Option(min=1, help="Threads that the solver may use.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for the explanation. [none]")
    ] = None,
    check_time_limit: Annotated[float, typer.Option(help="Seconds for each check.")] = 300.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order random.")] = 0,
    json_path: JsonPath = None,
    plot_path: PlotPath = None,
    input_shape: InputShape = None,
    output_name: OutputName = None,
    image_shape: ImageShape = None,
    quiet: Quiet = False,
) -> None:
    """Find features that, when fixed, keep the prediction while all other features may change."""
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals(errors), termination_as_interrupt():
        delivery.check_paths()
        network = network_of(model, input_shape, output_name)
        seen = image_shape_in(image_shape, network)
        given = given_input(specification, network, domain, seen)
        with progress_bar(errors) as show, autosaving(json_path, errors, given.noted) as save:
            result = find_explanation(
                network,
                given.x,
                epsilon=epsilon,
                norm=norm,
                delta=delta,
                domain=domain,
                features=groups_of(features, network),
                feature_names=names_of(feature_names, network),
                order=_order(order, network),
                transformation=transformation,
                traversal=traversal,
                label=label,
                output=output,
                image_shape=seen,
                solver=solver,
                exactness=exactness,
                bounds=bounds,
                segments=segments,
                formulation=formulation,
                threads=threads,
                time_limit=time_limit,
                check_time_limit=check_time_limit,
                seed=seed,
                progress=show,
                snapshots=save,
            )
        code = delivery.deliver(given.noted(result))
    raise typer.Exit(code)


def _order(given: str, network: OnnxNetwork) -> Any:
    return given if given in ORDERS else numbers_in(given, "--order", network)
