"""The claim of a certificate in words: all of it, for whoever asked a question to compare."""

import hashlib
import struct
from collections.abc import Iterator
from typing import Any

from verix_checker.shapes import require


def said(part: Any) -> str:
    """Return an exact number, null for none, or a list of these as a text."""
    if isinstance(part, list):
        return f"[{', '.join(map(said, part))}]"
    return "unlimited" if part is None else str(part)


def row(part: Any) -> str:
    """Return a row of a rule as a text."""
    terms = (f"{said(k)} x{i}" for i, k in part["factors"].items())
    return f"{' + '.join(terms)} {'<' if part.get('strict') else '<='} {said(part['limit'])}"


def input_digest(numbers: Any, real: str) -> str:
    """Return the SHA-256 of the bytes of an input, little-endian, in the type of its model."""
    kind = f"<{len(numbers)}{real}"
    found = struct.pack(kind, *map(float, numbers))
    require([*struct.unpack(kind, found)] == numbers, "the model's type has no such input")
    return hashlib.sha256(found).hexdigest()


def kept(stated: Any, net: Any) -> str:
    """Return what stays, according to a claim."""
    chosen = stated.get("class")
    if chosen is None:
        return f"outputs {said(stated['outputs'])} change by at most {said(stated['delta'])}"
    if len(net.forms) == 1:
        tied = net.ties == ("upper" if chosen else "lower")
        ends = ("at most", "at least") if tied else ("below", "above")
        limit = "1/2" if net.ordered else "zero"  # a Sigmoid is 1/2 where its score is zero
        return f"class {chosen}, the only score is {ends[chosen]} {limit}"
    rivals, equal = stated.get("against"), ", or equal to those of later ones" if net.ties else ""
    others = "all others" if rivals is None else f"the classes {said(sorted(rivals))} alone"
    return f"class {chosen}, its score is above those of {others}{equal}"


TIES = {
    None: "equal scores neither keep a class nor change it",
    "first": "of equal scores the first one wins",
    "lower": "a score of zero is class 0",
    "upper": "a score of zero is class 1",
}


def words(stated: Any, net: Any, text: str) -> Iterator[str]:
    """Yield the lines that say a claim; the last of them is the ``text`` on the model."""
    yield f"{'trees' if 'source' in stated else 'network'}: SHA-256 {stated['sha256']}"
    if "source" in stated:
        yield f"made from a model with SHA-256 {stated['source']!a}, not read here"
    for name, found in stated.get("beside", {}).items():
        yield f"weights in {name!a}: SHA-256 {found}"
    yield f"{net.size} inputs, {net.parts}"
    yield f"input: SHA-256 {input_digest(stated['input'], net.real)}"
    yield f"kept: {kept(stated, net)}"
    if "class" in stated:
        yield f"ties: {TIES[net.ties]}"
    yield f"ball: norm {stated['norm']}, epsilon {said(stated['epsilon'])}"
    low, high = stated["domain"]
    yield f"domain: {said(low)} to {said(high)}"
    if stated.get("whole"):
        yield f"whole numbers: inputs {said(stated['whole'])}"
    for block in stated.get("blocks", ()):
        yield f"one-hot block: inputs {said(block)}"
    for rule in stated.get("rules", ()):
        yield f"rule: {' or '.join(map(row, rule)) or 'never'}"
    groups, free = stated["features"], {*stated["irrelevant"]}
    single = all(group == [i] for i, group in enumerate(groups))
    yield f"features: {len(groups)}, {'one for each input' if single else said(groups)}"
    fixed = [feature for feature in range(len(groups)) if feature not in free]
    others = "the other one is" if len(free) == 1 else f"the other {len(free)} are"
    yield f"fixed features: {said(fixed)}; {others} free"
    yield text


def bound_words(stated: Any, way: str) -> str:
    """Return the claim of a lower bound in words, and the ``way`` in which it is proven."""
    costs = said(stated["costs"]) if "costs" in stated else "1 each"
    chosen = f"must: {said(stated.get('must', []))}, must_not: {said(stated.get('must_not', []))}"
    return f"no explanation costs less than {stated['bound']}: {way}; costs: {costs}, {chosen}"
