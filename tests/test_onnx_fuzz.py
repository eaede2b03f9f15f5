"""Damaged models either load or end in an error of this package, soon: never in any other error."""

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import MilpVerixError, load_network
from tests.mutations import MUTATIONS, Mutation, pick
from tests.onnx_models import FLOAT, build, dense, node, weights

FIXTURES = Path(__file__).parent / "fixtures"
SECONDS = 5.0  # for one model; what is read takes milliseconds


def models() -> list[onnx.ModelProto]:
    """Return valid models that between them hold most operators."""
    names = ("torchscript-residual", "dynamo-dense", "torchscript-decoder", "keras-style")
    read = [onnx.load(FIXTURES / f"{name}.onnx") for name in names]
    return [*read, onnx.load(FIXTURES / "sklearn-binary-zipmap.onnx"), dense(elem=FLOAT), shapes()]


def shapes() -> onnx.ModelProto:
    """Return a model of operators that take shapes and indices as inputs."""
    nodes = [
        node("Slice", ["x", "starts", "ends", "axes"], ["s"]),
        node("Pad", ["s", "pads"], ["p"], mode="reflect"),
        node("Split", ["p"], ["l", "r"], axis=1, num_outputs=2),
        node("Gather", ["l", "indices"], ["g"], axis=1),
        node("Tile", ["r", "repeats"], ["t"]),
        node("Concat", ["g", "t"], ["c"], axis=1),
        node("Shape", ["c"], ["d"]),
        node("Expand", ["c", "d"], ["e"]),
        node("ReduceMax", ["e", "last"], ["m"], keepdims=1),
        node("Clip", ["e", "low", "high"], ["k"]),
        node("Max", ["k", "m"], ["b"]),
        node("Reshape", ["b", "flat"], ["y"]),
    ]
    constants = {
        "starts": np.array([1]),
        "ends": np.array([9]),
        "axes": np.array([1]),
        "pads": np.array([0, 1, 0, 1]),
        "indices": np.array([0, 2, -1]),
        "repeats": np.array([1, 2]),
        "last": np.array([1]),
        "flat": np.array([1, -1]),
        "low": np.array(-0.5),
        "high": np.array(0.5),
    }
    model = build(nodes, inputs={"x": (1, 8)}, constants=constants, opset=18, elem=FLOAT)
    model.graph.output[0].type.tensor_type.elem_type = FLOAT
    return model


def survives(path: Path) -> bool:
    """Return whether the file loads and runs; fail for any error but the package's own."""
    started = time.monotonic()
    try:
        network = load_network(path)
        network.evaluate(np.zeros(network.input_size))
        message = None
    except MilpVerixError as error:
        message = str(error)
    assert time.monotonic() - started < SECONDS
    assert message is None or (message and "\n" not in message)
    return message is None


def test_the_models_themselves_load(tmp_path: Path) -> None:
    for model in models():
        onnx.save(model, tmp_path / "model.onnx")
        assert survives(tmp_path / "model.onnx")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutated_graphs(mutation: Mutation, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    loaded, refused = 0, 0
    for seed, original in enumerate(model for _ in range(8) for model in models()):
        rng = np.random.default_rng(seed)
        mutation(original, rng)
        if seed % 3 == 0 and original.graph.node:
            MUTATIONS[pick(MUTATIONS, rng)](original, rng)
        path.write_bytes(original.SerializeToString())
        if survives(path):
            loaded += 1
        else:
            refused += 1
    assert refused > 0, (loaded, refused)


@pytest.mark.parametrize("damage", ["flip", "truncate", "insert", "overwrite"])
def test_damaged_bytes(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    refused = 0
    for seed, model in enumerate(models() * 12):
        rng = np.random.default_rng(seed)
        data = bytearray(model.SerializeToString())
        at = pick(data, rng)
        if damage == "flip":
            data[at] ^= 1 << int(rng.integers(8))
        elif damage == "truncate":
            del data[at:]
        elif damage == "insert":
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        else:
            data[at : at + 4] = rng.bytes(4)
        path.write_bytes(data)
        refused += not survives(path)
    assert refused > 0


def test_noise_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for seed in range(50):
        path.write_bytes(np.random.default_rng(seed).bytes(200))
        assert not survives(path)


def test_a_long_chain_is_no_recursion(tmp_path: Path) -> None:
    names = ["x", *(f"h{k}" for k in range(3000)), "y"]
    nodes = [node("Identity", [a], [b]) for a, b in pairwise(names)]
    model = build(nodes, inputs={"x": (1, 2)}, constants={"W": weights(2, 2)}, elem=FLOAT)
    onnx.save(model, tmp_path / "model.onnx")
    assert survives(tmp_path / "model.onnx")
