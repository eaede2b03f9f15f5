"""Parts of networks, in which each operator that the reader knows stands, by families.

A part takes ``z``, of shape (1, 8), to ``o``, of any shape. It is written as nodes with semicolons
between, ``OPERATOR INPUTS > OUTPUTS, NAME=VALUE``. An input in capitals is a constant that
:data:`CONSTANTS` draws. ``opset`` is 17 unless the part says otherwise.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

from tests.support.onnx_models import node

Array = NDArray[Any]

_ROW = "Reshape z ROW > h; "  # 8 numbers as 4 rows of 2
_IMAGE = "Reshape z IMAGE > i; "  # as 2 channels of 2 by 2
_POSITIVE = "Abs z > a; Add a ONE > p; "
_TRUTHS = "Greater z LEVEL > a; LessOrEqual z LEVELS > b; "
_HEADS = "Reshape z ROW > h; MatMul h W1 > q; MatMul h W2 > k; MatMul h W3 > v; "
_KEYS = "Transpose k > t, perm=[0, 2, 1]; MatMul q t > s; "


class Part(NamedTuple):
    """Nodes from ``z`` to ``o``."""

    text: str
    opset: int = 17

    @property
    def nodes(self) -> list[onnx.NodeProto]:
        """The nodes of the text."""
        return [*_nodes(self.text)]

    @property
    def constants(self) -> set[str]:
        """The names of its constants."""
        return {name for one in self.nodes for name in one.input if name in CONSTANTS}


def _nodes(text: str) -> Iterator[onnx.NodeProto]:
    for one in text.split("; "):
        call, *given = re.split(r", (?=[a-z_A-Z]+=)", one)
        operator, *names = call.split()
        at = names.index(">")
        domain, _, name = operator.rpartition(".")
        values = {k: ast.literal_eval(v) for k, _, v in (pair.partition("=") for pair in given)}
        inputs = ["" if name == "-" else name for name in names[:at]]
        yield node(name, inputs, names[at + 1 :], domain=domain, **values)


def _drawn(*shape: int, scale: float = 1.0) -> Callable[[np.random.Generator], Array]:
    return lambda rng: scale * rng.normal(size=shape)


def _is(*numbers: Any) -> Callable[[np.random.Generator], Array]:
    return lambda _: np.array(numbers[0] if len(numbers) == 1 else numbers)


CONSTANTS: Mapping[str, Callable[[np.random.Generator], Array]] = {
    "ONE": _is(1.0),
    "HALF": _is(0.5),
    "TWO": _is(2.0),
    "THREE": _is(3.0),
    "EIGHT": _drawn(8),
    "GAIN": lambda rng: rng.uniform(0.5, 2.0, 8),
    "LEVEL": _drawn(8, scale=0.5),
    "LEVELS": _drawn(8, scale=0.5),
    "PAIR": lambda rng: rng.uniform(0.5, 2.0, 2),
    "SHIFT": _drawn(2),
    "W": _drawn(8, 4, scale=0.5),
    "W1": _drawn(2, 3, scale=0.7),
    "W2": _drawn(2, 3, scale=0.7),
    "W3": _drawn(2, 3, scale=0.7),
    "KERNEL": _drawn(3, 2, 2, 2, scale=0.5),
    "SPREAD": _drawn(2, 2, 2, 2, scale=0.5),
    "ROW": _is(1, 4, 2),
    "IMAGE": _is(1, 2, 2, 2),
    "CHANNELS": _is(1, 8, 1, 1),
    "STEPS": _is(4, 1, 2),
    "FIRST": _is([1]),
    "AXES": _is([1, 2]),
    "AXIS": _is(1),
    "LEAST": _is(-0.4),
    "MOST": _is(0.6),
    "ENDS": _is(0, 1, 0, 1),
    "STARTS": _is([1]),
    "STOPS": _is([7]),
    "TWICE": _is(1, 2),
    "TALL": _is(3, 8),
    "SIZES": _is([3, 5]),
    "SCALES": _is(1.0, 1.0, 2.0, 2.0),
    "EMPTY": lambda _: np.zeros(0),
    "PICKED": lambda rng: rng.integers(0, 8, (2, 3)),
    "SEEN": lambda rng: rng.random(8) < 0.5,
    "MASK": lambda _: np.triu(np.full((4, 4), -np.inf), 1),
    "MEAN": _drawn(2, scale=0.2),
    "VARIANCE": lambda rng: rng.uniform(0.5, 2.0, 2),
    **{f"{n}{g}": _drawn(1, *s, scale=0.6) for g in (1, 3, 4) for n, s in (
        ("IN", (2 * g, 2)), ("HIDDEN", (2 * g, 2)), ("BIAS", (4 * g,))
    )},
    "HOLES": _drawn(1, 6, scale=0.5),
}  # fmt: skip

_ONE_BY_ONE = (
    "Relu Tanh Sigmoid Softplus Softsign Erf Sin Cos Exp Selu Mish HardSwish Gelu Identity Neg Abs "
    "Swish Dropout"
)
_OPSETS = {"Mish": 18, "Gelu": 20, "Swish": 24}

FAMILIES: Mapping[str, list[Part]] = {
    "functions": [
        *(Part(f"{name} z > o", _OPSETS.get(name, 17)) for name in _ONE_BY_ONE.split()),
        Part("Gelu z > o, approximate='tanh'", 20),
        Part("LeakyRelu z > o, alpha=0.2"),
        Part("Elu z > o, alpha=0.7"),
        Part("Celu z > o, alpha=0.7"),
        Part("PRelu z GAIN > o"),
        Part("HardSigmoid z > o, alpha=0.3"),
        Part("Clip z LEAST MOST > o"),
        Part("Shrink z > o, lambd=0.3, bias=0.1"),
        *(Part(f"{_POSITIVE}{name} p > o") for name in ("Log", "Sqrt", "Reciprocal")),
        *(Part(f"{_POSITIVE}Pow p {power} > o") for power in ("HALF", "TWO", "THREE")),
        Part("Pow z TWO > o"),
        Part("Pow z THREE > o"),
    ],
    "steps": [
        *(Part(f"{name} z > o") for name in ("Floor", "Ceil", "Round", "Sign")),
        Part("ThresholdedRelu z > o, alpha=0.3"),
        *(
            Part(f"{_TRUTHS}{name} a b > c; Where c z EIGHT > o", 17)
            for name in ("And", "Or", "Xor", "Equal")
        ),
        Part("GreaterOrEqual z LEVEL > a; Not a > b; Cast b > o, to=1"),
        Part("Less z LEVEL > a; Tanh z > t; Where a t z > o"),
        Part("Where SEEN z EIGHT > o"),
        Part("Round z > r; Equal r ONE > e; Cast e > o, to=1"),
        Part("Mul z THREE > y; Cast y > n, to=7; Cast n > o, to=1"),
    ],
    "products": [
        Part("Sigmoid z > g; Mul g z > p; Mul p z > o"),
        Part("Tanh z > t; Mul z t > o"),
        Part(f"{_POSITIVE}Div z p > o"),
        Part(f"{_HEADS}Transpose k > t, perm=[0, 2, 1]; MatMul q t > o"),
        Part(f"{_HEADS}Einsum q k > o, equation='bid,bjd->bij'"),
        Part(f"{_ROW}ReduceProd h > o, axes=[2]"),
        Part("Softmax z > p; Mul p z > o"),
        Part("LogSoftmax z > p; Tanh p > o"),
        Part(f"{_POSITIVE}Softmax p > q; Mul q q > o"),
    ],
    "sums": [
        Part("Add z EIGHT > a; Sub a LEVEL > b; Div b GAIN > o"),
        Part("Gemm z W > o, alpha=0.5"),
        Part("Max z EIGHT > a; Min a LEVEL > o"),
        Part("Tanh z > t; Mean z t EIGHT > a; Sum a t > b; Max b z > o"),
        Part(f"{_ROW}ReduceSum h AXES > o"),
        Part("CumSum z AXIS > c; Relu c > o"),
        *(Part(f"{_ROW}{name} h > o, axes=[1]") for name in ("ReduceMean", "ReduceMax")),
        Part(f"{_ROW}ReduceMin h > o, axes=[2]"),
    ],
    "norms": [
        *(
            Part(f"{_ROW}{name} h > o, axes=[2]")
            for name in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
        ),
        Part(f"{_POSITIVE}ReduceLogSum p > o, axes=[1]"),
        *(Part(f"{_POSITIVE}LpNormalization p > o, axis=1, p={p}") for p in (1, 2)),
        Part(f"{_POSITIVE}ai.onnx.ml.Normalizer p > o, norm='L2'"),
        Part("ai.onnx.ml.Scaler z > o, offset=[0.25], scale=[1.5]"),
        Part("LayerNormalization z GAIN EIGHT > o, axis=-1"),
        Part(f"{_ROW}LayerNormalization h PAIR SHIFT > o, axis=-1, epsilon=0.1"),
        Part("RMSNormalization z GAIN > o, axis=-1", 23),
        Part(f"{_IMAGE}InstanceNormalization i PAIR SHIFT > o, epsilon=0.1"),
        Part(f"{_IMAGE}GroupNormalization i PAIR SHIFT > o, num_groups=1, epsilon=0.1", 21),
        Part(f"{_IMAGE}BatchNormalization i PAIR SHIFT MEAN VARIANCE > o"),
        Part(f"{_IMAGE}LRN i > o, size=3, alpha=0.5, beta=0.75"),
    ],
    "attention": [
        Part(f"{_HEADS}{_KEYS}Softmax s > p; MatMul p v > o"),
        Part(f"{_HEADS}{_KEYS}Add s MASK > m; Softmax m > p; MatMul p v > o"),
        Part(f"{_HEADS}Attention q k v > o, q_num_heads=1, kv_num_heads=1", 23),
        Part(f"{_HEADS}Attention q k v > o, q_num_heads=3, kv_num_heads=3, is_causal=1", 23),
        Part(f"{_HEADS}Attention q k v MASK > o, q_num_heads=1, kv_num_heads=1", 23),
    ],
    "recurrent": [
        Part("Reshape z STEPS > h; RNN h IN1 HIDDEN1 BIAS1 > o, hidden_size=2"),
        Part("Reshape z STEPS > h; RNN h IN1 HIDDEN1 > o, hidden_size=2, clip=0.5"),
        Part("Reshape z STEPS > h; LSTM h IN4 HIDDEN4 BIAS4 > o, hidden_size=2"),
        Part("Reshape z STEPS > h; LSTM h IN4 HIDDEN4 BIAS4 - - - HOLES > o, hidden_size=2"),
        Part("Reshape z STEPS > h; GRU h IN3 HIDDEN3 BIAS3 > o, hidden_size=2"),
        Part("Reshape z STEPS > h; GRU h IN3 HIDDEN3 BIAS3 > o, hidden_size=2, clip=0.5"),
    ],
    "windows": [
        Part(f"{_IMAGE}Conv i KERNEL > o, pads=[1, 1, 0, 0]"),
        Part(f"{_IMAGE}ConvTranspose i SPREAD > o, strides=[2, 2]"),
        Part(f"{_IMAGE}MaxPool i > o, kernel_shape=[2, 1]"),
        Part(f"{_IMAGE}AveragePool i > o, kernel_shape=[1, 2]"),
        Part(f"{_IMAGE}GlobalAveragePool i > a; GlobalMaxPool i > b; Add a b > o"),
        Part(f"{_IMAGE}Resize i EMPTY SCALES > r; MaxPool r > o, kernel_shape=[3, 3]"),
        Part(f"{_IMAGE}Upsample i SCALES > o", 9),
        Part(f"{_IMAGE}Resize i EMPTY SCALES > r, mode='linear'; Relu r > o"),
        Part("Reshape z CHANNELS > i; DepthToSpace i > d, blocksize=2; Relu d > o"),
        Part(f"{_IMAGE}SpaceToDepth i > d, blocksize=2; Relu d > o"),
    ],
    "shapes": [
        Part(f"{_ROW}Flatten h > f; Transpose f > t; Relu t > o"),
        Part("Unsqueeze z FIRST > u; Squeeze u FIRST > s; Relu s > o"),
        Part("Split z SIZES > a b, axis=1; Relu a > r; Concat r b > o, axis=1"),
        Part("Slice z STARTS STOPS FIRST > s; Pad s ENDS > p; Relu p > o"),
        Part("Tile z TWICE > t; Relu t > o"),
        Part("Expand z TALL > t; Relu t > o"),
        Part("Gather z PICKED > g, axis=1; Relu g > o"),
        Part("Shape z > n; Reshape z n > r; Relu r > o"),
        Part("Size z > n; Cast n > c, to=1; Div z c > d; Relu d > o"),
    ],
}
"""Parts by the family that a table counts them under."""
