"""Maxima of groups, as trees of pairs: their values and their size, counted by hand."""

from fractions import Fraction

import numpy as np
import pytest

from tests.support.exact_values import exact_values
from verix_encodings import (
    Affine,
    Difference,
    Interval,
    Max,
    Network,
    interval_bounds,
    pairwise_maxima,
)
from verix_encodings.arrays import dense

pytestmark = pytest.mark.usefixtures("matrix_storage")


def maxima(size: int, indices: list[int], starts: list[int]) -> Network:
    return Network(
        (size,),
        pairwise_maxima(1, 0, size, np.array(indices, dtype=int), np.array(starts, dtype=int)),
    )


@pytest.mark.parametrize("seed", range(60))
def test_values_are_the_greatest_of_each_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = [rng.integers(5, size=rng.integers(1, 10)) for _ in range(rng.integers(1, 5))]
    starts = np.cumsum([0, *(group.size for group in groups[:-1])])
    network = maxima(5, np.concatenate(groups).tolist(), starts.tolist())
    for x in rng.integers(-9, 10, (5, 5)).astype(float):
        expected = [max(x[group]) for group in groups]
        assert network.evaluate(x).tolist() == expected
        *_, values = exact_values(network, [Fraction(v) for v in x])
        assert values == expected


def test_windows_that_overlap_share_pairs() -> None:
    # max(z0, z1, z2, z3) and max(z2, z3, z4, z5) are maxima of three pairs, z2 and z3 once
    network = maxima(6, [0, 1, 2, 3, 2, 3, 4, 5], [0, 4])
    assert network.sizes == (6, 3, 3, 2, 2)
    assert (network.counts.get("maxima", 0), network.relu_count) == (5, 0)


def test_a_lone_entry_is_a_pair_with_itself() -> None:
    network = maxima(3, [0, 1, 2], [0])
    assert network.sizes == (3, 2, 2, 1, 1)
    difference = network.nodes[0]
    assert isinstance(difference, Difference)
    assert dense(difference.terms[0][1]).tolist() == [[-1, 1, 0], [0, 0, 0]]


def test_no_groups_at_all_are_an_empty_value() -> None:
    assert maxima(2, [], []).sizes == (2, 0, 0)


def test_a_group_of_nothing_has_no_maximum() -> None:
    with pytest.raises(ValueError, match="groups of one or more"):
        maxima(2, [0, 1], [0, 2])


ZERO, ONE = np.array([0]), np.array([1])
DIFFERENCE = Difference.of(0, 2, ZERO, ONE)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0], [2], "takes maxima of entries that value 0 of size 2 does not have"),
        ([-1], [0], "takes maxima of entries that value 0 of size 2 does not have"),
        ([0, 1], [1, 0], "value 1 is not the difference of these pairs"),
        ([1], [0], "value 1 is not the difference of these pairs"),
        ([0, 1], [1], "equally long"),
        ([[0]], [[1]], "equally long"),
    ],
)
def test_pairs_that_are_none(first: list[int], second: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Network((2,), (DIFFERENCE, Max(1, 0, first, second)))


def test_differences_are_bounded_exactly_where_they_are_zero() -> None:
    # z0 ∈ [0, 0.1], z1 ∈ [0.1, 0.3], z2 = 0
    box = Interval(np.array([0.0, 0.1, 0.0]), np.array([0.1, 0.3, 0.0]))
    first, second = np.array([0, 1, 0, 1]), np.array([1, 0, 2, 1])
    network = Network((3,), (Difference.of(0, 3, first, second),))
    difference = interval_bounds(network, box)[1]
    assert difference.lower == pytest.approx([0, -0.3, -0.1, 0])
    assert difference.upper == pytest.approx([0.3, 0, 0, 0])
    for end in (difference.lower[[0, 3]], difference.upper[[1, 2, 3]]):
        assert not end.any()


def test_another_map_is_no_difference() -> None:
    alike = Affine(((0, np.array([[-1.0, 1.0]])),), np.zeros(1))
    for other in (alike, Difference.of(0, 2, ONE, ZERO)):
        with pytest.raises(ValueError, match="not the difference of these pairs"):
            Network((2,), (other, Max(1, 0, ZERO, ONE)))


def test_pairs_are_copies_that_nobody_can_change() -> None:
    indices = np.array([0])
    node = Max(1, 0, indices, indices)
    indices[0] = 7
    assert (node.first.tolist(), node.second.tolist()) == ([0], [0])
    with pytest.raises(ValueError, match="read-only"):
        node.first[0] = 1
