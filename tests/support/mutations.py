"""Random changes of the data of a JSON file, as a hand, a bug or an attacker makes them."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 2**31, 2**63, -(10**400), 10**400, 1e308, -0.5, 1.5),
    *("", "3", "nan", "inf", "x" * 300, "\x00", "<b>", "2" * 5000, [], {}, [[]], [None]),
    *([0], [0, 0], [-1], [10**9], [1.5], ["a"], [[0, 1], [2]], {"a": 1}, {"sha256": 3}, {"1": []}),
)


def mutated(
    data: Any, rng: np.random.Generator, most: int = 2, without: tuple[str, ...] = ()
) -> Any:
    """Return ``data`` with one change, or a few up to ``most``; fields ``without`` stay."""
    found = copy.deepcopy(data)
    for _ in range(int(rng.integers(1, most + 1))):
        places = list(_places(found, without))
        holder, key = places[int(rng.integers(len(places)))]
        way = rng.random()
        if way < 0.15:
            del holder[key]
        elif way < 0.3 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif way < 0.45:
            other, name = places[int(rng.integers(len(places)))]
            holder[key] = copy.deepcopy(other[name]) if _has(other, name) else None
        else:
            holder[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
    return found


def _places(data: Any, without: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield each container with each key in it, the first few of long lists."""
    if isinstance(data, dict):
        keys: list[Any] = [key for key in data if key not in without]
    elif isinstance(data, list):
        keys = list(range(min(len(data), 4)))
    else:
        return
    for key in keys:
        yield data, key
        yield from _places(data[key], without)


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)
