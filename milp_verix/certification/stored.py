"""A stored certificate that is said to prove ranges: read, compared with them, and checked."""

import hashlib
import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from milp_verix.certification.claims import claim_data
from milp_verix.certification.restated import box_explanation
from milp_verix.errors import InputError, MilpVerixError
from milp_verix.onnx_reader.onnx_network import load_network
from milp_verix.results.records.ranges import RangesRecord
from verix_checker.numbers import BYTES, content, parsed, stored
from verix_checker.verification import verify

_OF_THE_FILE = {"network", "sha256", "beside", "output", "minimal", "bits", "odd", "source"}
"""Parts of a claim that are about the model's file and the checker's numbers."""


@dataclass(frozen=True, slots=True)
class StoredProof:
    """A certificate of ranges; ``model`` is the file with which it was checked, or None."""

    path: Path
    model: Path | None

    @property
    def told(self) -> str:
        """What can be said of the certificate, in words for whoever the decision is about."""
        if self.model is None:
            return (
                f"The proof of the first claim is said to be the file {self.path.name}, which "
                "names this model and this input. It was not checked when this page was written, "
                "since the model's file was not at hand."
            )
        command = shlex.join(["verix-check", str(self.model), str(self.path)])
        return (
            f"The proof of the first claim is the file {self.path.name}, which was checked when "
            "this page was written. Anybody who has the model can check it again, without the "
            f"software that made it: {command}"
        )


def proof_of_ranges(path: Path, found: RangesRecord, folders: Iterable[Path]) -> StoredProof:
    """Return the certificate in ``path``, checked if the model is beside it or in ``folders``.

    A certificate of trees is checked with the file of trees beside it. Raises ``InputError`` for a
    file that cannot be read or is no certificate, for one about another model, input or ranges,
    and where the checker refuses it.
    """
    try:
        data = parsed(content(path, BYTES))
        claim: dict[str, Any] = dict(data["claim"])
    except OSError as error:
        raise InputError(f"cannot read the certificate {path}: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path} is no certificate ({error!r:.200}): write one by ranges.certify(network)"
            ".to_json(path), or --certificate"
        ) from error
    if claim.get("source", claim.get("sha256")) != found.model.sha256:
        raise InputError(f"{path} is about another model than the ranges")
    own = {name: part for name, part in claim.items() if name not in _OF_THE_FILE}
    asked = json.loads(json.dumps(claim_data(box_explanation(found), "")))
    for name in sorted({*own, *asked} - _OF_THE_FILE):
        if own.get(name) != asked.get(name):
            raise InputError(f"{path} is a certificate of another claim: its {name} differs")
    model = _model_of(claim, path, found, folders)
    if model is not None:
        try:
            for _ in verify(*stored(model, path)):
                pass
        except Exception as error:  # whatever the checker meets refuses the certificate
            raise InputError(f"verix-check refuses {path}: {error}") from error
    return StoredProof(path, model)


def _model_of(
    claim: dict[str, Any], path: Path, found: RangesRecord, folders: Iterable[Path]
) -> Path | None:
    """Return the file that the checker needs beside a certificate; None if it is not at hand."""
    name = Path(found.model.file).name
    if "source" in claim:
        name = f"trees-{str(claim.get('sha256'))[:16]}.json"
    for folder in (path.parent, *folders):
        model = folder / name
        if not model.is_file():
            continue
        if hashlib.sha256(model.read_bytes()).hexdigest() != claim["sha256"]:
            continue
        if "source" in claim or _scores(model, found) == claim.get("output"):
            return model
    return None


def _scores(model: Path, found: RangesRecord) -> str | None:
    """Return the name of the scores of the model in a file, if the ranges are about these."""
    try:
        network = load_network(model, input_shape=found.model.input_shape)
    except MilpVerixError:
        return None
    same = network.content_sha256 == found.model.content_sha256
    return getattr(network, "scores_name", None) if same else None
