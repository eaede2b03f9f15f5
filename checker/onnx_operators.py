"""Operators of ONNX that compute with forms, in exact arithmetic.

An operator gets the network that makes neurons, its attributes, from which it takes those that it
understands, and its inputs. Maxima, and functions that bend at numbers, are made of neurons:
max(p, q) = p + max(q - p, 0).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from onnx_shapes import (
    RESHAPES,
    joined,
    padded,
    require,
    reshaped,
    sizes,
    sliced,
    split,
    tensor,
    transposed,
)
from onnx_windows import resized, windows

VECTORS: Any = {  # operators on shapes, which are lists, and on integers
    "Add": lambda x, y: each(x, y, lambda a, b: a + b),
    "Sub": lambda x, y: each(x, y, lambda a, b: a - b),
    "Mul": lambda x, y: each(x, y, lambda a, b: a * b),
    "Div": lambda x, y: each(x, y, lambda a, b: abs(a) // abs(b) * (1 if a * b > 0 else -1)),
    "Cast": lambda x: x,
    "Concat": lambda *x: [n for part in x for n in part],
    "Gather": lambda x, at: [x[i] for i in at] if isinstance(at, list) else x[at],
    "Slice": lambda x, start, end, axes=0, by=(1,): x[start[0] : end[0] : by[0]],
    "Unsqueeze": lambda x, axes=0: [int(x)],
}
WINDOWS = ("Conv", "ConvTranspose", "MaxPool", "AveragePool")


def each(x: Any, y: Any, combined: Callable[[int, int], int]) -> Any:
    """Return integers, or two lists of them, combined; a list of one is repeated."""
    if isinstance(x, int) and isinstance(y, int):
        return combined(x, y)
    a, b = ([n] if isinstance(n, int) else n for n in (x, y))
    longest = max(len(a), len(b))
    a, b = (n * longest if len(n) == 1 else n for n in (a, b))
    return [combined(p, q) for p, q in zip(a, b, strict=True)]


def both(x: Any, y: Any, combined: Callable[[Any, Any], Any]) -> Any:
    """Return the entries of two tensors combined; axes of size 1 are repeated."""
    a, b = sizes(x), sizes(y)
    longest = max(len(a), len(b))
    axes = [*zip(*([1] * (longest - len(n)) + n for n in (a, b)), strict=True)]
    require(all(p == q or 1 in (p, q) for p, q in axes), "shapes do not fit")

    def entry(of: Any, own: list[int], i: Any) -> Any:
        return of[tuple(j % n for j, n in zip(i[longest - len(own) :], own, strict=True))]

    spots = product(*(range(max(p, q)) for p, q in axes))
    return {i: combined(entry(x, a, i), entry(y, b, i)) for i in spots}


def least(net: Any, *parts: Any) -> Any:
    """Return the form of a minimum."""
    minus = (-part if isinstance(part, int) else net.total((-net.one, part)) for part in parts)
    return net.total((-net.one, net.greatest(*minus)))


def sloped(net: Any, z: Any, slope: int) -> Any:
    """Return z where it is positive, and a slope times z elsewhere."""
    return net.total((slope, z), (net.one - slope, net.neuron(z)))


PAIRS: Any = {  # operators on entries of two tensors
    "Add": lambda net, a, b: net.total((net.one, a), (net.one, b)),
    "Sub": lambda net, a, b: net.total((net.one, a), (-net.one, b)),
    "Mul": lambda net, a, b: net.total((a, b)),
    "Div": lambda net, a, b: net.total((net.number(Fraction(net.one, b)), a)),
    "Max": lambda net, a, b: net.greatest(a, b),
    "Min": least,
    "PRelu": sloped,
}
ENTRIES: Any = {  # operators on each entry
    "Relu": lambda net, alpha, z: net.neuron(z),
    "LeakyRelu": lambda net, alpha, z: sloped(net, z, alpha),
    "Abs": lambda net, alpha, z: sloped(net, z, -net.one),
    "Neg": lambda net, alpha, z: net.total((-net.one, z)),
}


REDUCED: Any = {  # operators along axes
    "ReduceSum": lambda net, *parts: net.total(*((net.one, part) for part in parts)),
    "ReduceMean": lambda net, *parts: net.mean(*parts),
    "GlobalAveragePool": lambda net, *parts: net.mean(*parts),
    "ReduceMax": lambda net, *parts: net.greatest(*parts),
    "GlobalMaxPool": lambda net, *parts: net.greatest(*parts),
    "ReduceMin": least,
}


def clip(net: Any, given: Any, x: Any, *ends: Any) -> Any:
    """Return entries between two ends, which are inputs or attributes."""
    old = [given.pop(name, None) for name in ("min", "max")]
    new = [end and end[()] for end in (*ends, None, None)][:2]
    pairs = zip(new, old, strict=True)
    low, high = (net.number(b) if a is None and b is not None else a for a, b in pairs)
    require(low is None or high is None or low <= high, "the ends of a Clip")
    x = x if low is None else {i: net.greatest(low, z) for i, z in x.items()}
    return x if high is None else {i: least(net, high, z) for i, z in x.items()}


def reduced(net: Any, kind: str, given: Any, x: Any, axes: Any = None) -> Any:
    """Return sums, means or extremes along axes."""
    count, whole = len(sizes(x)), kind.startswith("Global")
    axes = range(2, count) if whole else given.pop("axes", axes) or range(count)
    require(not given.pop("noop_with_empty_axes", 0), "no axes")
    gone, kept = {axis % count for axis in axes}, whole or given.pop("keepdims", 1)
    groups: Any = {}
    for i, entry in x.items():
        at = (0 if axis in gone else j for axis, j in enumerate(i) if kept or axis not in gone)
        groups.setdefault(tuple(at), []).append(entry)
    return {i: REDUCED[kind](net, *group) for i, group in groups.items()}


def matmul(net: Any, given: Any, x: Any, y: Any, *bias: Any) -> Any:
    """Return products of matrices, and a sum with a bias."""
    y = {i[::-1]: w for i, w in y.items()} if given.pop("transB", 0) else y
    plain = given.pop("alpha", 1) == given.pop("beta", 1) == 1 and not given.pop("transA", 0)
    require(plain, "Gemm with a factor or a transposed input")
    (n, m), shape = (1 + max(i[axis] for i in y) for axis in (0, 1)), sizes(x)
    require(n == shape[-1] and len(y) == n * m, "shapes do not fit")
    spots = product(*map(range, [*shape[:-1], m]))
    z = {i: net.total(*((y[k, i[-1]], x[(*i[:-1], k)]) for k in range(n))) for i in spots}
    return both(z, bias[0], lambda a, b: PAIRS["Add"](net, a, b)) if bias else z


def scaler(net: Any, given: Any, x: Any) -> Any:
    """Return (x - offset) times a scale, by one number or one for each feature."""
    offset, scale = (
        tensor([len(n)], map(net.number, n)) for n in map(given.pop, ("offset", "scale"))
    )
    moved = both(x, offset, lambda a, b: PAIRS["Sub"](net, a, b))
    return both(moved, scale, lambda a, b: PAIRS["Mul"](net, a, b))


def run(net: Any, kind: str, given: Any, outputs: int, x: Any, *more: Any) -> list[Any]:
    """Return the results of an operator; attributes that it understands leave ``given``."""
    if isinstance(x, list | int):
        given.clear()  # there is one axis
        return [VECTORS[kind](x, *more)]
    if kind in PAIRS:
        for y in more:
            x = both(x, y, partial(PAIRS[kind], net))
    elif kind in ENTRIES:
        alpha = net.number(given.pop("alpha", 0))
        x = {i: ENTRIES[kind](net, alpha, z) for i, z in x.items()}
    elif kind in REDUCED:
        x = reduced(net, kind, given, x, *more)
    elif kind in RESHAPES:
        x = reshaped(kind, given, x, *more)
    elif kind in WINDOWS:
        x = windows(net, kind, given, x, *more)
    elif kind in ("MatMul", "Gemm"):
        x = matmul(net, given, x, *more)
    elif kind == "Clip":
        x = clip(net, given, x, *more)
    elif kind == "Scaler":
        x = scaler(net, given, x)
    elif kind == "Transpose":
        x = transposed(given, x)
    elif kind == "Concat":
        x = joined(given, x, *more)
    elif kind == "Resize":
        x = resized(net, given, x, *more)
    elif kind == "Pad":
        x = padded(given, x, *more)
    elif kind == "Gather":
        x = sliced(x, given.pop("axis", 0) % len(sizes(x)), more[0])
    elif kind == "Slice":
        starts, ends, *rest = more
        axes = rest[0] if rest else range(len(starts))
        steps = rest[1] if rest[1:] else [1] * len(starts)
        for start, end, axis, by in zip(starts, ends, axes, steps, strict=True):
            n = sizes(x)[axis]
            x = sliced(x, axis % len(sizes(x)), range(*slice(start, end, by).indices(n)))
    elif kind == "Split":
        return split(given, outputs, x, *more)
    else:
        plain = kind in ("Identity", "Shape") or (kind == "Cast" and given.pop("to") in (1, 11))
        require(plain, f"the operator {kind} is not known")
    return [sizes(x) if kind == "Shape" else x]
