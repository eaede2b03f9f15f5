"""Weights stored outside of a model file are those beside it, wherever the program runs."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from milp_verix import ModelError, load_network
from tests.support.onnx_models import FLOAT, assert_agrees, build, dense, node, saved

VALUES = np.float32([0.5, -2.0, 3.0])


def external(location: str, values: int = 3, **entries: str) -> onnx.TensorProto:
    tensor = TensorProto(name="c", data_type=FLOAT, dims=[values])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def initializer(location: str, **entries: str) -> onnx.ModelProto:
    model = build([node("Add", ["x", "c"], ["y"])], inputs={"x": (1, 3)}, elem=FLOAT)
    model.graph.initializer.append(external(location, **entries))
    return model


def constant(location: str, **entries: str) -> onnx.ModelProto:
    nodes = [
        node("Constant", [], ["c"], value=external(location, **entries)),
        node("Add", ["x", "c"], ["y"]),
    ]
    return build(nodes, inputs={"x": (1, 3)}, elem=FLOAT)


def filling(location: str, **entries: str) -> onnx.ModelProto:
    nodes = [
        node(
            "ConstantOfShape",
            ["three"],
            ["c"],
            value=external(location, 1, **{"length": "4", **entries}),
        ),
        node("Add", ["x", "c"], ["y"]),
    ]
    constants = {"three": np.array([3])}
    return build(nodes, inputs={"x": (1, 3)}, constants=constants, elem=FLOAT)


def labelled(location: str, **entries: str) -> onnx.ModelProto:
    model = constant(location, **entries)
    model.graph.node.append(node("ArgMax", ["y"], ["label"], axis=1, keepdims=0))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("label", TensorProto.INT64, None))
    return model


KINDS = [initializer, constant, filling, labelled]
Kind = Callable[..., onnx.ModelProto]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with other weights of the same name."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "w.bin").write_bytes((10 - VALUES).tobytes())
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model, with its weights."""
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    for name in ("w.bin", "inner/w.bin"):
        (folder / name).write_bytes(VALUES.tobytes())
    return folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("location", ["w.bin", "inner/w.bin", "./w.bin"])
def test_the_weights_are_those_beside_the_model(
    kind: Kind, location: str, folder: Path, elsewhere: Path
) -> None:
    path = saved(kind(location), folder)
    expected = np.full(3, VALUES[0]) if kind is filling else VALUES
    for given in (path, Path(os.path.relpath(path, elsewhere))):
        network = load_network(given)
        np.testing.assert_array_equal(network.ir.evaluate(np.zeros(3)), expected)
        assert_agrees(network)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_in_the_working_directory_are_another_model(
    kind: Kind, folder: Path, elsewhere: Path
) -> None:
    (folder / "w.bin").unlink()
    assert (elsewhere / "w.bin").exists()
    with pytest.raises(ModelError, match=r"'c' cannot be read from 'w\.bin' in the model's folder"):
        load_network(saved(kind("w.bin"), folder))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["absolute", "parent", "there and back", "link", "linked folder"])
def test_weights_outside_of_the_folder_are_not_read(
    kind: Kind, way: str, folder: Path, elsewhere: Path
) -> None:
    (folder / "link.bin").symlink_to(elsewhere / "w.bin")
    (folder / "linked").symlink_to(elsewhere, target_is_directory=True)
    location = {
        "absolute": str(folder / "w.bin"),
        "parent": "../elsewhere/w.bin",
        "there and back": "inner/../w.bin",
        "link": "link.bin",
        "linked folder": "linked/w.bin",
    }[way]
    with pytest.raises(ModelError, match="which is not inside the model's folder; put its file"):
        load_network(saved(kind(location), folder))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "entries", [{"offset": "12"}, {"offset": "-4"}, {"length": "4000"}, {"offset": "four"}]
)
def test_weights_that_the_file_does_not_hold(
    kind: Kind, entries: dict[str, str], folder: Path
) -> None:
    with pytest.raises(ModelError):
        load_network(saved(kind("w.bin", **entries), folder))


@pytest.mark.parametrize("location", ["", ".", "inner", "nul\0l"])
def test_a_location_that_is_no_file(location: str, folder: Path) -> None:
    with pytest.raises(ModelError, match="tensor 'c'"):
        load_network(saved(constant(location), folder))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_in_memory_has_no_folder(kind: Kind, elsewhere: Path) -> None:
    assert (elsewhere / "w.bin").exists()
    model = kind("w.bin")
    for given in (model, model.SerializeToString()):
        with pytest.raises(ModelError, match=r"'w\.bin', and a model in memory has no folder"):
            load_network(given)


def test_a_model_in_memory_whose_weights_were_loaded(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(dense(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert_agrees(load_network(onnx.load(path)))
