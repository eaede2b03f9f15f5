"""The operators of ONNX that are read: their inputs and attributes, with defaults, by version.

An operator has a row for each version of its operator set that changes how it is called; a row is
in force until the next one. Whatever no row names is refused: an operator, a version, an attribute,
a type or a value of one. ``shapes.py``, ``windows.py`` and ``operators.py`` say what operators
mean, and never name a default. Numbers are float32 in the file, and so are defaults.
"""

from dataclasses import dataclass
from typing import Any

from onnx.helper import get_attribute_value

from verix_checker.shapes import require

OLDEST, NEWEST = 7, 28  # versions of the operator set
MANY = 2**31 - 1
FLOAT, INT, STRING, TENSOR, FLOATS, INTS = 1, 2, 3, 4, 6, 7  # types of attributes

Attribute = tuple[int, Any, Any]  # type, default (... if it is required), values if not all
Row = tuple[int, int, dict[str, Attribute]]  # least and most inputs, attributes


@dataclass(frozen=True, slots=True)
class FileNode:
    """A node of a file: ``at`` has all attributes of its version; ``outputs`` counts results."""

    kind: str
    version: int
    outputs: int
    at: dict[str, Any]


def one_of(kind: int, *values: Any) -> Attribute:
    """Return an attribute with these values alone, the first one by default."""
    return kind, values[0], values


