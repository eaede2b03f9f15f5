"""What users may rely on: public names, options of commands, and fields of files.

``tests/fixtures/public_surface.json`` was written at commit ``5316672c``, in a checkout of it, by
``PYTHONPATH=.:encodings:checker python …/public_surface.py > …/public_surface.json``.
"""

import enum
import inspect
import json
import re
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from types import FunctionType
from typing import Any
from unittest import mock

import milp_verix
import verix_checker.command
import verix_encodings
from milp_verix import schemas
from milp_verix.cli.app import COMMANDS, command_named

Fact = tuple[str, str, str]
"""A place, a name there, and a word about it, such as a type; of each name one word is empty."""

BY_PLACE = {"POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD"}
BY_STAR = {"VAR_POSITIONAL", "VAR_KEYWORD"}
OF_OTHER_FILES = re.compile(r"(\.levels\[\])?(\.inputs(?=\.|$))?")
OF_PYTHON = {*dir(Exception), *dir(str), *dir(enum.Enum), *dir(tuple)}


def surface(inherited: bool = True) -> dict[str, set[Fact]]:
    """Return the facts of classes, of calls (parameters and options), and of files.

    Without ``inherited`` a class lacks what another public class says already.
    """
    named = {
        f"{prefix}{name}": getattr(module, name)
        for prefix, module in (("", milp_verix), ("encodings.", verix_encodings))
        for name in module.__all__
    }
    classes = {name: one for name, one in named.items() if inspect.isclass(one)}
    found = {
        "members": {(name, "", "") for name in named},
        "taken": {fact for name, one in named.items() for fact in _parameters(name, one)},
        "fields": {fact for name in schemas.NAMES for fact in _fields(name)},
    }
    for name, one in classes.items():
        known = () if inherited else {*one.__mro__[1:]} & {*classes.values()}
        for member in {*dir(one)} - OF_PYTHON:
            value = getattr(one, member)
            if member[0] != "_" and not any(getattr(of, member, None) is value for of in known):
                bound = isinstance(inspect.getattr_static(one, member), FunctionType)
                found["members"].add((name, member, ""))
                found["taken"] |= {*_parameters(f"{name}.{member}", value, bound)}
    options = {name: command_named(name).params for name in COMMANDS}
    for name, params in (options | {"verix-check": _checker()._actions}).items():
        found["taken"].update(fact for one in params for fact in _option(name, one))
    return found


def _parameters(name: str, call: Any, bound: bool = False) -> Iterator[Fact]:
    """Yield the name of each parameter, its place if it has one, and its default."""
    kept = issubclass(call, Exception | enum.Enum) if inspect.isclass(call) else not callable(call)
    if kept or not (inspect.isclass(call) or inspect.isroutine(call)):
        return
    for place, one in enumerate([*inspect.signature(call).parameters.values()][bound:]):
        if one.name[0] == "_":
            continue
        yield name, one.name, ""
        if one.kind.name in BY_PLACE:
            yield name, one.name, str(place)
        if one.kind.name in BY_STAR:
            yield name, one.name, f"= {one.kind.name}"
        elif one.default is not one.empty:
            yield name, one.name, "= " + re.sub(" at 0x[0-9a-f]+", "", repr(one.default))


def _option(command: str, one: Any) -> Iterator[Fact]:
    """Yield the spellings of an option of Typer or argparse, its default and its choices."""
    spelled = {*getattr(one, "opts", ()), *getattr(one, "option_strings", ())}
    options = {word for word in spelled if word.startswith("-")}
    name = max(options, key=len, default=str(one.metavar))
    choices = {*one.metavar.split("|")} if "|" in str(one.metavar) else set()
    yield from ((command, name, word) for word in {"", *(options - {name}), *choices})
    if one.nargs != 1:
        yield command, name, f"{one.nargs} values"
    if not one.required:
        yield command, name, f"= {one.default!r}"


def _checker() -> ArgumentParser:
    parse = mock.patch.object(ArgumentParser, "parse_args", autospec=True, side_effect=EOFError)
    with parse as call:
        try:
            verix_checker.command.main([])
        except EOFError:
            return call.call_args.args[0]
    raise AssertionError


def _fields(kind: str) -> Iterator[Fact]:
    """Yield the path of each field in a kind of file, its types, and if it is always there."""
    schema = schemas.json_schema(kind)
    for path, word in {*_walk(schema, schema.get("$defs", {}), "", ())}:
        # what a sweep holds of each level, and all results of inputs, is known from other files
        part = OF_OTHER_FILES.match(path)[0]
        yield kind + part, path.removeprefix(part), word


def _walk(schema: Any, known: Any, path: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield path, ""
    reference = schema.get("$ref", "").removeprefix("#/$defs/")
    if reference in above:
        yield path, "recurs"
    elif reference:
        yield from _walk(known[reference], known, path, (*above, reference))
    types = schema.get("type", [])
    for word in (*([types] if isinstance(types, str) else types), *schema.get("enum", [])):
        yield path, str(word)
    for one in (*schema.get("anyOf", []), *schema.get("oneOf", [])):
        yield from _walk(one, known, path, above)
    for name, one in schema.get("properties", {}).items():
        if name in schema.get("required", []):
            yield f"{path}.{name}", "!"
        yield from _walk(one, known, f"{path}.{name}", above)
    for one in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(one, dict):
            yield from _walk(one, known, f"{path}[]", above)
    for one in schema.get("prefixItems", []):
        yield from _walk(one, known, f"{path}[]", above)


def packed(facts: Iterable[Fact]) -> dict[str, Any]:
    """Return facts as texts of a name and its words, by the numbers of the places that have it."""
    turned = sorted({place.rpartition(".")[::-2] for place, _, _ in facts})
    places = {
        name: " ".join(of for _, of in found) for name, found in groupby(turned, itemgetter(0))
    }
    numbers = {place: number for number, place in enumerate(_listed(places))}
    where, rows = defaultdict(set), defaultdict(list)
    for (place, name), found in groupby(sorted(facts), itemgetter(0, 1)):
        where[";".join([name, *(word for _, _, word in found if word)])].add(numbers[place])
    for row in sorted(where):
        rows[_spans(where[row])].append(row)
    return {"places": places, "rows": rows}


def _listed(places: dict[str, str]) -> list[str]:
    pairs = [(of, name) for name, owners in places.items() for of in owners.split(" ")]
    return [f"{of}.{name}" if of else name for of, name in pairs]


def _spans(numbers: set[int]) -> str:
    firsts = sorted(one for one in numbers if one - 1 not in numbers)
    lasts = sorted(one for one in numbers if one + 1 not in numbers)
    return " ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in zip(firsts, lasts, strict=True))


def unpacked(stored: dict[str, Any]) -> set[Fact]:
    """Return the facts that were packed."""
    places, found = _listed(stored["places"]), set()
    for spans, rows in stored["rows"].items():
        ends = [[*map(int, span.split("-"))] for span in spans.split()]
        of = [place for span in ends for place in places[span[0] : span[-1] + 1]]
        for name, *words in (row.split(";") for row in rows):
            found |= {(place, name, word) for place in of for word in ("", *words)}
    return found


if __name__ == "__main__":
    packs = {section: packed(facts) for section, facts in surface(inherited=False).items()}
    sys.stdout.write(json.dumps(packs, indent=0, ensure_ascii=False) + "\n")
