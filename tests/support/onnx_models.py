"""Small ONNX models for the tests, and the comparison of what is read with what is run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import TensorProto, helper, numpy_helper

from milp_verix.models.onnx.model_file import read_signature
from milp_verix.models.onnx.onnx_network import OnnxNetwork, load_network
from milp_verix.models.onnx.trace import Trace, trace

FLOAT16, FLOAT, DOUBLE = TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE

node = helper.make_node


def weights(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    """Return random weights of ``shape``, none of them zero or one."""
    return np.random.default_rng(seed).uniform(0.1, 0.9, shape) * np.where(
        np.random.default_rng(seed + 1).random(shape) < 0.5, -1, 1
    )


def build(
    nodes: Sequence[onnx.NodeProto],
    *,
    inputs: Mapping[str, Sequence[int | str | None] | None],
    outputs: Sequence[str] = ("y",),
    constants: Mapping[str, ArrayLike] | None = None,
    opset: int = 17,
    elem: int = DOUBLE,
) -> onnx.ModelProto:
    """Return a model whose floating-point tensors all have the type ``elem``."""
    dtype = helper.tensor_dtype_to_np_dtype(elem)
    arrays = {name: np.asarray(array) for name, array in (constants or {}).items()}
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(name, elem, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, elem, None) for name in outputs],
        [
            numpy_helper.from_array(array.astype(dtype) if array.dtype.kind == "f" else array, name)
            for name, array in arrays.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def dense(**options: object) -> onnx.ModelProto:
    """Return a model of two dense layers, 3 inputs, 4 ReLUs, 2 scores."""
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"], name="first"),
        node("Relu", ["h"], ["r"], name="relu"),
        node("Gemm", ["r", "B"], ["y"], name="last"),
    ]
    constants = {"A": weights(3, 4), "a": weights(4, seed=1), "B": weights(4, 2, seed=2)}
    return build(nodes, **{"inputs": {"x": (1, 3)}, "constants": constants, **options})


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    """Write ``model`` to a file in ``folder`` and return its path."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def loaded(model: onnx.ModelProto, folder: Path) -> OnnxNetwork:
    """Return the network of ``model``, through a file in ``folder``."""
    return load_network(saved(model, folder))


def traced(model: onnx.ModelProto) -> Trace:
    """Return what the reader makes of ``model``, without onnxruntime."""
    return trace(model, read_signature(model.graph))


def kinds(network: OnnxNetwork) -> list[str]:
    """Return the types of the network's nodes in order."""
    return [type(entry).__name__ for entry in network.ir.nodes]


def assert_runs(
    folder: Path,
    *nodes: onnx.NodeProto,
    shape: Sequence[int],
    constants: Mapping[str, ArrayLike] | None = None,
    opset: int = 17,
    elem: int = DOUBLE,
) -> OnnxNetwork:
    """Compare the model of ``nodes``, from ``x`` to ``y`` of any shape, with onnxruntime."""
    model = build(
        [*nodes, node("Reshape", ["y", "flat"], ["scores"])],
        inputs={"x": shape},
        outputs=["scores"],
        constants={**(constants or {}), "flat": np.array([1, -1])},
        opset=opset,
        elem=elem,
    )
    network = loaded(model, folder)
    assert_agrees(network)
    return network


def assert_agrees(network: OnnxNetwork, tolerance: float | None = None) -> None:
    """Compare the network with onnxruntime at random points, relative to the largest score."""
    if tolerance is None:
        tolerance = {2: 2e-2, 4: 1e-5, 8: 1e-12}[network.dtype.itemsize]
    points = np.random.default_rng(3).uniform(-1, 1, (8, network.input_size))
    for x in points.astype(network.dtype):
        seen, expected = network.ir.evaluate(x), network.evaluate(x)
        assert seen.shape == expected.shape
        np.testing.assert_allclose(seen, expected, rtol=0, atol=tolerance * abs(expected).max())
