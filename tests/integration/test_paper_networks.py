"""The networks of the paper's evaluation: their counts, their files, their training."""

import importlib.util
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from scipy.signal import correlate

import milp_verix
from benchmarks.paper.architectures import ARCHITECTURES, Architecture, Conv, Dense, Pool, counts
from benchmarks.paper.data import DataSet, Part, digits
from benchmarks.paper.onnx_export import to_onnx

SHAPE = (2, 9, 8)
LAYERS = (Conv(3, active=True), Conv(2, side=2), Pool(), Dense(5))


def random_weights(seed: int) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    rng = np.random.default_rng(seed)
    kernels = [(3, 2, 3, 3), (2, 3, 2, 2), (5, 2 * 3 * 2), (4, 5)]
    return [
        (rng.normal(size=kernel).astype(np.float32), rng.normal(size=kernel[0]).astype(np.float32))
        for kernel in kernels
    ]


def evaluated(x: NDArray[np.float32], weights: list[tuple[NDArray[np.float32], ...]]) -> object:
    """Return the output for one image by SciPy's correlation, layer by layer."""
    (a, b), (c, d), (e, f), (g, h) = weights
    first = np.stack([correlate(x, k, "valid")[0] for k in a]) + b[:, None, None]
    second = np.stack([correlate(np.maximum(first, 0), k, "valid")[0] for k in c])
    second = second + d[:, None, None]
    pooled = second[:, :6, :4].reshape(2, 3, 2, 2, 2).max(axis=(2, 4))
    return g @ np.maximum(e @ pooled.reshape(-1) + f, 0) + h


@pytest.mark.parametrize("seed", range(3))
def test_the_file_computes_the_layers(seed: int) -> None:
    weights = random_weights(seed)
    model = to_onnx(Architecture("some", "digits", LAYERS, outputs=4), SHAPE, weights)
    x = np.random.default_rng(seed).random(SHAPE, dtype=np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (answer,) = session.run(None, {"image": x[None]})[0]
    np.testing.assert_allclose(answer, evaluated(x, weights), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in ARCHITECTURES if name.startswith("digits")])
def test_networks_that_ship_are_of_their_architecture(name: str) -> None:
    path = Path("benchmarks/paper/networks") / f"{name}.onnx"
    network = milp_verix.load_network(Path(__file__).parents[2] / path)
    relus, _ = counts(ARCHITECTURES[name].layers, (1, 8, 8))
    assert network.ir.relu_count == relus


def test_the_paper_counts_the_same_neurons_of_mnist_sota() -> None:
    assert counts(ARCHITECTURES["mnist-sota"].layers, (1, 28, 28)) == (50960, 5632)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_training_learns_and_is_the_same_twice(tmp_path: Path, radius: float) -> None:
    from benchmarks.paper.training import train

    shipped = digits().test
    learnt = Part(shipped.images[:300], shipped.targets[:300])
    tested = Part(shipped.images[300:], shipped.targets[300:])
    data = DataSet("digits", learnt, tested, tuple("0123456789"))
    made = Architecture("some", "digits", (Dense(16),), epochs=30, radius=radius)
    for name in ("once", "twice"):
        train(made, data, tmp_path / f"{name}.onnx")
    assert (tmp_path / "once.onnx").read_bytes() == (tmp_path / "twice.onnx").read_bytes()
    session = onnxruntime.InferenceSession(tmp_path / "once.onnx")
    answers = session.run(None, {"image": tested.images})[0].argmax(axis=1)
    assert np.mean(answers == tested.targets) > 0.8
