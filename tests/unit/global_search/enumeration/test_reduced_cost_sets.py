"""The count of the sets that lose a slack at most is never below that of enumeration."""

from itertools import product

import numpy as np
import pytest

from milp_verix.global_search.enumeration.candidates import count_of_ways

_SUBSETS = [np.array(list(product((0.0, 1.0), repeat=n))).reshape(2**n, n) for n in range(11)]


@pytest.mark.parametrize("seed", range(60))
def test_sets_are_counted_up_to_what_penalties_are_rounded_by(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(0, 11))
    # many sets lose the slack and nothing more
    kinds = rng.normal(size=size), rng.integers(-6, 7, size).astype(float)
    reduced_costs = kinds[seed % 2] * (rng.random(size) < 0.9)
    slack = float(rng.uniform(0.1, 4.0) if seed % 4 == 0 else rng.integers(1, 12))
    lost = _SUBSETS[size] @ np.abs(reduced_costs)
    counted = count_of_ways(reduced_costs, slack)
    assert counted >= np.count_nonzero(lost <= slack)
    # each reduced cost is rounded down by less than a hundredth of the slack
    assert counted <= np.count_nonzero(lost <= slack * (1.0 + size / 100))
    # scales of which float64 has no tenths
    for scale in (0.1, 1 / 3, 1e-9, 1e9):
        assert count_of_ways(scale * reduced_costs, scale * slack) >= np.count_nonzero(
            lost <= slack
        )


def test_the_count_tells_few_from_many() -> None:
    tenth, size = np.full(200, 0.1), 200
    one_or_none = 1.0 + size
    assert count_of_ways(tenth, 0.1) == one_or_none
    assert count_of_ways(tenth, 0.19) == one_or_none
    assert count_of_ways(tenth, 0.2) == one_or_none + size * (size - 1) / 2
    assert count_of_ways(np.zeros(200), 0.1) == 2.0**200
    assert count_of_ways(-tenth, 0.05) == 1.0
    assert count_of_ways(np.full(3, 1e300), 1e-9) == 1.0
    assert count_of_ways(np.zeros(0), 1.0) == 1.0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_counts_as_too_many(wrong: float) -> None:
    assert count_of_ways(np.array([1.0, wrong]), 0.5) == np.inf
    assert count_of_ways(np.array([1.0, 2.0]), np.nan) == np.inf


@pytest.mark.parametrize("slack", [5e-324, 1e-307, 1e-300])
def test_next_to_no_slack(slack: float) -> None:
    reduced_costs = np.array([0.0, 1.0, -1.0, 1e-9])
    assert 2.0 <= count_of_ways(reduced_costs, slack) <= 4.0
