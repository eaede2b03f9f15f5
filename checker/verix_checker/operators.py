"""Operators of ONNX that compute with forms, in exact arithmetic.

An operator gets the network that makes neurons, its node with all attributes, and its inputs.
Maxima, and functions that bend at numbers, are made of neurons: max(p, q) = p + max(q - p, 0).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

from verix_checker import shapes
from verix_checker.integers import run_lists
from verix_checker.shapes import axes_of, grid, require, sizes, tensor
from verix_checker.windows import convolved, pooled, resized, spread

FLOAT, DOUBLE = 1, 11


def both(x: Any, y: Any, combined: Callable[[Any, Any], Any]) -> Any:
    """Combine two tensors entry by entry; axes of size 1 are repeated."""
    a, b = sizes(x), sizes(y)
    longest = max(len(a), len(b))
    axes = [*zip(*([1] * (longest - len(n)) + n for n in (a, b)), strict=True)]
    require(all(p == q or 1 in (p, q) for p, q in axes), "shapes do not fit")

    def entry(of: Any, own: list[int], i: Any) -> Any:
        return of[tuple(j % n for j, n in zip(i[longest - len(own) :], own, strict=True))]

    spots = grid([max(p, q) for p, q in axes])
    return {i: combined(entry(x, a, i), entry(y, b, i)) for i in spots}


def fitted(x: Any, y: Any, combined: Callable[[Any, Any], Any]) -> Any:
    """Return ``x`` with the entries of ``y`` combined, which is repeated to the shape of ``x``."""
    result = both(x, y, combined)
    require(sizes(result) == sizes(x), "shapes do not fit")
    return result


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
}
ENTRIES: Any = {  # operators on each entry
    "Relu": lambda net, node, z: net.neuron(z),
    "LeakyRelu": lambda net, node, z: sloped(net, z, net.number(node.at["alpha"])),
    "Abs": lambda net, node, z: sloped(net, z, -net.one),
    "Neg": lambda net, node, z: net.total((-net.one, z)),
    "Identity": lambda net, node, z: z,
}
REDUCED: Any = {  # operators along axes
    "ReduceSum": lambda net, *parts: net.total(*((net.one, part) for part in parts)),
    "ReduceMean": lambda net, *parts: net.mean(*parts),
    "GlobalAveragePool": lambda net, *parts: net.mean(*parts),
    "ReduceMax": lambda net, *parts: net.greatest(*parts),
    "GlobalMaxPool": lambda net, *parts: net.greatest(*parts),
    "ReduceMin": least,
}
OTHERS: Any = {  # operators of their own
    "Conv": convolved,
    "ConvTranspose": spread,
    "MaxPool": pooled,
    "AveragePool": pooled,
    "Resize": resized,
}
MOVES: Any = {  # operators that move entries
    "Flatten": shapes.flattened,
    "Reshape": shapes.reshaped,
    "Squeeze": shapes.squeezed,
    "Unsqueeze": shapes.unsqueezed,
    "Transpose": shapes.transposed,
    "Concat": shapes.joined,
    "Slice": shapes.sliced,
    "Gather": shapes.gathered,
    "Pad": shapes.padded,
}


def clip(net: Any, node: Any, x: Any, *ends: Any) -> Any:
    """Return entries between two ends, which are attributes or, later, inputs."""
    if "min" in node.at:
        low, high = (net.number(node.at[name]) for name in ("min", "max"))
    else:
        require(all(end is None or [*end] == [()] for end in ends), "the ends of a Clip")
        low, high = [end and end[()] for end in (*ends, None, None)][:2]
    require(all(end is None or isinstance(end, int) for end in (low, high)), "the ends of a Clip")
    require(low is None or high is None or low <= high, "the ends of a Clip")
    x = x if low is None else {i: net.greatest(low, z) for i, z in x.items()}
    return x if high is None else {i: least(net, high, z) for i, z in x.items()}


def reduced(net: Any, node: Any, x: Any, axes: Any = None) -> Any:
    """Return sums, means or extremes along axes, all of them if none are named."""
    count, whole = len(sizes(x)), node.kind.startswith("Global")
    axes = node.at.get("axes") if axes is None else axes
    require(not whole or count > 2, "no axes to pool")
    gone = {*range(2 if whole else 0, count)} if axes in (None, []) else {*axes_of(axes, count)}
    kept, groups = node.at.get("keepdims", 1), dict[Any, Any]()
    for i, entry in x.items():
        at = (0 if axis in gone else j for axis, j in enumerate(i) if kept or axis not in gone)
        groups.setdefault(tuple(at), []).append(entry)
    return {i: REDUCED[node.kind](net, *group) for i, group in groups.items()}


def matmul(net: Any, node: Any, x: Any, y: Any, bias: Any = None) -> Any:
    """Return products with a matrix, and a sum with a bias."""
    require(len(sizes(y)) == 2 and (len(sizes(x)) == 2 or node.kind == "MatMul"), "no matrix")
    y = {(j, i): w for (i, j), w in y.items()} if node.at.get("transB") else y
    (n, m), shape = (1 + max(i[axis] for i in y) for axis in (0, 1)), sizes(x)
    require(shape and n == shape[-1], "shapes do not fit")
    spots = grid([*shape[:-1], m])
    z = {i: net.total(*((y[k, i[-1]], x[(*i[:-1], k)]) for k in range(n))) for i in spots}
    return z if bias is None else fitted(z, bias, partial(PAIRS["Add"], net))


def scaler(net: Any, node: Any, x: Any) -> Any:
    """Return (x - offset) times a scale, by one number or one for each feature."""
    ends = (node.at["offset"], node.at["scale"])
    require(len(sizes(x)) < 3, "Scaler of this kind")
    offset, scale = (tensor([len(n)], map(net.number, n)) for n in ends)
    moved = fitted(x, offset, partial(PAIRS["Sub"], net))
    return fitted(moved, scale, partial(PAIRS["Mul"], net))


def results(net: Any, node: Any, x: Any, *more: Any) -> list[Any]:
    """Return the results of an operator on tensors."""
    kind = node.kind
    if kind == "Split":
        return shapes.split(node, x, *more)
    if kind == "Shape":
        return [sizes(x)]
    if kind in ("Mul", "Div", "MatMul", "Gemm"):
        varying = [any(isinstance(z, dict) for z in y.values()) for y in (x, *more[:1])]
        require(not all(varying[:2]), f"a {kind} of two tensors that depend on the input")
        require(kind != "Div" or not varying[1], "a Div by a tensor that depends on the input")
    if kind == "Cast":  # a number that is stored would be rounded
        varies = any(isinstance(z, dict) for z in x.values())
        require(varies and node.at["to"] in (FLOAT, DOUBLE), "a Cast of this kind")
    elif kind in PAIRS:
        for y in more:
            x = both(x, y, partial(PAIRS[kind], net))
    elif kind == "PRelu":
        x = fitted(x, more[0], partial(sloped, net))
    elif kind in ENTRIES:
        x = {i: ENTRIES[kind](net, node, z) for i, z in x.items()}
    elif kind in MOVES:
        x = MOVES[kind](node, x, *more)
    else:
        own: Any = {"Clip": clip, "MatMul": matmul, "Gemm": matmul, "ai.onnx.ml.Scaler": scaler}
        own |= dict.fromkeys(REDUCED, reduced) | OTHERS
        require(kind in own, f"a {kind} inside of the network")
        x = own[kind](net, node, x, *more)
    return [x]


def run(net: Any, node: Any, x: Any, *more: Any) -> list[Any]:
    """Return the results of an operator: tensors that are whole, or integers."""
    if isinstance(x, list | int):
        return [run_lists(node, x, *more)]
    require(x is not None, f"{node.kind} of nothing")
    found = results(net, node, x, *more)
    for result in found:
        shown = isinstance(result, list) or (result and len(result) == prod(sizes(result)))
        require(shown, f"{node.kind} leaves no tensor")
    return found
