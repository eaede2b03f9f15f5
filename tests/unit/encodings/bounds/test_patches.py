"""Patches compute as the ndarrays that they stand for, and bounds with them enclose."""

import numpy as np
import pytest
import scipy.sparse as sp

import verix_encodings.bounds.rows
from verix_encodings import (
    Affine,
    Difference,
    Interval,
    Network,
    NormBall,
    Relu,
    crown,
    crown_bounds,
    pairwise_maxima,
)
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.bounds.rows import Patch, Rows, product, reached, total


def _sparse(rng: np.random.Generator, rows: int, columns: int, density: float) -> sp.csr_array:
    return sp.random_array((rows, columns), density=density, rng=rng, format="csr")


def _rows(rng: np.random.Generator, width: int) -> Rows:
    if rng.random() < 0.3:
        return rng.normal(size=(3, width))
    columns = np.flatnonzero(rng.random(width) < 0.2)
    return Patch(rng.normal(size=(3, columns.size)), columns, width)


@pytest.mark.parametrize("seed", range(40))
def test_products_and_sums_are_those_of_ndarrays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = _rows(rng, 30), _rows(rng, 30)
    np.testing.assert_allclose(dense(total(one, other)), dense(one) + dense(other))
    for matrix in (_sparse(rng, 30, 50, 0.02), _sparse(rng, 30, 50, 0.3), rng.normal(size=(30, 9))):
        found = product(one, matrix)
        np.testing.assert_allclose(dense(found), dense(one) @ dense(matrix), atol=1e-12)
        few = _sparse(rng, 4, 30, 0.05)
        np.testing.assert_allclose(dense(product(few, matrix)), dense(few @ dense(matrix)))
        np.testing.assert_array_equal(dense(reached(few)), few.toarray())


def test_few_columns_stay_few() -> None:
    matrix = sp.csr_array(np.eye(50)[:, :40])
    first = reached(sp.csr_array(np.eye(50)[[3, 7]]))
    assert isinstance(first, Patch)
    second = product(first, matrix)
    assert isinstance(second, Patch)
    np.testing.assert_array_equal(second.columns, [3, 7])


def _convolution(rng: np.random.Generator, channels: int, kernels: int, side: int) -> FloatArray:
    """Return the matrix of a convolution 3×3 without padding, channels first."""
    weights, after = rng.normal(size=(kernels, channels, 3, 3)), side - 2
    matrix = np.zeros((kernels, after, after, channels, side, side))
    for i in range(after):
        for j in range(after):
            matrix[:, i, j, :, i : i + 3, j : j + 3] = weights
    return matrix.reshape(kernels * after**2, channels * side**2)


def _pooled(channels: int, side: int) -> np.ndarray:
    places = np.arange(channels * side**2).reshape(channels, side // 2, 2, side // 2, 2)
    return places.transpose(0, 1, 3, 2, 4).reshape(-1)


def _network(rng: np.random.Generator) -> Network:
    """Return conv 10×10 → 3×8×8, ReLU, conv → 4×6×6, ReLU, pool → 4×3×3, dense, ReLU, dense."""
    windows = _pooled(4, 6)
    matrices = (
        sp.csr_array(_convolution(rng, 1, 3, 10)),
        sp.csr_array(_convolution(rng, 3, 4, 8)),
        rng.normal(size=(6, 36)),
        rng.normal(size=(3, 6)),
    )
    first, second, third, last = (
        Affine(((source, matrix),), rng.normal(size=matrix.shape[0]))
        for source, matrix in zip((0, 2, 8, 10), matrices, strict=True)
    )
    pool = pairwise_maxima(5, 4, 4 * 36, windows, np.arange(0, windows.size, 4))
    return Network((100,), (first, Relu(1), second, Relu(3), *pool, third, Relu(9), last))


@pytest.mark.usefixtures("matrix_storage")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("norm", [None, 1, 2])
def test_bounds_of_convolutions_enclose_samples_and_are_those_without_patches(
    seed: int, norm: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    network, centre = _network(rng), rng.random(100)
    box = Interval(centre - 0.05, centre + 0.05)
    region = box if norm is None else NormBall(box, centre, 0.1, norm)
    bounds = crown_bounds(network, region)
    for _ in range(200):
        way = rng.normal(size=100) * (rng.random(100) < 0.3)
        for value, bound in zip(network.values(region.farthest(way)), bounds, strict=True):
            assert np.all((bound.lower <= value) & (value <= bound.upper))
    monkeypatch.setattr(verix_encodings.bounds.rows, "_MOST", 0.0)
    for one, other in zip(bounds, crown_bounds(network, region), strict=True):
        np.testing.assert_allclose(one.lower, other.lower, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(one.upper, other.upper, rtol=1e-9, atol=1e-9)


def test_neurons_behind_a_relu_are_bounded_at_its_source() -> None:
    """Entries that maxima compare are tightened before the ReLU, and only there."""
    network = _network(np.random.default_rng(0))
    box = Interval(np.full(100, 0.4), np.full(100, 0.6))
    bounds = crown_bounds(network, box)
    for value in (3, 9):
        np.testing.assert_array_equal(bounds[value + 1].upper, np.maximum(bounds[value].upper, 0.0))
    wide = crown_bounds(network, box, late=lambda: True)
    active = wide[3].lower > 0
    assert active.any()
    assert np.any(bounds[3].upper[active] < wide[3].upper[active])


def test_blocks_hold_neurons_that_read_one_window() -> None:
    """Of 32 neurons in a block, those of four kernels at a position stand together."""
    network = _network(np.random.default_rng(0))
    side = 6
    (block, *_) = crown._blocks(network, 3, np.arange(4 * side**2))
    np.testing.assert_array_equal(np.sort(block[:8] % side**2), np.repeat([0, 1], 4))
    differences = next(
        value for value, node in enumerate(network.nodes, 1) if isinstance(node, Difference)
    )
    windows = crown._windows(network, differences)
    node = network.nodes[differences - 1]
    assert windows is not None
    assert isinstance(node, Difference)
    np.testing.assert_array_equal(windows, crown._windows(network, 3)[node.first])
    assert crown._windows(network, len(network.nodes)) is None
