"""The JSON Schemas (draft 2020-12) of all files that milp-verix writes and reads.

``python -m milp_verix.schemas NAME`` prints one, such as that of ``explanation``. They are made of
the types of fields and of their descriptions. A class or a ``TypedDict`` describes its fields under
``Attributes:`` in its docstring, or each in a text beside its type; a property does in its own.
Where they say None, JSON has null.
"""

import json
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import resources
from inspect import Parameter, cleandoc, signature
from typing import Any, ClassVar, Literal, NotRequired, TypeAlias, TypedDict

import msgspec
import numpy as np

from milp_verix.base.stored_kinds import Amount
from milp_verix.comparison.compare import ChecksFile
from milp_verix.comparison.self_test import SolverReport
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.stored import MAKERS
from milp_verix.results.comparison_files import ComparisonFile
from milp_verix.results.explanation import EpsilonSweep
from milp_verix.results.json_format import KINDS, SCHEMA, StoredResult, names_of
from milp_verix.study.journal import JournalLine

Schema: TypeAlias = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_POINTS: Schema = {
    "description": "Nested lists of numbers with the shape of the input. Each number has the fewest"
    " digits that identify it in the type of the input.",
    "type": ["number", "array"],
    "items": {"$ref": "#/$defs/points"},
}
_End: TypeAlias = float | None
_WRITTEN: dict[str, Any] = {
    "epsilon": Amount | None,
    "radii": tuple[Amount | None, ...] | None,
    "domain": tuple[_End | tuple[_End, ...], _End | tuple[_End, ...]],
}
"""Types of fields whose infinity is null in JSON."""

_ENTRY = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", re.MULTILINE)


def result_type(kind: type[StoredResult]) -> Any:
    """Return the type of the JSON of a class of results, as a ``TypedDict``."""
    first: dict[str, Any] = {"schema": Literal[SCHEMA], "kind": Literal[kind.kind]}
    found = written_type(kind, names_of(kind), kind.derived, first)
    found.__doc__ += "    schema: Number of the format.\n    kind: Kind of the result.\n"
    if issubclass(kind, EpsilonSweep):
        level = typing.get_type_hints(kind)["levels"].__args__[0]
        found.__annotations__["levels"] = tuple[result_type(level), ...]  # type: ignore[misc]
    return found


def written_type(
    kind: type, names: Sequence[str], derived: Sequence[str], first: Mapping[str, Any] | None = None
) -> Any:
    """Return a ``TypedDict`` of the fields ``names`` of a class, and of its properties ``derived``.

    ``first`` are the types of further fields before them.
    """
    hints, texts = _hints(kind), _descriptions(kind)
    fields = {**(first or {}), **{name: _WRITTEN.get(name, hints[name]) for name in names}}
    for name in derived:
        getter = getattr(kind, name).fget
        fields[name] = typing.get_type_hints(getter, include_extras=True)["return"]
        texts[name] = first_paragraph(getter)
    made: Any = typing.TypedDict(kind.__name__.removesuffix("Record"), fields)  # type: ignore[misc]
    lines = [f"    {name}: {text}\n" for name, text in texts.items()]
    made.__doc__ = "".join([first_paragraph(kind), "\n\nAttributes:\n", *lines])
    return made


def schema_of(kind: Any, parts: Mapping[Any, Schema] | None = None) -> Schema:
    """Return the schema of a type with fields, whose objects have all of those without a default.

    ``parts`` are the schemas of types that are written in a way of their own.
    """
    known = {np.ndarray: {"$ref": "#/$defs/points"}, **(parts or {})}
    _, found = msgspec.json.schema_components([kind], schema_hook=lambda other: dict(known[other]))
    for one in _classes(kind):
        schema, texts = found[one.__name__], _descriptions(one)
        schema["description"] = first_paragraph(one)
        schema["properties"] = {name: schema["properties"][name] for name in _hints(one)}
        for name, field in schema["properties"].items():
            field.pop("default", None)
            hint = _hints(one)[name]
            if typing.get_origin(hint) is Mapping and typing.get_args(hint)[0] is not str:
                field["propertyNames"] = {"pattern": "^[0-9]+$"}
            if name in texts:
                field["description"] = _plain(texts[name])
        if is_dataclass(one):  # what is written has all fields
            schema["required"] = [*schema["properties"]]
        elif not one.__total__:
            schema["additionalProperties"] = True
    own = found.pop(kind.__name__)
    if "#/$defs/points" in str((own, found)):
        found["points"] = _POINTS
    return {"$schema": _DRAFT, **own, **({"$defs": found} if found else {})}


def first_paragraph(described: Any) -> str:
    """Return the first paragraph of a docstring as one line, without its marks."""
    return _plain(cleandoc(described.__doc__).split("\n\n")[0])


def _descriptions(kind: Any) -> dict[str, str]:
    """Return what docstrings of a class, and of those it inherits from, say of fields."""
    bases = (
        kind.__orig_bases__ if typing.is_typeddict(kind) and hasattr(kind, "__orig_bases__") else ()
    )
    found: dict[str, str] = {}
    for base in (*reversed(bases or kind.__mro__[1:]), kind):
        section = cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        found |= dict(_ENTRY.findall(section))
    for name, hint in _hints(kind).items() if typing.is_typeddict(kind) else ():
        inner = typing.get_args(hint)[0] if typing.get_origin(hint) is NotRequired else hint
        for text in getattr(inner, "__metadata__", ()):
            if isinstance(text, str):
                found[name] = text
    return found


def _plain(text: str) -> str:
    """Return a description as a reader of JSON needs it."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", " ".join(text.split()))
    return re.sub(r"\bNone\b", "null", text.replace("``", "`"))


def _hints(kind: Any) -> dict[str, Any]:
    found = typing.get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in found.items() if typing.get_origin(hint) is not ClassVar}


def _classes(kind: Any) -> Iterator[Any]:
    """Yield the classes with fields in a type, and in the types of these fields."""
    if is_dataclass(kind) or typing.is_typeddict(kind):
        yield kind
        for hint in _hints(kind).values():
            yield from _classes(hint)
    else:
        for inner in typing.get_args(kind):
            yield from _classes(inner)


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
        text = first_paragraph(maker).removeprefix("Return a ").capitalize()
        feature.__doc__ = f"{text}\n\nAttributes:\n    kind: {text}\n"
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
