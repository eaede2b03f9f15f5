"""The rounding of folded affine operators is in every bound: exact fractions cannot leave them."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from milp_verix import Answer, check, contrastive, explain, minimum
from tests.support.onnx_models import FLOAT, build, loaded, node, saved
from verix_encodings import Affine, Interval, Network, crown_bounds, interval_bounds, slope_bounds
from verix_encodings.safe_bounds import encoding_error, evaluation_error


def cancelling() -> onnx.ModelProto:
    """Return a chain of Gemms whose margin ``2⁻⁹ x − 2⁻¹⁰`` lies far below the rounding of folds.

    With ``k = 2²¹ (1 − 2⁻²⁴)``: ``y₀ = k³ x``, ``y₁ = (2⁶³ − 3·2³⁹) x + 3·2¹⁵ x − 2⁻¹⁰``, and
    ``k³ = 2⁶³ − 3·2³⁹ + 3·2¹⁵ − 2⁻⁹``.
    """
    k = 2.0**21 * (1 - 2.0**-24)
    constants = {
        "A": np.array([[k, 2.0**63 - 3 * 2.0**39, 3 * 2.0**15]]),
        "B": np.diag([k, 1.0, 1.0]),
        "C": np.array([[k, 0.0], [0.0, 1.0], [0.0, 1.0]]),
        "c": np.array([0.0, -(2.0**-10)]),
    }
    nodes = [
        node("Gemm", ["x", "A"], ["a"]),
        node("Gemm", ["a", "B"], ["b"]),
        node("Gemm", ["b", "C", "c"], ["y"]),
    ]
    return build(nodes, inputs={"x": (1, 1)}, constants=constants, elem=FLOAT)


def test_a_fold_that_cancels_proves_nothing(tmp_path: Path) -> None:
    path = saved(cancelling(), tmp_path)
    question = {"epsilon": 1.0}
    verdict = check(path, [0.0], free=[0], **question)
    # at x = 1 the margin is 2⁻¹⁰: whatever is not a proof is right, HOLDS is wrong
    assert verdict.answer is not Answer.HOLDS
    assert explain(path, [0.0], **question).irrelevant == ()
    assert minimum(path, [0.0], **question, time_limit=20).irrelevant == ()


@pytest.mark.parametrize("bounds", ["interval", "crown", "alpha", "lp", "milp"])
@pytest.mark.parametrize("solver", ["phase", "highs", "cbc", "scip"])
def test_nor_with_any_bounds_and_solver(tmp_path: Path, bounds: str, solver: str) -> None:
    path = saved(cancelling(), tmp_path)
    for reuse in (True, False):
        found = explain(path, [0.0], epsilon=1.0, solver=solver, bounds=bounds, reuse=reuse)
        assert found.irrelevant == ()


def test_a_contrast_is_not_ruled_out_by_a_fold_that_cancels(tmp_path: Path) -> None:
    found = contrastive(saved(cancelling(), tmp_path), [0.0], epsilon=1.0, time_limit=20)
    assert not found.robust


def exactly(model: onnx.ModelProto, x: NDArray[np.float64]) -> list[Fraction]:
    """Evaluate a model of Gemm, Mul, Add, Div, BatchNormalization (ε = 0) and Relu in fractions."""
    stored = {
        tensor.name: np.vectorize(Fraction, otypes=[object])(
            onnx.numpy_helper.to_array(tensor).astype(np.float64)
        )
        for tensor in model.graph.initializer
    }
    values = {**stored, "x": np.vectorize(Fraction, otypes=[object])(x)[None, :]}
    for proto in model.graph.node:
        inputs = [values[name] for name in proto.input]
        if proto.op_type == "Gemm":
            result = inputs[0].dot(inputs[1]) + (inputs[2] if len(inputs) > 2 else 0)
        elif proto.op_type == "Mul":
            result = inputs[0] * inputs[1]
        elif proto.op_type == "Div":
            result = inputs[0] / inputs[1]
        elif proto.op_type == "Add":
            result = inputs[0] + inputs[1]
        else:
            assert proto.op_type == "Relu"
            result = np.where(inputs[0] > 0, inputs[0], Fraction(0))
        values[proto.output[0]] = result
    return list(values["y"][0])


def random_chain(seed: int) -> onnx.ModelProto:
    """Return a chain of affine operators with weights of very different sizes, ReLUs in between."""
    rng = np.random.default_rng(seed)
    constants: dict[str, NDArray[np.float64]] = {}
    nodes, current, width = [], "x", 3

    def sized(*shape: int) -> NDArray[np.float64]:
        return rng.uniform(0.5, 1.5, shape) * 2.0 ** rng.integers(-12, 13, shape)

    for layer in range(8):
        out = "y" if layer == 7 else f"v{layer}"
        kind = "Gemm" if layer == 7 else rng.choice(["Gemm", "Gemm", "Mul", "Div", "Add", "Relu"])
        if kind == "Gemm":
            wide = 2 if layer == 7 else int(rng.integers(2, 5))
            weight = sized(width, wide)
            # rows that nearly cancel each other
            weight[1] = -weight[0] * (1 + 2.0**-20)
            constants[f"W{layer}"], constants[f"b{layer}"] = weight, sized(wide)
            nodes.append(node("Gemm", [current, f"W{layer}", f"b{layer}"], [out]))
            width = wide
        elif kind == "Relu":
            nodes.append(node("Relu", [current], [out]))
        else:
            constants[f"c{layer}"] = sized(1, width)
            nodes.append(node(str(kind), [current, f"c{layer}"], [out]))
        current = out
    return build(nodes, inputs={"x": (1, 3)}, constants=constants, elem=FLOAT)


def permuted_products(seed: int) -> onnx.ModelProto:
    """Return ``c (Π f_k x_i − Π f_π(k) x_i)``: zero, but for the rounding of a product's order."""
    rng = np.random.default_rng(seed)
    factors = rng.uniform(1, 2, (5, 3)).astype(np.float32)
    constants = {"first": np.tile(np.eye(3), 2), "last": np.vstack([np.eye(3), -np.eye(3)])}
    nodes = [node("Gemm", ["x", "first"], ["v0"])]
    for step, (one, other) in enumerate(zip(factors, rng.permutation(factors), strict=True)):
        constants[f"f{step}"] = np.concatenate([one, other])[None, :] * 2.0**12
        kind = "Mul" if seed % 2 else "Gemm"
        if kind == "Gemm":
            constants[f"f{step}"] = np.diag(constants[f"f{step}"][0])
        nodes.append(node(kind, [f"v{step}", f"f{step}"], [f"v{step + 1}"]))
    nodes.append(node("Gemm", ["v5", "last"], ["y"]))
    return build(nodes, inputs={"x": (1, 3)}, constants=constants, elem=FLOAT)


