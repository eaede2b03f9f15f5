"""The commands on what is stored: certify a result, show the columns of a study, write a report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias, get_args

import typer

from milp_verix.base.errors import InputError, refusing
from milp_verix.cli import delivery
from milp_verix.cli.model_and_input import network_of
from milp_verix.cli.parameters import (
    File,
    ModelOptions,
    ModelPath,
    PlotPath,
    Quiet,
    Shift,
    Text,
    output_option,
    question_option,
    search_option,
)
from milp_verix.cli.startup import UNDECIDED, loading
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results.audit import Audit
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.json_format import from_data, read_data
from milp_verix.results.ranges import Ranges, RobustnessRadii
from milp_verix.results.solver_times import SHIFT

_Proven: TypeAlias = Explanation | Audit | Ranges | RobustnessRadii | Relevance | Importance
_KINDS: dict[object, type[_Proven]] = {kind.kind: kind for kind in get_args(_Proven)}

ResultsFolder: TypeAlias = Annotated[
    File, output_option("FOLDER", "Whole results of the study, where they are not beside it.")
]


def stored_proof(
    path: Path, place: Path, networks: Sequence[LoadedModel], time_limit: float | None
) -> tuple[bool, str]:
    """Write the certificate of the result in ``path`` to ``place``, if one is found.

    Of several ``networks``, the result is about the one with its hash. Returns whether it is
    proven, and words on it. Raises ``InputError`` as :func:`milp_verix.certify` does.
    """
    from milp_verix.certificates.certify import certify  # it loads the checker

    data, where = read_data(path)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(f"{where} holds {kind!r}, of which there are no certificates")
    result = from_data(data, where, _KINDS[kind])
    own = [one for one in networks if one.sha256 == result.model.sha256]
    network = (own or networks)[0]
    certificate = certify(network, result, time_limit=time_limit)
    return certificate.proven, "; ".join(
        filter(None, delivery.written(certificate, network, place))
    )


def places_of(result: Path, output: Path) -> list[tuple[Path, Path]]:
    """Return the files of results without a certificate, each with the place of its certificate.

    ``InputError`` for a folder without results, and for an ``output`` that is no folder then.
    """
    if not result.is_dir():
        return [(result, output)]
    found = {path.name.partition(".")[0]: path for path in sorted(result.glob("*/*.json.gz"))}
    if not found:
        raise InputError(f"{result} has no results of a study, such as ab/abcd.json.gz")
    with refusing(f"cannot make the folder {output}"):
        output.mkdir(exist_ok=True)
    places = [(path, output / f"{name}.json") for name, path in found.items()]
    return [(path, place) for path, place in places if not place.exists()]


def certify(
    *,
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="An explanation, audit, ranges, radius, relevance or importance, as --json wrote "
            "it; or the folder of results of a study.",
        ),
    ],
    model: ModelPath,
    output: Annotated[
        Path,
        output_option("OUT", "Write the certificate here; a folder for many.", "--output", "-o"),
    ],
    time_limit: Annotated[
        float | None, search_option("SECONDS", "Seconds for the search. [none]")
    ] = None,
    reading: ModelOptions,
    image_shape: Annotated[
        Text, question_option("H,W[,C]", "Taken as by other commands, without effect.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a proof of a stored explanation that is checked without a solver and without trust.

    verix-check MODEL OUT checks it in exact arithmetic; without milp-verix, checker/verix_check.py.
    Of a folder, results that have a certificate in OUT already are left out.
    """
    with delivery.refusals(), delivery.termination_as_interrupt():
        pairs = places_of(result, output)
        for path, place in pairs:
            delivery.check_folder(place, path, model)
        if not result.is_dir():
            with refusing("RESULT comes first, then MODEL", InputError):
                read_data(result)
        network, proven = network_of(model, reading), 0
        for path, place in pairs:
            found, note = stored_proof(path, place, [network], time_limit)
            proven += found
            if not quiet:
                typer.echo(note if path == result else f"{place.name}: {note}")
    if proven < len(pairs):
        raise typer.Exit(UNDECIDED)


def columns(
    *,
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The journal of a study, a file or a folder.")
    ],
    results: ResultsFolder = None,
    plot_path: PlotPath = None,
    quiet: Quiet = False,
) -> None:
    """Show for each column how often the decisions of a study need it, and its typical values."""
    with loading():
        from milp_verix.study.table import use_of_columns
        from milp_verix.views.text_tables import columns_sentence, columns_table

    with delivery.refusals() as errors:
        delivery.DrawnDelivery(plot_path=plot_path).check_paths()
        use = use_of_columns(
            study, results, lambda text: errors.print(f"warning: {text}", markup=False)
        )
        if not quiet:
            console = delivery.Terminal()
            console.print(columns_sentence(use), markup=False)
            console.print(columns_table(use))
        if plot_path is not None:
            from milp_verix.views.plot import plot_columns

            plot_columns(use, plot_path)


def report(
    *,
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY",
            help="The journal of a study, a file or a folder; or the JSON of a result, or the JSON "
            "or CSV of compare.",
        ),
    ],
    output: Annotated[Path, output_option("FILE", "The page.", "--output", "-o")],
    gallery: Annotated[
        int, output_option("N", "The most explanations of a study shown, spread evenly.", min=0)
    ] = 1000,
    counterfactuals: Annotated[
        int | None,
        output_option("N", "The most for each explanation. [4; 24 for one result]", min=0),
    ] = None,
    results: ResultsFolder = None,
    shift: Shift = SHIFT,
    quiet: Quiet = False,
) -> None:
    """Write a page with tables, distributions and a gallery that needs no network."""
    with loading():
        from milp_verix.study.report import write_report

    with delivery.refusals() as errors:
        delivery.check_folder(output)
        text = write_report(
            study,
            output,
            gallery=gallery,
            counterfactuals=counterfactuals,
            results=results,
            shift=shift,
            warn=lambda words: errors.print(f"warning: {words}", markup=False),
        )
    if not quiet:
        typer.echo(f"{output}: {len(text.encode()) / 1e6:.2f} MB")


FUNCTIONS = {
    "certify": (
        certify,
        "Exit codes: 0 every certificate is written; 3 for some result no proof was found, and no "
        "file is written; 130 it was interrupted; 2 an argument, a result or the model cannot be "
        "used.",
    ),
    "columns": (columns, "Exit codes: 0 the columns are shown; 2 the study cannot be used."),
    "report": (report, "Exit codes: 0 the report is written; 2 the source cannot be used."),
}
