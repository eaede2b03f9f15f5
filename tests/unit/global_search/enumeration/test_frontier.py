"""Ways to choose features are those that no account forbids on the way."""

from itertools import product

import numpy as np
import pytest

from milp_verix.global_search.enumeration.frontier import Frontier
from verix_encodings.arrays import FloatArray


def _chosen(frontier: Frontier) -> list[tuple[float, ...]]:
    """Return the ways as rows, in the order in which they are kept."""
    ways = frontier.chosen(np.arange(frontier.ways))
    assert ways.shape == (frontier.features, frontier.ways)
    return [tuple(way) for way in ways.T.tolist()]


def _by_way(frontier: Frontier) -> dict[tuple[float, ...], FloatArray]:
    found = dict(zip(_chosen(frontier), frontier.left.T, strict=True))
    assert len(found) == frontier.ways, "a way comes twice"
    return found


@pytest.mark.parametrize("seed", range(60))
def test_ways_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    accounts = int(rng.integers(1, 4))
    start = rng.integers(3, 12, accounts).astype(float)
    frontier = Frontier(start[:, None])
    assert (frontier.ways, frontier.features) == (1, 0)
    expected = {(): start}
    for number in range(6):
        # some features give something back
        takes = rng.integers(-2, 5, (2, accounts)).astype(float)
        both = [(True, takes[0]), (False, takes[1])]
        sides = both[:1] if rng.random() < 0.1 else both[1:] if rng.random() < 0.1 else both
        frontier.choose(sides)
        expected = {
            (*way, float(is_in)): left - taken
            for way, left in expected.items()
            for is_in, taken in sides
            if np.all(left - taken >= 0)
        }
        if rng.random() < 0.4 and frontier.ways:
            # a further account of what is known of each way
            weights, more = rng.integers(-3, 4, number + 1), float(rng.integers(-1, 4))
            further = np.array([more - weights @ way for way in _chosen(frontier)])
            # and one that forbids nothing
            frontier.account(np.array([further, np.full(further.size, 7.0)]))
            expected = {
                way: np.append(left, [more - weights @ way, 7.0])
                for way, left in expected.items()
                if more - weights @ way >= 0
            }
            accounts += 2
        found = _by_way(frontier)
        assert frontier.features == number + 1
        assert frontier.left.shape == (accounts, len(expected))
        assert found.keys() == expected.keys()
        for way, left in found.items():
            assert np.array_equal(left, expected[way])


def test_some_ways_by_their_numbers() -> None:
    frontier = Frontier(np.full((1, 1), 2.0))
    for _ in range(4):
        frontier.choose([(True, np.ones(1)), (False, np.zeros(1))])
    ways = _chosen(frontier)
    assert set(ways) == {way for way in product((0.0, 1.0), repeat=4) if sum(way) <= 2}
    numbers = np.array([7, 0, 7, 3])
    assert [tuple(way) for way in frontier.chosen(numbers).T.tolist()] == [ways[n] for n in numbers]
    assert frontier.chosen(np.zeros(0, dtype=np.intp)).shape == (4, 0)


def test_nothing_left_is_enough_and_no_way_leads_to_none() -> None:
    frontier = Frontier(np.array([[1.0], [0.0]]))
    frontier.choose([(True, np.array([1.0, 0.0])), (False, np.array([0.0, 1e-300]))])
    assert _chosen(frontier) == [(1.0,)]
    frontier.choose([(True, np.array([0.5, 0.0])), (False, np.array([0.0, 0.5]))])
    assert (frontier.ways, frontier.features) == (0, 2)
    frontier.choose([(True, np.zeros(2)), (False, np.zeros(2))])
    assert (frontier.ways, frontier.features) == (0, 3)
    assert frontier.chosen(np.zeros(0, dtype=np.intp)).shape == (3, 0)
