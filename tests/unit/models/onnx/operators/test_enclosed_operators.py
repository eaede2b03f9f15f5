"""Operators that are curves, products, normalisations, attention or steps, against onnxruntime."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix.base.errors import ModelError
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    assert_runs,
    build,
    kinds,
    node,
    traced,
    weights,
)
from verix_encodings import Curve, Interval, Product, Smooth, crown_bounds
from verix_encodings.network import batch_values

Case = tuple[list[onnx.NodeProto], tuple[int, ...], dict[str, object], int]

POSITIVE = [node("Mul", ["x", "x"], ["s"]), node("Add", ["s", "half"], ["p"])]
HALF = {"half": np.array(0.5)}


def f(*values: float) -> np.ndarray:
    return np.array(values)


def _of_positive(operator: str, *inputs: str, **attributes: object) -> Case:
    return (
        [*POSITIVE, node(operator, ["p", *inputs], ["y"], **attributes)],
        (2, 3),
        {**HALF, "a": np.array(-1.5), "b": np.array(3.0), "c": np.array(0.5)},
        17,
    )


def _of_eight_times(operator: str) -> Case:
    nodes = [node("Mul", ["x", "eight"], ["z"]), node(operator, ["z"], ["y"])]
    return nodes, (2, 3), {"eight": np.array(8.0)}, 17


def _of(
    operator: str, *more: str, opset: int = 17, shape: tuple[int, ...] = (2, 3, 4), **a: object
) -> Case:
    constants = {
        "axes": np.array([1]),
        "last": np.array([2]),
        "axis": np.array(1),
        "four": weights(4),
        "fours": weights(4, seed=5),
        "three": weights(3),
        "threes": weights(3, seed=4),
        "two": np.array(2.0),
        "cube": np.array(3.0),
    }
    used = {name: constants[name] for name in more}
    return [node(operator, ["x", *more], ["y"], **a)], shape, used, opset


RNN = {
    "w": weights(1, 3, 2),
    "r": weights(1, 3, 3, seed=1),
    "b": weights(1, 6, seed=2),
    "w4": weights(2, 12, 2),
    "r4": weights(2, 12, 3, seed=1),
    "b4": weights(2, 24, seed=2),
    "w3": weights(1, 9, 2),
    "r3": weights(1, 9, 3, seed=1),
    "b3": weights(1, 18, seed=2),
    "h0": weights(1, 2, 3, seed=6),
    "p": weights(2, 9, seed=7),
}


def _recurrent(operator: str, suffix: str, *more: str, **attributes: object) -> Case:
    names = [f"{name}{suffix}" for name in "wrb"] + list(more)
    used = {name: RNN[name] for name in names if name}
    return [node(operator, ["x", *names], ["y"], **attributes)], (4, 2, 2), used, 14


QKV = [
    node("MatMul", ["x", "wq"], ["q"]),
    node("MatMul", ["x", "wk"], ["k"]),
    node("MatMul", ["x", "wv"], ["v"]),
]
ATTENTION = {
    "wq": weights(4, 4),
    "wk": weights(4, 4, seed=1),
    "wv": weights(4, 4, seed=2),
    "heads": np.array([1, 3, 2, 2]),
    "flat3": np.array([1, 3, 4]),
    "root": np.array(np.sqrt(2.0)),
}

HOLES = np.array([[0.0, -np.inf, -np.inf], [0.5, 0.0, -np.inf], [-np.inf, 0.0, 1.0]])


def _apart(*masking: onnx.NodeProto) -> Case:
    nodes = [
        *QKV,
        *(node("Reshape", [n, "heads"], [n + "h"]) for n in "qkv"),
        node("Transpose", ["qh"], ["qt"], perm=[0, 2, 1, 3]),
        node("Transpose", ["kh"], ["kt"], perm=[0, 2, 3, 1]),
        node("Transpose", ["vh"], ["vt"], perm=[0, 2, 1, 3]),
        node("MatMul", ["qt", "kt"], ["s"]),
        node("Div", ["s", "root"], ["d"]),
        *masking,
        node("Softmax", ["hidden" if masking else "d"], ["p"]),
        node("MatMul", ["p", "vt"], ["o"]),
        node("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]),
        node("Reshape", ["ot", "flat3"], ["y"]),
    ]
    masks = {"mask": HOLES, "seen": np.isfinite(HOLES), "least": np.array(-np.inf)}
    return nodes, (1, 3, 4), {**ATTENTION, **masks}, 17


CASES: dict[str, Case] = {
    "exp": _of("Exp"),
    "erf": _of("Erf"),
    "cumulative sum": _of("CumSum", "axis"),
    "cumulative sum, backwards without itself": _of("CumSum", "axis", exclusive=1, reverse=1),
    "sin": _of("Sin"),
    "cos": _of("Cos"),
    "hard swish": _of_eight_times("HardSwish"),
    "log": _of_positive("Log"),
    "sqrt": _of_positive("Sqrt"),
    "reciprocal": _of_positive("Reciprocal"),
    "power": _of_positive("Pow", "a"),
    "power 3": _of_positive("Pow", "b"),
    "power 1/2": _of_positive("Pow", "c"),
    "square": _of("Pow", "two"),
    "cube": _of("Pow", "cube"),
    "x times x": ([node("Mul", ["x", "x"], ["y"])], (2, 3), {}, 17),
    "multiples": ([node("Neg", ["x"], ["z"]), node("Mul", ["x", "z"], ["y"])], (2, 3), {}, 17),
    "product": (
        [node("MatMul", ["x", "m"], ["z"]), node("Mul", ["x", "z"], ["y"])],
        (2, 3),
        {"m": weights(3, 3)},
        17,
    ),
    "product, broadcast": (
        [node("MatMul", ["x", "m"], ["z"]), node("Mul", ["x", "z"], ["y"])],
        (2, 3),
        {"m": weights(3, 1)},
        17,
    ),
    "quotient": ([*POSITIVE, node("Div", ["x", "p"], ["y"])], (2, 3), HALF, 17),
    "constant quotient": (
        [*POSITIVE, node("Div", ["c", "p"], ["y"])],
        (2, 3),
        {**HALF, "c": weights(3)},
        17,
    ),
    "product of matrices": (
        [
            node("MatMul", ["x", "m"], ["z"]),
            node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
            node("MatMul", ["z", "t"], ["y"]),
        ],
        (2, 3, 4),
        {"m": weights(4, 4)},
        17,
    ),
    "product of vectors": (
        [node("MatMul", ["m", "x"], ["z"]), node("MatMul", ["x", "z"], ["y"])],
        (4,),
        {"m": weights(4, 4)},
        17,
    ),
    "gemm": (
        [node("MatMul", ["x", "m"], ["z"]), node("Gemm", ["x", "z"], ["y"], transB=1, alpha=0.5)],
        (3, 4),
        {"m": weights(4, 4)},
        17,
    ),
    "einsum": (
        [
            node("MatMul", ["x", "m"], ["z"]),
            node("Einsum", ["x", "z"], ["y"], equation="bij,bkj->bik"),
        ],
        (2, 3, 4),
        {"m": weights(4, 4)},
        17,
    ),
    "einsum with a constant": (
        [node("Einsum", ["x", "m"], ["y"], equation="bij,jk->bki")],
        (2, 3, 4),
        {"m": weights(4, 4)},
        17,
    ),
    "einsum of one": ([node("Einsum", ["x"], ["y"], equation="bij->ji")], (2, 3, 4), {}, 17),
    "softmax": _of("Softmax", axis=1),
    "softmax, last axis": _of("Softmax"),
    "softmax, opset 11": _of("Softmax", opset=11, axis=1, shape=(2, 3, 2)),
    "log softmax": _of("LogSoftmax", axis=2),
    "softmax before a map": (
        [node("Softmax", ["x"], ["p"]), node("MatMul", ["p", "m"], ["y"])],
        (1, 4),
        {"m": weights(4, 3)},
        17,
    ),
    "layer normalisation": _of("LayerNormalization", "four", "fours", axis=-1),
    "layer normalisation, two axes": (
        [node("LayerNormalization", ["x", "m"], ["y"], axis=1)],
        (2, 3, 4),
        {"m": weights(3, 4)},
        17,
    ),
    "rms normalisation": _of("RMSNormalization", "four", opset=23),
    "instance normalisation": _of("InstanceNormalization", "three", "threes", shape=(2, 3, 2, 2)),
    "lrn": _of("LRN", shape=(1, 5, 2, 2), size=3, alpha=0.5),
    "lp normalisation": _of("LpNormalization", axis=1),
    "lp normalisation, 1": _of("LpNormalization", axis=-1, p=1),
    "reduce L1": _of("ReduceL1", axes=[1]),
    "reduce L2": _of("ReduceL2", axes=[1], keepdims=0),
    "reduce sum of squares": _of("ReduceSumSquare", axes=[0, 2]),
    "reduce log sum exp": _of("ReduceLogSumExp", axes=[2]),
    "reduce product": _of("ReduceProd", axes=[2]),
    "floor": _of_eight_times("Floor"),
    "ceil": _of_eight_times("Ceil"),
    "round": _of_eight_times("Round"),
    "sign": _of("Sign"),
    "thresholded relu": _of("ThresholdedRelu", alpha=0.3),
    "shrink that jumps": _of("Shrink", bias=0.1, lambd=0.4),
    "where": (
        [
            node("Greater", ["x", "four"], ["c"]),
            node("Sin", ["x"], ["s"]),
            node("Where", ["c", "s", "x"], ["y"]),
        ],
        (3, 4),
        {"four": weights(4)},
        17,
    ),
    "where with constants": (
        [node("LessOrEqual", ["x", "four"], ["c"]), node("Where", ["c", "four", "two"], ["y"])],
        (3, 4),
        {"four": weights(4), "two": np.array(2.0)},
        17,
    ),
    "where with a constant condition": (
        [node("Exp", ["x"], ["e"]), node("Where", ["c", "e", "x"], ["y"])],
        (2, 3),
        {"c": np.array([True, False, True])},
        17,
    ),
    "truth values": (
        [
            node("Less", ["x", "four"], ["a"]),
            node("GreaterOrEqual", ["x", "fours"], ["b"]),
            node("And", ["a", "b"], ["c"]),
            node("Or", ["a", "b"], ["d"]),
            node("Xor", ["a", "b"], ["e"]),
            node("Not", ["c"], ["g"]),
            *(node("Cast", [name], [name * 2], to=FLOAT) for name in "cdeg"),
            node("Concat", ["cc", "dd", "ee", "gg"], ["y"], axis=0),
        ],
        (3, 4),
        {"four": weights(4), "fours": weights(4, seed=9)},
        17,
    ),
    "cast to integers": (
        [
            node("Mul", ["x", "eight"], ["z"]),
            node("Cast", ["z"], ["i"], to=7),
            node("Cast", ["i"], ["y"], to=FLOAT),
        ],
        (2, 3),
        {"eight": np.array(8.0)},
        17,
    ),
    "equal": (
        [
            node("Round", ["x"], ["r"]),
            node("Equal", ["r", "zero"], ["e"]),
            node("Cast", ["e"], ["y"], to=FLOAT),
        ],
        (2, 3),
        {"zero": np.array(0.0)},
        17,
    ),
    "rnn": _recurrent("RNN", "", hidden_size=3),
    "rnn backwards": _recurrent(
        "RNN", "", "", "h0", hidden_size=3, direction="reverse", activations=["Relu"]
    ),
    "lstm": _recurrent("LSTM", "4", direction="bidirectional", hidden_size=3),
    "lstm with peepholes": _recurrent(
        *("LSTM", "4", "", "", "", "p"), direction="bidirectional", hidden_size=3
    ),
    "rnn that clips": _recurrent("RNN", "", hidden_size=3, clip=0.2),
    "gru that clips": _recurrent("GRU", "3", hidden_size=3, clip=0.2),
    "gru": _recurrent("GRU", "3", hidden_size=3),
    "gru of PyTorch": _recurrent("GRU", "3", "", "h0", hidden_size=3, linear_before_reset=1),
    "attention": (
        [*QKV, node("Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2)],
        (1, 3, 4),
        {n: ATTENTION[n] for n in ("wq", "wk", "wv")},
        23,
    ),
    "causal attention": (
        [
            *QKV,
            node("Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2, is_causal=1),
        ],
        (1, 3, 4),
        {n: ATTENTION[n] for n in ("wq", "wk", "wv")},
        23,
    ),
    "attention with a mask": (
        [
            *QKV,
            node("Attention", ["q", "k", "v", "mask"], ["y"], q_num_heads=2, kv_num_heads=2),
        ],
        (1, 3, 4),
        {**{n: ATTENTION[n] for n in ("wq", "wk", "wv")}, "mask": HOLES},
        23,
    ),
    "attention taken apart": _apart(),
    "attention with a mask, taken apart": _apart(node("Add", ["d", "mask"], ["hidden"])),
    "attention with scores left out": _apart(node("Where", ["seen", "d", "least"], ["hidden"])),
}


def read(case: Case, folder: Path) -> OnnxNetwork:
    nodes, shape, constants, opset = case
    return assert_runs(folder, *nodes, shape=shape, constants=constants, opset=opset, elem=FLOAT)


@pytest.mark.parametrize("name", CASES)
def test_an_operator_is_read_as_it_is_run_and_its_bounds_hold(name: str, tmp_path: Path) -> None:
    network = read(CASES[name], tmp_path)
    rng = np.random.default_rng(1)
    for width in (0.01, 0.2):
        centre = rng.uniform(-0.8, 0.8, network.input_size)
        box = Interval(centre - width, centre + width)
        bounds = crown_bounds(network.ir, box)
        shares = np.hstack([rng.random((centre.size, 60)), rng.integers(0, 2, (centre.size, 60))])
        points = box.lower[:, None] + shares * (2 * width)
        for interval, value in zip(bounds, batch_values(network.ir, points), strict=True):
            off = 1e-11 * (1.0 + np.abs(value))
            assert np.all(interval.lower[:, None] <= value + off)
            assert np.all(value - off <= interval.upper[:, None])


GELU = [
    node("Div", ["x", "root"], ["d"]),
    node("Erf", ["d"], ["e"]),
    node("Add", ["e", "one"], ["o"]),
]
GELU_BY_TANH = [
    node("Mul", ["c", "cubic"], ["k"]),
    node("Add", ["x", "k"], ["i"]),
    node("Mul", ["i", "scale"], ["j"]),
    node("Tanh", ["j"], ["t"]),
    node("Add", ["t", "one"], ["o"]),
]
CHAINS: dict[str, tuple[list[onnx.NodeProto], str]] = {
    "gelu of PyTorch": (
        [*GELU, node("Mul", ["x", "o"], ["m"]), node("Mul", ["m", "half"], ["y"])],
        "gelu",
    ),
    "gelu, halved first": (
        [*GELU, node("Mul", ["x", "half"], ["m"]), node("Mul", ["m", "o"], ["y"])],
        "gelu",
    ),
    "gelu, gate halved": (
        [*GELU, node("Mul", ["o", "half"], ["m"]), node("Mul", ["m", "x"], ["y"])],
        "gelu",
    ),
    "gelu by tanh": (
        [
            node("Pow", ["x", "three"], ["c"]),
            *GELU_BY_TANH,
            node("Mul", ["x", "half"], ["h"]),
            node("Mul", ["h", "o"], ["y"]),
        ],
        "gelu_tanh",
    ),
    "gelu by tanh, cube of products": (
        [
            node("Mul", ["x", "x"], ["s"]),
            node("Mul", ["s", "x"], ["c"]),
            *GELU_BY_TANH,
            node("Mul", ["x", "o"], ["h"]),
            node("Mul", ["h", "half"], ["y"]),
        ],
        "gelu_tanh",
    ),
    "silu": ([node("Sigmoid", ["x"], ["g"]), node("Mul", ["x", "g"], ["y"])], "silu"),
    "quick gelu": (
        [
            node("Mul", ["x", "quick"], ["z"]),
            node("Sigmoid", ["z"], ["g"]),
            node("Mul", ["x", "g"], ["y"]),
        ],
        "silu",
    ),
    "mish": (
        [
            node("Softplus", ["x"], ["s"]),
            node("Tanh", ["s"], ["t"]),
            node("Mul", ["x", "t"], ["y"]),
        ],
        "mish",
    ),
    "softplus": (
        [node("Exp", ["x"], ["e"]), node("Add", ["e", "one"], ["o"]), node("Log", ["o"], ["y"])],
        "softplus",
    ),
    "sigmoid": (
        [
            node("Neg", ["x"], ["n"]),
            node("Exp", ["n"], ["e"]),
            node("Add", ["e", "one"], ["o"]),
            node("Div", ["one", "o"], ["y"]),
        ],
        "sigmoid",
    ),
}
CONSTANTS = {
    "root": np.array(np.sqrt(2.0)),
    "one": np.array(1.0),
    "half": np.array(0.5),
    "three": np.array(3.0),
    "cubic": np.array(0.044715),
    "scale": np.array(np.sqrt(2.0 / np.pi)),
    "quick": np.array(1.702),
}


@pytest.mark.parametrize("elem", [FLOAT, DOUBLE])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_one_function(name: str, elem: int, tmp_path: Path) -> None:
    nodes, function = CHAINS[name]
    if elem == DOUBLE and any(n.op_type in ("Erf", "Softplus") for n in nodes):
        pytest.skip("onnxruntime has no Erf or Softplus of float64")
    constants = {key: CONSTANTS[key] for n in nodes for key in n.input if key in CONSTANTS}
    network = assert_runs(tmp_path, *nodes, shape=(1, 5), constants=constants, elem=elem)
    curved = [n.name for n in network.ir.nodes if isinstance(n, Curve)]
    assert curved == [function]
    assert "Product" not in kinds(network)


def test_another_constant_is_no_gelu(tmp_path: Path) -> None:
    nodes, _ = CHAINS["gelu by tanh"]
    constants = {**CONSTANTS, "cubic": np.array(0.0448)}
    used = {key: constants[key] for n in nodes for key in n.input if key in constants}
    network = assert_runs(tmp_path, *nodes, shape=(1, 5), constants=used)
    assert any(isinstance(n, Product) for n in network.ir.nodes)
    assert not any(isinstance(n, Smooth) and n.name == "gelu_tanh" for n in network.ir.nodes)


def test_a_normalised_value_has_a_limit() -> None:
    """No entry is more than ``√n`` standard deviations from the mean, however wide the box."""
    model = build(
        [node("LayerNormalization", ["x", "g"], ["y"])],
        inputs={"x": (1, 6)},
        constants={"g": np.ones(6)},
    )
    network = traced(model).network
    bounds = crown_bounds(network, Interval(-50.0 * np.ones(6), 50.0 * np.ones(6)))
    assert bounds[-1].upper.max() <= np.sqrt(6) + 1e-6
    assert bounds[-1].lower.min() >= -np.sqrt(6) - 1e-6


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Pow", ["x", "x"], ["y"])], "its exponent depends on the network's input"),
        ([node("Pow", ["x", "v"], ["y"])], "its exponents are not one number"),
        ([node("Gather", ["v", "x"], ["y"])], "its indices depend on the network's input"),
        ([node("Hardmax", ["x"], ["y"])], "it jumps"),
        ([node("Einsum", ["x", "x"], ["y"], equation="ii,ij->j")], "not one letter"),
    ],
)
def test_what_is_not_followed_is_refused(nodes: list[onnx.NodeProto], message: str) -> None:
    model = build(nodes, inputs={"x": (2, 2)}, constants={"v": f(2.0, 3.0)})
    with pytest.raises(ModelError, match=message):
        traced(model)
