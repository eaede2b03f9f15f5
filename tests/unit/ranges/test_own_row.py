"""The row of a rule lies in its ranges, whose ends are told in the numbers of the model."""

from pathlib import Path

import numpy as np

import milp_verix
from tests.support.onnx_models import build, loaded, node, weights


def test_the_own_row_is_inside_where_ends_are_told_in_single_precision(tmp_path: Path) -> None:
    constants = {"W": weights(6, 4, seed=1), "V": weights(4, 3, seed=2)}
    nodes = [node("MatMul", ["x", "W"], ["z"]), node("Relu", ["z"], ["h"])]
    nodes.append(node("MatMul", ["h", "V"], ["y"]))
    network = loaded(build(nodes, inputs={"x": (1, 6)}, constants=constants), tmp_path)
    rows = np.random.default_rng(0).random((20, 6)).astype(np.float32).astype(np.float64)
    for x in rows:
        found = milp_verix.inflate(network, x, epsilon=0.4, rows=[x])
        assert found.inside == 1