@pytest.mark.parametrize("made", [random_chain, permuted_products])
@pytest.mark.parametrize("seed", range(40))
def test_exact_values_are_in_the_bounds_of_what_is_folded(
    tmp_path: Path, seed: int, made: Callable[[int], onnx.ModelProto]
) -> None:
    model = made(seed)
    network = loaded(model, tmp_path).ir
    rng = np.random.default_rng(1000 + seed)
    centre = rng.uniform(-1, 1, 3)
    for radius in (0.0, 2.0**-30, 0.5):
        box = Interval(centre - radius, centre + radius)
        points = [centre, box.lower, box.upper, rng.uniform(box.lower, box.upper)]
        for method in (interval_bounds, crown_bounds):
            bounds = method(network, box)
            error = evaluation_error(network, bounds)
            for point in points:
                exact = exactly(model, point)
                evaluated = network.evaluate(point)
                for k, value in enumerate(exact):
                    assert Fraction(bounds[-1].lower[k]) <= value <= Fraction(bounds[-1].upper[k])
                    assert abs(Fraction(evaluated[k]) - value) <= Fraction(error[k])


@pytest.mark.parametrize("made", [random_chain, permuted_products])
@pytest.mark.parametrize("seed", range(20))
def test_exact_values_grow_no_faster_than_the_slopes_of_what_is_folded(
    tmp_path: Path, seed: int, made: Callable[[int], onnx.ModelProto]
) -> None:
    model = made(seed)
    network = loaded(model, tmp_path).ir
    centre = np.random.default_rng(seed).uniform(-1, 1, 3)
    box = Interval(centre - 0.25, centre + 0.25)
    lower, upper = slope_bounds(network, interval_bounds(network, box))
    before = exactly(model, centre)
    for i in range(3):
        moved = centre.copy()
        moved[i] = box.upper[i]
        way = Fraction(moved[i]) - Fraction(centre[i])
        for k, (old, new) in enumerate(zip(before, exactly(model, moved), strict=True)):
            slack = Fraction(1, 10**9) * abs(new - old)
            assert Fraction(lower[k, i]) * way - slack <= new - old
            assert new - old <= Fraction(upper[k, i]) * way + slack


def rounded(rounding: float) -> Network:
    """Return ``relu(x₀ + x₁) − 1``, the first map with a rounding, behind an identity."""
    first = Affine(
        ((0, np.array([[1.0, 1.0]])),), np.zeros(1), (np.array([rounding]), np.array([rounding]))
    )
    return Network((2,), (first,)).then([[1.0]], [-1.0])


def test_what_is_made_of_a_network_keeps_the_rounding() -> None:
    box = Interval(np.array([-2.0, 0.0]), np.array([1.0, 3.0]))
    for rounding in (2.0**-20, 1.0):
        network = rounded(rounding)
        # max|x| = 3, so 4 roundings in all; sums of exact numbers here
        for derived, over in (
            (network, box),
            (network.then([[2.0]], [0.0]), box),
            (network.among(np.array([1]), np.array([-2.0, 0.0])), Interval([0.0], [3.0])),
            (network.after(np.diag([2.0, 3.0]), np.zeros(2)), Interval([-1.0, 0.0], [0.5, 1.0])),
        ):
            factor = 2.0 if derived.evaluate(np.zeros(derived.input_size))[0] == -2.0 else 1.0
            least = 4 * rounding * factor
            for method in (interval_bounds, crown_bounds):
                bounds = method(derived, over)
                plain = Network(
                    derived.input_shape,
                    tuple(Affine(n.terms, n.bias) for n in derived.nodes if isinstance(n, Affine)),
                )
                width = bounds[-1].upper - method(plain, over)[-1].upper
                assert width[0] >= least * (1 - 1e-9)
                assert evaluation_error(derived, bounds)[0] >= least * (1 - 1e-9)
            assert encoding_error(derived, bounds) >= least * (1 - 1e-9)
        low, high = slope_bounds(network, interval_bounds(network, box))
        assert np.all(high - 1.0 >= rounding)
        assert np.all(1.0 - low >= rounding)


def test_a_rounding_has_the_shape_of_the_bias() -> None:
    for wrong in ((np.zeros(1),), (np.zeros(2), np.zeros(1)), (np.zeros(1),) * 3):
        with pytest.raises(ValueError, match="rounding"):
            Affine(((0, np.ones((1, 2))),), np.zeros(1), wrong)
