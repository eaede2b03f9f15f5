"""Random uses of the operators that the checker reads: attributes, versions, shapes and inputs.

Attributes are often left out, so that defaults are used, and often have values that are refused.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.support.onnx_models import FLOAT, build, node
from tests.support.random_choices import Draw

Nodes = tuple[list[int], list[onnx.NodeProto]]


def _windows(draw: Draw, count: int, gaps: bool) -> dict[str, Any]:
    found = draw.some(strides=draw.ints(count, 1, 3))
    if gaps:
        found |= draw.some(dilations=draw.ints(count, 1, 2))
    way = draw.one("pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "none")
    if way == "pads":
        return found | {"pads": draw.ints(2 * count, 0, 2)}
    return found if way == "none" else found | {"auto_pad": way}


def conv(draw: Draw) -> Nodes:
    count, groups = draw.one(1, 2), draw.one(1, 1, 2)
    kernel, deep = draw.ints(count, 1, 3), draw.one(1, 2)
    shape = [1, groups * deep, *draw.ints(count, 3, 6)]
    filters = groups * draw.one(1, 2)
    inputs = ["x", draw.numbers(filters, deep, *kernel)]
    inputs += draw.one([], [draw.numbers(filters)])
    given = _windows(draw, count, True) | draw.some(kernel_shape=kernel)
    given |= {"group": groups} if groups > 1 else {}
    return shape, [node("Conv", inputs, ["y"], **given)]


def conv_transpose(draw: Draw) -> Nodes:
    count, groups = draw.one(1, 2), draw.one(1, 1, 2)
    kernel, deep, each = draw.ints(count, 1, 4), draw.one(1, 2), draw.one(1, 2)
    shape = [1, groups * deep, *draw.ints(count, 2, 4)]
    inputs = ["x", draw.numbers(groups * deep, each, *kernel)]
    inputs += draw.one([], [draw.numbers(groups * each)])
    given = _windows(draw, count, True) | draw.some(kernel_shape=kernel)
    if draw.rng.random() < 0.3:
        given["output_padding"] = draw.ints(count, 0, 1)
    given |= {"group": groups} if groups > 1 else {}
    return shape, [node("ConvTranspose", inputs, ["y"], **given)]


def pool(draw: Draw) -> Nodes:
    kind, count = draw.one("MaxPool", "AveragePool"), draw.one(1, 2)
    newest = draw.version >= (10 if kind == "MaxPool" else 19)
    given = _windows(draw, count, newest) | {"kernel_shape": draw.ints(count, 1, 3)}
    if kind == "AveragePool":
        given |= draw.some(count_include_pad=draw.one(0, 1))
    if draw.version >= 10 and draw.rng.random() < 0.2:
        given["ceil_mode"] = draw.one(0, 1)
    return [1, 2, *draw.ints(count, 3, 6)], [node(kind, ["x"], ["y"], **given)]


def gather(draw: Draw) -> Nodes:
    shape = draw.shape()
    axis = int(draw.rng.integers(-len(shape), len(shape)))
    n = shape[axis]
    lowest = -n if draw.version >= 11 else 0
    at = draw.one(draw.ints(draw.one(1, 2, 5), lowest, n - 1), int(draw.rng.integers(0, n)))
    given = {"axis": axis} if axis or draw.one(True, False) else {}
    return shape, [node("Gather", ["x", draw.constant(at)], ["y"], **given)]


def slice_(draw: Draw) -> Nodes:
    shape = draw.shape()
    axes = [int(a) for a in draw.rng.permutation(len(shape))[: draw.one(1, len(shape))]]
    named = axes != [*range(len(axes))] or draw.one(True, False)
    starts, ends, steps = [], [], []
    for axis in axes:
        n = shape[axis]
        low, high = sorted(draw.ints(2, 0, n - 1))  # both are taken
        by, beyond = draw.one(1, 2, -1, -2), draw.one(0, 1, 2**40)
        before, after = (-n - 1 - beyond if low == 0 else low - 1), high + 1
        after += beyond if after == n else 0
        first, last = (low, after) if by > 0 else (high, before)
        starts.append(first - draw.one(0, n))
        ends.append(last - n if 0 <= last < n and draw.one(True, False) else last)
        steps.append(by)
    stepped = min(steps) < 0 or max(steps) > 1 or draw.one(True, False)
    inputs = ["x", draw.constant(starts), draw.constant(ends)]
    below = draw.one(0, len(shape))
    inputs += [draw.constant([a - below for a in axes])] if named else [""] * stepped
    inputs += [draw.constant(steps)] if stepped else []
    return shape, [node("Slice", inputs, ["y"])]


def concat(draw: Draw) -> Nodes:
    shape = draw.shape()
    axis = int(draw.rng.integers(-len(shape), len(shape)))
    other = list(shape)
    other[axis] = draw.one(1, 2, 3)
    parts = [draw.one("x", "n", draw.numbers(*other)) for _ in range(draw.one(1, 2, 3))]
    return shape, [node("Neg", ["x"], ["n"]), node("Concat", ["n", *parts], ["y"], axis=axis)]


def split(draw: Draw) -> Nodes:
    shape = draw.shape()
    axis = int(draw.rng.integers(-len(shape), len(shape)))
    shape[axis] = draw.one(4, 5, 6)
    count = draw.one(2, 3)
    first = draw.one(1, 2)
    parts = [first] * (count - 1) + [shape[axis] - first * (count - 1)]
    given: dict[str, Any] = {"axis": axis} if axis or draw.one(True, False) else {}
    inputs = ["x"]
    if draw.one(True, False):
        if draw.version < 13:
            given["split"] = parts
        else:
            inputs.append(draw.constant(parts))
    elif draw.version >= 18:
        given["num_outputs"] = count
    names = [f"p{k}" for k in range(count)]
    back = [int(k) for k in draw.rng.permutation(count)]
    joined = node("Concat", [names[k] for k in back], ["y"], axis=axis)
    return shape, [node("Split", inputs, names, **given), joined]


def pad(draw: Draw) -> Nodes:
    shape = draw.shape()
    inputs = ["x", draw.constant(draw.ints(2 * len(shape), draw.one(0, -1), 2))]
    if draw.one(True, False):
        inputs.append(draw.constant(draw.one(np.array(0.0), np.array(0.0), np.array(1.5))))
    mode = draw.one("constant", "constant", "constant", "edge", "reflect")
    return shape, [node("Pad", inputs, ["y"], **draw.some(mode=mode))]


def reduce_(draw: Draw) -> Nodes:
    kind, shape = draw.one("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"), draw.shape()
    later = draw.version >= (13 if kind == "ReduceSum" else 18)
    given, inputs = draw.some(keepdims=draw.one(0, 1)), ["x"]
    if draw.one(True, True, False):
        axes = [int(a) for a in draw.rng.permutation(len(shape))[: draw.one(1, len(shape))]]
        axes = [a - draw.one(0, len(shape) if draw.version >= 11 else 0) for a in axes]
        if later:
            inputs.append(draw.constant(axes))
        else:
            given["axes"] = axes
    elif later:
        given |= draw.some(noop_with_empty_axes=draw.one(0, 1))
        inputs += draw.one([], [draw.constant(np.zeros(0, dtype=np.int64))])
    return shape, [node(kind, inputs, ["y"], **given)]


def reshape(draw: Draw) -> Nodes:
    shape = draw.one([1, 6], [2, 3, 2], [1, 2, 2, 3], [12])
    to = draw.one([-1], [0, -1], [1, -1], [2, -1, 1], [-1, 3], [0, 0, -1], [3, 2, -1], [-1, 0])
    given = draw.some(allowzero=draw.one(0, 1)) if draw.version >= 14 else {}
    return shape, [node("Reshape", ["x", draw.constant(to)], ["y"], **given)]


def ones(draw: Draw) -> Nodes:
    shape = draw.one([1, 3, 1, 2], [2, 1, 3], [1, 1, 4])
    kind = draw.one("Squeeze", "Unsqueeze")
    count = len(shape)
    places = [k for k, n in enumerate(shape) if n == 1] if kind == "Squeeze" else [0, 1, count]
    axes = [places[k] for k in draw.rng.permutation(len(places))[: draw.one(1, len(places))]]
    width = count + (len(axes) if kind == "Unsqueeze" else 0)
    axes = [a - draw.one(0, width if draw.version >= 11 else 0) for a in axes]
    if kind == "Squeeze" and draw.one(True, False, False):
        inputs = ["x", *draw.one([], [draw.constant(np.zeros(0, dtype=np.int64))])]
        return shape, [node(kind, inputs if draw.version >= 13 else ["x"], ["y"])]
    if draw.version < 13:
        return shape, [node(kind, ["x"], ["y"], axes=axes)]
    return shape, [node(kind, ["x", draw.constant(axes)], ["y"])]


def turned(draw: Draw) -> Nodes:
    shape = draw.shape()
    if draw.one(True, False):
        low = -len(shape) if draw.version >= 11 else 0
        axis = int(draw.rng.integers(low, len(shape) + 1))
        return shape, [node("Flatten", ["x"], ["y"], **draw.some(axis=axis))]
    order = [int(k) for k in draw.rng.permutation(len(shape))]
    return shape, [node("Transpose", ["x"], ["y"], **draw.some(perm=order))]


def clip(draw: Draw) -> Nodes:
    low, high = -draw.one(0.5, 0.25, 0.0), draw.one(0.5, 0.25, 0.0, -0.25)
    if draw.version < 11:
        return draw.shape(), [node("Clip", ["x"], ["y"], **draw.some(min=low, max=high))]
    ends = [draw.constant(np.array(end)) if draw.one(True, False) else "" for end in (low, high)]
    return draw.shape(), [node("Clip", ["x", *ends], ["y"])]


def bent(draw: Draw) -> Nodes:
    shape = draw.shape()
    kind = draw.one("Relu", "LeakyRelu", "LeakyRelu", "Abs", "Neg", "Identity", "PRelu", "PRelu")
    if kind == "PRelu":
        own = [n if draw.one(True, False) else 1 for n in shape][draw.one(0, 0, 1) :]
        return shape, [node(kind, ["x", draw.numbers(*own)], ["y"])]
    given = draw.some(alpha=draw.one(0.25, -0.5, 2.0)) if kind == "LeakyRelu" else {}
    return shape, [node(kind, ["x"], ["y"], **given)]


def pairs(draw: Draw) -> Nodes:
    kind, shape = draw.one("Add", "Sub", "Mul", "Div", "Max", "Min"), draw.shape()
    own = [n if draw.one(True, False) else 1 for n in shape][draw.one(0, 0, 1) :]
    other = draw.numbers(*own)
    if kind == "Div":
        other = draw.constant(draw.rng.choice([0.5, 2.0, -4.0, 3.0], own))
    inputs = ["x", other] if kind == "Div" or draw.one(True, False) else [other, "x"]
    if kind in ("Max", "Min"):
        inputs += draw.one([], [draw.numbers(1)])
    return shape, [node(kind, inputs, ["y"])]


def product_(draw: Draw) -> Nodes:
    n, m = draw.one(1, 2, 3), draw.one(1, 2, 3)
    if draw.one(True, False):
        first = draw.one([n], [2, n], [1, 2, n])
        if draw.one(True, False):
            return first, [node("MatMul", ["x", draw.numbers(n, m)], ["y"])]
        return [n, 2], [node("MatMul", [draw.numbers(m, n), "x"], ["y"])]
    turn = draw.one(0, 0, 1)
    given = draw.some(alpha=draw.one(1.0, 1.0, 0.5), beta=draw.one(1.0, 1.0, 2.0))
    given |= draw.some(transA=draw.one(0, 0, 0, 1)) | ({"transB": turn} if turn else {})
    second = draw.numbers(*((m, n) if turn else (n, m)))
    bias = (
        []
        if draw.version >= 11 and draw.one(True, False)
        else [draw.numbers(*draw.one([m], [1], [1, m]))]
    )
    return [1, n], [node("Gemm", ["x", second, *bias], ["y"], **given)]


def whole(draw: Draw) -> Nodes:
    kind = draw.one("GlobalAveragePool", "GlobalMaxPool")
    return [1, 2, *draw.ints(draw.one(1, 2), 1, 3)], [node(kind, ["x"], ["y"])]


def resize(draw: Draw) -> Nodes:
    shape = [1, draw.one(1, 2), 2, 3]
    factors = [1, 1, draw.one(1, 2, 3), draw.one(1, 2, 4)]
    ways = draw.one(
        {},
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        {"coordinate_transformation_mode": "asymmetric"},
        {"coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor"},
        {"nearest_mode": "ceil"},
        {"mode": "linear"},
    )
    empty = draw.constant(np.zeros(0))
    if draw.one(True, False):
        inputs = ["x", empty, draw.constant(np.array(factors, dtype=np.float64))]
    else:
        sizes = [n * k for n, k in zip(shape, factors, strict=True)]
        last = draw.constant(sizes)
        inputs = ["x", empty, empty if draw.version < 13 else "", last]
    return shape, [node("Resize", inputs, ["y"], **ways)]


def shaped(draw: Draw) -> Nodes:
    """Return a Reshape to a shape that is computed, as exporters write it."""
    shape = draw.one([1, 2, 6], [2, 2, 3], [1, 4, 3])
    two, at = draw.constant([draw.one(1, 2)]), draw.constant([draw.one(0, 1, 2)])
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", at], ["g"], axis=0),
        node(draw.one("Div", "Mul", "Add", "Sub"), ["g", two], ["h"]),
        node("Concat", ["h", draw.constant([-1])], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["y"]),
    ]
    return shape, nodes


def scaler(draw: Draw) -> Nodes:
    n = draw.one(1, 3)
    given = {
        name: [float(v) for v in draw.rng.integers(1, 9, draw.one(1, n)) / 4]
        for name in ("offset", "scale")
    }
    return [1, n], [helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", **given)]


def ended(draw: Draw) -> Nodes:
    """Return probabilities of scores."""
    shape = draw.one([1, 4], [4], [1, 1, 3], [1, 3, 1], [2, 2], [4, 1])
    kind = draw.one("Softmax", "LogSoftmax", "Sigmoid")
    axis = int(draw.rng.integers(-len(shape) if draw.version >= 11 else 0, len(shape)))
    given = {} if kind == "Sigmoid" else draw.some(axis=axis)
    last = draw.one([], [node("Sub", [draw.constant(np.ones(1)), "p"], ["q"])])
    end = "q" if last else "p"
    joined = draw.one(
        [node("Identity", [end], ["y"])], [node("Concat", [end, "p"], ["y"], axis=-1)]
    )
    return shape, [node(kind, ["x"], ["p"], **given), *last, *joined]


OPERATORS: dict[Callable[[Draw], Nodes], tuple[int, int]] = {  # with their share and oldest version
    conv: (3, 7),
    conv_transpose: (3, 7),
    pool: (3, 7),
    gather: (2, 7),
    slice_: (2, 10),
    concat: (1, 7),
    split: (2, 7),
    pad: (2, 11),
    reduce_: (2, 7),
    reshape: (1, 7),
    ones: (1, 7),
    turned: (1, 7),
    clip: (1, 7),
    bent: (1, 7),
    pairs: (2, 7),
    product_: (2, 7),
    whole: (1, 7),
    resize: (1, 11),
    shaped: (1, 7),
    scaler: (1, 7),
    ended: (2, 7),
}
NEWEST = 22


def setting(seed: int) -> tuple[str, list[int], onnx.ModelProto]:
    """Return the name of an operator's generator, the shape of ``x``, and the model from x to y."""
    rng = np.random.default_rng(seed)
    shares = [share for share, _ in OPERATORS.values()]
    made = [*OPERATORS][rng.choice(len(shares), p=np.array(shares) / sum(shares))]
    oldest = OPERATORS[made][1]
    draw = Draw(rng, int(rng.integers(oldest, NEWEST + 1)))
    shape, nodes = made(draw)
    output = "y"
    if made is not ended and rng.random() < 0.5:  # the order of entries tells the shape
        nodes, output = [*nodes, node("Transpose", ["y"], ["z"])], "z"
    model = build(
        nodes,
        inputs={"x": shape},
        outputs=[output],
        constants=draw.constants,
        opset=draw.version,
        elem=FLOAT,
    )
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return made.__name__, shape, model
