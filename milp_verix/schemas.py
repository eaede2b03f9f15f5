"""The JSON Schemas of all files that milp-verix writes and reads.

``python -m milp_verix.schemas NAME`` prints one, such as that of ``explanation``.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from importlib import resources
from inspect import Parameter, signature
from typing import Any, Literal, NotRequired, TypedDict

from milp_verix.comparison.compare import ChecksFile
from milp_verix.comparison.self_test import SolverReport
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.stored import MAKERS
from milp_verix.results.comparison_files import ComparisonFile
from milp_verix.results.json_format import KINDS
from milp_verix.results.json_schema import (
    Schema,
    first_paragraph,
    result_type,
    schema_of,
    written_type,
)
from milp_verix.study.journal import JournalLine


def json_schema(name: str) -> Schema:
    """Return the JSON Schema, draft 2020-12, of a kind of file; ``NAMES`` lists these."""
    return _MADE[name]()


def _result(kind: str) -> Schema:
    return schema_of(result_type(KINDS[kind]), {Inputs: _inputs()})


def _inputs() -> Schema:
    """Return the schema of a description of inputs: a feature has the arguments of its maker."""
    kinds = []
    for kind, maker in MAKERS.items():
        arguments: dict[str, Any] = {"kind": Literal[kind]}
        for name, given in signature(maker).parameters.items():
            needed = given.default is Parameter.empty
            arguments[name] = given.annotation if needed else NotRequired[given.annotation]
        feature: Any = TypedDict(kind, arguments)  # type: ignore[misc]
        told = first_paragraph(maker).removeprefix("Return a ").capitalize()
        feature.__doc__ = f"{told}\n\nAttributes:\n    kind: {told}\n"
        kinds.append(schema_of(feature) | {"additionalProperties": False})
        del kinds[-1]["$schema"]
    found = schema_of(InputsFile) | {"additionalProperties": False}
    found["properties"]["features"]["items"] = {"oneOf": kinds}
    # a result's schema holds this one, where a reference to a definition in it would lead nowhere
    found["properties"]["passage"] = found.pop("$defs")["PassageFile"]
    return found


class PassageFile(TypedDict):
    """A text whose words are features.

    Attributes:
        text: The text.
        spans: For each feature the places of its word: pairs of a start and an end.
    """

    text: str
    spans: list[list[tuple[int, int]]]


class InputsFile(TypedDict):
    """Read by ``--inputs FILE`` and ``Inputs.from_file``, in JSON or TOML, and part of results.

    Attributes:
        features: The features, in the order of the coordinates unless there are places.
        rules: Rules between features, as texts.
        class_names: Words for the classes, in their order.
        passage: The text whose words the features are.
        places: The coordinates of the features, one feature after the other.
    """

    features: list[Any]
    rules: NotRequired[list[str]]
    class_names: NotRequired[list[str]]
    passage: NotRequired[PassageFile]
    places: NotRequired[list[int]]


def _solvers() -> Schema:
    names = [field.name for field in fields(SolverReport)]
    return {"type": "array", "items": schema_of(written_type(SolverReport, names, ["installed"]))}


def _certificate() -> Schema:
    """Return the schema of certificates, whose form is that of an independent program."""
    file = resources.files("milp_verix.certificates") / "certificate.json"
    found: Schema = json.loads(file.read_text(encoding="utf-8"))
    return found


_MADE: dict[str, Callable[[], Schema]] = {
    **{kind: partial(_result, kind) for kind in KINDS},
    "comparison": partial(schema_of, ComparisonFile),
    "checks": partial(schema_of, ChecksFile),
    "inputs": _inputs,
    "journal": partial(schema_of, JournalLine),
    "solvers": _solvers,
    "certificate": _certificate,
}

NAMES = (*_MADE,)
"""The kinds of files that have a schema."""

if __name__ == "__main__":
    print(json.dumps(json_schema(sys.argv[1]), indent=2))  # noqa: T201
