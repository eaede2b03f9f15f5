"""The command ``milp-verix audit``: is an explanation sound, is it minimal."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from milp_verix.auditing.audit import audit_of
from milp_verix.auditing.feature_sets import groups_for
from milp_verix.auditing.search import AuditProgress
from milp_verix.cli.certificates import certified
from milp_verix.cli.delivery import ProvenDelivery, exit_code, refusals, termination_as_interrupt
from milp_verix.cli.exit_codes import NOT_SOUND
from milp_verix.cli.help_sections import question_option, search_option
from milp_verix.cli.options import FeatureNames
from milp_verix.cli.progress import autosaving, status_line
from milp_verix.cli.question import (
    QuestionOptions,
    files_of,
    network_of,
    numbers_in,
    question_of,
)
from milp_verix.cli.search_options import TraversalOptions
from milp_verix.errors import InputError
from milp_verix.loaded_model import LoadedModel
from milp_verix.reporting.words.audit import audit_facts
from milp_verix.reporting.words.wording import counted
from milp_verix.results.public import Explanation
from milp_verix.stored_numbers import json_in
from milp_verix.traversal.order import ORDERS

EXIT_CODES = """\
Exit codes: 0 the explanation is sound, proven; 1 it is not, and there is a counterexample; 3
neither is known (time limit, or the solver could not tell); 130 it was interrupted, and what was
found so far is written; 2 an argument, the input, the model or the solver cannot be used."""


def audit(
    *,
    posed: QuestionOptions,
    explanation: Annotated[
        str,
        question_option(
            metavar="FILE",
            help="The explanation: a .json list of features, a mask of the input or its "
            "pixels (.json or .npy), or a result that explain --json wrote.",
        ),
    ],
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
    search: TraversalOptions,
    delivery: ProvenDelivery,
) -> None:
    """Judge an explanation by any tool: sound or not, minimal or not, proofs and witnesses."""
    with refusals() as errors, termination_as_interrupt():
        delivery.check_paths(*files_of(posed, explanation, order))
        network = network_of(posed.model, posed)
        audited = explanation_in(explanation, network)
        groups = groups_for(audited, None)
        asked = question_of(posed, feature_names, network=network, features=groups)
        status = status_line(errors, "checking the set …", _told)
        with status as show, autosaving(delivery.json_path, errors, asked.noted) as save:
            result = audit_of(
                asked.problem,
                audited,
                sound_only=sound_only,
                minimum=minimum,
                order=order,
                transformation=search.transformation,
                traversal=search.traversal,
                search=search.search(),
                progress=show,
                snapshots=save,
            )
        result = asked.noted(result)
        result = certified(result, network, delivery.certificate_path)
        delivery.deliver(result, audit_facts)
    code = exit_code(result.sound is not None, result.statistics.stopped)
    raise typer.Exit(NOT_SOUND if code == 0 and not result.sound else code)


def explanation_in(file: str, network: LoadedModel) -> Any:
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
