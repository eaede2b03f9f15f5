"""Certificates beside the result of a command."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from milp_verix.certification.certificate import Certificate
from milp_verix.loaded_model import LoadedModel
from milp_verix.results.methods import Certified, Told

SECONDS = 60.0
"""Time for a certificate that an option of another command asks for."""


Found = TypeVar("Found", bound=Told)


def certified(result: Found, network: LoadedModel, path: Path | None) -> Found:
    """Write a certificate of ``result`` to ``path``; return the result with a note about it.

    Nothing is done if ``path`` is None. If there is no proof, no file is written, and the note
    says why. Ctrl-C ends the search for a proof, and the result is kept.
    """
    if path is None or not isinstance(result, Certified):
        return result
    try:
        certificate = result.certify(network, time_limit=SECONDS)
        note = written(certificate, network, path)
    except KeyboardInterrupt:
        note = "no certificate: interrupted"
    given: Any = result
    noted: Found = replace(given, notes=(*given.notes, note))
    return noted


def written(certificate: Certificate, network: LoadedModel, path: Path) -> str:
    """Write a certificate if there is one; return what it shows, and how to check it."""
    if not certificate.proven:
        return str(certificate)
    certificate.to_json(path)
    model = network.path or "MODEL.onnx"
    if certificate.model_name is not None:
        model = path.parent / certificate.model_name
    command = shlex.join(["verix-check", str(model), str(path)])
    return f"{certificate}; to check it: {command}"
