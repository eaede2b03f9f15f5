"""A stored certificate that is said to prove ranges: read, compared with them, and checked."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, MilpVerixError, check_command, refusing
from milp_verix.certificates.certificate import claim_data
from milp_verix.certificates.restated import box_explanation
from milp_verix.models.onnx.onnx_network import load_network
from milp_verix.results.ranges import Ranges
from verix_checker.numbers import BYTES, content, parsed, stored
from verix_checker.verification import verify

_OF_THE_FILE = {"network", "sha256", "beside", "output", "minimal", "bits", "odd", "source"}
"""Parts of a claim that are about the model's file and the checker's numbers."""


def proof_told(path: Path, found: Ranges, folders: Iterable[Path]) -> str:
    """Return what can be said of the certificate in ``path``, for whoever a decision is about.

    It is checked if the model, or the file of its trees, is beside it or in one of ``folders``.
    Raises ``InputError`` for a file that cannot be read or is no certificate, for one about another
    model, input or ranges, and where the checker refuses it.
    """
    try:
        claim: dict[str, Any] = dict(parsed(content(path, BYTES))["claim"])
    except OSError as error:
        raise InputError(f"cannot read the certificate {path}: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path} is no certificate ({error!r:.200}): write one by ranges.certify(network)"
            ".to_json(path), or --certificate"
        ) from error
    if claim.get("source", claim.get("sha256")) != found.model.sha256:
        raise InputError(f"{path} is a certificate about another model than that of the ranges")
    asked = json.loads(json.dumps(claim_data(box_explanation(found), "")))
    for name in sorted({*claim, *asked} - _OF_THE_FILE):
        if claim.get(name) != asked.get(name):
            raise InputError(f"{path} is a certificate of other ranges: its {name} differs")
    model, has = _model_of(claim, found, (path.parent, *folders)), "the model"
    if "source" in claim:
        has = "the file of the trees that were read from the model"
    if model is None:
        return (
            f"The proof of the first claim is said to be the file {path.name}, which names this "
            "model and this input. It was not checked when this page was written, since the "
            "model's file was not at hand."
        )
    # whatever the checker meets refuses the certificate
    with refusing(f"verix-check refuses the certificate {path}", Exception):
        for _ in verify(*stored(model, path)):
            pass
    return (
        f"The proof of the first claim is the file {path.name}, which was checked when this page "
        f"was written. Anybody who has {has} can check it again, without the software that made "
        f"it: {check_command(model, path)}"
    )


def _model_of(claim: dict[str, Any], found: Ranges, folders: Iterable[Path]) -> Path | None:
    """Return the file that the checker needs beside a certificate; None if it is not at hand."""
    trees, name, digest = "source" in claim, Path(found.model.file).name, claim.get("sha256")
    for folder in folders:
        model = folder / (f"trees-{str(digest)[:16]}.json" if trees else name)
        try:
            same = hashlib.sha256(model.read_bytes()).hexdigest() == digest
        except OSError:
            continue
        output = claim.get("output")
        scores = output if trees or not same else _scores(model, found)
        if same and scores == output:
            return model
        if same and scores is not None:
            raise InputError(f"a certificate of the output {output!r}, expected {scores!r}")
    return None


def _scores(model: Path, found: Ranges) -> str | None:
    """Return the name of the scores of the model in a file, if the ranges are about these."""
    try:
        network = load_network(model, input_shape=found.model.input_shape)
    except MilpVerixError:
        return None
    same = network.content_sha256 == found.model.content_sha256
    return getattr(network, "scores_name", None) if same else None
