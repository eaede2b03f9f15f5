"""The walk through a graph holds no matrix longer than something reads it."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from milp_verix.models.onnx import trace as walk
from milp_verix.models.onnx.symbol import Symbol
from tests.support.onnx_models import build, node, traced, weights

DEPTH = 12


def test_matrices_are_dropped_behind_their_last_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers with a skip around each: the network has copies of its own."""
    constants = {f"W{k}": weights(80, 80, seed=k) for k in range(DEPTH)}
    nodes = []
    for k in range(DEPTH):
        nodes += [
            node("MatMul", [f"h{k}", f"W{k}"], [f"a{k}"]),
            node("Add", [f"a{k}", f"h{k}"], [f"s{k}"]),
            node("Relu", [f"s{k}"], [f"h{k + 1}"]),
        ]
    model = build(
        nodes, inputs={"h0": (1, 80)}, outputs=[f"h{DEPTH}"], constants=constants, opset=17
    )
    made: list[weakref.ref[Any]] = []
    held: list[int] = []
    apply = walk.apply

    def watched(context: Any, inputs: Any) -> Any:
        gc.collect()
        held.append(sum(one() is not None for one in made))
        results = apply(context, inputs)
        for x in results:
            if isinstance(x, Symbol):
                made.extend(weakref.ref(m) for m in x.terms.values() if m.nnz > 80)
        return results

    monkeypatch.setattr(walk, "apply", watched)
    gc.freeze()  # what was there before is not looked through each time
    try:
        found = traced(model)
    finally:
        gc.unfreeze()
    assert len(made) >= DEPTH
    assert max(held) <= 3
    # the values of layers are found again by their tensors
    tensors = [anchor.tensor for anchor in found.anchors]
    assert tensors == [f"{name}" for k in range(DEPTH) for name in (f"s{k}", f"h{k + 1}")]


def test_tensors_are_read_again_as_long_as_something_reads_them() -> None:
    """One tensor twice by one node, an input read last, and an output in the middle."""
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Mul", ["r", "r"], ["s"]),
        node("Add", ["s", "x"], ["t"]),
        node("Add", ["t", "c"], ["y"]),
        node("Relu", ["y"], ["unread"]),
        node("Mul", ["c", "c"], ["d"]),
    ]
    model = build(nodes, inputs={"x": (1, 3)}, constants={"c": np.arange(3.0)}, opset=17)
    x = np.array([0.5, -0.25, 2.0])
    expected = np.maximum(x, 0) ** 2 + x + np.arange(3.0)
    np.testing.assert_allclose(traced(model).network.evaluate(x), expected)
