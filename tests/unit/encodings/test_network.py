"""The network as data: what it computes, what it refuses, and its composition with a map."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.support.random_networks import random_graph, random_layers
from verix_encodings import Affine, Curve, Interval, Network, Relu, crown_bounds
from verix_encodings.bounds.curves import SQRT
from verix_encodings.interval_bounds import NoBoundsError

pytestmark = pytest.mark.usefixtures("matrix_storage")


def test_values_follow_the_graph() -> None:
    halves = sp.csr_array(np.array([[0.5, 0.0], [0.0, 0.5]]))
    network = Network(
        (1, 2),
        (
            Affine(((0, np.array([[1.0, -1.0], [-1.0, 1.0]])),), np.array([0.0, 1.0])),
            Relu(1),
            Affine(((2, np.eye(2)), (0, halves)), np.array([0.0, -1.0])),
        ),
    )
    values = [value.tolist() for value in network.values([[3.0, 1.0]])]
    assert values == [[3, 1], [2, -1], [2, 0], [3.5, -0.5]]
    assert network.sizes == (2, 2, 2, 2)
    assert network.relu_count == 2


@pytest.mark.parametrize("seed", range(20))
def test_composition_with_a_map_is_the_map_of_the_output(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_graph(rng, nodes=int(rng.integers(0, 5)))
    if seed % 2:
        network = Network(network.input_shape, (*network.nodes, Relu(len(network.nodes))))
    matrix, bias = rng.normal(size=(2, network.output_size)), rng.normal(size=2)
    x = rng.normal(size=3)
    expected = matrix @ network.evaluate(x) + bias
    np.testing.assert_allclose(network.then(matrix, bias).evaluate(x), expected, atol=1e-12)


def test_composition_adds_no_layer_where_the_last_is_affine() -> None:
    (matrix, bias), *_ = random_layers(np.random.default_rng(0), (3, 2))
    network = Network((3,), (Affine(((0, matrix),), bias),))
    assert len(network.then(np.eye(2), np.zeros(2)).nodes) == 1


def test_a_node_reads_only_earlier_values() -> None:
    with pytest.raises(ValueError, match="node 0 reads value 1, which comes later"):
        Network((2,), (Relu(1),))


def test_sizes_must_fit() -> None:
    with pytest.raises(ValueError, match=r"value 0 of size 3 .* matrix with 2 columns"):
        Network((3,), (Affine(((0, np.eye(2)),), np.zeros(2)),))
    with pytest.raises(ValueError, match="2 rows, the bias 3 entries"):
        Affine(((0, np.eye(2)),), np.zeros(3))
    with pytest.raises(ValueError, match=r"shape \(size,\), not \(1, 2\)"):
        Affine((), np.zeros((1, 2)))


def test_evaluation_refuses_an_input_of_another_size() -> None:
    with pytest.raises(ValueError, match="expected 2 input values, got 3"):
        Network((2,), ()).evaluate([1, 2, 3])


@pytest.mark.parametrize("matrix", [np.ones((2, 2)), sp.csr_array(np.eye(9))])
def test_weights_are_copies_that_nobody_can_change(matrix: np.ndarray | sp.csr_array) -> None:
    matrix = matrix.copy()
    size = matrix.shape[0]
    node = Affine(((0, matrix),), np.zeros(size))
    matrix *= 7
    kept = node.terms[0][1]
    assert kept.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        (kept.data if sp.issparse(kept) else kept)[0] = 5


@pytest.mark.parametrize("seed", range(30))
def test_a_network_after_an_affine_map(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = random_graph(rng)
    matrix, bias = rng.normal(size=(whole.input_size, 3)), rng.normal(size=whole.input_size)
    after = whole.after(matrix, bias)
    for _ in range(5):
        u = rng.normal(size=3)
        np.testing.assert_allclose(after.evaluate(u), whole.evaluate(matrix @ u + bias), atol=1e-9)
    reads = [isinstance(node, Affine) for node in whole.nodes if 0 in node.sources]
    assert len(after.nodes) == len(whole.nodes) + (not all(reads))


def test_rounding_of_a_fold_hides_no_sign_that_a_box_knows() -> None:
    rng = np.random.default_rng(0)
    size = 40
    slopes, start = rng.uniform(0.3, 3.0, size), rng.uniform(0.0, 1.0, size)
    root = Curve(1, SQRT)
    network = Network((size,), (Affine(((0, np.diag(slopes)),), np.zeros(size)), root))
    # u = 1 is zero, up to rounding
    fold, within = np.diag(-start), Interval(np.zeros(size), start)
    box = Interval(np.zeros(size), np.ones(size))
    after = network.after(fold, start, within)
    bounds = crown_bounds(after, box)
    assert (bounds[1].lower == 0).any()
    assert (bounds[1].lower >= 0).all()
    for u in rng.random((20, size)):
        value = network.evaluate(start * (1 - u))
        assert (bounds[2].lower <= value + 1e-12).all()
        assert (value <= bounds[2].upper + 1e-12).all()
    with pytest.raises(NoBoundsError):
        crown_bounds(network.after(fold, start), box)
