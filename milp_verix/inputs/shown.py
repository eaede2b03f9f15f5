"""A description of inputs for readers: a line for each feature, as text and as HTML."""

from collections.abc import Iterator
from html import escape

import numpy as np

from milp_verix.base.number_text import counted
from milp_verix.base.printable import printable
from milp_verix.inputs.features import Feature
from milp_verix.inputs.rules import Rule

_MOST_WORDS = 8
_KINDS = {"continuous": "number", "integer": "whole number", "ordinal": "in order"}


def text_of(
    features: tuple[Feature, ...], rules: tuple[Rule, ...], classes: tuple[str, ...]
) -> str:
    """Return a description with a line for each feature and rule."""
    cells = _cells(features)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [f"  {a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in cells]
    return "\n".join([f"{counted(len(features), 'feature')}:", *lines, *_others(rules, classes)])


def html_of(
    features: tuple[Feature, ...], rules: tuple[Rule, ...], classes: tuple[str, ...]
) -> str:
    """Return a description as a table of HTML, and a paragraph for each other fact."""
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in _cells(features)
    )
    heads = "".join(f"<th>{head}</th>" for head in ("feature", "kind", "values"))
    told = "".join(f"<p>{escape(line)}</p>" for line in _others(rules, classes))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{told}"


def _cells(features: tuple[Feature, ...]) -> list[tuple[str, str, str]]:
    return [(printable(f.name), _kind(f), printable(_values(f))) for f in features]


def _kind(feature: Feature) -> str:
    return _KINDS.get(feature.kind, feature.kind)


def _values(feature: Feature) -> str:
    """Return ``"18 to 75 years"``, ``"no, yes"`` or ``"any"``; and that it may be missing."""
    known = _known_values(feature)
    return f"{known}, or missing" if feature.missing and not feature.values else known


def _known_values(feature: Feature) -> str:
    if feature.values:
        shown = ", ".join(feature.values[:_MOST_WORDS])
        left = len(feature.values) - _MOST_WORDS
        return f"{shown} and {left} more" if left > 0 else shown
    unit = f" {feature.unit}" if feature.unit else ""
    low, high = feature.lower, feature.upper
    if low == high or feature.kind == "fixed":
        return f"stays as it is{unit and ','}{unit}"
    ends = [number for number in (low, high) if np.isfinite(number)]
    told = [feature.text(np.array([number])).removesuffix(unit) for number in ends]
    if len(told) == 2:
        return f"{told[0]} to {told[1]}{unit}"
    if not told:
        return f"any{unit}"
    return f"{told[0]} or {'more' if np.isfinite(low) else 'less'}{unit}"


def _others(rules: tuple[Rule, ...], classes: tuple[str, ...]) -> Iterator[str]:
    """Yield a line for each rule, and one for the names of the classes."""
    for rule in rules:
        yield f"rule: {printable(rule.text)}"
    if classes:
        yield f"decisions: {printable(', '.join(classes))}"
