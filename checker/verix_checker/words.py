"""The claim of a certificate in words: all of it, for whoever asked a question to compare."""

import hashlib
from collections.abc import Iterator
from typing import Any

from verix_checker.numbers import exact
from verix_checker.shapes import require

KEYS = {"network", "sha256", "beside", "output", "input", "norm", "epsilon", "domain", "whole"}
KEYS |= {"blocks", "rules", "features", "irrelevant", "class", "against", "delta", "outputs"}
KEYS |= {"minimal", "minimum", "bits", "odd", "source"}
KEYS |= {"no_part", "importance"}


def said(part: Any) -> str:
    """Return a part of a claim as a text, its numbers exactly."""
    if isinstance(part, dict):
        return ", ".join(f"{name}: {said(value)}" for name, value in part.items())
    if isinstance(part, list):
        return f"[{', '.join(map(said, part))}]"
    if part is None:
        return "unlimited"
    return str(exact(part))


def row(part: Any) -> str:
    """Return a row of a rule as a text."""
    terms = (f"{said(k)} x{int(i)}" for i, k in part["factors"].items())
    return f"{' + '.join(terms)} {'<' if part.get('strict') else '<='} {said(part['limit'])}"


def kept(asked: Any, net: Any) -> str:
    """Return what stays, according to a claim."""
    chosen = asked.get("class")
    if chosen is None:
        require("against" not in asked, "rivals of values")
        return f"outputs {said(asked['outputs'])} change by at most {said(asked['delta'])}"
    require("delta" not in asked and "outputs" not in asked, "a class and values that stay")
    if len(net.forms) == 1:
        return f"class {chosen}, the only score is {'above' if chosen else 'below'} zero"
    rivals = asked.get("against")
    others = "all others" if rivals is None else f"the classes {said(sorted(rivals))} alone"
    return f"class {chosen}, its score is above those of {others}"


def words(asked: Any, net: Any, told: str) -> Iterator[str]:
    """Yield the lines that say a claim; the last of them is what is ``told`` of the model."""
    require({*asked} <= KEYS, f"a claim of {sorted({*asked} - KEYS)}, which has no words")
    numbers = " ".join(str(exact(number)) for number in asked["input"])
    yield f"{'trees' if 'source' in asked else 'network'}: SHA-256 {asked['sha256']}"
    if "source" in asked:
        yield f"made from a model with SHA-256 {asked['source']!a}, not read here"
    for name, found in asked.get("beside", {}).items():
        yield f"weights in {name!a}: SHA-256 {found}"
    yield f"{net.size} inputs, {net.parts}"
    yield f"input: SHA-256 {hashlib.sha256(numbers.encode()).hexdigest()} of its numbers"
    yield f"kept: {kept(asked, net)}"
    yield f"ball: norm {asked['norm']}, epsilon {said(asked['epsilon'])}"
    low, high = asked["domain"]
    yield f"domain: {said(low)} to {said(high)}"
    if asked.get("whole"):
        yield f"whole numbers: inputs {said(asked['whole'])}"
    for block in asked.get("blocks", ()):
        yield f"one-hot block: inputs {said(block)}"
    for rule in asked.get("rules", ()):
        yield f"rule: {' or '.join(map(row, rule)) or 'never'}"
    groups, free = asked["features"], {*asked["irrelevant"]}
    single = all(group == [i] for i, group in enumerate(groups))
    yield f"features: {len(groups)}, {'one for each input' if single else said(groups)}"
    fixed = [feature for feature in range(len(groups)) if feature not in free]
    yield f"fixed features: {said(fixed)}; the other {len(free)} are free"
    yield told


def bound_words(asked: Any) -> str:
    """Return the claim of a lower bound in words."""
    costs = "1 each" if asked.get("costs") is None else said(asked["costs"])
    chosen = f"must: {said(asked.get('must') or [])}, must_not: {said(asked.get('must_not') or [])}"
    return f"costs: {costs}, {chosen}"
