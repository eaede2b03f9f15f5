"""Convolutions and pools of ONNX on tensors of forms, in exact arithmetic (operators.py).

Automatic pads differ: those of ``Conv`` and of pools depend on the input's size, those of
``ConvTranspose`` on what its windows overlap. Where onnxruntime and the specification disagree, the
node is refused.
"""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from verix_checker.shapes import MOST, grid, numbers, require, sizes

Axis = tuple[int, int, int, int, int, int]  # size, pads at both ends, dilation, kernel, stride


def lists(node: Any, x: Any, kernel: Any) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return sizes, strides, dilations, and pads if none are automatic."""
    batch, _, *size = sizes(x)
    require(batch == 1 and size and len(kernel) == len(size), f"{node.kind} of this kind")
    by, gap = (node.at.get(name) or [1] * len(size) for name in ("strides", "dilations"))
    pads = node.at["pads"] or [0] * 2 * len(size)
    require(len(pads) == 2 * len(size) and min(pads) >= 0, f"pads {pads}")
    require(node.at["auto_pad"] == "NOTSET" or not any(pads), "pads beside auto_pad")
    require(len(by) == len(gap) == len(size), f"strides {by} and dilations {gap}")
    require(min(*by, *gap, *kernel) > 0, f"strides {by} and dilations {gap}")
    require(prod(kernel) <= MOST, f"a kernel of shape {kernel}, beyond {MOST} entries")
    return size, by, gap, pads


def halved(node: Any, both: list[int]) -> list[int]:
    """Return pads before and after each axis; an odd one is where auto_pad says."""
    less, more = [n // 2 for n in both], [n - n // 2 for n in both]
    return less + more if node.at["auto_pad"] == "SAME_UPPER" else more + less


def framed(node: Any, x: Any, kernel: Any) -> tuple[list[Axis], list[int]]:
    """Return the axes of a convolution or pool, and the shape of its result."""
    size, by, gap, pads = lists(node, x, kernel)
    if node.at["auto_pad"].startswith("SAME"):
        plain = all(g == 1 and k >= b for g, k, b in zip(gap, kernel, by, strict=True))
        require(plain or node.kind == "Conv", "automatic pads of windows that leave gaps")
        spans = zip(size, kernel, by, gap, strict=True)
        ends = [max(0, (-(-n // b) - 1) * b + g * (k - 1) + 1 - n) for n, k, b, g in spans]
        pads = halved(node, ends)
    half = len(size)
    axes: list[Axis] = [*zip(size, pads[:half], pads[half:], gap, kernel, by, strict=True)]
    shape = [(n + p + q - g * (k - 1) - 1) // b + 1 for n, p, q, g, k, b in axes]
    require(min(shape) > 0, "a window that is larger than its input")
    return axes, shape


def place(axes: list[Axis], at: Any, offset: Any) -> Any:
    """Yield where a window at one place reads; what is in the padding is not in the tensor."""
    return (i * a[5] + j * a[3] - a[1] for i, j, a in zip(at, offset, axes, strict=True))


def pooled(net: Any, node: Any, x: Any) -> Any:
    """Return the maxima or means of windows; a maximum leaves the padding out."""
    kernel = node.at["kernel_shape"]
    axes, shape = framed(node, x, kernel)
    padded, result = node.at.get("count_include_pad", 0), dict[Any, Any]()
    for c, *at in grid([sizes(x)[1], *shape]):
        spots = ((0, c, *place(axes, at, k)) for k in product(*map(range, kernel)))
        inside = [x[i] for i in spots if i in x]
        require(inside, "a window that sees nothing but padding")
        inside += [0] * (prod(kernel) - len(inside)) if padded else []
        result[0, c, *at] = (net.greatest if node.kind == "MaxPool" else net.mean)(*inside)
    return result


def convolved(net: Any, node: Any, x: Any, w: Any, bias: Any = None) -> Any:
    """Return a convolution of ``x``."""
    filters, depth, *kernel = sizes(w)
    groups = node.at["group"]
    axes, shape = framed(node, x, kernel)
    fits = groups > 0 and filters % groups == 0 and depth * groups == sizes(x)[1]
    require(fits and node.at["kernel_shape"] in (None, kernel), "shapes")
    require(bias is None or sizes(bias) == [filters], "shapes")
    result: Any = {}
    for m, *at in grid([filters, *shape]):
        first = m // (filters // groups) * depth
        weights = product([m], range(depth), *map(range, kernel))
        reads = ((v, (0, first + v[1], *place(axes, at, v[2:]))) for v in weights)
        terms = [(w[v], x[i]) for v, i in reads if i in x]
        terms += [] if bias is None else [(net.one, bias[m,])]
        result[0, m, *at] = net.total(*terms)
    return result


def spread(net: Any, node: Any, x: Any, w: Any, bias: Any = None) -> Any:
    """Return a transposed convolution: each entry is added to the window that it makes."""
    depth, each, *kernel = sizes(w)
    size, by, gap, pads = lists(node, x, kernel)
    groups, extra = node.at["group"], numbers(node.at["output_padding"] or [0] * len(size))
    filters, half = each * groups, len(size)
    fits = groups > 0 and depth % groups == 0 and depth == sizes(x)[1]
    require(fits and node.at["kernel_shape"] in (None, kernel), "shapes")
    require(bias is None or sizes(bias) == [filters], "shapes")
    spans = [*zip(size, by, gap, kernel, extra, strict=True)]
    require(all(0 <= e < max(b, g) for _, b, g, _, e in spans), f"output_padding {extra}")
    full = [(n - 1) * b + g * (k - 1) + 1 + e for n, b, g, k, e in spans]
    if node.at["auto_pad"].startswith("SAME"):  # the result is its stride times as large
        ends = [m - n * b for m, n, b in zip(full, size, by, strict=True)]
        require(min(ends) >= 0, "automatic pads of windows that leave gaps")
        pads = halved(node, ends)
    shape = [m - p - q for m, p, q in zip(full, pads[:half], pads[half:], strict=True)]
    require(min(shape) > 0, "pads that leave nothing")
    axes: list[Axis] = [*zip(size, pads[:half], pads[half:], gap, kernel, by, strict=True)]
    spots = grid([1, filters, *shape])
    terms: Any = {i: [] if bias is None else [(net.one, bias[i[1],])] for i in spots}
    for (_, c, *at), z in x.items():
        first = c // (depth // groups) * each
        for v in product([c], range(each), *map(range, kernel)):
            spot = (0, first + v[1], *place(axes, at, v[2:]))
            if spot in terms:
                terms[spot].append((w[v], z))
    return {i: net.total(*pairs) for i, pairs in terms.items()}


def resized(net: Any, node: Any, x: Any, _: Any = None, scales: Any = None, to: Any = None) -> Any:
    """Return a tensor whose entries are repeated: the nearest ones, by whole factors."""
    own, at = sizes(x), node.at
    ways = at["coordinate_transformation_mode"], at["nearest_mode"]
    known = ("half_pixel", "round_prefer_floor"), ("asymmetric", "floor")
    factors = [Fraction(k, net.one) for k in (scales or {}).values()]
    require(not (factors and to), "Resize by scales and sizes")
    factors = factors or [Fraction(n, m) for n, m in zip(numbers(to), own, strict=True)]
    plain = ways in known and len(factors) == len(own)
    require(plain and all(k.denominator == 1 and k >= 1 for k in factors), "Resize of this kind")
    spots = grid([int(k) * n for k, n in zip(factors, own, strict=True)])
    return {i: x[tuple(j // int(k) for j, k in zip(i, factors, strict=True))] for i in spots}
