"""Constants computed in a graph: what onnxruntime computes, as accurately as float64 can hold."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import onnx
import pytest
from numpy.typing import ArrayLike
from onnx import TensorProto, numpy_helper

from milp_verix import ModelError, UnsupportedOperatorError
from milp_verix.models.onnx.builder import Builder
from milp_verix.models.onnx.folding import TOLERATED, Known, fold
from milp_verix.models.onnx.trace import context_of
from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    assert_agrees,
    build,
    loaded,
    node,
    traced,
    weights,
)

A, B, V = weights(3, 4), weights(4, 3, seed=3), weights(4, seed=5)
INTEGERS = np.array([7, -7, 2, 0, 5, -3])
OTHERS = np.array([2, 2, -3, 5, 3, -2])


def folded(proto: onnx.NodeProto, opset: int = 18, **inputs: Known | ArrayLike) -> list[Known]:
    """Return the constants that a node computes from ``inputs``, those of floats float32."""

    def given(x: Known | ArrayLike) -> Known:
        if isinstance(x, Known):
            return x
        array = np.asarray(x)
        if array.dtype.kind != "f":
            return Known(array, array.dtype)
        return Known(array.astype(np.float32).astype(np.float64), np.dtype(np.float32))

    context = context_of(proto, opset, Builder((1,)))
    return fold(context, proto, {name: given(x) for name, x in inputs.items()})


def fractions(x: np.ndarray) -> np.ndarray:
    return np.array([Fraction(float(v)) for v in x.reshape(-1)], dtype=object).reshape(x.shape)


def assert_within(result: Known, exact: np.ndarray) -> None:
    """Assert that each element is within the relative error claimed, which is tolerable."""
    assert result.error <= TOLERATED
    assert result.array.shape == exact.shape
    for seen, true in zip(result.array.reshape(-1), exact.reshape(-1), strict=True):
        assert abs(Fraction(float(seen)) - true) <= Fraction(result.error) * abs(true)


# Each computes ``c`` of floating-point numbers, added to the scores.
FLOATS: Mapping[str, list[onnx.NodeProto]] = {
    "MatMul": [node("MatMul", ["A", "B"], ["c"])],
    "MatMul of a vector": [node("MatMul", ["A", "V"], ["c"])],
    "Gemm": [node("Gemm", ["A", "A", "row"], ["c"], alpha=0.3, beta=-2.0, transB=1)],
    "Add": [node("Add", ["A", "V"], ["c"])],
    "Sub": [node("Sub", ["A", "V"], ["c"])],
    "Mul": [node("Mul", ["A", "V"], ["c"])],
    "Div": [node("Div", ["A", "V"], ["c"])],
    "Sum": [node("Sum", ["A", "V", "A"], ["c"])],
    "Mean": [node("Mean", ["A", "V", "A"], ["c"])],
    "Neg": [node("Neg", ["A"], ["c"])],
    "Abs": [node("Abs", ["A"], ["c"])],
    "Relu": [node("Relu", ["A"], ["c"])],
    "Max": [node("Max", ["A", "V"], ["c"])],
    "Min": [node("Min", ["A", "V"], ["c"])],
    "Clip": [node("Clip", ["A", "low", "high"], ["c"])],
    "ReduceSum": [node("ReduceSum", ["A", "axis"], ["c"])],
    "ReduceMean": [node("ReduceMean", ["A"], ["c"], axes=[0], keepdims=0)],
    "ReduceMax": [node("ReduceMax", ["A"], ["c"], axes=[1])],
    "ReduceL1": [node("ReduceL1", ["A"], ["c"], axes=[1])],
    "ReduceL2": [node("ReduceL2", ["A"], ["c"], axes=[1])],
    "ReduceSumSquare": [node("ReduceSumSquare", ["A"], ["c"], axes=[1])],
    "ReduceProd": [node("ReduceProd", ["A"], ["c"], axes=[1])],
    "Sqrt": [node("Abs", ["A"], ["a"]), node("Sqrt", ["a"], ["c"])],
    "Reciprocal": [node("Reciprocal", ["A"], ["c"])],
    "Exp": [node("Exp", ["A"], ["c"])],
    "Log": [node("Abs", ["A"], ["a"]), node("Log", ["a"], ["c"])],
    "Tanh": [node("Tanh", ["A"], ["c"])],
    "Pow": [node("Abs", ["A"], ["a"]), node("Pow", ["a", "V"], ["c"])],
    "Pow of integers": [node("Pow", ["A", "two"], ["c"])],
    "Expand": [node("Expand", ["V", "shape"], ["c"])],
    "Tile": [node("Tile", ["A", "shape"], ["c"])],
    "Split": [node("Split", ["A"], ["l", "r"], axis=1), node("Sub", ["r", "l"], ["c"])],
    "Split, the last": [node("Split", ["A", "parts"], ["l", "c"], axis=1)],
    "Where": [node("Less", ["A", "V"], ["p"]), node("Where", ["p", "A", "V"], ["c"])],
    "Gather": [node("Gather", ["A", "axis"], ["c"])],
    "Pad": [node("Pad", ["A", "pads", "low"], ["c"])],
    "Trilu": [node("Trilu", ["A"], ["c"])],
    "OneHot": [node("OneHot", ["shape", "four", "ends"], ["c"])],
    "ScatterND": [node("ScatterND", ["A", "at", "row"], ["c"])],
    "Floor": [node("Mul", ["A", "seven"], ["m"]), node("Floor", ["m"], ["c"])],
    "Round": [node("Mul", ["A", "seven"], ["m"]), node("Round", ["m"], ["c"])],
    "Sign": [node("Sign", ["A"], ["c"])],
    "Mod": [node("Mod", ["A", "V"], ["c"], fmod=1)],
    "a norm of weights": [
        node("Mul", ["A", "A"], ["q"]),
        node("ReduceSum", ["q", "axis"], ["n"]),
        node("Sqrt", ["n"], ["r"]),
        node("Div", ["A", "r"], ["d"]),
        node("Mul", ["d", "V"], ["c"]),
    ],
}


NOT_IN_DOUBLE = {"Mean", "OneHot"}  # onnxruntime has no kernel


@pytest.mark.parametrize(
    ("name", "elem"),
    [
        (name, elem)
        for name, elem in product(FLOATS, (FLOAT, DOUBLE))
        if elem == FLOAT or name not in NOT_IN_DOUBLE
    ],
)
def test_constants_are_those_of_onnxruntime(name: str, elem: int, tmp_path: Path) -> None:
    constants: dict[str, ArrayLike] = {
        "A": A,
        "B": B,
        "V": V,
        "row": weights(1, 3, seed=9) if name == "Gemm" else weights(1, 4, seed=9),
        "low": np.array(-0.25),
        "high": np.array(0.5),
        "ends": np.array([0.25, 4.0]),
        "seven": np.array(7.0),
        "two": np.array(2),
        "four": np.array(4),
        "axis": np.array([1]),
        "shape": np.array([3, 1]),
        "parts": np.array([1, 3]),
        "pads": np.array([1, 0, 0, 2]),
        "at": np.array([[2]]),
        "one": np.array([1]),
    }
    nodes = [
        *FLOATS[name],
        node("ReduceMax", ["x"], ["scalar"], keepdims=0),
        node("Add", ["c", "scalar"], ["s"]),
        node("Flatten", ["s"], ["y"], axis=0),
    ]
    model = build(nodes, inputs={"x": (1, 3)}, constants=constants, elem=elem)
    assert_agrees(loaded(model, tmp_path))


# Each computes ``c`` of integers or truth values.
WHOLE: Mapping[str, list[onnx.NodeProto]] = {
    **{
        name: [node(name, ["i", "j"], ["c"])]
        for name in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Equal", "Less", "Greater")
    },
    "fmod": [node("Mod", ["i", "j"], ["c"], fmod=1)],
    "Pow": [node("Pow", ["i", "two"], ["c"])],
    "MatMul": [node("MatMul", ["i", "j"], ["c"])],
    "CumSum": [node("CumSum", ["i", "zero"], ["c"], reverse=1)],
    "NonZero": [node("NonZero", ["i"], ["c"])],
    "ArgMax": [node("ArgMax", ["i"], ["c"], axis=0)],
    "Range": [node("Range", ["zero", "seven", "two"], ["c"])],
    "Where": [node("Less", ["i", "j"], ["p"]), node("Where", ["p", "i", "j"], ["c"])],
    "And": [
        node("Less", ["i", "j"], ["p"]),
        node("Not", ["p"], ["q"]),
        node("Equal", ["i", "seven"], ["r"]),
        node("And", ["q", "r"], ["c"]),
    ],
    "Compress": [node("Less", ["i", "j"], ["p"]), node("Compress", ["i", "p"], ["c"])],
    "Size": [node("Size", ["i"], ["c"])],
    "ReduceSum": [node("ReduceSum", ["i"], ["c"])],
    "Expand": [node("Expand", ["two", "pair"], ["c"])],
    "GatherND": [node("GatherND", ["i", "at"], ["c"])],
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_those_of_onnxruntime(name: str, tmp_path: Path) -> None:
    constants: dict[str, ArrayLike] = {
        "i": INTEGERS,
        "j": OTHERS,
        "zero": np.array(0),
        "two": np.array(2),
        "seven": np.array(7),
        "pair": np.array([3, 2]),
        "at": np.array([[1], [-1]]),
    }
    nodes = [
        *WHOLE[name],
        node("Cast", ["c"], ["f"], to=DOUBLE),
        node("ReduceMax", ["x"], ["scalar"], keepdims=0),
        node("Add", ["f", "scalar"], ["s"]),
        node("Flatten", ["s"], ["y"], axis=0),
    ]
    assert_agrees(loaded(build(nodes, inputs={"x": (1, 3)}, constants=constants), tmp_path))


@pytest.mark.parametrize("seed", range(20))
def test_products_and_sums_are_as_accurate_as_they_claim(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = np.float32(10) ** rng.integers(-20, 20, (6, 30)).astype(np.float32)
    a = (rng.normal(size=(6, 30)) * scale).astype(np.float32)
    b = rng.normal(size=(30, 4)).astype(np.float32)
    b[:, 0] = a[0] * np.where(np.arange(30) % 2, -1, 1)  # cancels
    exact = fractions(a) @ fractions(b)
    (result,) = folded(node("MatMul", ["a", "b"], ["c"]), a=a, b=b)
    assert_within(result, exact)
    (result,) = folded(node("Gemm", ["a", "b"], ["c"], alpha=0.1), a=a, b=b)
    assert_within(result, exact * Fraction(float(np.float32(0.1))))
    (result,) = folded(node("ReduceSum", ["a", "k"], ["c"], keepdims=0), a=a, k=np.array([1]))
    assert_within(result, fractions(a).sum(axis=1))
    (result,) = folded(node("ReduceMean", ["a"], ["c"], keepdims=0, axes=[0]), 13, a=a)
    assert_within(result, fractions(a).sum(axis=0) / 6)
    for name, way in (("Add", 1), ("Sub", -1)):
        (result,) = folded(node(name, ["a", "d"], ["c"]), a=a, d=-a[::-1])
        assert_within(result, fractions(a) - way * fractions(a[::-1]))


@pytest.mark.parametrize("name", ["Exp", "Log", "Tanh", "Sqrt", "Reciprocal", "Pow"])
def test_functions_are_as_accurate_as_they_claim(name: str) -> None:
    rng = np.random.default_rng(3)
    x = np.float32(
        [*rng.uniform(0, 30, 300), *(1 + rng.normal(0, 1e-3, 300)), 1, 1e-8, 1e-30, 1e30]
    )
    x = x[x < 80] if name in ("Exp", "Tanh") else x
    y = rng.uniform(-2, 2, x.size).astype(np.float32)
    inputs = {"x": x, "y": y} if name == "Pow" else {"x": x}
    (result,) = folded(node(name, list(inputs), ["c"]), **inputs)
    assert result.error <= TOLERATED
    with mpmath.workdps(60):
        named = {"Reciprocal": lambda v: 1 / v, "Pow": mpmath.power}
        function: Any = named.get(name) or getattr(mpmath, name.lower())
        for seen, *given in zip(result.array, *inputs.values(), strict=True):
            true = function(*(mpmath.mpf(float(v)) for v in given))
            assert abs(mpmath.mpf(float(seen)) - true) <= result.error * abs(true)


def test_errors_add_up_until_they_are_refused() -> None:
    third: Known = folded(node("Div", ["a", "b"], ["c"]), a=[1.0, 2.0], b=[3.0, 7.0])[0]
    exact = np.array([Fraction(1, 3), Fraction(2, 7)], dtype=object)
    assert 0 < third.error < 2.0**-52
    for _ in range(6):
        (third,) = folded(node("Mul", ["a", "b"], ["c"]), a=third, b=[3.0, 0.7])
        exact = exact * fractions(np.float32([3.0, 0.7]))
        assert_within(third, exact)
    for _ in range(2):
        (third,) = folded(node("Mul", ["a", "b"], ["c"]), a=third, b=[3.0, 0.7])
    squared = node("Mul", ["a", "a"], ["c"])
    with pytest.raises(UnsupportedOperatorError, match="float64 does not hold accurately"):
        folded(squared, a=third)


@pytest.mark.parametrize(
    ("proto", "given"),
    [
        (node("Sub", ["third", "near"], ["c"]), {"near": [0.33333334]}),
        (node("Sub", ["third", "third"], ["c"]), {}),
        (node("MatMul", ["third", "near"], ["c"]), {"near": [1.0]}),
        (node("Exp", ["third"], ["c"]), {}),
        (node("Pow", ["third", "near"], ["c"]), {"near": [2.0]}),
        (node("Less", ["third", "near"], ["c"]), {"near": [0.5]}),
        (node("ArgMax", ["third"], ["c"]), {}),
        (node("OneHot", ["third", "two", "ends"], ["c"]), {"two": 2, "ends": [0.0, 1.0]}),
        (node("Mod", ["third", "near"], ["c"], fmod=1), {"near": [0.25]}),
        (node("CumSum", ["near", "axis"], ["c"]), {"near": [0.25], "axis": np.array(0)}),
        (node("Range", ["a", "b", "d"], ["c"]), {"a": 0.0, "b": 1.0, "d": 0.1}),
        (node("Exp", ["near"], ["c"]), {"near": [-800.0]}),
        (node("Mul", ["near", "near"], ["c"]), {"near": [1e-38]}),
    ],
    ids=str,
)
def test_what_rounding_could_change_is_refused(
    proto: onnx.NodeProto, given: dict[str, ArrayLike]
) -> None:
    (third,) = folded(node("Div", ["a", "b"], ["c"]), a=[1.0], b=[3.0])
    if proto.op_type == "MatMul":
        (third,) = folded(node("Concat", ["a", "b"], ["c"], axis=0), a=third, b=[-0.33333334])
        given = {"near": [1.0, 1.0]}
    if proto.op_type == "Mul":
        given = {"near": Known(np.array([1e-160]), np.dtype(np.float64))}
    inputs = {"third": third, **given}
    with pytest.raises(UnsupportedOperatorError):
        folded(proto, **{name: inputs[name] for name in proto.input})


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("Floor", [2.0, 7.0], [2.0, 7.0]),
        ("Ceil", [2.0, 7.0], [2.0, 7.0]),
        ("Round", [2.5, -0.5], [2.0, 0.0]),
        ("Cast", [2.0, -7.9], [2, -7]),
    ],
)
def test_steps_of_exact_constants_are_taken_where_they_jump(
    name: str, x: list[float], expected: list[float]
) -> None:
    proto = node(name, ["x"], ["c"], **({"to": TensorProto.INT64} if name == "Cast" else {}))
    (product,) = folded(node("Mul", ["x", "one"], ["p"]), x=x, one=[1.0])
    assert product.error == 0
    (result,) = folded(proto, x=product)
    assert result.error == 0
    np.testing.assert_array_equal(result.array, expected)


@pytest.mark.parametrize("name", ["Floor", "Ceil", "Cast"])
def test_steps_of_rounded_constants_are_refused_where_they_jump(name: str) -> None:
    # in real arithmetic 10 * float32(0.7) is below 7, in onnxruntime's float32 it is 7
    proto = node(name, ["x"], ["c"], **({"to": TensorProto.INT64} if name == "Cast" else {}))
    (product,) = folded(node("Mul", ["x", "ten"], ["p"]), x=[0.7], ten=[10.0])
    assert product.error > 0
    with pytest.raises(UnsupportedOperatorError, match="jumps where its rounded constant input is"):
        folded(proto, x=product)
    (product,) = folded(node("Mul", ["x", "ten"], ["p"]), x=[0.77], ten=[10.0])
    assert folded(proto, x=product)[0].array.tolist() == [8 if name == "Ceil" else 7]


def test_a_cast_rounds_to_a_narrower_type_and_to_no_wider_one() -> None:
    tenth = Known(np.array([0.1]), np.dtype(np.float64))
    (narrow,) = folded(node("Cast", ["x"], ["c"], to=FLOAT), x=tenth)
    assert (narrow.array.item(), narrow.error) == (float(np.float32(0.1)), 0.0)
    (third,) = folded(node("Div", ["a", "b"], ["c"]), a=[1.0], b=[3.0])
    for elem in (FLOAT, DOUBLE):
        (wide,) = folded(node("Cast", ["x"], ["c"], to=elem), x=third)
        assert (wide.array.item(), wide.error) == (1 / 3, third.error)
    with pytest.raises(ModelError, match="out of the range of int8"):
        folded(node("Cast", ["x"], ["c"], to=TensorProto.INT8), x=[300.0])
    with pytest.raises(ModelError, match="has type"):
        folded(node("Cast", ["x"], ["c"], to=TensorProto.STRING), x=[0.5])


@pytest.mark.parametrize(
    "last",
    [
        node("PRelu", ["x", "c"], ["y"]),
        node("Resize", ["x", "", "c"], ["y"], mode="nearest"),
        node("BatchNormalization", ["x", "c", "c", "c", "c"], ["y"]),
    ],
    ids=lambda last: last.op_type,
)
def test_rounded_constants_that_an_operator_may_magnify_are_refused(last: onnx.NodeProto) -> None:
    # 1 − slope cancels, a size is rounded down, statistics are divided
    model = build(
        [node("Div", ["a", "b"], ["c"]), last],
        inputs={"x": (1, 2)},
        constants={"a": np.array([3.0, 5.0]), "b": np.array([3.0, 7.0])},
    )
    with pytest.raises(UnsupportedOperatorError, match="constants that it reads are computed and"):
        traced(model)


def test_a_product_that_cancels_is_exact() -> None:
    # in float64 it is 0, in real arithmetic 2 ** -60
    a, b = np.float32([[1, 2**-30, -1]]), np.float32([[1], [2**-30], [1]])
    (result,) = folded(node("MatMul", ["a", "b"], ["c"]), a=a, b=b)
    assert result.array.item() == 2.0**-60


@pytest.mark.parametrize(
    "operator", ["RandomNormal", "RandomUniformLike", "Bernoulli", "Multinomial"]
)
def test_random_constants_are_refused(operator: str) -> None:
    proto = node(operator, [] if operator == "RandomNormal" else ["x"], ["c"], name="here")
    with pytest.raises(UnsupportedOperatorError, match="'here' is not supported: its inp"):
        folded(proto, **({} if operator == "RandomNormal" else {"x": [0.5]}))


@pytest.mark.parametrize(
    ("proto", "given"),
    [
        (node("Expand", ["x", "n"], ["c"]), {"x": [1.0], "n": np.array([2**40])}),
        (node("Tile", ["x", "n"], ["c"]), {"x": [1.0], "n": np.array([2**40])}),
        (node("OneHot", ["x", "n", "v"], ["c"]), {"x": [1], "n": 2**40, "v": [0.0, 1.0]}),
        (node("Pad", ["x", "n"], ["c"]), {"x": [1.0], "n": np.array([0, 2**40])}),
        (node("Range", ["a", "b", "d"], ["c"]), {"a": 0, "b": 2**40, "d": 1}),
        (node("MatMul", ["m", "m"], ["c"]), {"m": np.ones((1000, 1000), np.int64)}),
        (node("MatMul", ["m", "m"], ["c"]), {"m": np.ones((300, 300), np.float32)}),
        (node("ReduceSum", ["m"], ["c"]), {"m": np.ones(1_000_001, np.float32)}),
        (node("ReduceProd", ["m"], ["c"]), {"m": np.ones(1001, np.float32)}),
        (
            node("ScatterND", ["m", "i", "m"], ["c"]),
            {"m": np.ones(10**5, np.float32), "i": np.zeros((10**5, 1), np.int64)},
        ),
        (
            node("Range", ["a", "b", "d"], ["c"]),
            {"a": np.int16(0), "b": np.int16(9), "d": np.int16(1)},
        ),
    ],
    ids=str,
)
def test_constants_that_would_take_long_or_much_are_refused_at_once(
    proto: onnx.NodeProto, given: dict[str, ArrayLike]
) -> None:
    with pytest.raises(ModelError, match=r"elements|constants|before it is computed"):
        folded(proto, **given)


def test_the_types_of_constants_follow_the_graph() -> None:
    model = build(
        [
            node("Constant", [], ["a"], value=numpy_helper.from_array(np.float64([0.1]))),
            node("Cast", ["a"], ["b"], to=FLOAT),
            node("Add", ["x", "b"], ["y"]),
        ],
        inputs={"x": (1, 3)},
        elem=FLOAT,
    )
    (last,) = traced(model).network.nodes
    assert last.bias.tolist() == [float(np.float32(0.1))] * 3
