"""Descriptions of inputs as data, in JSON, TOML and results, and as text and HTML for readers.

A file lists features with the arguments of the functions that make them, rules as texts, and words
for the classes. Features are in the order of the input's coordinates, unless ``places`` lists the
coordinates of one feature after the other::

    rules = ["age >= 18 + years"]
    class_names = ["refused", "granted"]

    [[features]]
    name = "age"
    kind = "integer"
    lower = 17
    upper = 90

    [[features]]
    name = "marital-status"
    kind = "category"
    values = ["Divorced", "Married", "Never-married"]
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from inspect import Parameter, signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, meant, printable, refusing, require_one_of, shown
from milp_verix.base.number_text import counted
from milp_verix.base.stored_numbers import json_in
from milp_verix.inputs.feature import (
    Feature,
    binary,
    category,
    continuous,
    fixed,
    integer,
    ordinal,
)
from milp_verix.inputs.rules import Rule

Spans = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and the places of each feature's word in it: pairs of a start and an end.

    A word that may be added, but does not stand in the text, has none.
    """

    text: str
    spans: Spans

    def parts(self, features: Iterable[int]) -> list[tuple[str, bool]]:
        """Return the text in parts, each with whether it is the word of one of ``features``."""
        parts: list[tuple[str, bool]] = []
        end = 0
        for start, stop in sorted(span for feature in features for span in self.spans[feature]):
            parts += [(self.text[end:start], False), (self.text[start:stop], True)]
            end = stop
        return [part for part in (*parts, (self.text[end:], False)) if part[0]]

    def to_data(self) -> dict[str, Any]:
        """Return the passage as a description of inputs holds it."""
        return {"text": self.text, "spans": [[*map(list, places)] for places in self.spans]}


def passage_in(data: object) -> Passage | None:
    """Return the passage in a description, if any; ``InputError`` if its places are not in it."""
    if data is None:
        return None
    if isinstance(data, Mapping) and {*data} == {"text", "spans"} and isinstance(data["text"], str):
        text = data["text"]
        try:
            found = tuple(tuple((a, b) for a, b in places) for places in data["spans"])
        except (TypeError, ValueError):
            found = (((-1, -1),),)
        spans = [span for places in found for span in places]
        inside = all(type(end) is int and 0 <= end <= len(text) for span in spans for end in span)
        inside = inside and all(start < stop for start, stop in spans)
        if inside and all(one[1] <= other[0] for one, other in pairwise(sorted(spans))):
            return Passage(text, found)
    raise InputError(f"a passage has a text, and spans of it for each feature; got {data!r:.60}")


MAKERS: dict[str, Callable[..., Feature]] = {
    maker.__name__: maker for maker in (continuous, integer, binary, category, ordinal, fixed)
}
"""The functions that make features, by the kind of these in files."""

_KEYS = ("features", "rules", "class_names", "passage", "places", "of_domain", "missing_apart")


def arguments_in(data: object) -> dict[str, Any]:
    """Return the arguments of :class:`milp_verix.Inputs` in ``data``; ``InputError`` for others."""
    if not isinstance(data, Mapping) or not isinstance(data.get("features"), list):
        raise InputError("a description of inputs lists its 'features', each with name and kind")
    for key in data:
        require_one_of(_KEYS, key, "key of a description of inputs")
    rules = data.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise InputError(f"rules are a list of texts, got {rules!r}")
    names = data.get("class_names", [])
    features = [_feature(entry) for entry in data["features"]]
    passage = passage_in(data.get("passage"))
    places = data.get("places")
    if not isinstance(places, list | None) or any(type(place) is not int for place in places or ()):
        raise InputError(f"places are a list of whole numbers, got {shown(places)}")
    made = {"features": features, "rules": rules, "class_names": names, "passage": passage}
    return {**made, "places": places}


def data_in_file(path: Path) -> Any:
    """Return the data in a .json or .toml file; ``InputError``, with the path, for others."""
    kind = path.suffix[1:].lower()
    if kind not in ("json", "toml"):
        raise InputError(
            f"{path}: inputs are described in a .json or a .toml file, which holds what "
            "Inputs.from_frame(frame).to_data() returns for a table"
        )
    with refusing(f"cannot read {path}"), refusing(f"{path} is not {kind.upper()}", ValueError):
        return json_in(path) if kind == "json" else tomllib.loads(path.read_text(encoding="utf-8"))


