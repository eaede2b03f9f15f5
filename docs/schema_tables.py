"""Tables of the fields of JSON files, made from their schemas."""

import json
from collections.abc import Iterator
from typing import Any

from milp_verix.schemas import NAMES, json_schema

Schema = dict[str, Any]

_WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "array": "list",
}


def schema_tables() -> str:
    """Return the tables in Markdown: one for each kind of file.

    Fields that all results have stand in the table of the explanation alone.
    """
    return "\n\n".join(map(_file, NAMES)) + "\n"


def _file(name: str) -> str:
    schema = json_schema(name)
    schema = schema.get("items", schema)
    shared = _shared() if name != "explanation" and "input_sha256" in schema["properties"] else ()
    told = schema["description"] + (
        " It has the first fields of an [explanation](#explanation), up to `radii`, and "
        "`input_sha256`, `words` and `still`, too."
        if shared
        else ""
    )
    rows = dict.fromkeys(
        f"| `{path}` | {value} | {meaning} |"
        for path, value, meaning in _rows(schema, schema.get("$defs", {}), "", ())
        if path.partition(".")[0].partition("[")[0] not in shared and not path.startswith("inputs.")
    )
    return "\n".join(
        [f"## {name}", "", told, "", "| field | value | meaning |", "|---|---|---|", *rows]
    )


def _shared() -> set[str]:
    """Return the fields that results of all kinds have."""
    kinds = (json_schema(name)["properties"] for name in ("explanation", "audit", "relevance"))
    return set.intersection(*map(set, kinds)) - {"kind"}


def _rows(
    schema: Schema, parts: Schema, prefix: str, seen: tuple[str, ...]
) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and meaning of each field; fields of an object in it are behind a dot.

    Parts ``seen`` around this one are not entered.
    """
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in schema.get("required", ()) else ", may be absent"
        path = f"{prefix}{name}"
        yield path, _value(field, parts) + optional, field.get("description", "")
        yield from _inner(field, parts, path, seen)
    for other in schema.get("oneOf", ()):
        required = [*schema.get("required", ()), *other.get("required", ())]
        yield from _rows({**other, "required": required}, parts, prefix, seen)


def _inner(
    field: Schema, parts: Schema, path: str, seen: tuple[str, ...]
) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of objects inside of a field."""
    named = field.get("$ref", "").rpartition("/")[2]
    if named:
        if named not in seen:
            yield from _inner(parts[named], parts, path, (*seen, named))
        return
    for one in field.get("anyOf", ()):
        yield from _inner(one, parts, path, seen)
    for inner, mark in (("items", "[]"), ("additionalProperties", ".…")):
        if isinstance(field.get(inner), dict):
            yield from _inner(field[inner], parts, path + mark, seen)
    yield from _rows(field, parts, f"{path}.", seen)


def _value(field: Schema, parts: Schema) -> str:
    """Return in words which values a field may have."""
    if "$ref" in field:
        named = field["$ref"].rpartition("/")[2]
        return "nested lists of numbers" if named == "points" else _value(parts[named], parts)
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_value(one, parts) for one in field["anyOf"]))
    if "const" in field or "enum" in field:
        values = field.get("enum", [field.get("const")])
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    kinds = field.get("type", "object")
    words = {
        kind: _WORDS.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)
    }
    entries = field.get("items")
    entries = entries.get("type") if isinstance(entries, dict) else None
    if "array" in words and entries in ("integer", "number", "string"):
        words["array"] = f"list of {_WORDS[entries]}s"
    return " or ".join(words.values())
