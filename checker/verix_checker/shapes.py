"""Tensors of forms, and operators of ONNX that move their entries.

A tensor is a dictionary of indices, in order, with numbers or forms (neurons.py). An operator
gets its node, with all attributes (signatures.py), and its inputs.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod
from typing import Any

MOST = 10**7  # entries of a tensor


def require(condition: object, failed: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise ValueError(failed)


def sizes(x: Any) -> list[int]:
    """Return the shape of a tensor, which is a dictionary of its indices in order."""
    require(isinstance(x, dict) and x, "no tensor of numbers")
    return [n + 1 for n in next(reversed(x))]


def grid(shape: Any) -> Iterator[tuple[int, ...]]:
    """Return the indices of a tensor in order; refuse a tensor of more than ``MOST`` entries."""
    require(prod(shape) <= MOST, f"a tensor of shape {shape}, beyond {MOST} entries")
    return product(*map(range, shape))


def tensor(shape: Any, entries: Any) -> Any:
    """Return the tensor with these entries in order."""
    return dict(zip(grid(shape), entries, strict=True))


def numbers(x: Any, count: int | None = None) -> list[int]:
    """Return a list of integers, of which there are ``count`` if that is given."""
    require(isinstance(x, list) and count in (None, len(x)), "no list of integers that fits")
    return list(x)


def axis_of(axis: Any, count: int) -> int:
    """Return an axis counted from the first one, of ``count``."""
    require(type(axis) is int and -count <= axis < count, f"axis {axis} of {count}")
    return int(axis % count)


def axes_of(axes: Any, count: int) -> list[int]:
    """Return different axes, at least one, counted from the first one."""
    found = [axis_of(axis, count) for axis in numbers(axes)]
    require(found and len({*found}) == len(found), f"axes {axes}")
    return found


def taken(x: Any, axis: int, chosen: Any) -> Any:
    """Return the entries with the chosen indices along an axis, in their order, repeated or not."""
    shape = sizes(x)
    n = shape[axis]
    require(all(-n <= j < n for j in chosen), f"an index beyond {n}")
    shape[axis] = len(chosen)
    spots = grid(shape)
    return {i: x[(*i[:axis], chosen[i[axis]] % n, *i[axis + 1 :])] for i in spots}


def flattened(node: Any, x: Any) -> Any:
    """Return a matrix, rows from the axes before one, columns from the others."""
    shape, axis = sizes(x), node.at["axis"]
    require(-len(shape) <= axis <= len(shape), "an axis of Flatten")
    return tensor([prod(shape[:axis]), prod(shape[axis:])], x.values())


def reshaped(node: Any, x: Any, to: Any) -> Any:
    """Return the same entries in another shape: 0 keeps a size, -1 is what is left."""
    shape, new = sizes(x), numbers(to)
    kept = [i for i, n in enumerate(new) if n == 0]
    require(not kept or (max(kept) < len(shape) and not node.at.get("allowzero")), "a size of 0")
    new = [n or shape[i] for i, n in enumerate(new)]
    left = [n for n in new if n != -1]
    require(len(new) - len(left) < 2 and min(left, default=1) > 0, f"Reshape to {to}")
    rest, over = divmod(len(x), prod(left))
    require(over == 0, f"Reshape to {to}")
    return tensor([rest if n == -1 else n for n in new], x.values())


def squeezed(node: Any, x: Any, axes: Any = None) -> Any:
    """Return a tensor without axes of size 1: all of them if none are named."""
    shape = sizes(x)
    axes = node.at.get("axes") if axes is None else axes
    ones = [axis for axis, n in enumerate(shape) if n == 1]
    gone = ones if axes is None else axes_of(axes, len(shape))
    require({*gone} <= {*ones}, "Squeeze of an axis that is not 1")
    return tensor([n for axis, n in enumerate(shape) if axis not in gone], x.values())


def unsqueezed(node: Any, x: Any, axes: Any = None) -> Any:
    """Return a tensor with more axes of size 1, counted in the result."""
    axes = node.at.get("axes") if axes is None else axes
    count = len(sizes(x)) + len(numbers(axes))
    new, rest = axes_of(axes, count), iter(sizes(x))
    return tensor([1 if axis in new else next(rest) for axis in range(count)], x.values())


def transposed(node: Any, x: Any) -> Any:
    """Return a tensor with its axes in another order, the reverse one if none is named."""
    shape = sizes(x)
    count = len(shape)
    order = node.at["perm"] or [*range(count)][::-1]
    require(sorted(order) == [*range(count)], f"Transpose by {order}")
    back = [order.index(axis) for axis in range(count)]
    spots = grid([shape[axis] for axis in order])
    return {i: x[tuple(i[axis] for axis in back)] for i in spots}


def joined(node: Any, *parts: Any) -> Any:
    """Return tensors one after the other along an axis."""
    first = sizes(parts[0])
    axis = axis_of(node.at["axis"], len(first))
    found: Any = {}
    start = 0
    for part in parts:
        shape = sizes(part)
        fits = len(shape) == len(first) and all(
            n == m for k, (n, m) in enumerate(zip(shape, first, strict=True)) if k != axis
        )
        require(fits, "shapes do not fit")
        found |= {(*i[:axis], start + i[axis], *i[axis + 1 :]): z for i, z in part.items()}
        start += shape[axis]
    return {i: found[i] for i in sorted(found)}


def gathered(node: Any, x: Any, chosen: Any) -> Any:
    """Return the entries at indices along an axis, which one index alone removes."""
    axis = axis_of(node.at["axis"], len(sizes(x)))
    found = taken(x, axis, [chosen] if type(chosen) is int else numbers(chosen))
    if type(chosen) is not int:
        return found
    return {(*i[:axis], *i[axis + 1 :]): z for i, z in found.items()}


def sliced(node: Any, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """Return every so many entries from starts to before ends."""
    count, shape = len(numbers(starts)), sizes(x)
    axes = axes_of([*range(count)] if axes is None else axes, len(shape))
    steps = [1] * count if steps is None else numbers(steps, count)
    for start, end, axis, by in zip(starts, numbers(ends, count), axes, steps, strict=True):
        n = shape[axis]
        require(by, "a step of zero")
        first, last = (k + n if k < 0 else k for k in (start, end))
        # both are moved into the tensor; going back, the end may be one before it
        first = min(max(first, 0), n if by > 0 else n - 1)
        last = min(max(last, 0 if by > 0 else -1), n if by > 0 else n - 1)
        x = taken(x, axis, range(first, last, by))
    return x


def padded(node: Any, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
    """Return a tensor with zeros around it, or cut where pads are negative."""
    shape = sizes(x)
    pads = numbers(pads, 2 * len(shape))
    require(axes is None and (value is None or len(value) == 1), "Pad of some axes")
    require(value is None or not any(value.values()), "Pad with a number")
    ends = [n + pads[k] + pads[k + len(shape)] for k, n in enumerate(shape)]
    spots = grid(ends)
    return {i: x.get(tuple(j - p for j, p in zip(i, pads, strict=False)), 0) for i in spots}


def split(node: Any, x: Any, parts: Any = None) -> list[Any]:
    """Return the parts of a tensor along an axis: as named, or equal, but for the last one."""
    axis, count = axis_of(node.at["axis"], len(sizes(x))), node.outputs
    n = sizes(x)[axis]
    parts = node.at.get("split") if parts is None else parts
    if parts is None:
        largest = -(-n // count)
        parts = [largest] * (count - 1) + [n - largest * (count - 1)]
        # only since version 18 the parts may differ
        require(node.at.get("num_outputs", count) == count, "Split into other parts")
        require(n % count == 0 or node.version >= 18, "Split into parts that differ")
    require(node.at.get("num_outputs") in (None, count), "Split into other parts")
    parts = numbers(parts, count)
    require(sum(parts) == n and min(parts) > 0, f"Split into {parts}")
    ends = [sum(parts[:k]) for k in range(count + 1)]
    return [taken(x, axis, range(a, b)) for a, b in pairwise(ends)]
