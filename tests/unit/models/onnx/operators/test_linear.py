"""Affine operators and ReLU, in every form they have, compute what onnxruntime computes."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import explain
from milp_verix.models.onnx import symbol
from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    assert_agrees,
    assert_runs,
    build,
    kinds,
    loaded,
    node,
    weights,
)
from verix_encodings import Affine, Relu, alpha_bounds, crown_bounds
from verix_encodings.bounds.interval import Interval
from verix_encodings.convolution import Convolution


def transposed(shape: tuple[int, int], flag: int) -> tuple[int, int]:
    return (shape[1], shape[0]) if flag else shape


@pytest.mark.parametrize("elem", [FLOAT, DOUBLE])
@pytest.mark.parametrize("c", [None, (), (1,), (4,), (2, 1), (1, 4), (2, 4)])
@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm(
    tmp_path: Path, elem: int, c: tuple[int, ...] | None, trans_a: int, trans_b: int
) -> None:
    inputs = ["x", "B"] if c is None else ["x", "B", "C"]
    constants = {"B": weights(*transposed((3, 4), trans_b)), "C": weights(*(c or ()), seed=1)}
    gemm = node("Gemm", inputs, ["y"], transA=trans_a, transB=trans_b, alpha=0.25, beta=1.5)
    shape = transposed((2, 3), trans_a)
    assert_runs(tmp_path, gemm, shape=shape, constants=constants, elem=elem)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm_with_the_input_on_the_right(tmp_path: Path, trans_a: int, trans_b: int) -> None:
    gemm = node("Gemm", ["A", "x", "C"], ["y"], transA=trans_a, transB=trans_b)
    constants = {"A": weights(*transposed((2, 3), trans_a)), "C": weights(5)}
    assert_runs(tmp_path, gemm, shape=transposed((3, 5), trans_b), constants=constants)


def test_gemm_with_the_input_as_bias(tmp_path: Path) -> None:
    gemm = node("Gemm", ["A", "B", "x"], ["y"], alpha=0.5, beta=-2.0)
    constants = {"A": weights(2, 3), "B": weights(3, 4, seed=1)}
    assert_runs(tmp_path, gemm, shape=(4,), constants=constants)


def test_gemm_takes_its_factor_exactly_as_stored(tmp_path: Path) -> None:
    gemm = node("Gemm", ["x", "W"], ["y"], alpha=0.1)
    network = loaded(build([gemm], inputs={"x": (1, 1)}, constants={"W": [[1.0]]}), tmp_path)
    assert network.ir.evaluate([1.0]) == [float(np.float32(0.1))]


def test_float32_weights_are_taken_exactly(tmp_path: Path) -> None:
    stored = np.float32(1) / np.float32(3)
    model = build(
        [node("MatMul", ["x", "W"], ["y"])],
        inputs={"x": (1,)},
        constants={"W": [[stored]]},
        elem=FLOAT,
    )
    assert loaded(model, tmp_path).ir.evaluate([3.0]) == [3.0 * float(stored)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 1), (1, 4)),
    ],
)
@pytest.mark.parametrize("left", [True, False])
def test_matmul(tmp_path: Path, a: tuple[int, ...], b: tuple[int, ...], left: bool) -> None:
    matmul = node("MatMul", ["x", "W"] if left else ["W", "x"], ["y"])
    shape, other = (a, b) if left else (b, a)
    assert_runs(tmp_path, matmul, shape=shape, constants={"W": weights(*other)})


@pytest.mark.parametrize("operator", ["Add", "Sub"])
@pytest.mark.parametrize("order", [("x", "c"), ("c", "x")])
@pytest.mark.parametrize(
    ("shape", "other"),
    [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((2, 1), (1, 3)), ((3,), (2, 2, 3))],
)
def test_sum_with_a_constant(
    tmp_path: Path,
    operator: str,
    order: tuple[str, str],
    shape: tuple[int, ...],
    other: tuple[int, ...],
) -> None:
    constants = {"c": weights(*other)}
    assert_runs(tmp_path, node(operator, list(order), ["y"]), shape=shape, constants=constants)


@pytest.mark.parametrize("operator", ["Add", "Sub"])
def test_sum_of_computed_tensors_broadcasts_both(tmp_path: Path, operator: str) -> None:
    assert_runs(
        tmp_path,
        node("MatMul", ["x", "W"], ["h"]),
        node("Relu", ["x"], ["r"]),
        node("Transpose", ["r"], ["t"]),
        node(operator, ["h", "t"], ["y"]),
        shape=(1, 3),
        constants={"W": weights(3, 4)},
    )


def test_a_tensor_minus_itself_is_zero(tmp_path: Path) -> None:
    model = build([node("Sub", ["x", "x"], ["y"])], inputs={"x": (3,)})
    assert loaded(model, tmp_path).ir.evaluate([1, 2, 3]).tolist() == [0, 0, 0]


def test_relu(tmp_path: Path) -> None:
    network = assert_runs(
        tmp_path,
        node("Add", ["x", "c"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("Sub", ["r", "c"], ["y"]),
        shape=(2, 3),
        constants={"c": weights(3)},
    )
    assert kinds(network) == ["Affine", "Relu", "Affine"]
    assert network.ir.relu_count == 6


def test_relus_of_values_need_no_affine_node_between(tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["r"]), node("Relu", ["r"], ["y"])]
    network = assert_runs(tmp_path, *nodes, shape=(1, 3))
    assert kinds(network) == ["Relu", "Relu", "Affine"]


@pytest.mark.parametrize("change", ["permuted", "scaled", "shifted", "repeated"])
def test_a_changed_value_is_not_taken_for_the_value(tmp_path: Path, change: str) -> None:
    operators = {
        "permuted": node("Transpose", ["x"], ["h"]),
        "scaled": node("Gemm", ["x", "I"], ["h"], alpha=2.0),
        "shifted": node("Add", ["x", "c"], ["h"]),
        "repeated": node("Add", ["x", "zeros"], ["h"]),
    }
    constants = {"I": np.eye(2), "c": np.ones((2, 2)), "zeros": np.zeros((2, 2, 2))}
    network = assert_runs(
        tmp_path, operators[change], node("Relu", ["h"], ["y"]), shape=(2, 2), constants=constants
    )
    assert kinds(network) == ["Affine", "Relu", "Affine"]


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes"),
    [
        ((1, 2, 9), (3, 2, 4), {}),
        ((1, 2, 9), (3, 2, 3), {"pads": [2, 1], "strides": [2], "dilations": [3]}),
        ((1, 3, 7, 6), (4, 3, 3, 2), {}),
        ((1, 3, 7, 6), (4, 3, 3, 2), {"kernel_shape": [3, 2], "pads": [1, 0, 2, 3]}),
        ((1, 3, 7, 6), (4, 3, 3, 2), {"strides": [2, 3], "dilations": [2, 1]}),
        ((1, 4, 5, 5), (6, 2, 3, 3), {"group": 2}),
        ((1, 4, 5, 5), (8, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
        ((2, 2, 5, 5), (3, 2, 3, 3), {"strides": [2, 2]}),
        ((1, 2, 7, 6), (3, 2, 4, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 2, 7, 6), (3, 2, 4, 3), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
        ((1, 2, 7, 6), (3, 2, 1, 1), {"auto_pad": "SAME_UPPER", "strides": [3, 3]}),
        ((1, 2, 7, 6), (3, 2, 4, 3), {"auto_pad": "VALID"}),
        ((1, 2, 7, 6), (3, 2, 4, 3), {"auto_pad": "NOTSET", "pads": [0, 1, 1, 0]}),
        ((1, 2, 5, 4, 6), (3, 2, 2, 3, 2), {"pads": [1, 0, 1, 0, 1, 1], "strides": [1, 2, 2]}),
    ],
)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("windows", [True, False])
def test_conv(
    tmp_path: Path,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    attributes: dict[str, object],
    bias: bool,
    windows: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if windows:
        never_stored(monkeypatch)
    conv = node("Conv", ["x", "W", "b"] if bias else ["x", "W"], ["y"], **attributes)
    constants = {"W": weights(*kernel), "b": weights(kernel[0], seed=2)}
    network = assert_runs(tmp_path, conv, shape=shape, constants=constants, elem=FLOAT)
    matrices = [matrix for one in network.ir.nodes for _, matrix in one.matrices]
    held = any(isinstance(matrix, Convolution) for matrix in matrices)
    assert held == (windows and shape[0] == 1)


def never_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold all convolutions of single images by their windows."""
    monkeypatch.setattr(symbol, "STORED", 0)
    monkeypatch.setattr(symbol, "_CHANNELS", 1)


