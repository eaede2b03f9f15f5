"""Sets that a bound and its reduced costs leave are those of enumeration, and so is their count."""

from itertools import product

import numpy as np
import pytest

from milp_verix.searches.minimum.enumeration import (
    PartialSets,
    estimated_count,
    reduced_cost_sets,
)
from verix_encodings.arrays import FloatArray

_KINDS = 3
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
    counted = estimated_count(reduced_costs, slack)
    assert counted >= np.count_nonzero(lost <= slack)
    # each reduced cost is rounded down by less than a hundredth of the slack
    assert counted <= np.count_nonzero(lost <= slack * (1.0 + size / 100))
    # scales of which float64 has no tenths
    for scale in (0.1, 1 / 3, 1e-9, 1e9):
        assert estimated_count(scale * reduced_costs, scale * slack) >= np.count_nonzero(
            lost <= slack
        )


def test_the_count_tells_few_from_many() -> None:
    tenth, size = np.full(200, 0.1), 200
    one_or_none = 1.0 + size
    assert estimated_count(tenth, 0.1) == one_or_none
    assert estimated_count(tenth, 0.19) == one_or_none
    assert estimated_count(tenth, 0.2) == one_or_none + size * (size - 1) / 2
    assert estimated_count(np.zeros(200), 0.1) == 2.0**200
    assert estimated_count(-tenth, 0.05) == 1.0
    assert estimated_count(np.full(3, 1e300), 1e-9) == 1.0
    assert estimated_count(np.zeros(0), 1.0) == 1.0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_counts_as_too_many(wrong: float) -> None:
    assert estimated_count(np.array([1.0, wrong]), 0.5) == np.inf
    assert estimated_count(np.array([1.0, 2.0]), np.nan) == np.inf


@pytest.mark.parametrize("slack", [5e-324, 1e-307, 1e-300])
def test_next_to_no_slack(slack: float) -> None:
    reduced_costs = np.array([0.0, 1.0, -1.0, 1e-9])
    assert 2.0 <= estimated_count(reduced_costs, slack) <= 4.0


@pytest.mark.parametrize("seed", range(60))
def test_sets_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 9))
    kinds = (np.ones(count), rng.integers(0, 4, count).astype(float), rng.random(count))
    costs = kinds[seed % _KINDS]
    reduced_costs = rng.normal(scale=0.3, size=count) * (rng.random(count) < 0.8)
    bound = float(rng.uniform(0, costs.sum() + 0.1))
    cutoff = bound + float(rng.uniform(-0.2, 1.5))
    found = reduced_cost_sets(costs, reduced_costs, bound, cutoff, 1000)
    assert found is not None
    assert found.shape[0] == count
    got = {tuple(row) for row in (found.T > 0).tolist()}
    assert len(got) == found.shape[1], "a set comes twice"
    for bits in product((False, True), repeat=count):
        taken = np.array(bits, dtype=bool)
        cost = float(costs[taken].sum())
        lost = (
            np.maximum(reduced_costs[taken], 0).sum() + np.maximum(-reduced_costs[~taken], 0).sum()
        )
        room = min(cost - bound - lost, cutoff - cost)
        for_nothing = np.any(~taken & (costs == 0) & (reduced_costs <= 0))
        if abs(room) > 1e-3:
            assert (bits in got) == (room > 0 and not for_nothing)
    if len(got) > 1:
        assert reduced_cost_sets(costs, reduced_costs, bound, cutoff, len(got) - 1) is None
    if count:
        reduced_costs[0] = np.nan
        assert reduced_cost_sets(costs, reduced_costs, bound, cutoff, 1000) is None


def _members(sets: PartialSets) -> list[tuple[float, ...]]:
    """Return the sets as rows, in the order in which they are kept."""
    return [tuple(row) for row in sets.members().T.tolist()]


@pytest.mark.parametrize("seed", range(60))
def test_partial_sets_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    accounts = int(rng.integers(1, 4))
    start = rng.integers(3, 12, accounts).astype(float)
    sets = PartialSets(start[:, None])
    assert sets.count == 1
    expected: dict[tuple[float, ...], FloatArray] = {(): start}
    for number in range(6):
        # some features give something back
        spends = rng.integers(-2, 5, (2, accounts)).astype(float)
        both = [(True, spends[0]), (False, spends[1])]
        sides = both[:1] if rng.random() < 0.1 else both[1:] if rng.random() < 0.1 else both
        sets.choose(sides)
        expected = {
            (*members, float(is_in)): left - spent
            for members, left in expected.items()
            for is_in, spent in sides
            if np.all(left - spent >= 0)
        }
        assert sets.members().shape == (number + 1, sets.count)
        found = dict(zip(_members(sets), sets.left.T, strict=True))
        assert len(found) == sets.count, "a set comes twice"
        assert sets.left.shape == (accounts, len(expected))
        assert found.keys() == expected.keys()
        for members, left in found.items():
            assert np.array_equal(left, expected[members])


def test_partial_sets_within_one_account() -> None:
    sets = PartialSets(np.full((1, 1), 2.0))
    for _ in range(4):
        sets.choose([(True, np.ones(1)), (False, np.zeros(1))])
    assert set(_members(sets)) == {way for way in product((0.0, 1.0), repeat=4) if sum(way) <= 2}


def test_an_empty_account_is_enough_and_no_set_leads_to_none() -> None:
    sets = PartialSets(np.array([[1.0], [0.0]]))
    sets.choose([(True, np.array([1.0, 0.0])), (False, np.array([0.0, 1e-300]))])
    assert _members(sets) == [(1.0,)]
    sets.choose([(True, np.array([0.5, 0.0])), (False, np.array([0.0, 0.5]))])
    assert sets.count == 0
    sets.choose([(True, np.zeros(2)), (False, np.zeros(2))])
    assert sets.count == 0
    assert sets.members().shape == (3, 0)
