"""The command ``milp-verix batch``: many inputs, many settings, a journal."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from milp_verix.base.arguments import radius_in
from milp_verix.base.errors import InputError, refusing
from milp_verix.cli.asked import Asked, Options, list_in
from milp_verix.cli.batches.options import Course, Wanted
from milp_verix.cli.batches.progress import deliver, exit_code, tasks_progress
from milp_verix.cli.delivery import (
    SECONDS,
    places_of,
    refusals,
    stored_proof,
    termination_as_interrupt,
)
from milp_verix.cli.options import Quiet
from milp_verix.cli.question import Reading, network_of
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.study.batch import run_parts
from milp_verix.study.inputs import stored_inputs
from milp_verix.study.parts import Part, part_of
from milp_verix.study.results import default_folder
from milp_verix.study.study_file import OVERRIDES, study_in
from milp_verix.study.tasks import LIMITS

EXIT_CODES = """\
Exit codes: 0 every task is done; 3 some tasks are undecided or failed, and the journal says why;
130 it was interrupted, and the same command goes on where it was; 2 an argument, the model, the
inputs or the journal cannot be used."""


_SAID = ("epsilon", "task", "order")
"""Options that a study takes several values of."""


def batch(
    *,
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="The model, as for explain; or a study file, STUDY.toml, which names networks, "
            "INPUTS and settings.",
        ),
    ],
    xs: Annotated[
        str | None,
        typer.Argument(
            metavar="INPUTS",
            help="A .npy file, a .npz file with KEY after a colon, a .csv or .parquet file with a "
            "row for each input, or a folder of pictures.",
        ),
    ] = None,
    wanted: Wanted,
    course: Course,
    asked: Annotated[Asked, Options("many", _SAID, study=True)],
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Explain many inputs, at several radii, and write a journal from which a study goes on."""
    with refusals() as errors, termination_as_interrupt():
        steps = course.arguments()
        if model.suffix.lower() == ".toml":
            limits = {name: asked[name] for name in LIMITS}
            given = {**steps, **limits, "indices": wanted.indices}
            parts, steps = study_in(model, {name: given[name] for name in _given(context, model)})
        else:
            if xs is None or wanted.epsilon is None or course.journal is None:
                raise InputError("give INPUTS, --epsilon and --journal; or a study file .toml")
            network = network_of(model, reading)
            options = asked.question(network)
            rest = {**asked.own(network), **asked.searched()}
            options |= {name: value for name, value in rest.items() if value is not None}
            described = options.pop("inputs")
            names, source = list_in(wanted.columns), cast("Any", xs)
            if described is None:
                source = stored_inputs(xs, network, names, options)
                names = None
            elif options["domain"] == UNIT_DOMAIN:
                del options["domain"]  # the description has one for each feature
            part = part_of(
                network,
                source,
                epsilon=_radii(wanted.epsilon),
                task=list_in(wanted.task) or [],
                grid=wanted.grid(network),
                indices=wanted.indices,
                columns=names,
                inputs=described,
                options=options,
            )
            parts = [part]
        notes = dict.fromkeys(note for part in parts for note in part.inputs.told)
        for note in () if quiet else notes:
            errors.print(f"note: {note}", markup=False)
        with tasks_progress(errors, quiet=quiet) as show:
            tally = run_parts(
                parts,
                **steps,
                progress=show,
                warn=lambda text: errors.print(f"warning: {text}", markup=False),
            )
        deliver(tally, steps["journal"], quiet=quiet)
        if course.certificate is not None:
            _certify(parts, steps, course.certificate, quiet=quiet)
    raise typer.Exit(exit_code(tally))


def _certify(parts: Sequence[Part], steps: dict[str, Any], folder: Path, *, quiet: bool) -> None:
    """Write certificates of whole results to ``folder``, and how many there are."""
    results = steps["results"]
    stored = results if isinstance(results, Path) else default_folder(Path(steps["journal"]))
    networks = [part.network for part in parts]
    pairs, proven = places_of(stored, folder), 0
    for path, place in pairs:
        with suppress(InputError):  # contrasts have none
            proven += stored_proof(path, place, networks, SECONDS)[0]
    if not quiet:
        typer.echo(f"{proven} of {len(pairs)} results have a new certificate in {folder}")


def _given(context: typer.Context, path: Path) -> list[str]:
    """Return the names of the options given beside a study file: they replace keys of it."""
    known = {"no_results": "results"} | {name: name for name in OVERRIDES}
    given: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in ("model", "quiet") or source is None or source.name != "COMMANDLINE":
            continue
        if name not in known:
            raise InputError(
                f"{parameter.opts[0]} says what is asked, and {path} does: leave it out. Beside a "
                f"study file, these may be given: "
                f"{', '.join('--' + known.replace('_', '-') for known in OVERRIDES)}"
            )
        given.append(known[name])
    return given


def _radii(text: str) -> list[float | str]:
    with refusing("--epsilon", InputError):
        return [radius_in(part) for part in text.split(",")]
