"""Certificates beside the result of a command."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args

from milp_verix.base.errors import InputError, check_command, refusing
from milp_verix.certificates.certificate import Certificate
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results.public import (
    Audit,
    Explanation,
    Importance,
    Ranges,
    Relevance,
    RobustnessRadii,
)
from milp_verix.results.records.json_format import from_data, read_data
from milp_verix.results.shown import Certified, Told

SECONDS = 60.0
"""Time for a certificate that an option of another command asks for."""


_Proven: TypeAlias = Explanation | Audit | Ranges | RobustnessRadii | Relevance | Importance
_KINDS: dict[object, type[_Proven]] = {kind.kind: kind for kind in get_args(_Proven)}

Found = TypeVar("Found", bound=Told)


def certified(result: Found, network: LoadedModel, path: Path | None) -> tuple[Found, str]:
    """Write a certificate of ``result`` to ``path``; return the result with a note about it.

    With it comes how to check it, a line of its own, since tables break lines. Nothing is done if
    ``path`` is None. If there is no proof, no file is written, and the note says why. Ctrl-C ends
    the search for a proof, and the result is kept.
    """
    if path is None or not isinstance(result, Certified):
        return result, ""
    try:
        note, check = written(result.certify(network, time_limit=SECONDS), network, path)
    except KeyboardInterrupt:
        note, check = "no certificate: interrupted", ""
    given: Any = result
    noted: Found = replace(given, notes=(*given.notes, note))
    return noted, check


def written(certificate: Certificate, network: LoadedModel, path: Path) -> tuple[str, str]:
    """Write a certificate if there is one; return what it shows, and how to check it."""
    if not certificate.proven:
        return str(certificate), ""
    certificate.to_json(path)
    model = network.path or "MODEL.onnx"
    if certificate.model_name is not None:
        model = path.parent / certificate.model_name
    return str(certificate), f"to check it: {check_command(Path(model), path)}"


def stored_proof(
    path: Path, place: Path, networks: Sequence[LoadedModel], time_limit: float | None
) -> tuple[bool, str]:
    """Write the certificate of the result in ``path`` to ``place``, if one is found.

    Of several ``networks``, the result is about the one with its hash. Returns whether it is
    proven, and words on it. Raises ``InputError`` as :func:`milp_verix.certify` does.
    """
    from milp_verix.certificates.certify import certify  # it loads the checker

    result = _stored(path)
    own = [one for one in networks if one.sha256 == result.model.sha256]
    network = (own or networks)[0]
    certificate = certify(network, result, time_limit=time_limit)
    return certificate.proven, "; ".join(filter(None, written(certificate, network, place)))


def _stored(path: Path) -> _Proven:
    """Return the result in ``path``; ``InputError`` for one of which there are no certificates."""
    data, where = read_data(path)
    kind = data.get("kind")
    if kind not in _KINDS:
        raise InputError(f"{where} holds {kind!r}, of which there are no certificates")
    return from_data(data, where, _KINDS[kind])


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
