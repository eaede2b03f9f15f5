"""Data against the JSON Schemas that ship with the package: the first fault, in words.

The part of JSON Schema (draft 2020-12) that these files use, with two differences: an integer is
written without a point and fits 64 bits, and nested lists of numbers (``points``) are left to the
reader of arrays, which looks at all of them at once.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
Fault: TypeAlias = tuple[str, Any, str]
"""The path of a value, the value, and what is expected in its place."""

_POINTS = "#/$defs/points"
_MOST = 2**63
_SHOWN = 60
_NOTHING = object()
"""The value of a field that is not there."""


def fault_in(data: Any, name: str) -> str | None:
    """Return where ``data`` is not as the schema ``name``, such as ``"journal.json"``, says.

    None if it is as that says.
    """
    for path, value, expected in _faults(data, _schema(name), name, ""):
        seen = "lacks" if value is _NOTHING else f"is {_shown(value)}, expected"
        return f"{path or 'it'} {seen} {expected}"
    return None


def _is_integer(value: Any) -> bool:
    return type(value) is int and -_MOST <= value < _MOST


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= sys.float_info.max
    return isinstance(value, float) and math.isfinite(value)


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "null": (lambda value: value is None, "null"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "integer": (_is_integer, "a whole number"),
    "number": (_is_number, "a finite number"),
    "string": (lambda value: isinstance(value, str), "a text"),
    "array": (lambda value: isinstance(value, list | tuple), "a list"),
    "object": (lambda value: isinstance(value, dict), "an object"),
}


def _faults(value: Any, schema: Schema, file: str, path: str) -> Iterator[Fault]:
    """Yield the faults of ``value``; ``file`` is where a reference of ``schema`` begins."""
    if schema.get("$ref", "").endswith(_POINTS):
        if not isinstance(value, list | int | float | dict) or isinstance(value, bool):
            yield path, value, "a list of numbers"
        return
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(_KINDS[kind][0](value) for kind in kinds):
            yield path, value, " or ".join(_KINDS[kind][1] for kind in kinds)
            return
    for keyword, given in schema.items():
        if keyword in _CHECKS:
            yield from _CHECKS[keyword](value, given, schema, file, path)


def _ref(value: Any, given: str, _: Schema, file: str, path: str) -> Iterator[Fault]:
    other, inner = given.split("#") if "#" in given else (given, "")
    schema = _schema(other or file)
    for key in inner.split("/")[1:]:
        schema = schema[key]
    yield from _faults(value, schema, other or file, path)


def _one_of(value: Any, given: list[Any], _: Schema, __: str, path: str) -> Iterator[Fault]:
    if not any(_same(value, one) for one in given):
        yield path, value, " or ".join(map(_shown, given))


def _const(value: Any, given: Any, schema: Schema, file: str, path: str) -> Iterator[Fault]:
    yield from _one_of(value, [given], schema, file, path)


def _any_of(value: Any, given: list[Schema], _: Schema, file: str, path: str) -> Iterator[Fault]:
    faults = [next(_faults(value, one, file, path), None) for one in given]
    found = [fault for fault in faults if fault is not None]
    if len(found) < len(given):
        return
    inner = [fault for fault in found if fault[0] != path]
    yield inner[0] if inner else (path, value, " or ".join(fault[2] for fault in found))


def _if(value: Any, given: Schema, schema: Schema, file: str, path: str) -> Iterator[Fault]:
    fits = next(_faults(value, given, file, path), None) is None
    yield from _faults(value, schema.get("then" if fits else "else", {}), file, path)


def _limit(fits: Callable[[Any, Any], bool], words: str) -> Callable[..., Iterator[Fault]]:
    def check(value: Any, given: Any, _: Schema, __: str, path: str) -> Iterator[Fault]:
        if _is_number(value) and not fits(value, given):
            yield path, value, f"{words} {given}"

    return check


def _length(fits: Callable[[int, int], bool], words: str) -> Callable[..., Iterator[Fault]]:
    def check(value: Any, given: int, _: Schema, __: str, path: str) -> Iterator[Fault]:
        if isinstance(value, list | tuple | str) and not fits(len(value), given):
            yield path, value, f"{words} {given} entries"

    return check


def _pattern(value: Any, given: str, _: Schema, __: str, path: str) -> Iterator[Fault]:
    if isinstance(value, str) and (re.search(given, value) is None or value.endswith("\n")):
        yield path, value, f"a text like {given}"


def _unique(value: Any, given: bool, _: Schema, __: str, path: str) -> Iterator[Fault]:
    if given and isinstance(value, list | tuple) and len({*map(repr, value)}) < len(value):
        yield path, value, "each entry once"


def _items(value: Any, given: Schema, _: Schema, file: str, path: str) -> Iterator[Fault]:
    if not isinstance(value, list | tuple) or _plain_integers(value, given):
        return
    for place, entry in enumerate(value):
        yield from _faults(entry, given, file, f"{path}[{place}]")


def _plain_integers(values: list[Any] | tuple[Any, ...], schema: Schema) -> bool:
    """Return whether ``values`` are features or coordinates, without a look at each of them."""
    named = schema.get("$ref", "").endswith("#/$defs/index")
    return named and {*map(type, values)} <= {int} and 0 <= min(values, default=0) <= _MOST - 1


def _first_items(value: Any, given: list[Schema], _: Schema, file: str, path: str) -> Any:
    if isinstance(value, list | tuple):
        for place, (entry, schema) in enumerate(zip(value, given, strict=False)):
            yield from _faults(entry, schema, file, f"{path}[{place}]")


def _required(value: Any, given: list[str], _: Schema, __: str, path: str) -> Iterator[Fault]:
    if isinstance(value, dict) and (lacking := [name for name in given if name not in value]):
        yield path, _NOTHING, repr(lacking[0])


def _properties(value: Any, given: Schema, _: Schema, file: str, path: str) -> Iterator[Fault]:
    for name in value if isinstance(value, dict) else ():
        if name in given:
            yield from _faults(value[name], given[name], file, _inside(path, name))


def _others(value: Any, given: Any, schema: Schema, file: str, path: str) -> Iterator[Fault]:
    known = schema.get("properties", {})
    for name in value if isinstance(value, dict) else ():
        if name not in known and given is False:
            yield _inside(path, name), value[name], "no such field"
        elif name not in known and isinstance(given, dict):
            yield from _faults(value[name], given, file, _inside(path, name))


def _names(value: Any, given: Schema, _: Schema, file: str, path: str) -> Iterator[Fault]:
    for name in value if isinstance(value, dict) else ():
        yield from _faults(name, given, file, f"the name {name!r} in {path or 'it'}")


_CHECKS: dict[str, Callable[..., Iterator[Fault]]] = {
    "$ref": _ref,
    "enum": _one_of,
    "const": _const,
    "anyOf": _any_of,
    "oneOf": _any_of,
    "if": _if,
    "minimum": _limit(lambda value, given: value >= given, "at least"),
    "exclusiveMinimum": _limit(lambda value, given: value > given, "more than"),
    "maximum": _limit(lambda value, given: value <= given, "at most"),
    "minItems": _length(lambda length, given: length >= given, "at least"),
    "maxItems": _length(lambda length, given: length <= given, "at most"),
    "minLength": _length(lambda length, given: length >= given, "at least"),
    "pattern": _pattern,
    "uniqueItems": _unique,
    "items": _items,
    "prefixItems": _first_items,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _others,
    "propertyNames": _names,
}


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@cache
def _schema(name: str) -> Schema:
    file = resources.files("milp_verix.records") / "schemas" / name
    found: Schema = json.loads(file.read_text(encoding="utf-8"))
    return found