AXIS, KEPT, LIST, LEAST = (INT, ..., None), one_of(INT, 1, 0), (INTS, None, None), (INTS, ..., None)
PADDED = one_of(STRING, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
CONV = {"auto_pad": PADDED, "dilations": LIST, "group": (INT, 1, None), "kernel_shape": LIST}
CONV |= {"pads": LIST, "strides": LIST}
POOL = {"auto_pad": PADDED, "kernel_shape": LEAST, "pads": LIST, "strides": LIST}
CEIL, DILATED = {"ceil_mode": one_of(INT, 0)}, {"dilations": LIST}
MEANS, ORDER = {"count_include_pad": one_of(INT, 0, 1)}, {"storage_order": one_of(INT, 0)}
PRODUCT = {"alpha": one_of(FLOAT, 1), "beta": one_of(FLOAT, 1), "transA": one_of(INT, 0)}
PRODUCT |= {"transB": one_of(INT, 0, 1)}
REDUCED = {"axes": LIST, "keepdims": KEPT}
REDUCED_LATER = {"keepdims": KEPT, "noop_with_empty_axes": one_of(INT, 0)}
FAR = (2**24 - 1) * 2**104  # the largest float32
ENDS = {"min": (FLOAT, -FAR, None), "max": (FLOAT, FAR, None)}
RESIZED = {
    "coordinate_transformation_mode": one_of(STRING, "half_pixel", "asymmetric"),
    "cubic_coeff_a": (FLOAT, -3 / 4, None),  # of other modes, as the next two
    "exclude_outside": one_of(INT, 0),
    "extrapolation_value": (FLOAT, 0, None),
    "mode": one_of(STRING, "nearest"),
    "nearest_mode": one_of(STRING, "round_prefer_floor", "floor"),
}
RESIZED_LATER = {"antialias": one_of(INT, 0), "keep_aspect_ratio_policy": one_of(STRING, "stretch")}
TYPE, SATURATE = {"to": (INT, ..., (1, 6, 7, 11))}, {"saturate": one_of(INT, 1)}
UP, ALL = {"round_mode": one_of(STRING, "up")}, {"start": one_of(INT, 0)}
FILLED = {"mode": one_of(STRING, "constant")}


def plain(inputs: int = 1, most: int | None = None, **attributes: Attribute) -> dict[int, Row]:
    """Return the row of an operator that all versions call in the same way."""
    return {OLDEST: (inputs, most or inputs, attributes)}


def reduction(later: int) -> dict[int, Row]:
    """Return the rows of a reduction whose axes become an input."""
    return {OLDEST: (1, 1, REDUCED), later: (1, 2, REDUCED_LATER)}


LINE: dict[int, Row] = {  # before version 13, the tensor is flattened at the axis
    OLDEST: (1, 1, {"axis": (INT, 1, None)}),
    13: (1, 1, {"axis": (INT, -1, None)}),
}
TABLE: dict[str, dict[int, Row]] = {
    **{kind: plain() for kind in ("Relu", "Abs", "Neg", "Identity", "Sigmoid")},
    **{kind: plain() for kind in ("GlobalAveragePool", "GlobalMaxPool")},
    **{kind: plain(2) for kind in ("Add", "Sub", "Mul", "Div", "MatMul", "PRelu")},
    **{kind: plain(1, MANY) for kind in ("Max", "Min")},
    **dict.fromkeys(("Softmax", "LogSoftmax"), LINE),
    **{kind: reduction(18) for kind in ("ReduceMean", "ReduceMax", "ReduceMin")},
    "ReduceSum": reduction(13),
    "LeakyRelu": plain(alpha=(FLOAT, 5368709 / 2**29, None)),  # 0.01 as float32
    "Clip": {OLDEST: (1, 1, ENDS), 11: (1, 3, {})},
    "Gemm": {OLDEST: (3, 3, PRODUCT), 11: (2, 3, PRODUCT)},
    "Conv": {OLDEST: (2, 3, CONV)},
    "ConvTranspose": {OLDEST: (2, 3, CONV | {"output_padding": LIST})},
    "MaxPool": {
        OLDEST: (1, 1, POOL),
        8: (1, 1, POOL | ORDER),
        10: (1, 1, POOL | ORDER | CEIL | DILATED),
    },
    "AveragePool": {
        OLDEST: (1, 1, POOL | MEANS),
        10: (1, 1, POOL | MEANS | CEIL),
        19: (1, 1, POOL | MEANS | CEIL | DILATED),
    },
    "Flatten": plain(axis=(INT, 1, None)),
    "Reshape": {OLDEST: (2, 2, {}), 14: (2, 2, {"allowzero": one_of(INT, 0, 1)})},
    "Squeeze": {OLDEST: (1, 1, {"axes": LIST}), 13: (1, 2, {})},
    "Unsqueeze": {OLDEST: (1, 1, {"axes": LEAST}), 13: (2, 2, {})},
    "Transpose": plain(perm=LIST),
    "Cast": {
        OLDEST: (1, 1, TYPE),
        19: (1, 1, TYPE | SATURATE),
        24: (1, 1, TYPE | SATURATE | UP),
    },
    "Shape": {OLDEST: (1, 1, {}), 15: (1, 1, ALL)},
    "Concat": plain(1, MANY, axis=AXIS),
    "Split": {
        OLDEST: (1, 1, {"axis": (INT, 0, None), "split": LIST}),
        13: (1, 2, {"axis": (INT, 0, None)}),
        18: (1, 2, {"axis": (INT, 0, None), "num_outputs": (INT, None, None)}),
    },
    "Slice": {10: (3, 5, {})},
    "Gather": plain(2, axis=(INT, 0, None)),
    "Pad": {11: (2, 3, FILLED), 18: (2, 4, FILLED)},
    "Resize": {
        11: (1, 4, RESIZED),  # exporters leave the second one out, then as later
        18: (1, 4, RESIZED | RESIZED_LATER),
    },
    "Constant": plain(0, value=(TENSOR, ..., None)),
    "ai.onnx.ml.Scaler": {1: (1, 1, {"offset": (FLOATS, ..., None), "scale": (FLOATS, ..., None)})},
}


def versions_of(model: Any) -> dict[str, int]:
    """Return the version of each operator set of a file, by domain."""
    names = [entry.domain.removeprefix("ai.onnx") or "" for entry in model.opset_import]
    require(len({*names}) == len(names) and "" in names, "no version of operators, or several")
    found = {name: entry.version for name, entry in zip(names, model.opset_import, strict=True)}
    known = OLDEST <= found[""] <= NEWEST and 1 <= found.get(".ml", 1) <= 5
    require(known, f"versions {found} of operators")
    return found


def node_of(proto: Any, versions: Any) -> FileNode:
    """Return a node of a file with all attributes; refuse what is not in the table."""
    domain = proto.domain.removeprefix("ai.onnx")
    kind = ("" if domain == "" else f"{proto.domain}.") + proto.op_type
    known = kind in TABLE and domain in versions and "." not in proto.op_type
    require(known, f"the operator {kind} is not known")
    rows, version = TABLE[kind], versions[domain]
    since = max((first for first in rows if first <= version), default=None)
    require(since is not None, f"{kind} of version {version}")
    least, most, wanted = rows[since or 0]
    given, at = list(proto.input), {}
    needed = len(given) if most == MANY else least
    require(least <= len(given) <= most and all(given[:needed]), f"{kind} with inputs {given}")
    for stored in proto.attribute:
        name = stored.name
        own = name in wanted and name not in at and not stored.ref_attr_name
        require(own and stored.type == wanted[name][0], f"{kind} has the attribute {name}")
        value = get_attribute_value(stored)
        value = value.decode() if isinstance(value, bytes) else value
        value = list(value) if stored.type in (FLOATS, INTS) else value
        values = wanted[name][2]
        require(values is None or value in values, f"{kind} has {name} = {value}")
        require(value != [], f"{kind} has an empty list of {name}")
        at[name] = value
    missing = [
        name for name, (_, default, _) in wanted.items() if default is ... and name not in at
    ]
    require(not missing, f"{kind} lacks {missing}")
    at = {name: default for name, (_, default, _) in wanted.items()} | at
    return FileNode(kind, version, len(proto.output), at)
