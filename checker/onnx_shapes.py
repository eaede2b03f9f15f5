"""Tensors of forms, and operators of ONNX that move their entries.

A tensor is a dictionary of indices, in order, with numbers or forms (onnx_neurons.py). An operator
gets its attributes, from which it takes those that it understands, and its inputs.
"""

from itertools import pairwise, product
from math import prod
from typing import Any

RESHAPES = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")


def require(condition: object, failed: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise ValueError(failed)


def sizes(x: Any) -> list[int]:
    """Return the shape of a tensor, which is a dictionary of its indices in order."""
    return [n + 1 for n in next(reversed(x))]


def tensor(shape: Any, entries: Any) -> Any:
    """Return the tensor with these entries in order."""
    return dict(zip(product(*map(range, shape)), entries, strict=True))


def ordered(entries: Any) -> Any:
    """Return a tensor whose indices came in any order."""
    return {i: entries[i] for i in sorted(entries)}


def reshaped(kind: str, given: Any, x: Any, *to: Any) -> Any:
    """Return the same entries in another shape."""
    shape, new = sizes(x), list[int]()
    if kind == "Flatten":
        axis = given.pop("axis", 1)
        new = [prod(shape[:axis]), prod(shape[axis:])]
    elif kind == "Reshape":
        require(not given.pop("allowzero", 0) or 0 not in to[0], "a size of zero")
        new = [n or shape[i] for i, n in enumerate(to[0])]
    else:
        ones = [axis for axis, n in enumerate(shape) if n == 1]
        axes = given.pop("axes", None) or (to[0] if to else ones)
        count = len(shape) + len(axes) * (kind == "Unsqueeze")
        named, rest = {axis % count for axis in axes}, iter(shape)
        if kind == "Unsqueeze":
            new = [1 if axis in named else next(rest) for axis in range(count)]
        else:
            require(named <= {*ones}, "Squeeze of an axis that is not 1")
            new = [n for axis, n in enumerate(shape) if axis not in named]
    return tensor([n if n > 0 else -len(x) // prod(new) for n in new], x.values())


def transposed(given: Any, x: Any) -> Any:
    """Return a tensor with its axes in another order."""
    order = given.pop("perm", [*range(len(sizes(x)))][::-1])
    return ordered({tuple(i[axis] for axis in order): entry for i, entry in x.items()})


def joined(given: Any, *parts: Any) -> Any:
    """Return tensors one after the other along an axis."""
    result: Any = {}
    start, axis = 0, given.pop("axis") % len(sizes(parts[0]))
    for part in parts:
        result |= {(*i[:axis], start + i[axis], *i[axis + 1 :]): z for i, z in part.items()}
        start += sizes(part)[axis]
    return ordered(result)


def sliced(x: Any, axis: int, chosen: Any) -> Any:
    """Return the entries with the chosen indices along an axis, in their order."""
    place = {j: new for new, j in enumerate(chosen)}
    inside = ((i, z) for i, z in x.items() if i[axis] in place)
    return ordered({(*i[:axis], place[i[axis]], *i[axis + 1 :]): z for i, z in inside})


def padded(given: Any, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
    """Return a tensor with zeros around it."""
    require(given.pop("mode", b"constant") == b"constant" and axes is None, "Pad of this kind")
    require(value is None or not any(value.values()), "Pad with a number")
    shape = sizes(x)
    ends = [n + pads[k] + pads[k + len(shape)] for k, n in enumerate(shape)]
    spots = product(*map(range, ends))
    return {i: x.get(tuple(j - p for j, p in zip(i, pads, strict=False)), 0) for i in spots}


def split(given: Any, outputs: int, x: Any, parts: Any = None) -> list[Any]:
    """Return the parts of a tensor along an axis."""
    axis = given.pop("axis", 0) % len(sizes(x))
    n = sizes(x)[axis]
    even = [-(-n // outputs)] * (outputs - 1)
    parts = parts or given.pop("split", [*even, n - sum(even)])
    require(given.pop("num_outputs", outputs) == outputs == len(parts) and sum(parts) == n, "Split")
    ends = [sum(parts[:k]) for k in range(outputs + 1)]
    return [sliced(x, axis, range(a, b)) for a, b in pairwise(ends)]
