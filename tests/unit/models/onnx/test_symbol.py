"""Runs of affine operators are one affine map, kept sparse while that is smaller."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from milp_verix import OnnxNetwork
from tests.support.onnx_models import FLOAT, assert_agrees, build, kinds, loaded, node, weights
from verix_encodings import Affine


def image_model(folder: Path, *, dense: bool) -> OnnxNetwork:
    """Return convolution, normalisation and convolution of a 12 × 12 image, perhaps a Gemm."""
    nodes = [
        node("Conv", ["x", "K", "k"], ["c"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"]),
        node("Conv", ["n", "L"], ["e"], strides=[2, 2]),
        node("AveragePool", ["e"], ["p"], kernel_shape=[2, 2]),
        node("Flatten", ["p"], ["f" if dense else "y"]),
        *([node("Gemm", ["f", "B"], ["y"])] if dense else []),
    ]
    constants: dict[str, Any] = {
        "K": weights(3, 1, 3, 3),
        "k": weights(3),
        **{name: weights(3, seed=i) for i, name in enumerate(("scale", "bias", "mean"))},
        "var": abs(weights(3, seed=9)),
        "L": weights(2, 3, 2, 2, seed=4),
        "B": weights(50, 10, seed=5),
    }
    model = build(nodes, inputs={"x": (1, 1, 12, 12)}, constants=constants, elem=FLOAT)
    return loaded(model, folder)


def test_convolution_normalisation_convolution_and_gemm_are_one_map(tmp_path: Path) -> None:
    network = image_model(tmp_path, dense=True)
    assert kinds(network) == ["Affine"]
    (only,) = network.ir.nodes
    assert isinstance(only, Affine)
    ((source, matrix),) = only.terms
    assert source == 0
    # each of the ten scores reads the whole image: dense storage is smaller
    assert isinstance(matrix, np.ndarray)
    assert matrix.shape == (10, 144)
    assert_agrees(network)


def test_it_stays_sparse_while_that_is_smaller(tmp_path: Path) -> None:
    network = image_model(tmp_path, dense=False)
    (only,) = network.ir.nodes
    assert isinstance(only, Affine)
    ((_, matrix),) = only.terms
    assert sp.issparse(matrix)
    # 2 × 5 × 5 elements, each of a window of 6 × 6, cut at the edges
    assert matrix.shape == (50, 144)
    assert 25 * 50 <= matrix.nnz <= 36 * 50
    assert_agrees(network)


def test_the_cnn_of_the_paper_is_one_dense_layer_with_relus(tmp_path: Path) -> None:
    # two convolutions without activation, a dense layer of 20 ReLUs, ten scores
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        node("Conv", ["t", "K", "k"], ["c"]),
        node("Conv", ["c", "L", "l"], ["e"]),
        node("Transpose", ["e"], ["u"], perm=[0, 2, 3, 1]),
        node("Flatten", ["u"], ["f"]),
        node("Gemm", ["f", "A", "a"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("Gemm", ["r", "B", "b"], ["y"]),
    ]
    constants = {
        "K": weights(4, 1, 3, 3),
        "k": weights(4),
        "L": weights(4, 4, 3, 3),
        "l": weights(4),
        "A": weights(2304, 20),
        "a": weights(20),
        "B": weights(20, 10),
        "b": weights(10),
    }
    model = build(nodes, inputs={"x": (1, 28, 28, 1)}, constants=constants, elem=FLOAT)
    network = loaded(model, tmp_path)
    assert kinds(network) == ["Affine", "Relu", "Affine"]
    assert network.ir.sizes == (784, 20, 20, 10)
    assert_agrees(network)
