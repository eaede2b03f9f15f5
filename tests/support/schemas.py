"""The JSON Schemas as they are, and closed to fields they don't name.

A closed schema finds a field that is written and described nowhere.
"""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from milp_verix.schemas import NAMES, json_schema

SCHEMAS: dict[str, dict[str, Any]] = {name: json_schema(name) for name in NAMES}
"""The schemas by the kinds of files."""

_PARTS = ("if", "then", "else", "allOf")
"""Keys of schemas that add to the one around them, which is closed in their place."""


def faults(name: str, data: Any, *, closed: bool = False) -> list[str]:
    """Return where ``data`` is not as the schema of the files ``name`` says, and why."""
    found = _validator(name, closed=closed).iter_errors(data)
    return [f"{fault.json_path}: {fault.message}" for fault in found]


def fits(name: str, data: Any) -> bool:
    """Return whether ``data`` is as the schema of the files ``name`` says."""
    return bool(_validator(name, closed=False).is_valid(data))


@cache
def _validator(name: str, *, closed: bool) -> Any:
    schema = SCHEMAS[name]
    return Draft202012Validator(_closed(schema) if closed else schema)


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: part if key in _PARTS else _closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        found["unevaluatedProperties"] = False
    return found
