"""Damaged models either load or end in an error of this package, soon: never in any other error."""

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import MilpVerixError, load_network
from tests.support.onnx_models import (
    DOUBLE,
    FLOAT,
    assert_agrees,
    build,
    dense,
    loaded,
    node,
    weights,
)
from tests.support.onnx_mutations import MUTATIONS, Mutation, pick
from tests.support.repository import FIXTURES

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


# Each computes a constant ``W{k}`` of shape (3, 3) from a stored one, ``S{k}``.
COMPUTED: tuple[tuple[onnx.NodeProto, ...], ...] = (
    (node("Transpose", ["S"], ["W"]),),
    (node("Mul", ["S", "row"], ["W"]),),
    (node("Sub", ["S", "row"], ["W"]),),
    (node("Neg", ["S"], ["a"]), node("MatMul", ["a", "S"], ["W"])),
    (node("Gemm", ["S", "S", "row"], ["W"], transB=1, alpha=0.5),),
    (node("ReduceL2", ["S"], ["a"], axes=[0]), node("Div", ["S", "a"], ["W"])),
    (node("Split", ["S", "parts"], ["a", "b"], axis=1), node("Concat", ["b", "a"], ["W"], axis=1)),
    (node("Expand", ["row", "square"], ["a"]), node("Max", ["a", "S"], ["W"])),
    (node("Less", ["S", "row"], ["a"]), node("Where", ["a", "S", "row"], ["W"])),
    (
        node("Shape", ["S"], ["a"]),
        node("Gather", ["a", "zero"], ["b"]),
        node("Mod", ["b", "two"], ["c"]),
        node("Sub", ["c", "two"], ["d"]),
        node("Unsqueeze", ["d", "zeros"], ["e"]),
        node("Concat", ["e", "three"], ["f"], axis=0),
        node("Reshape", ["S", "f"], ["W"]),
    ),
)


def computed(rng: np.random.Generator) -> onnx.ModelProto:
    """Return a random network with weights that its graph computes, and nodes in random order."""
    nodes, value = [], "x"
    constants: dict[str, np.ndarray] = {
        "row": weights(1, 3),
        "parts": np.array([1, 2]),
        "square": np.array([3, 3]),
        "three": np.array([3]),
        "zeros": np.array([0]),
        "zero": np.array(0),
        "two": np.array(2),
    }
    for k in range(int(rng.integers(1, 5))):
        constants[f"S{k}"] = rng.uniform(-1, 1, (3, 3))
        own = {name: f"{name}{k}" for name in "SWabcdef"}
        for proto in COMPUTED[pick(COMPUTED, rng)]:
            renamed = onnx.NodeProto.FromString(proto.SerializeToString())
            del renamed.input[:], renamed.output[:]
            renamed.input.extend(own.get(name, name) for name in proto.input)
            renamed.output.extend(own[name] for name in proto.output)
            nodes.append(renamed)
        layer = node("MatMul", [value, f"W{k}"], [f"h{k}"])
        if rng.random() < 0.3:
            layer = node("Add", [value, f"W{k}"], [f"h{k}"])
        elif rng.random() < 0.3:
            layer = node("Gemm", [f"W{k}", value, "row"], [f"h{k}"], beta=0.5)
        nodes += [layer, node("Relu", [f"h{k}"], [f"r{k}"])]
        value = f"r{k}"
    nodes.append(node("ReduceMean", [value], ["y"], axes=[0], keepdims=1))
    shuffled = [nodes[i] for i in rng.permutation(len(nodes))]
    elem = DOUBLE if rng.random() < 0.5 else FLOAT
    return build(shuffled, inputs={"x": (3, 3)}, constants=constants, elem=elem)


def survives(path: Path) -> bool:
    """Return whether the file loads and runs; fail for any error but the package's own."""
    started = time.process_time()
    try:
        network = load_network(path)
        network.evaluate(np.zeros(network.input_size))
        message = None
    except MilpVerixError as error:
        message = str(error)
    assert time.process_time() - started < SECONDS
    assert message is None or (message and "\n" not in message)
    return message is None


def test_the_models_themselves_load(tmp_path: Path) -> None:
    for model in models():
        onnx.save(model, tmp_path / "model.onnx")
        assert survives(tmp_path / "model.onnx")


@pytest.mark.slow
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


@pytest.mark.parametrize("seed", range(60))
def test_weights_computed_in_any_order_of_nodes(seed: int, tmp_path: Path) -> None:
    assert_agrees(loaded(computed(np.random.default_rng(seed)), tmp_path))


@pytest.mark.slow
def test_a_byte_that_is_no_text_is_refused_silently(capfd: pytest.CaptureFixture[str]) -> None:
    """Names ended in a UnicodeDecodeError, or in what onnxruntime prints before a second try."""
    content = (FIXTURES / "sklearn-binary-tensor.onnx").read_bytes()
    refused = list[str]()
    for place in range(0, 900, 3):
        try:
            load_network(content[:place] + b"\xf5" + content[place + 1 :])
        except MilpVerixError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert max(map(len, refused)) <= 400
    assert capfd.readouterr().out == ""
