"""Small matrices are dense: what is computed with them is the same as with sparse ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.support.random_networks import random_graph
from verix_encodings import Affine, Difference, Network, Relu, arrays, crown_bounds, encode
from verix_encodings.arrays import dense, picked, placed, times_sizes
from verix_encodings.bounds.interval import Interval


@pytest.mark.parametrize("small", [0, 10**6])
def test_a_matrix_holds_what_is_placed_and_picked(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_SMALL", small)
    rows, columns = np.array([2, 0, 1]), np.array([3, 1, 3])
    matrix = placed([1.0, -2.0, 3.0], rows, columns, (4, 5))
    assert sp.issparse(matrix) == (small == 0)
    expected = np.zeros((4, 5))
    expected[2, 3], expected[0, 1], expected[1, 3] = 1.0, -2.0, 3.0
    assert np.array_equal(dense(matrix), expected)
    assert np.array_equal(dense(placed(7.0, rows, columns, (4, 5))), 7.0 * (expected != 0))
    for form in (expected, sp.csr_array(expected)):
        assert np.array_equal(dense(picked(form, np.array([3, 0]))), expected[:, [3, 0]])


@pytest.mark.parametrize("block", [1, 5, 10**6])
@pytest.mark.parametrize("shape", [(9, 7), (1, 7), (9, 1), (0, 7)])
def test_products_with_absolute_values_block_by_block(
    block: int, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_BLOCK", block)
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=shape) * (rng.random(shape) < 0.4)  # has empty rows
    vectors = rng.normal(size=(2, shape[1]))
    for form in (matrix, sp.csr_array(matrix), sp.csr_array(shape)):
        found = times_sizes(form, *vectors)
        expected = vectors @ np.abs(dense(form)).T
        assert np.allclose(found, expected, rtol=1e-14, atol=0)
        assert np.allclose(times_sizes(form, vectors.T)[0], expected.T, rtol=1e-14, atol=0)


def with_relus(rng: np.random.Generator) -> Network:
    """A random graph whose affine maps have zeros, with ReLUs at its end."""
    network = random_graph(rng, nodes=5)
    nodes = [
        Affine(tuple((s, m * (rng.random(m.shape) < 0.2)) for s, m in node.terms), node.bias)
        if isinstance(node, Affine) and not isinstance(node, Difference)
        else node
        for node in network.nodes
    ]
    return Network(network.input_shape, (*nodes, Relu(len(nodes))))


@pytest.mark.parametrize("seed", range(20))
def test_bounds_and_programs_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    sparse = 0
    for small in (0, 10**6):
        monkeypatch.setattr(arrays, "_SMALL", small)
        rng = np.random.default_rng(seed)
        network = with_relus(rng)
        terms = [m for node in network.nodes if isinstance(node, Affine) for _, m in node.terms]
        sparse += sum(map(sp.issparse, terms))
        centre = rng.normal(size=network.input_size)
        bounds = crown_bounds(network, Interval(centre - 0.5, centre + 0.5))
        encoding = encode(network, bounds)
        ends = np.concatenate([end for b in bounds for end in (b.lower, b.upper)])
        found.append((ends, encoding.program))
        assert small == 0 or not any(map(sp.issparse, terms))
    assert sparse
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-12)
    one, other = (program.matrix.toarray() for _, program in found)
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("small", [0, 10**6])
@pytest.mark.parametrize("seed", range(10))
def test_the_rest_of_the_input_may_be_settled(
    seed: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_SMALL", small)
    rng = np.random.default_rng(seed)
    network = random_graph(rng, nodes=int(rng.integers(1, 6)))
    if seed % 2:
        # an activation that reads the input
        shape = np.eye(3)
        network = Network((3,), (Relu(0), Affine(((1, shape), (0, 2.0 * shape)), np.ones(3))))
    free = np.flatnonzero(rng.random(3) < 0.6)
    rest = rng.normal(size=3)
    rest[free] = 0.0
    left, u = network.among(free, rest), rng.normal(size=free.size)
    x = rest.copy()
    x[free] = u
    assert left.input_size == free.size
    np.testing.assert_allclose(left.evaluate(u), network.evaluate(x), atol=1e-12)
