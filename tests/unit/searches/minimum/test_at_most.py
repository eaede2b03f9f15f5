"""Whether an explanation costs at most so much, by brute force."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Explanation, InputError, minimum
from tests.support.brute_force_cases import case
from tests.support.digits_example import images, network
from tests.support.exhaustive_explanations import cheapest, fewest

WAYS: dict[str, dict[str, Any]] = {
    "tree": {"master": "tree"},
    "program": {"master": "program"},
    "hitting sets": {"method": "hitting_sets"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_each_number_of_features_is_decided(seed: int, way: str, tmp_path: Path) -> None:
    problem = case(seed)
    net, least = problem.network(tmp_path), fewest(problem)
    for most in range(len(problem.groups) + 1):
        found = minimum(net, problem.x, **problem.options, **WAYS[way], at_most=most)
        assert found.reachable is (least <= most)
        assert problem.brute.holds(found.irrelevant)
        if not found.reachable:
            assert found.lower_bound is not None
            assert most < found.lower_bound <= least
        assert Explanation.from_json(found.to_json()).reachable is found.reachable


@pytest.mark.parametrize("seed", range(120, 150, 6))
def test_costs_between_those_of_sets_are_decided(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    costs = np.random.default_rng([seed, 6]).uniform(0.5, 3.0, len(problem.groups))
    least = cheapest(problem, costs.tolist(), set(), set())
    for factor in (0.9, 0.999, 1.001, 1.2):
        found = minimum(
            *(problem.network(tmp_path), problem.x),
            **problem.options,
            costs=costs,
            at_most=factor * least,
        )
        assert found.reachable is (factor > 1 or least == 0)


def test_what_is_not_decided_is_not_known_and_nobody_asked_is_none() -> None:
    found = minimum(network(), images()[15], epsilon=0.1, at_most=5, time_limit=1e-4)
    assert found.reachable is None
    assert minimum(network(), images()[0], epsilon=0.1).reachable is None


@pytest.mark.parametrize("most", [-1, float("nan"), float("inf"), "few"])
def test_what_is_no_cost_is_refused(most: Any) -> None:
    with pytest.raises(InputError, match="at_most"):
        minimum(network(), images()[0], epsilon=0.1, at_most=most)
