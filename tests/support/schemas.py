"""The JSON Schemas that ship with the package, as they are, and closed to fields they don't name.

A closed schema finds a field that is written and described nowhere.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = resources.files("milp_verix.records") / "schemas"
SCHEMAS: dict[str, dict[str, Any]] = {
    file.name: json.loads(file.read_text(encoding="utf-8")) for file in FOLDER.iterdir()
}
"""The schemas by the names of their files."""

_PARTS = ("if", "then", "else", "allOf")
"""Keys of schemas that add to the one around them, which is closed in their place."""


def faults(name: str, data: Any, *, closed: bool = False) -> list[str]:
    """Return where ``data`` is not as the schema in the file ``name`` says, and why."""
    found = _validator(name, closed=closed).iter_errors(data)
    return [f"{fault.json_path}: {fault.message}" for fault in found]


def fits(name: str, data: Any) -> bool:
    """Return whether ``data`` is as the schema in the file ``name`` says."""
    return bool(_validator(name, closed=False).is_valid(data))


@cache
def _validator(name: str, *, closed: bool) -> Any:
    files = {file: _closed(schema) if closed else schema for file, schema in SCHEMAS.items()}
    files["common.json"]["$defs"]["result"].pop("unevaluatedProperties", None)
    pairs = [(file, Resource.from_contents(schema)) for file, schema in files.items()]
    return Draft202012Validator(files[name], registry=Registry().with_resources(pairs))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: part if key in _PARTS else _closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        found["unevaluatedProperties"] = False
    return found
