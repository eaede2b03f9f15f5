"""Results as JSON, schema 2; schema 1 is read as well.

In schema 1 ``traversal`` was the list that ``permutation`` is now, and ``strategy`` the name that
``traversal`` is now. Results other than explanations name their ``kind``.

Numbers of the network's own type are written with the fewest digits that identify them, so that a
reader gets back the same bits; the ends of an unlimited domain are null. The file holds the input
and every counterfactual in full: all that a replay needs besides the network.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from milp_verix.errors import InputError
from milp_verix.records.audit import Audit
from milp_verix.records.base import Result
from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.enumeration import Enumeration
from milp_verix.records.explanation import Explanation
from milp_verix.records.radius import RobustnessRadii
from milp_verix.records.relevance import Relevance
from milp_verix.records.schema_check import fault_in
from milp_verix.records.stored.audit import audit_data, audit_fields
from milp_verix.records.stored.consistency import refuse_other_kinds
from milp_verix.records.stored.contrast import contrast_data, contrast_fields
from milp_verix.records.stored.enumeration import enumeration_data, enumeration_fields
from milp_verix.records.stored.explanation import explanation_data, explanation_fields
from milp_verix.records.stored.radius import radii_data, radii_fields
from milp_verix.records.stored.relevance import relevance_data, relevance_fields
from milp_verix.records.stored.subject import subject_data, subject_fields
from milp_verix.records.stored.unread_points import parsed_lazily
from milp_verix.stored_numbers import json_in, parsed

SCHEMA = 2
READABLE = (1, SCHEMA)

AnyResult = TypeVar("AnyResult", bound=Result)


def dump(result: Result, *, indent: int | None = None) -> str:
    """Return ``result`` as JSON text."""
    return json.dumps(result_data(result), indent=indent, allow_nan=False)


def result_data(result: Result) -> dict[str, Any]:
    """Return ``result`` as the dictionary that its JSON is."""
    form = _form_of(type(result))
    kind = {} if form.kind is None else {"kind": form.kind}
    return {
        "schema": SCHEMA,
        **kind,
        **subject_data(result),
        **form.written(result),
        "statistics": asdict(result.statistics),
        "notes": result.notes,
        "versions": dict(result.versions),
    }


def load(source: str | Path, kind: type[AnyResult], *, lazily: bool = False) -> AnyResult:
    """Read a result of the class ``kind`` from JSON text or from the path of a JSON file.

    With ``lazily`` the inputs of counterfactuals are parsed when they are asked for. Raises
    ``InputError`` for JSON of another kind or schema, and where parts contradict each other.
    """
    return from_data(*read_data(source, parsed_lazily if lazily else parsed), kind)


def from_data(data: dict[str, Any], where: str, kind: type[AnyResult]) -> AnyResult:
    """Return the result of the class ``kind`` in ``data``; ``where`` is its name in errors.

    Raises ``InputError`` as :func:`load` does.
    """
    form = _form_of(kind)
    try:
        if data.get("kind") != form.kind:
            found, expected = (held or "explanation" for held in (data.get("kind"), form.kind))
            raise ValueError(f"it holds {found!r}, not {expected!r}")
        fault = fault_in(data, f"{form.kind or 'explanation'}.json")
        if fault is not None:
            raise ValueError(fault)
        shared = subject_fields(data)
        own = form.fields(data, shared["input"])
        for found in own.values():
            refuse_other_kinds(shared["prediction"], found)
        return kind(**shared, **own)
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{where} is not {form.name}: {reason}") from error


def read_data(
    source: str | Path, parse: Callable[[str], Any] = parsed
) -> tuple[dict[str, Any], str]:
    """Return the data in JSON text or in a JSON file, and the name of the source in errors.

    Raises ``InputError`` for JSON of another schema, and for text that is no JSON.
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    where = "the JSON text" if is_text else str(source)
    try:
        data = parse(str(source)) if is_text else json_in(Path(source), parse=parse)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {where}: {error}") from error
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    found = data.get("schema") if isinstance(data, dict) else None
    if found not in READABLE:
        expected = " or ".join(map(str, READABLE))
        raise InputError(f"{where} has schema {found!r}, expected {expected}")
    return data, where


@dataclass(frozen=True, slots=True)
class _Form:
    """A class of results in JSON: its ``kind`` there, its name in messages, its own fields.

    ``written`` makes JSON of the fields that other results do not have, ``fields`` reads them; it
    takes the input explained, too, whose shape and dtype counterfactuals have.
    """

    kind: str | None
    name: str
    written: Callable[[Any], dict[str, Any]]
    fields: Callable[[dict[str, Any], NDArray[Any]], dict[str, Any]]


_FORMS: dict[type[Result], _Form] = {
    Explanation: _Form(None, "an explanation", explanation_data, explanation_fields),
    ContrastiveExplanation: _Form(
        "contrastive", "a contrastive explanation", contrast_data, contrast_fields
    ),
    RobustnessRadii: _Form("radius", "a result on radii", radii_data, radii_fields),
    Enumeration: _Form("enumeration", "an enumeration", enumeration_data, enumeration_fields),
    Audit: _Form("audit", "an audit", audit_data, audit_fields),
    Relevance: _Form("relevance", "a result on relevance", relevance_data, relevance_fields),
}


KINDS: dict[str | None, type[Result]] = {form.kind: record for record, form in _FORMS.items()}
"""The classes of results by their ``kind`` in JSON."""


def _form_of(kind: type[Result]) -> _Form:
    return next(form for record, form in _FORMS.items() if issubclass(kind, record))