def image_network() -> onnx.ModelProto:
    """Return convolutions with a residual connection, strides, groups, maxima and means."""
    nodes = [
        node("Conv", ["x", "A", "a"], ["h"], pads=[1, 1, 1, 1]),
        node("Relu", ["h"], ["r"]),
        node("Conv", ["r", "B"], ["k"], pads=[1, 1, 1, 1], group=2),
        node("Add", ["r", "k"], ["s"]),
        node("Relu", ["s"], ["t"]),
        node("MaxPool", ["t"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["m", "C", "c"], ["u"]),
        node("Flatten", ["u"], ["f"]),
        node("Relu", ["f"], ["v"]),
        node("Gemm", ["v", "D"], ["y"]),
    ]
    constants = {
        "A": weights(2, 1, 3, 3),
        "a": weights(2),
        "B": weights(2, 1, 3, 3, seed=1),
        "C": weights(3, 2, 2, 2, seed=2),
        "c": weights(3, seed=3),
        "D": weights(3, 3, seed=4),
    }
    return build(nodes, inputs={"x": (1, 1, 4, 4)}, constants=constants, elem=FLOAT)


@pytest.mark.parametrize(("norm", "epsilon"), [("linf", 0.13), ("l1", 0.6), ("l2", 0.25)])
def test_convolutions_by_windows_have_the_bounds_and_answers_of_stored_ones(
    norm: str, epsilon: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).random((1, 1, 4, 4)).astype(np.float32)
    found = []
    for windows in (False, True):
        if windows:
            never_stored(monkeypatch)
        network = loaded(image_network(), tmp_path)
        region = Interval(x.reshape(-1) - 0.05, x.reshape(-1) + 0.05)
        # intervals forget that a residual connection and its convolution read one value
        bounds = [method(network.ir, region) for method in (crown_bounds, alpha_bounds)]
        ends = [(one[-1].lower, one[-1].upper) for one in bounds]
        answers = [
            explain(network, x, epsilon=epsilon, norm=norm, solver=solver, time_limit=60)
            for solver in (("auto", "highs") if norm == "linf" else ("auto",))
        ]
        found.append((ends, [(one.explanation, one.unknown) for one in answers]))
    (ends, stored), (other, by_windows) = found
    assert np.allclose(ends, other, atol=1e-9)
    assert stored == by_windows
    assert all(0 < len(kept) < 16 and not unknown for kept, unknown in stored)


def test_affine_operators_fold_into_one_node(tmp_path: Path) -> None:
    network = assert_runs(
        tmp_path,
        node("Sub", ["x", "mean"], ["s"]),
        node("Conv", ["s", "V", "v"], ["h"], pads=[1, 1, 1, 1]),
        node("Conv", ["h", "W"], ["k"], strides=[2, 2]),
        node("Flatten", ["k"], ["f"]),
        node("Gemm", ["f", "G", "g"], ["y"]),
        shape=(1, 2, 6, 6),
        constants={
            "mean": weights(2, 1, 1),
            "V": weights(3, 2, 3, 3),
            "v": weights(3),
            "W": weights(2, 3, 2, 2),
            "G": weights(18, 4),
            "g": weights(4),
        },
        elem=FLOAT,
    )
    assert kinds(network) == ["Affine"]


def test_a_residual_connection_reads_a_relu_twice(tmp_path: Path) -> None:
    model = build(
        [
            node("Gemm", ["x", "A"], ["h"]),
            node("Relu", ["h"], ["r"]),
            node("Gemm", ["r", "B"], ["k"]),
            node("Add", ["r", "k"], ["s"]),
            node("Relu", ["s"], ["t"]),
            node("Gemm", ["t", "C"], ["u"]),
            node("Add", ["u", "r"], ["y"]),
        ],
        inputs={"x": (1, 3)},
        constants={"A": weights(3, 4), "B": weights(4, 4, seed=1), "C": weights(4, 4, seed=2)},
    )
    network = loaded(model, tmp_path)
    assert_agrees(network)
    first, relu, second, other, last = network.ir.nodes
    assert isinstance(relu, Relu)
    assert isinstance(other, Relu)
    assert isinstance(first, Affine)
    assert first.sources == (0,)
    assert isinstance(second, Affine)
    assert second.sources == (2,)
    assert isinstance(last, Affine)
    assert set(last.sources) == {2, 4}


def test_dense_products_equal_sparse_ones(tmp_path: Path) -> None:
    # Gemm after Gemm multiplies dense matrices, Gemm after Conv sparse ones: both must agree.
    gemms = [node("MatMul", ["x", "A"], ["h"]), node("MatMul", ["h", "B"], ["y"])]
    constants = {"A": weights(20, 30), "B": weights(30, 10, seed=1)}
    network = assert_runs(tmp_path, *gemms, shape=(1, 20), constants=constants)
    (only,) = network.ir.nodes
    assert isinstance(only, Affine)
    expected = constants["B"].T @ constants["A"].T
    np.testing.assert_allclose(np.asarray(only.terms[0][1]), expected, atol=1e-12)


def test_a_folded_product_of_sparse_maps_is_used_twice(tmp_path: Path) -> None:
    """Its columns are in no order at first; to sort those of a multiple must not change it."""
    nodes = [
        node("Conv", ["x", "first"], ["a"]),
        node("Conv", ["a", "second"], ["b"]),
        node("LeakyRelu", ["b"], ["y"], alpha=0.3),
    ]
    constants = {"first": weights(3, 1, 3, 3), "second": weights(4, 3, 3, 3, seed=1)}
    assert_runs(tmp_path, *nodes, shape=(1, 1, 16, 16), constants=constants, elem=FLOAT)
