"""The restriction of a constraint allows all that the whole constraint allows."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.oracle.perturbation_set import perturbation_set
from tests.support.brute_force_cases import case
from tests.support.random_networks import random_graph
from verix_encodings import Affine, crown_bounds
from verix_encodings.models.constraints import Cover, Scenario
from verix_encodings.models.restricted import FixedPhase, Restriction, reduced
from verix_encodings.models.scenario import make_scenario


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


def _restriction_of(rng: np.random.Generator, count: int) -> Restriction:
    kind = rng.integers(3, size=count)
    return Restriction(kind == 0, np.flatnonzero(kind == 1))


@pytest.mark.parametrize("seed", range(40))
def test_a_restricted_scenario_holds_for_every_completion(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    p = perturbation_set(Problem(problem.network(tmp_path), problem.x, **problem.options))
    rng = np.random.default_rng([seed, 7])
    count = len(problem.groups)
    delta = rng.uniform(p.lower, p.upper)
    restriction = _restriction_of(rng, count)
    most = int(rng.integers(restriction.free.size + 1))
    every = product((0, 1), repeat=restriction.free.size)
    within = [np.array(bits, dtype=float) for bits in every if sum(bits) <= most]
    whole = make_scenario(
        *(p.margins, p.centre, delta, p.feature_of),
        features=count,
        method=crown_bounds,
        most=most + restriction.fixed_in.sum(),
    )
    # the phases of one completion, some of them settled
    value = whole.network.nodes[1].sources[0]
    there = whole.network.values(restriction.full_selection(within[-1]))[value]
    neurons = np.flatnonzero(rng.random(there.size) < 0.5).tolist()
    phases = [FixedPhase(value, n, bool(there[n] > 0)) for n in neurons]
    left = reduced(whole, restriction, phases, crown_bounds, most)
    assert left is not None
    for u in within:
        selection = restriction.full_selection(u)
        moved = p.centre + p.weight(selection) * delta
        np.testing.assert_allclose(whole.network.evaluate(selection), p.margins.evaluate(moved))
        z = whole.network.values(selection)[value]
        if not left or any((z[phase.neuron] > 0) != phase.active for phase in phases):
            continue
        scenario = left[0]
        assert isinstance(scenario, Scenario)
        values = scenario.network.values(u)
        np.testing.assert_allclose(values[-1], whole.network.evaluate(selection), atol=1e-9)
        for reached, interval in zip(values, scenario.bounds, strict=True):
            assert np.all(reached >= interval.lower - 1e-9)
            assert np.all(reached <= interval.upper + 1e-9)
    if not left:
        assert all(
            np.max(whole.network.evaluate(restriction.full_selection(u))) <= 0 for u in within
        )


@pytest.mark.parametrize("seed", range(30))
def test_covers_allow_the_same_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 6
    restriction, order = _restriction_of(rng, count), rng.permutation(count)
    cover = Cover(order[:3])
    left = reduced(cover, restriction, (), crown_bounds)
    for bits in product((0, 1), repeat=restriction.free.size):
        u = np.array(bits)
        allowed = restriction.full_selection(u.astype(float))[cover.features].any()
        assert left is not None or not allowed
        remains = all(
            isinstance(smaller, Cover) and u[smaller.features].any() for smaller in left or []
        )
        assert (left is not None and remains) == allowed