def feature_data(feature: Feature) -> dict[str, Any]:
    """Return the arguments that make ``feature`` again, without those that are the default."""
    data: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    if feature.kind in ("continuous", "integer"):
        ends = {"lower": feature.lower, "upper": feature.upper}
        data |= {name: end for name, end in ends.items() if np.isfinite(end)}
    fields = {name: getattr(feature, name) for name in ("unit", "deviation", "only")}
    data |= {name: value for name, value in fields.items() if value is not None}
    words, codes = list(feature.values), list(feature.codes)
    if feature.missing:
        data["missing"] = True
        words, codes = words[:-1], codes[:-1]
    if feature.values:
        data["values"] = words
    if feature.kind == "ordinal":
        data["first"] = feature.codes[0]
    if feature.one_hot:
        data["one_hot"] = True
    elif feature.kind == "category":
        data["codes"] = codes
    return data


def _feature(entry: object) -> Feature:
    kinds = tuple(MAKERS)
    if not isinstance(entry, Mapping) or entry.get("kind") not in kinds or "name" not in entry:
        close = meant(str(entry.get("kind")), kinds) if isinstance(entry, Mapping) else ""
        raise InputError(
            f"a feature has a name and a kind, one of {', '.join(kinds)}; got {shown(entry)}{close}"
        )
    arguments = {name: value for name, value in entry.items() if name != "kind"}
    maker = MAKERS[entry["kind"]]
    known = signature(maker).parameters
    for name in arguments:
        require_one_of(known, name, f"key of {entry['name']}, of kind {entry['kind']},")
    for name, parameter in known.items():
        if parameter.default is Parameter.empty and name not in arguments:
            raise InputError(f"{entry['name']}: a feature of kind {entry['kind']!r} needs {name!r}")
    return maker(**arguments)


_MOST_WORDS = 8
_KINDS = {"continuous": "number", "integer": "whole number", "ordinal": "in order"}


def text_of(features: tuple[Feature, ...], remarks: Iterable[str]) -> str:
    """Return a description with a line for each feature and remark."""
    cells = _cells(features)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [f"  {a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in cells]
    return "\n".join([f"{counted(len(features), 'feature')}:", *lines, *remarks])


def html_of(features: tuple[Feature, ...], remarks: Iterable[str]) -> str:
    """Return a description as a table of HTML, and a paragraph for each remark."""
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in _cells(features)
    )
    heads = "".join(f"<th>{head}</th>" for head in ("feature", "kind", "values"))
    text = "".join(f"<p>{escape(line)}</p>" for line in remarks)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{text}"


def _cells(features: tuple[Feature, ...]) -> list[tuple[str, str, str]]:
    found = []
    for one in features:
        values = _values(one) + (", or missing" if one.missing and not one.values else "")
        found.append((printable(one.name), _KINDS.get(one.kind, one.kind), printable(values)))
    return found


def _values(feature: Feature) -> str:
    """Return ``"18 to 75 years"``, ``"no, yes"`` or ``"any"``."""
    if feature.values:
        shown = ", ".join(feature.values[:_MOST_WORDS])
        left = len(feature.values) - _MOST_WORDS
        return f"{shown} and {left} more" if left > 0 else shown
    unit = f" {feature.unit}" if feature.unit else ""
    low, high = feature.lower, feature.upper
    if low == high or feature.kind == "fixed":
        return f"stays as it is{unit and ','}{unit}"
    ends = [number for number in (low, high) if np.isfinite(number)]
    parts = [feature.text(np.array([number])).removesuffix(unit) for number in ends]
    if len(parts) == 2:
        return f"{parts[0]} to {parts[1]}{unit}"
    if not parts:
        return f"any{unit}"
    return f"{parts[0]} or {'more' if np.isfinite(low) else 'less'}{unit}"


def remarks_on(rules: tuple[Rule, ...], classes: tuple[str, ...]) -> Iterator[str]:
    """Yield a line for each rule, and one for the names of the classes."""
    for rule in rules:
        yield f"rule: {printable(rule.text)}"
    if classes:
        yield f"decisions: {printable(', '.join(classes))}"
