"""Networks that memory has no room for are refused before their matrices are made."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from milp_verix import ModelError, load_network
from milp_verix.models.onnx import symbol, trace, trace as room
from verix_encodings.convolution import Convolution


def network(side: int, kernel: int = 3) -> onnx.ModelProto:
    """Return two convolutions with strides of 1 and 2 over a square image."""
    first, second = (np.ones((4, c, kernel, kernel), dtype=np.float32) for c in (3, 4))
    pads = [kernel // 2] * 4
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["h"], pads=pads),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Conv", ["r", "b"], ["c"], pads=pads, strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["s"]),
        helper.make_node("GlobalAveragePool", ["s"], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        [numpy_helper.from_array(first, "a"), numpy_helper.from_array(second, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_estimate_counts_the_weights_of_all_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    side = 64
    largest, other = 4 * side**2 * 27, 4 * (side // 2) ** 2 * 36
    count = largest + other
    needed = room._KEPT * count + room._WHILE_READ * largest
    monkeypatch.setattr(room, "free_memory", lambda: needed)
    built = load_network(network(side)).ir
    stored = sum(m.nnz for n in built.nodes[:-1] for _, m in getattr(n, "terms", ()))
    assert 0.9 * count < stored <= count  # less the padding
    monkeypatch.setattr(room, "free_memory", lambda: needed - 1)
    with pytest.raises(ModelError, match=f"{count:,} entries of its convolutions"):
        load_network(network(side))


def test_windows_take_the_room_of_their_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbol, "STORED", 0)
    monkeypatch.setattr(symbol, "_CHANNELS", 1)
    side = 64
    count = side**2 * 27 + (side // 2) ** 2 * 36
    needed = room._KEPT_PLACE * count + room._PLACE_READ * side**2 * 27
    monkeypatch.setattr(room, "free_memory", lambda: needed)
    built = load_network(network(side)).ir
    matrices = [m for one in built.nodes for _, m in one.matrices if isinstance(m, Convolution)]
    assert sum(matrix.places.size for matrix in matrices) == count
    monkeypatch.setattr(room, "free_memory", lambda: needed - 1)
    with pytest.raises(ModelError, match=f"{count:,} entries of its convolutions"):
        load_network(network(side))


def test_a_network_of_too_many_numbers_is_refused_with_what_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = sum(load_network(network(200)).ir.sizes)
    monkeypatch.setattr(room, "_MOST_VALUES", values // 2)
    monkeypatch.setattr(trace, "Builder", None)
    with pytest.raises(ModelError, match=r"an input of (\d+) x \1 would fit") as refused:
        load_network(network(200))
    side = int(str(refused.value).split(" x ")[1].split()[0])
    assert 130 < side < 170
    monkeypatch.undo()
    assert sum(load_network(network(side)).ir.sizes) < 0.8 * values


def test_what_fits_is_told_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 3 * 10**7)
    monkeypatch.setattr(trace, "Builder", None)
    with pytest.raises(ModelError, match=r"an input of (\d+) x \1 would fit") as refused:
        load_network(network(200))
    side = int(str(refused.value).split(" x ")[1].split()[0])
    monkeypatch.undo()
    monkeypatch.setattr(room, "free_memory", lambda: 3 * 10**7)
    assert load_network(network(side)).input_shape == (1, 3, side, side)
    with pytest.raises(ModelError, match="would fit"):
        load_network(network(side + 4))


def test_small_inputs_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 0)
    assert load_network(network(28)).input_shape == (1, 3, 28, 28)
