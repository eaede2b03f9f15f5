"""Minimum explanations of several kinds of networks, and the scenarios that prove them."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from milp_verix import MinimumProgress, Problem, check, minimum
from milp_verix.oracle.attacks import perturbation_set
from milp_verix.solvers import SolveStatus, Targets, open_session
from tests.support.brute_force import BruteForce
from tests.support.brute_force_cases import case
from tests.support.exhaustive_explanations import fewest
from tests.support.max_pool_cases import pooled
from tests.support.onnx_models import FLOAT, build, loaded, node
from tests.support.random_networks import (
    as_layers,
    dense_network,
    drawn,
    network_of,
    random_graph,
    random_layers,
)
from tests.support.scipy_reference import pinned
from verix_encodings import crown_bounds
from verix_encodings.network import batch_gradients, batch_values
from verix_encodings.scenario import ScenarioProgram, make_scenario


@pytest.mark.parametrize("seed", range(10))
def test_a_batch_has_the_values_of_its_inputs_and_their_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_graph(rng) if seed else drawn()[0]
    inputs = rng.normal(size=(network.input_size, 6))
    values = batch_values(network, inputs)
    for n, x in enumerate(inputs.T):
        for known, found in zip(network.values(x), values, strict=True):
            np.testing.assert_allclose(found[:, n], known, atol=1e-12)
    outputs = rng.integers(network.output_size, size=6)
    slopes = batch_gradients(network, values, outputs)
    step = 1e-7 * rng.normal(size=inputs.shape)
    ahead, behind = (batch_values(network, inputs + s * step)[-1] for s in (1.0, -1.0))
    moved = (ahead - behind)[outputs, np.arange(6)] / 2
    np.testing.assert_allclose(np.sum(slopes * step, axis=0), moved, atol=2e-11)


@pytest.mark.parametrize("height", [0.0, -1e-9, -1e-6, -1e-3, -0.1])
def test_a_set_that_survives_a_perturbation_by_little_is_not_cut_off(height: float) -> None:
    # max(x₀ + x₁ − x₂, 0) − 1 is that height where feature 2 is fixed, at ½, and the others at 1
    network = network_of(as_layers(([[1, 1, -1]], [0]), ([[1]], [height - 1.5])))
    delta, features = np.array([0.5, 0.5, -0.5]), np.arange(3)
    scenario = make_scenario(
        network, np.full(3, 0.5), delta, features, features=3, method=crown_bounds
    )
    growing = ScenarioProgram(np.zeros(3), np.ones(3))
    growing.add(scenario)
    program = growing.build()
    session = open_session("highs")
    for chosen, ends in (
        ([0, 0, 1], SolveStatus.OPTIMAL),
        ([0, 0, 0], SolveStatus.INFEASIBLE),
        ([1, 1, 1], SolveStatus.OPTIMAL),
    ):
        session.load(pinned(program, growing.columns, np.array(chosen, dtype=float)))
        assert session.minimise(np.zeros(program.columns), Targets()).status is ends
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_bound_on_the_way_is_above_the_minimum(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    seen: list[MinimumProgress] = []
    minimum(problem.network(tmp_path), problem.x, progress=seen.append, **problem.options)
    least = fewest(problem)
    assert all(state.lower_bound <= least <= state.size for state in seen)


@pytest.mark.slow
@pytest.mark.parametrize("master", ["tree", "program"])
@pytest.mark.parametrize("seed", range(5))
def test_max_pools(seed: int, master: str, tmp_path: Path) -> None:
    network, brute = pooled(seed, tmp_path)
    x = brute.x.astype(np.float32)
    found = minimum(network, x, epsilon=brute.epsilon, master=master)
    features = range(x.size)
    least = min(
        size
        for size in range(x.size + 1)
        for explained in combinations(features, size)
        if brute.holds([f for f in features if f not in explained])
    )
    assert found.proven
    assert found.size == least


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_smooth_activations_have_a_sound_bound(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(4, 4)), rng.normal(size=(3, 4))
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"], transB=1),
        node("Tanh", ["h"], ["t"]),
        node("Gemm", ["t", "B", "b"], ["y"], transB=1),
    ]
    constants = {"A": A, "a": np.zeros(4), "B": B, "b": np.zeros(3)}
    model = build(nodes, inputs={"x": (1, 4)}, constants=constants, elem=FLOAT)
    network = loaded(model, tmp_path)
    x = rng.random(4).astype(np.float32)
    found = minimum(network, x, epsilon=0.3)
    verdicts = {
        explained: check(network, x, [f for f in range(4) if f not in explained], epsilon=0.3)
        for size in range(5)
        for explained in combinations(range(4), size)
    }
    possible = min(len(explained) for explained, v in verdicts.items() if not v.violated)
    certain = min(len(explained) for explained, v in verdicts.items() if v.holds)
    assert found.lower_bound is not None
    assert found.lower_bound <= possible
    assert found.size <= certain


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_ten_features(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 10])
    layers = random_layers(rng, (10, *((3,) if seed % 2 else (3, 2)), 3), FLOAT)
    x = rng.random(10).astype(np.float32)
    epsilon = float(rng.uniform(0.1, 0.5))
    groups = [[i] for i in range(10)]
    brute = BruteForce(layers, x.astype(float), epsilon, groups, np.zeros(10), np.ones(10))
    network = dense_network(layers, tmp_path)
    found = minimum(network, x, epsilon=epsilon)
    assert found.proven
    assert brute.holds(found.irrelevant)
    if not found.size:
        return
    # one that is smaller is part of one with a feature less than the minimum; a corner refutes most
    ends = np.stack([np.maximum(x - epsilon, 0), np.minimum(x + epsilon, 1)]).astype(float)
    signs = (np.arange(1 << 10)[:, None] >> np.arange(10)) & 1
    margins = perturbation_set(Problem(network, x, epsilon=epsilon)).margins
    for explained in combinations(range(10), found.size - 1):
        corners = np.where(signs, ends[1], ends[0])
        corners[:, list(explained)] = x[list(explained)]
        if np.max(batch_values(margins, corners.T)[-1]) <= 1e-5:
            assert not brute.holds([f for f in range(10) if f not in explained])
