"""Models with several inputs are one question over all of them, with features named by input."""

import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import explain
from milp_verix.base.errors import InputError, ModelError
from milp_verix.models.onnx.onnx_network import load_network
from tests.support.onnx_models import FLOAT, build, node, saved, weights


def two_inputs(**shapes: tuple[int | str, ...]) -> onnx.ModelProto:
    """Return ``[a A, b] B + c``, of ``a`` with 2 entries and ``b`` with a row of one."""
    nodes = [
        node("MatMul", ["a", "A"], ["h"]),
        node("Concat", ["h", "b"], ["k"], axis=1),
        node("Relu", ["k"], ["r"]),
        node("Gemm", ["r", "B", "c"], ["y"]),
    ]
    constants = {"A": weights(2, 3), "B": weights(4, 2, seed=3), "c": weights(2, seed=5)}
    inputs = {"a": (1, 2), "b": ("n", 1), **shapes}
    return build(nodes, inputs=inputs, constants=constants, elem=FLOAT)


def direct(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    constants = [weights(2, 3), weights(4, 2, seed=3), weights(2, seed=5)]
    first, second, shift = (part.astype(np.float32) for part in constants)
    return np.maximum(np.concatenate([a @ first, b]), 0.0) @ second + shift


def test_all_inputs_are_one_vector(tmp_path: Path) -> None:
    network = load_network(saved(two_inputs(), tmp_path))
    assert network.input_shape == (1, 3)
    assert network.columns == ("a[0]", "a[1]", "b")
    for x in np.random.default_rng(0).uniform(-1, 1, (5, 3)).astype(np.float32):
        expected = direct(x[:2], x[2:])
        np.testing.assert_allclose(network.evaluate(x), expected, rtol=1e-5)
        np.testing.assert_allclose(network.ir.evaluate(x), expected, rtol=1e-5)
        by_name = {"b": x[2:].reshape(1, 1), "a": x[:2]}
        np.testing.assert_array_equal(network.as_input(by_name), x.reshape(1, 3))
    again = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(again.evaluate(np.ones(3)), network.evaluate(np.ones(3)))


@pytest.mark.parametrize("by_name", [False, True])
def test_an_explanation_names_features_by_their_input(by_name: bool, tmp_path: Path) -> None:
    path = saved(two_inputs(), tmp_path)
    x = {"a": np.array([[0.4, 0.6]]), "b": np.array([0.2])} if by_name else [0.4, 0.6, 0.2]
    found = explain(path, x, epsilon=0.5)
    assert found.feature_names == ("a[0]", "a[1]", "b")
    changed = found.counterfactuals
    for point in changed.values() if hasattr(changed, "values") else changed:
        moved = np.asarray(point.x if hasattr(point, "x") else point.input).reshape(-1)
        assert np.argmax(direct(moved[:2], moved[2:])) != found.prediction


def test_inputs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    network = load_network(saved(two_inputs(), tmp_path))
    with pytest.raises(InputError, match="input 'a' has 2 entries, got 3"):
        network.as_input({"a": np.zeros(3), "b": np.zeros(1)})
    with pytest.raises(ModelError, match="'b', one of several, has no shape with one dynamic"):
        load_network(saved(two_inputs(b=("n", "m")), tmp_path))
    model = two_inputs()
    model.graph.input[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    with pytest.raises(ModelError, match="not all of one floating-point type"):
        load_network(saved(model, tmp_path))
