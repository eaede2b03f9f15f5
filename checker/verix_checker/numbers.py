"""Certificates as JSON has them, and their numbers: exact, and none larger than it looks.

A text of ten characters can stand for a number that fills the memory, and JSON may nest without
end, or name a key twice. So files, numbers, exponents and nesting have limits, also where numbers
are texts, and whatever leaves a doubt about what is meant is refused.
"""

import json
import re
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from verix_checker.shapes import require

NETWORK = 2**31  # bytes that protobuf takes
BYTES, DEPTH, DIGITS = 2**28, 500, 4000  # of a file, of its lists and objects, of a number
NUMBER = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*|(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?)")


def exact(given: Any) -> Any:
    """Return a number exactly, from a finite number or from a text such as "3/8"."""
    if not isinstance(given, str):
        if type(given) not in (int, float, Fraction) or not abs(given) < inf:
            require(False, f"{str(given)[:60]} is no number")
        return Fraction(given) if type(given) is float else given
    short = len(given) <= DIGITS
    require(short, f"the number {given[:20]}... has more than {DIGITS} characters")
    require(NUMBER.fullmatch(given), f"{given[:60]!r} is no number, or its exponent is too long")
    return Fraction(given)


def whole(text: str) -> int:
    """Return an integer of JSON."""
    require(len(text) <= DIGITS, f"the number {text[:20]}... has more than {DIGITS} characters")
    return int(text)


def place(text: str) -> int:
    """Return the number that a key names, written in one way alone."""
    require(text.isdecimal() and str(int(text[:9])) == text, f"{text[:60]!r} names nothing")
    return int(text)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; no key may come twice."""
    found = dict(pairs)
    keys = [key[:60] for key, _ in pairs if len(found) < len(pairs)]
    require(len(found) == len(pairs), f"a key of {keys[:20]} comes twice")
    return found


def no_number(name: str) -> Any:
    """Refuse NaN and infinite numbers."""
    raise ValueError(f"{name} is no number")


def parsed(text: bytes | str) -> Any:
    """Return the content of a certificate, with exact numbers."""
    require(len(text) <= BYTES, f"a certificate of more than {BYTES} bytes")
    hooks: Any = {"parse_float": exact, "parse_int": whole, "parse_constant": no_number}
    try:
        found = json.loads(text, object_pairs_hook=once, **hooks)
    except RecursionError:
        raise ValueError(f"lists and objects are nested more than {DEPTH} deep") from None
    except UnicodeDecodeError:
        raise ValueError("this is no certificate, a text in JSON: name the model first") from None
    level: list[Any] = [[found]]  # which may be a number
    depth = -1
    while level:
        require(depth <= DEPTH, f"lists and objects are nested more than {DEPTH} deep")
        inner = (part.values() if isinstance(part, dict) else part for part in level)
        level = [one for parts in inner for one in parts if isinstance(one, dict | list)]
        depth += 1
    return found


def content(path: Path, limit: int) -> bytes:
    """Return the content of a file that is not too large."""
    if path.stat().st_size > limit or not path.is_file():
        raise OSError(f"{path.name} is no file, or larger than {limit} bytes")
    return path.read_bytes()


def stored(model: Path, proof: Path) -> tuple[bytes, Any, dict[str, bytes]]:
    """Return a network, a certificate, and the files in the network's folder that hold weights."""
    given = found = parsed(content(proof, BYTES))
    for part in ("claim", "beside"):  # ``verify`` refuses what is of another type
        found = found.get(part) if isinstance(found, dict) else None
    near = {name: model.parent / name for name in (found if isinstance(found, dict) else ())}
    inside = all(not Path(name).is_absolute() and ".." not in Path(name).parts for name in near)
    require(inside, "weights in another folder")
    beside = {name: content(path, NETWORK) for name, path in near.items()}
    return content(model, NETWORK), given, beside
