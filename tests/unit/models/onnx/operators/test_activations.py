"""Piecewise linear activations compute what onnxruntime computes, as ReLUs and maxima."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import UnsupportedOperatorError
from tests.support.onnx_models import FLOAT, assert_runs, build, kinds, loaded, node, weights
from verix_encodings import Interval, crown_bounds, encode, interval_bounds


@pytest.mark.parametrize(
    "activation",
    [
        node("LeakyRelu", ["x"], ["y"]),
        node("LeakyRelu", ["x"], ["y"], alpha=0.3),
        node("LeakyRelu", ["x"], ["y"], alpha=-0.5),
        node("LeakyRelu", ["x"], ["y"], alpha=1.5),
        node("Abs", ["x"], ["y"]),
        node("Neg", ["x"], ["y"]),
        node("Clip", ["x"], ["y"]),
        node("Clip", ["x", "low"], ["y"]),
        node("Clip", ["x", "", "high"], ["y"]),
        node("Clip", ["x", "low", "high"], ["y"]),
        node("Clip", ["x", "high", "low"], ["y"]),
        node("HardSigmoid", ["x"], ["y"]),
        node("HardSigmoid", ["x"], ["y"], alpha=2.0, beta=0.25),
    ],
    ids=str,
)
def test_activation(tmp_path: Path, activation: onnx.NodeProto) -> None:
    constants = {"low": np.array(-0.25), "high": np.array(0.5)}
    assert_runs(tmp_path, activation, shape=(2, 5), constants=constants, elem=FLOAT)


@pytest.mark.parametrize(("low", "high"), [(0.0, 3.4e38), (-3.4e38, 0.25), (-3.4e38, 3.4e38)])
def test_an_end_that_does_not_limit(tmp_path: Path, low: float, high: float) -> None:
    clip = node("Clip", ["x", "low", "high"], ["y"])
    constants = {"low": np.array(low), "high": np.array(high)}
    network = assert_runs(tmp_path, clip, shape=(1, 4), constants=constants, elem=FLOAT)
    cube = Interval(np.full(4, -1.0), np.full(4, 1.0))
    encoding = encode(network.ir, crown_bounds(network.ir, cube))
    assert encoding.largest_big_m < 2
    assert encoding.program.binaries == 4 * ((low == 0) + (high == 0.25))


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_a_constant_that_is_far_away(tmp_path: Path, operator: str) -> None:
    extreme = node(operator, ["x", "c"], ["y"])
    constants = {"c": np.array([3e38, -3e38, 0.25, 0.0])}
    network = loaded(
        build([extreme], inputs={"x": (1, 4)}, constants=constants, elem=FLOAT), tmp_path
    )
    x = np.array([0.5, 0.25, -0.5, 0.125], np.float32)
    np.testing.assert_allclose(network.ir.evaluate(x), network.evaluate(x), rtol=1e-6)


def test_clip_by_attributes(tmp_path: Path) -> None:
    clip = node("Clip", ["x"], ["y"], min=-0.25, max=0.5)
    assert_runs(tmp_path, clip, shape=(2, 5), opset=6, elem=FLOAT)


def test_relu6_stays_within_its_ends(tmp_path: Path) -> None:
    network = assert_runs(
        tmp_path,
        node("Mul", ["x", "ten"], ["h"]),
        node("Clip", ["h", "zero", "six"], ["y"]),
        shape=(1, 4),
        constants={"ten": np.array(10.0), "zero": np.array(0.0), "six": np.array(6.0)},
        elem=FLOAT,
    )
    assert network.ir.relu_count == 8
    output = interval_bounds(network.ir, Interval(np.full(4, -1.0), np.full(4, 1.0)))[-1]
    np.testing.assert_allclose(output.lower, 0, atol=1e-9)
    np.testing.assert_allclose(output.upper, 6, atol=1e-9)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (3, 4), (1, 1, 4), (2, 3, 4)])
def test_prelu(tmp_path: Path, shape: tuple[int, ...]) -> None:
    prelu = node("PRelu", ["x", "slope"], ["y"])
    constants = {"slope": 2 * weights(*shape)}
    assert_runs(tmp_path, prelu, shape=(2, 3, 4), constants=constants, elem=FLOAT)


def test_a_slope_beside_which_one_is_nothing(tmp_path: Path) -> None:
    prelu = node("PRelu", ["x", "slope"], ["y"])
    model = build([prelu], inputs={"x": (1, 2)}, constants={"slope": np.array(3e38)}, elem=FLOAT)
    network = loaded(model, tmp_path)
    assert network.ir.evaluate([0.5, -0.5]) == pytest.approx([0.5, -1.5e38])


@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (["x"], ["Affine"]),
        (["x", "row"], ["Affine", "Relu", "Affine"]),
        (["row", "x", "column"], ["Affine", "Relu", "Affine"]),
        (["x", "h"], ["Affine", "Difference", "Max", "Affine"]),
        (["x", "h", "g"], ["Affine", *["Difference", "Max"] * 2, "Affine"]),
        (["x", "h", "row"], ["Affine", "Difference", "Max", "Affine", "Relu", "Affine"]),
        (["x", "t"], ["Affine", "Difference", "Max", "Affine"]),
    ],
)
def test_extreme_of_tensors(
    tmp_path: Path, operator: str, inputs: list[str], expected: list[str]
) -> None:
    network = assert_runs(
        tmp_path,
        node("MatMul", ["x", "A"], ["h"]),
        node("MatMul", ["x", "B"], ["g"]),
        node("ReduceMean", ["x"], ["t"], axes=[0]),
        node(operator, inputs, ["y"]),
        shape=(2, 3),
        constants={
            "A": weights(3, 3),
            "B": weights(3, 3, seed=5),
            "row": 0.5 * weights(3),
            "column": 0.5 * weights(2, 1),
        },
        elem=FLOAT,
    )
    assert kinds(network) == expected


def test_shrink(tmp_path: Path) -> None:
    shrink = node("Shrink", ["x"], ["y"], lambd=0.25, bias=0.25)
    assert_runs(tmp_path, shrink, shape=(2, 5), elem=FLOAT)
    assert_runs(tmp_path, node("Shrink", ["x"], ["y"]), shape=(2, 5), elem=FLOAT)
    with pytest.raises(UnsupportedOperatorError, match="its lambd is negative"):
        assert_runs(tmp_path, node("Shrink", ["x"], ["y"], lambd=-0.5), shape=(2, 5), elem=FLOAT)
