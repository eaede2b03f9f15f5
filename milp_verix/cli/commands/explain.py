"""The command ``milp-verix explain``: the features that keep the prediction."""

from typing import Annotated, Any

import typer

from milp_verix.cli.certificates import certified
from milp_verix.cli.delivery import (
    Delivery,
    check_folder,
    exit_code,
    refusals,
    termination_as_interrupt,
)
from milp_verix.cli.help_sections import search_option
from milp_verix.cli.options import (
    BoundsName,
    CertificatePath,
    CheckTimeLimit,
    FeatureNames,
    FormulationName,
    JsonPath,
    PlotPath,
    Quiet,
    Resume,
    Segments,
    SolverName,
    Threads,
)
from milp_verix.cli.progress import autosaving, progress_bar
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
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.oracle.oracle import EXACTNESS
from milp_verix.reporting.explanation_table import facts
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
    subject: Subject,
    ball: Ball,
    described: Described,
    feature_names: FeatureNames = None,
    order: Annotated[
        str,
        search_option(
            metavar="|".join([*ORDERS, "FILE"]),
            help="Traversal order; FILE is a .npy or .json list of all features.",
        ),
    ] = "influence",
    transformation: Annotated[
        str, search_option(metavar="|".join(TRANSFORMATIONS), help="For the order sensitivity.")
    ] = "reversal",
    traversal: Annotated[
        str, search_option(metavar="|".join(STRATEGIES), help="Which checks are asked.")
    ] = "galloping",
    explained: Explained,
    solver: SolverName = "auto",
    exactness: Annotated[
        str,
        search_option(
            metavar="|".join(EXACTNESS),
            help="How far a check goes; all but exact leave features undecided.",
        ),
    ] = "exact",
    bounds: BoundsName = "crown",
    segments: Segments = DEFAULT_SEGMENTS,
    formulation: FormulationName = "big_m",
    threads: Threads = 1,
    time_limit: Annotated[
        float | None, search_option(metavar="SECONDS", help="Seconds for the explanation. [none]")
    ] = None,
    check_time_limit: CheckTimeLimit = None,
    seed: Annotated[int, search_option(metavar="N", min=0, help="Seed of the order random.")] = 0,
    resume: Resume = None,
    json_path: JsonPath = None,
    plot_path: PlotPath = None,
    certificate_path: CertificatePath = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Find features that, when fixed, keep the prediction while all other features may change."""
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals() as errors, termination_as_interrupt():
        read = files_of(subject, ball, described, order)
        delivery.check_paths(*read)
        check_folder(certificate_path, json_path, plot_path, *read)
        asked = question_of(subject, ball, explained, reading, described)
        network = asked.network
        with progress_bar(errors) as show, autosaving(json_path, errors, asked.noted) as save:
            result = find_explanation(
                network,
                asked.x,
                **asked.arguments,
                feature_names=names_of(feature_names, network),
                order=_order(order, network),
                transformation=transformation,
                traversal=traversal,
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
                resume=resume,
            )
        result = asked.noted(result)
        result = certified(result, network, certificate_path)
        delivery.deliver(result, facts, result.plot)
    raise typer.Exit(exit_code(result.minimal, result.statistics.stopped))


def _order(given: str, network: OnnxNetwork) -> Any:
    return given if given in ORDERS else numbers_in(given, "--order", network)
