"""Convolutions and pools of ONNX on tensors of forms, in exact arithmetic (onnx_operators.py)."""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from onnx_shapes import require, sizes

Axis = tuple[int, int, int, int, int, int]  # size, pads at both ends, dilation, kernel, stride


def windows(net: Any, kind: str, given: Any, x: Any, *more: Any) -> Any:
    """Return a convolution of ``x``, or the maxima or means of its windows."""
    batch, channels, *size = sizes(x)
    kernel = given.pop("kernel_shape", None) or sizes(more[0])[2:]
    by, gap = (given.pop(name, [1] * len(size)) for name in ("strides", "dilations"))
    groups = given.pop("group", 1)
    pads = padding(given, size, kernel, by, gap)
    other = given.pop("ceil_mode", 0) or given.pop("storage_order", 0)
    require(batch == 1 and not other, f"{kind} of this kind")
    ends = pads[: len(size)], pads[len(size) :]
    axes: list[Axis] = [*zip(size, *ends, gap, kernel, by, strict=True)]
    if kind == "ConvTranspose":
        return spread(net, given, axes, groups, x, *more)
    shape = [(n + p + q - g * (k - 1) - 1) // b + 1 for n, p, q, g, k, b in axes]

    def place(at: Any, offset: Any) -> Any:  # entries in the padding are not in ``x``
        return (i * a[5] + j * a[3] - a[1] for i, j, a in zip(at, offset, axes, strict=True))

    result: Any = {}
    if kind != "Conv":
        padded = given.pop("count_include_pad", 0)
        for c, *at in product(range(channels), *map(range, shape)):
            spots = [(0, c, *place(at, k)) for k in product(*map(range, kernel))]
            inside = [x[i] for i in spots if i in x]
            inside += [0] * (prod(kernel) - len(inside)) if padded else []
            result[0, c, *at] = (net.greatest if kind == "MaxPool" else net.mean)(*inside)
        return result
    filters, depth, *window = sizes(more[0])
    require(depth * groups == channels and window == kernel, "shapes")
    for m, *at in product(range(filters), *map(range, shape)):
        first = m * groups // filters * depth
        weights = product([m], range(depth), *map(range, kernel))
        reads = ((w, (0, first + w[1], *place(at, w[2:]))) for w in weights)
        terms = [(more[0][w], x[i]) for w, i in reads if i in x]
        result[0, m, *at] = net.total(*terms, *((net.one, bias[m,]) for bias in more[1:]))
    return result


def padding(given: Any, size: Any, kernel: Any, by: Any, gap: Any) -> list[int]:
    """Return the pads before and after each axis."""
    way = given.pop("auto_pad", b"NOTSET")
    pads = given.pop("pads", [0] * 2 * len(size))
    if way not in (b"SAME_UPPER", b"SAME_LOWER"):
        require(way in (b"NOTSET", b"VALID"), "padding of this kind")
        return list(pads)
    axes = zip(size, kernel, by, gap, strict=True)
    both = [max(0, (-(-n // b) - 1) * b + g * (k - 1) + 1 - n) for n, k, b, g in axes]
    less, more = [n // 2 for n in both], [n - n // 2 for n in both]
    return less + more if way == b"SAME_UPPER" else more + less


def spread(net: Any, given: Any, axes: list[Axis], groups: int, x: Any, *more: Any) -> Any:
    """Return a transposed convolution: each entry is added to the window that it makes."""
    extra = given.pop("output_padding", [0] * len(axes))
    depth, filters, *kernel = sizes(more[0])
    require(sizes(x)[1] == depth, "shapes")
    shape = [
        (n - 1) * b + g * (k - 1) + 1 + e - p - q
        for (n, p, q, g, k, b), e in zip(axes, extra, strict=True)
    ]
    spots = product([0], range(filters * groups), *map(range, shape))
    terms: Any = {i: [(net.one, bias[i[1],]) for bias in more[1:]] for i in spots}
    for (_, c, *at), z in x.items():
        first = c * groups // depth * filters
        for w in product([c], range(filters), *map(range, kernel)):
            to = (i * a[5] + j * a[3] - a[1] for i, j, a in zip(at, w[2:], axes, strict=True))
            spot = (0, first + w[1], *to)
            if spot in terms:
                terms[spot].append((more[0][w], z))
    return {i: net.total(*pairs) for i, pairs in terms.items()}


def resized(net: Any, given: Any, x: Any, _: Any = None, scales: Any = None, to: Any = None) -> Any:
    """Return a tensor whose entries are repeated: the nearest ones, by whole factors."""
    way = given.pop("coordinate_transformation_mode", b"half_pixel")
    nearest = given.pop("nearest_mode", b"round_prefer_floor")
    known = ((b"half_pixel", b"round_prefer_floor"), (b"asymmetric", b"floor"))
    plain = given.pop("mode", b"nearest") == b"nearest" and (way, nearest) in known
    plain &= given.pop("keep_aspect_ratio_policy", b"stretch") == b"stretch"
    for unused in ("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value"):
        given.pop(unused, None)  # they are for other modes
    own = sizes(x)
    factors = [Fraction(k, net.one) for k in scales.values()] if scales else []
    factors = factors or [Fraction(n, m) for n, m in zip(to, own, strict=True)]
    require(plain and all(k.denominator == 1 and k >= 1 for k in factors), "Resize of this kind")
    spots = product(*(range(int(k) * n) for k, n in zip(factors, own, strict=True)))
    return {i: x[tuple(j // int(k) for j, k in zip(i, factors, strict=True))] for i in spots}
