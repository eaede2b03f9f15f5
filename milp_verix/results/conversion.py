"""JSON to typed values, by msgspec: the first fault is one line with its path, in words."""

import json
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

Hook = Callable[[type, Any], Any]
"""Makes a value of a type that msgspec does not know; ``ValueError`` where it cannot."""

T = TypeVar("T")
_WORDS = {
    "null": "null",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a finite number",
    "str": "a text",
    "array": "a list",
    "object": "an object",
}
_FAULT = re.compile(r"(?P<text>.*?)(?: - at (?P<key>`key` in )?`\$\.?(?P<path>.*)`)?", re.DOTALL)
READ = "\0read"
"""It stands for an array: :func:`difference` does not compare it with the one stored."""

_SHOWN = 60
_ABSENT = object()


def converted(data: Any, kind: type[T], hook: Hook | None = None) -> T:
    """Return ``data``, as JSON has it, as a value of the type ``kind``.

    Raises ``ValueError`` that names the path of the first fault, what is there and what is
    expected.
    """
    try:
        return msgspec.convert(data, kind, dec_hook=hook, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(_in_words(str(error), data, kind, hook)) from error


def difference(stored: Any, made: Any, path: str = "") -> str | None:
    """Return where ``stored``, as JSON has it, is not what ``made`` is; None if it is.

    Fields that ``made`` does not have are passed over, and so are values for which it has ``READ``.
    """
    if isinstance(made, dict) and isinstance(stored, dict):
        if lacking := [name for name in made if name not in stored]:
            return f"{path or 'it'} lacks {lacking[0]!r}"
        start = f"{path}." if path else ""
        each = ((stored[name], value, start + name) for name, value in made.items())
        return next((text for one in each if (text := difference(*one))), None)
    if isinstance(made, list | tuple) and isinstance(stored, list) and len(made) == len(stored):
        each = ((a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(stored, made, strict=True)))
        return next((text for one in each if (text := difference(*one))), None)
    if made == READ or (stored == made and isinstance(stored, bool) == isinstance(made, bool)):
        return None
    return f"{path} is {shown(stored)}, which is not what follows from the other fields"


def shown(value: Any) -> str:
    """Return a value of JSON, cut off where it is long; an object is not shown."""
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _in_words(message: str, data: Any, kind: Any, hook: Hook | None) -> str:
    """Return msgspec's ``message`` on ``data`` with the value at its path, and in our words."""
    found = _FAULT.fullmatch(message)
    assert found is not None
    path = _with_keys(found["path"] or "", message, data, kind, hook)
    text, seen = found["text"], _at(data, path)
    if lacking := re.fullmatch(r"Object missing required field `(.*)`", text):
        return f"{path or 'it'} lacks {lacking[1]!r}"
    if found["key"]:
        return f"a name in {path} is not {_expected(text, path, kind)}"
    if not text.startswith(("Expected", "Invalid enum", "Number out")):
        return f"{path}: {text}" if path else text
    return f"{path or 'it'} is {shown(seen)}, expected {_expected(text, path, kind)}"


def _expected(noun: str, path: str, kind: Any) -> str:
    if noun.startswith("Number out"):
        return "a finite number"
    if noun.startswith("Invalid enum"):
        values = _choices(get_type_hints(kind).get(path.rpartition(".")[2]))
        return " or ".join(map(shown, values)) or "another text"
    wanted = re.sub(r"^Expected |, got .*$", "", noun)
    wanted = re.sub(r"`str` matching regex '(.*)'", r"a text like \1", wanted)
    return re.sub(
        r"`([^`]*)`", lambda m: " or ".join(_WORDS.get(k, k) for k in m[1].split(" | ")), wanted
    )


def _choices(hint: Any) -> list[Any]:
    """Return the values of an enumeration, or of literals in a type."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [one.value for one in hint]
    if get_origin(hint) is Literal:
        return [*get_args(hint)]
    return [value for inner in get_args(hint) for value in _choices(inner)]


def _with_keys(path: str, message: str, data: Any, kind: Any, hook: Hook | None) -> str:
    """Return ``path`` with the names for which msgspec has ``[...]``."""
    before, mark, after = path.partition("[...]")
    holder = _at(data, before)
    for name in holder if mark and isinstance(holder, dict) else ():
        alone = _changed(data, _steps(before), {name: holder[name]})
        try:
            msgspec.convert(alone, kind, dec_hook=hook, str_keys=True)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return _with_keys(f"{before}.{name}{after}", message, alone, kind, hook)
    return path


def _changed(data: Any, steps: list[str | int], value: Any) -> Any:
    """Return a copy of ``data`` with ``value`` at the place where ``steps`` lead."""
    if not steps:
        return value
    copied: Any = dict(data) if isinstance(data, dict) else [*data]
    copied[steps[0]] = _changed(data[steps[0]], steps[1:], value)
    return copied


def _steps(path: str) -> list[str | int]:
    parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    return [int(number) if number else name for number, name in parts]


def _at(data: Any, path: str) -> Any:
    try:
        for step in _steps(path):
            data = data[step]
    except (KeyError, IndexError, TypeError):
        return _ABSENT
    return data
