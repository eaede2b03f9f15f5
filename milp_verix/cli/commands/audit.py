"""The command ``milp-verix audit``: is an explanation sound, is it minimal."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from milp_verix.auditing.audit import audit as find_audit
from milp_verix.auditing.search import AuditProgress
from milp_verix.cli.certificates import certified
from milp_verix.cli.delivery import (
    Delivery,
    check_folder,
    exit_code,
    refusals,
    termination_as_interrupt,
)
from milp_verix.cli.exit_codes import NOT_SOUND
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import (
    BoundsName,
    CertificatePath,
    CheckTimeLimit,
    FeatureNames,
    FormulationName,
    JsonPath,
    PlotPath,
    Quiet,
    Segments,
    SolverName,
    Threads,
    TimeLimit,
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
from milp_verix.errors import InputError
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.oracle.oracle import EXACTNESS
from milp_verix.reporting.audit_table import audit_facts
from milp_verix.reporting.wording import counted
from milp_verix.results.public import Explanation
from milp_verix.stored_numbers import json_in
from milp_verix.traversal.order import ORDERS, TRANSFORMATIONS
from milp_verix.traversal.strategies import STRATEGIES
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS

EXIT_CODES = """\
Exit codes: 0 the explanation is sound, proven; 1 it is not, and there is a counterexample; 3
neither is known (time limit, or the solver could not tell); 130 it was interrupted, and what was
found so far is written; 2 an argument, the input, the model or the solver cannot be used."""


def audit(
    *,
    subject: Subject,
    explanation: Annotated[
        str,
        question_option(
            metavar="FILE",
            help="The explanation: a .json list of feature indices, a mask of the input or its "
            "pixels (.json or .npy), or a result that explain --json wrote.",
        ),
    ],
    ball: Ball,
    described: Described,
    feature_names: FeatureNames = None,
    sound_only: Annotated[
        bool, question_option("--sound-only", help="End once soundness is decided.")
    ] = False,
    minimum: Annotated[
        bool, question_option("--minimum", help="Search the smallest sound set, too.")
    ] = False,
    order: Annotated[
        str, search_option(metavar="|".join(ORDERS), help="Order in which features are tried.")
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
            help="How far a check goes; all but exact leave more undecided.",
        ),
    ] = "exact",
    bounds: BoundsName = "crown",
    segments: Segments = DEFAULT_SEGMENTS,
    formulation: FormulationName = "big_m",
    threads: Threads = 1,
    time_limit: TimeLimit = None,
    check_time_limit: CheckTimeLimit = None,
    seed: Annotated[int, search_option(metavar="N", min=0, help="Seed of the order random.")] = 0,
    json_path: JsonPath = None,
    plot_path: PlotPath = None,
    certificate_path: CertificatePath = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Judge an explanation by any tool: sound or not, minimal or not, proofs and witnesses."""
    delivery = Delivery(json_path, plot_path, quiet)
    with refusals() as errors, termination_as_interrupt():
        read = files_of(subject, ball, described, explanation, order)
        delivery.check_paths(*read)
        check_folder(certificate_path, json_path, plot_path, *read)
        asked = question_of(subject, ball, explained, reading, described)
        network = asked.network
        audited = _explanation(explanation, network)
        status = status_line(errors, "checking the set …", _told)
        with status as show, autosaving(json_path, errors, asked.noted) as save:
            result = find_audit(
                network,
                asked.x,
                audited,
                **asked.arguments,
                feature_names=names_of(feature_names, network),
                sound_only=sound_only,
                minimum=minimum,
                order=order,
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
            )
        result = asked.noted(result)
        result = certified(result, network, certificate_path)
        delivery.deliver(result, audit_facts, result.plot)
    code = exit_code(result.sound is not None, result.statistics.stopped)
    raise typer.Exit(NOT_SOUND if code == 0 and not result.sound else code)


def _explanation(file: str, network: OnnxNetwork) -> Any:
    """Return the set in a file: indices, a mask, or the explanation that milp-verix wrote."""
    path = Path(file)
    if ".json" not in path.suffixes[-2:]:
        return numbers_in(file, "--explanation", network)
    try:
        content = json_in(path)
    except OSError as error:
        raise InputError(f"--explanation: cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"--explanation: cannot read {path}: {error}") from error
    if isinstance(content, dict):
        return Explanation.from_json(json.dumps(content))
    if not isinstance(content, list):
        raise InputError(
            f"--explanation: {path} holds {content!r:.40}, expected a list of feature indices, a "
            "mask, or a result of milp-verix"
        )
    return content


def _told(state: AuditProgress) -> str:
    word = {True: "sound", False: "not sound", None: "not decided"}[state.sound]
    tried = f"{state.done} of {counted(state.total, 'feature')} tried, {state.kept} needed"
    return f"{word}; {tried}" if state.done or state.activity else "checking the set …"
