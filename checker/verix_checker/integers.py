"""Operators of ONNX on integers and lists of them: shapes, as exporters compute with them."""

from collections.abc import Callable
from typing import Any

from verix_checker.shapes import numbers, require

SAFE = 2**31  # neither int32 nor int64 is left
INT32, INT64 = 6, 7


def each(x: Any, y: Any, combined: Callable[[int, int], int]) -> Any:
    """Return integers, or two lists of them, combined; a list of one is repeated."""
    if isinstance(x, int) and isinstance(y, int):
        return each([x], [y], combined)[0]
    a, b = ([n] if isinstance(n, int) else n for n in (x, y))
    longest = max(len(a), len(b))
    a, b = (n * longest if len(n) == 1 else n for n in (a, b))
    found = [combined(p, q) for p, q in zip(a, b, strict=True)]
    require(all(-SAFE <= n < SAFE for n in found), "integers that are too large")
    return found


def cast(node: Any, x: Any) -> Any:
    """Return integers as they are; as other numbers they would be divided in another way."""
    kept = all(-SAFE <= n < SAFE for n in (x if isinstance(x, list) else [x]))
    whole = node.at["to"] == INT64 or (node.at["to"] == INT32 and kept)
    require(whole, "a Cast of integers to other numbers")
    return x


def joined(node: Any, *parts: Any) -> list[int]:
    """Return lists one after the other."""
    require(node.at["axis"] in (0, -1), "a Concat of lists")
    return [n for part in parts for n in numbers(part)]


def gathered(node: Any, x: Any, at: Any) -> Any:
    """Return the integers with these indices; negative ones count from the end."""
    require(node.at["axis"] in (0, -1), "a Gather from a list")
    return [numbers(x)[i] for i in at] if isinstance(at, list) else numbers(x)[at]


def sliced(node: Any, x: Any, start: Any, end: Any, axes: Any = None, by: Any = None) -> list[int]:
    """Return a slice of a list, with a positive step."""
    (first,), (last,), (step,) = start, end, by or (1,)
    require(axes in (None, [0], [-1]) and step > 0, "a Slice of a list")
    return numbers(x)[first:last:step]


def unsqueezed(node: Any, x: Any, axes: Any = None) -> list[int]:
    """Return an integer as a list."""
    axes = node.at.get("axes") if axes is None else axes
    require(isinstance(x, int) and axes in ([0], [-1]), "an Unsqueeze of a list")
    return [x]


LISTS: Any = {  # quotients are rounded towards zero
    "Add": lambda node, x, y: each(x, y, lambda a, b: a + b),
    "Sub": lambda node, x, y: each(x, y, lambda a, b: a - b),
    "Mul": lambda node, x, y: each(x, y, lambda a, b: a * b),
    "Div": lambda node, x, y: each(x, y, lambda a, b: abs(a) // abs(b) * (1 if a * b > 0 else -1)),
    "Cast": cast,
    "Concat": joined,
    "Gather": gathered,
    "Identity": lambda node, x: x,
    "Slice": sliced,
    "Unsqueeze": unsqueezed,
}


def run_lists(node: Any, *given: Any) -> Any:
    """Return the integers that an operator makes of integers."""
    require(node.kind in LISTS, f"a {node.kind} of integers")
    require(all(x is None or isinstance(x, int | list) for x in given), "integers beside numbers")
    return LISTS[node.kind](node, *given)
