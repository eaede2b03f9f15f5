"""Tables of the fields of JSON files, made from the schemas that ship with the package."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
FOLDER = Path(__file__).parents[1] / "milp_verix" / "records" / "schemas"
_SCHEMAS = {file.name: json.loads(file.read_text(encoding="utf-8")) for file in FOLDER.iterdir()}
_COMMON: Schema = _SCHEMAS["common.json"]["$defs"]
_FILES = (
    "explanation",
    "contrastive",
    "enumeration",
    "audit",
    "relevance",
    "radius",
    "sweep",
    "comparison",
)
"""Results, in the order of the page; other files follow."""

_WORDS = {
    "integer": "whole number",
    "string": "text",
    "boolean": "true or false",
    "array": "list",
}
_LISTS = {
    "indices": "list of indices",
    "shape": "list of whole numbers",
    "numbers": "list of numbers",
    "points": "nested lists of numbers",
    "counterfactuals": "list of [counterfactual](#counterfactual) with a `feature`",
}


def schema_tables() -> str:
    """Return the tables in Markdown: one for each kind of file, then the parts that they share."""
    files = [f"{name}.json" for name in _FILES]
    files += sorted(_SCHEMAS.keys() - {*files, "common.json"})
    shared = [name for name, part in _COMMON.items() if "properties" in part]
    parts = [_file(name) for name in files]
    parts.append("## Shared parts")
    parts += [f"### {name}\n\n{_table(_COMMON[name], 'common.json')}" for name in shared]
    return "\n\n".join(parts) + "\n"


def _file(name: str) -> str:
    schema = _SCHEMAS[name]
    told = schema["description"]
    if "$ref" in schema:
        told += " It has the fields of every [result](#result), and:"
    source = f"{{download}}`{name} </../milp_verix/results/records/schemas/{name}>`"
    return f"## {schema['title']}\n\n{source}: {told}\n\n{_table(schema, name)}"


def _table(schema: Schema, file: str) -> str:
    rows = [
        f"| `{name}` | {value} | {told} |"
        for name, value, told in _rows(schema.get("items", schema), file, "", ())
    ]
    return "\n".join(["| field | value | meaning |", "|---|---|---|", *dict.fromkeys(rows)])


def _rows(
    schema: Schema, file: str, prefix: str, seen: tuple[str, ...]
) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and meaning of each field; fields of an object in it are behind a dot.

    Parts that are shared, and those ``seen`` around this one, are not entered.
    """
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in schema.get("required", ()) else ", may be absent"
        inner, path = field, f"{prefix}{name}"
        told = field.get("description") or _resolved(field, file)[0].get("description", "")
        yield path, _value(field, file) + optional, told
        refs = seen
        while not _is_shared(inner, file) and inner.get("$ref") not in refs:
            if "$ref" in inner:
                refs += (inner["$ref"],)
                inner, _ = _resolved(inner, file)
            elif "items" in inner:
                inner, path = inner["items"], f"{path}[]"
            else:
                yield from _rows(inner, file, f"{path}.", refs)
                break
    for other in schema.get("oneOf", ()):
        required = [*schema.get("required", ()), *other.get("required", ())]
        yield from _rows({**other, "required": required}, file, prefix, seen)


def _value(field: Schema, file: str) -> str:
    """Return in words which values a field may have."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        inner, home = _resolved(field, file)
        if name in _LISTS:
            return _LISTS[name]
        if home == "common.json" and "properties" in inner:
            return f"[{name}](#{name})"
        return str(inner["title"]).lower() if "title" in inner else _value(inner, home)
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_value(part, file) for part in field["anyOf"]))
    if "const" in field or "enum" in field:
        values = field.get("enum", [field.get("const")])
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    kinds = field.get("type", "object")
    words = {
        kind: _WORDS.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)
    }
    entries = field.get("items", {}).get("type")
    if "array" in words and entries in ("integer", "number", "string"):
        words["array"] = f"list of {_WORDS.get(entries, entries)}s"
    return " or ".join(words.values())


def _resolved(field: Schema, file: str) -> tuple[Schema, str]:
    """Return the schema that a reference names, or the field itself, and the file that it is in."""
    if "$ref" not in field:
        return field, file
    name, _, place = field["$ref"].partition("#/$defs/")
    home = name or file
    found = _SCHEMAS[home]
    return (found["$defs"][place] if place else found), home


def _is_shared(field: Schema, file: str) -> bool:
    """Return whether a field refers to a part with a table of its own."""
    return "$ref" in field and _resolved(field, file)[1] in {
        "common.json",
        *_SCHEMAS.keys() - {file},
    }
