"""The networks that the VeriX paper published, on the test sets that it used."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import Explanation, OnnxNetwork, Problem, explain, load_network
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from milp_verix.solvers import SOLVERS
from tests.support.counterfactual_checks import assert_sound, run
from tests.support.installed_solvers import SLOW, needs
from tests.support.published_data import shared_file

EPSILON = 0.05
"""The radius of the paper's MNIST experiments."""


@cache
def images(path: Path, key: str) -> NDArray[np.float32]:
    with np.load(path) as data:
        return data[key][:20].astype(np.float32) / np.float32(255)


@cache
def mnist() -> tuple[OnnxNetwork, NDArray[np.float32]]:
    """Return the network and the image of the paper's comparisons."""
    network = load_network(shared_file("models/mnist-10x2.onnx"))
    return network, images(shared_file("data/mnist_test.npz"), "images")[10]


@cache
def explained() -> Explanation:
    network, x = mnist()
    return explain(network, x, epsilon=EPSILON, order="sensitivity", transformation="reversal")


@pytest.mark.slow
def test_most_is_decided_without_a_program() -> None:
    network, x = mnist()
    found = explain(network, x, epsilon=EPSILON)
    assert found.size < 130
    assert found.minimal
    assert_sound(found, network, x)
    assert found.statistics.solves < 60
    assert found.statistics.flips > 100
    smaller = explain(network, x, epsilon=EPSILON, order="adaptive")
    assert smaller.minimal
    assert smaller.size < found.size
    assert smaller.replay(network) == ()


@pytest.mark.slow
def test_the_explanation_of_a_zero() -> None:
    network, x = mnist()
    found = explained()
    assert found.prediction == int(np.argmax(run(network, x))) == 0
    assert found.size == 191
    assert found.minimal
    assert_sound(found, network, x)
    assert found.replay(network) == ()


@pytest.mark.nightly
@needs("gurobi")
def test_the_same_explanation_by_another_solver_from_nothing() -> None:
    network, x = mnist()
    options = {"order": "sensitivity", "traversal": "sequential", "solver": "gurobi"}
    found = explain(network, x, epsilon=EPSILON, reuse=False, **options)
    assert found.explanation == explained().explanation
    assert found.statistics.flips == 0
    assert found.notes == ()
    assert_sound(found, network, x)


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=needs(name)) for name in SOLVERS if name != "highs"]
)
def test_other_solvers_confirm_steps_of_that_explanation(solver: str) -> None:
    network, x = mnist()
    found = explained()
    problem = Problem(network, x, epsilon=EPSILON)
    irrelevant = set(found.irrelevant)
    solves = 0
    # nothing is known beforehand, and interval arithmetic leaves more to the solver
    with Oracle(problem, Search(solver=solver, bounds="interval", reuse=False)) as oracle:
        for step in range(0, 784, 80 if solver in SLOW else 40):
            feature = found.permutation[step]
            free = [i for i in found.permutation[:step] if i in irrelevant]
            verdict = oracle.check(problem.features.coordinates([*free, feature]))
            assert verdict.holds == (feature in irrelevant)
            assert verdict.violated == (feature in found.counterfactuals)
            solves += verdict.effort.solves
    assert solves > 10


@pytest.mark.slow
def test_a_traffic_sign_out_of_time() -> None:
    network = load_network(shared_file("models/gtsrb-10x2.onnx"))
    x = images(shared_file("data/gtsrb10.npz"), "test_images")[0]
    found = explain(network, x, epsilon=0.01, features="pixels", time_limit=5)
    assert found.feature_shape == (32, 32)
    assert len(found.groups) == 1024
    assert found.prediction == int(np.argmax(run(network, x)))
    assert_sound(found, network, x)
    assert found.statistics.checks < 1024
    if found.statistics.stopped is None:
        assert found.minimal
    else:
        assert found.unknown
