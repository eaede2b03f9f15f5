"""A model file as a whole: what it may look like, what is refused, and what it computes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from milp_verix import InputError, ModelError, check, load_network
from milp_verix.models.onnx.model_file import read_signature
from tests.support.onnx_models import (
    assert_agrees,
    build,
    dense,
    loaded,
    node,
    saved,
    weights,
)
from tests.support.published_data import shared_file

PUBLISHED = {
    "acasxu-1-1.onnx": (300, 5),
    "cifar-base-kw.onnx": (3172, 10),
    "gtsrb-10x2.onnx": (20, 10),
    "marabou-fc1.onnx": None,
    "mnist-10x2.onnx": (20, 10),
    "vnncomp-mnist-256x2.onnx": (512, 10),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_network_equals_onnxruntime(name: str) -> None:
    network = load_network(shared_file(f"models/{name}"))
    if expected := PUBLISHED[name]:
        assert (network.ir.relu_count, network.output_size) == expected
    assert_agrees(network, tolerance=1e-5)


def test_a_published_network_with_max_pools_is_checked() -> None:
    network = load_network(shared_file("models/marabou-cnn_max_mninst2.onnx"))
    assert network.ir.counts.get("maxima", 0) > 0
    assert "maxima" in repr(network)
    assert_agrees(network, tolerance=1e-5)
    images = np.load(shared_file("data/mnist_test.npz"))["images"]
    image = images[0] / np.float32(255)
    assert network.evaluate(image).argmax() == 7
    assert check(network, image, range(300, 340), epsilon=0.3).holds


def products(
    first: list[str], last: list[str], shape: Any, constants: dict[str, Any]
) -> onnx.ModelProto:
    """Return a model of two products, with ReLUs between them."""
    nodes = [node("MatMul", first, ["h"]), node("Relu", ["h"], ["r"]), node("MatMul", last, ["y"])]
    return build(nodes, inputs={"x": shape}, constants=constants)


@pytest.mark.parametrize("shape", [(1, 3), ("batch", 3), (None, 3), (3,)])
def test_where_the_batch_dimension_is_on_the_left(
    shape: tuple[object, ...], tmp_path: Path
) -> None:
    constants = {"A": weights(3, 4), "B": weights(4, 2, seed=2)}
    network = loaded(products(["x", "A"], ["r", "B"], shape, constants), tmp_path)
    assert network.input_shape == ((3,) if shape == (3,) else (1, 3))
    assert network.output_size == 2
    assert_agrees(network)


@pytest.mark.parametrize("shape", [(3, 1), (3, "batch"), (1, 3, 1), ("batch", 3, 1)])
def test_where_the_batch_dimension_is_on_the_right(
    shape: tuple[object, ...], tmp_path: Path
) -> None:
    constants = {"A": weights(4, 3), "B": weights(2, 4, seed=2)}
    assert_agrees(loaded(products(["A", "x"], ["B", "r"], shape, constants), tmp_path))


def test_an_image_exported_with_its_channels_last(tmp_path: Path) -> None:
    model = build(
        [
            node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
            node("Conv", ["t", "K"], ["c"]),
            node("Relu", ["c"], ["r"]),
            node("Transpose", ["r"], ["u"], perm=[0, 2, 3, 1]),
            node("Flatten", ["u"], ["f"]),
            node("Gemm", ["f", "A"], ["y"]),
        ],
        inputs={"x": ("batch", 5, 6, 3)},
        constants={"K": weights(2, 3, 3, 3), "A": weights(24, 4)},
        elem=TensorProto.FLOAT,
    )
    network = loaded(model, tmp_path)
    assert network.input_shape == (1, 5, 6, 3)
    assert_agrees(network)


def test_initializers_that_are_also_listed_as_inputs(tmp_path: Path) -> None:
    model = dense(elem=TensorProto.FLOAT)
    model.graph.input.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in model.graph.initializer
    )
    assert_agrees(loaded(model, tmp_path))


def test_weights_in_external_data(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(
        dense(), path, save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    assert (tmp_path / "weights.bin").stat().st_size > 0
    assert_agrees(load_network(path))


def test_external_data_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(
        dense(), path, save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelError, match=r"weights\.bin"):
        load_network(path)


def test_external_data_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(b"\0" * 96)
    model = dense()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret.bin")
    (tmp_path / "inner").mkdir()
    with pytest.raises(ModelError):
        load_network(saved(model, tmp_path / "inner"))


def test_the_declared_shape_may_be_given(tmp_path: Path) -> None:
    model = build(
        [node("Relu", ["x"], ["r"]), node("Flatten", ["r"], ["y"])],
        inputs={"x": ("batch", "width", 2)},
    )
    with pytest.raises(ModelError, match=r"batch.*width.*input_shape="):
        loaded(model, tmp_path)
    network = load_network(saved(model, tmp_path), input_shape=(1, 3, 2))
    assert network.input_size == 6
    assert_agrees(network)


@pytest.mark.parametrize("shape", [(1, 4), (2, 3, 1), (0, 3), ("a", 3)])
def test_a_shape_given_that_does_not_fit(shape: tuple[int, ...], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="input_shape"):
        load_network(saved(dense(), tmp_path), input_shape=shape)


def test_a_batch_of_several_is_no_vector_of_scores(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="batch"):
        loaded(dense(inputs={"x": (2, 3)}), tmp_path)


def test_no_scores_at_all_are_refused(tmp_path: Path) -> None:
    constants = {"A": np.zeros((3, 0))}
    model = build([node("MatMul", ["x", "A"], ["y"])], inputs={"x": (1, 3)}, constants=constants)
    with pytest.raises(ModelError, match=r"shape \(1, 0\).*expected one vector of scores"):
        loaded(model, tmp_path)


def test_one_of_several_outputs_is_chosen_by_name(tmp_path: Path) -> None:
    model = build(
        [node("MatMul", ["x", "A"], ["y"]), node("Relu", ["y"], ["z"])],
        inputs={"x": (1, 3)},
        outputs=["y", "z"],
        constants={"A": weights(3, 2)},
    )
    with pytest.raises(ModelError, match="'y', 'z'"):
        loaded(model, tmp_path)
    for output, relus in (("y", 0), ("z", 2)):
        network = load_network(saved(model, tmp_path), output=output)
        assert network.ir.relu_count == relus
        assert_agrees(network)
    with pytest.raises(InputError, match="'w'"):
        load_network(saved(model, tmp_path), output="w")


def test_an_input_of_integers_is_refused() -> None:
    model = build([node("Identity", ["x"], ["y"])], inputs={"x": (1, 3)}, elem=TensorProto.INT64)
    with pytest.raises(ModelError, match="float"):
        read_signature(model.graph)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"not a model", "ONNX"),
        (b"\x89PNG\r\n\x1a\n" * 8, "ONNX"),
        (dense().SerializeToString()[:-40], "truncated|ONNX|data"),
        (dense().SerializeToString()[:60], "truncated|ONNX"),
    ],
)
def test_a_file_that_is_no_model(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=message):
        load_network(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.onnx"):
        load_network(tmp_path / "absent.onnx")
    with pytest.raises(ModelError, match="not a file"):
        load_network(tmp_path)
    with pytest.raises(ModelError, match=r"cannot read 'nul\\x00l': .*embedded null"):
        load_network("nul\0l")


@pytest.mark.parametrize("shape", [(3,), (1, 3), (3, 1), (1, 1, 3)])
def test_an_input_may_leave_out_or_add_ones(shape: tuple[int, ...], tmp_path: Path) -> None:
    network = loaded(dense(), tmp_path)
    x = np.array([0.1, -0.2, 0.3])
    np.testing.assert_array_equal(network.evaluate(x.reshape(shape)), network.evaluate(x))


@pytest.mark.parametrize("x", [np.zeros(4), np.zeros((3, 3)), 1.0, ["a", "b", "c"], [[1], [1, 2]]])
def test_an_input_of_another_shape_is_refused(x: object, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        loaded(dense(), tmp_path).evaluate(x)


def test_many_inputs_are_run_one_by_one(tmp_path: Path) -> None:
    network = loaded(dense(elem=TensorProto.FLOAT), tmp_path)
    xs = np.random.default_rng(0).random((5, 3), dtype=np.float32)
    many = network.evaluate_many(xs)
    assert many.dtype == np.float32
    np.testing.assert_array_equal(many, [network.evaluate(x) for x in xs])


def test_float16_weights_are_taken_exactly(tmp_path: Path) -> None:
    model = dense(elem=TensorProto.FLOAT16)
    network = loaded(model, tmp_path)
    stored = numpy_helper.to_array(model.graph.initializer[2]).astype(np.float64)
    ((_, matrix),) = network.ir.nodes[-1].terms
    np.testing.assert_array_equal(matrix, stored.T)
    assert network.dtype == np.float16


def test_the_type_of_the_model_is_the_type_of_the_input(tmp_path: Path) -> None:
    assert loaded(dense(elem=TensorProto.DOUBLE), tmp_path).dtype == np.float64
    assert loaded(dense(elem=TensorProto.FLOAT), tmp_path).dtype == np.float32
