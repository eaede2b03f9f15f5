"""Maxima: their groups, which entries matter, their bounds and their program, counted by hand."""

import numpy as np
import pytest

from tests.support.random_networks import cube, random_maximum
from tests.support.scipy_reference import extremes, over
from verix_encodings import Affine, Interval, Max, Network, crown_bounds, encode
from verix_encodings.bounds.crown import upper_bounds
from verix_encodings.bounds.dominance import candidates

pytestmark = pytest.mark.usefixtures("matrix_storage")

BOX = Interval(np.array([-1.0, 0, 2, 1, -1]), np.array([1.0, 2, 3, 2.5, 0]))


def drawn() -> Network:
    """Maxima over z0 ∈ [−1, 1], z1 ∈ [0, 2], z2 ∈ [2, 3], z3 ∈ [1, 2½], z4 ∈ [−1, 0].

    a0 = max(z0, z1, z2) = z2            z2 is at least 2
    a1 = max(z2, z3, z4) = max(z2, z3)   they overlap; z4 is below both
    a2 = max(z0) = z0
    a3 = max(z1, z4) = z1                they touch in 0
    a4 = max(z0, z1, z3) = max(z1, z3)   z0 is at most 1
    """
    groups = [0, 1, 2, *(2, 3, 4), 0, *(1, 4), *(0, 1, 3)]
    return Network((5,), (Max(0, groups, [0, 3, 6, 7, 9]),))


def test_a_maximum_is_evaluated_group_by_group() -> None:
    assert drawn().sizes == (5, 5)
    assert (drawn().max_count, drawn().relu_count) == (5, 0)
    assert drawn().evaluate([0.5, 1, 2.5, 2.25, -0.5]).tolist() == [2.5, 2.5, 0.5, 1.0, 2.25]


@pytest.mark.parametrize(
    ("indices", "starts", "message"),
    [
        ([0, 1], [0, 2], "groups of one or more"),
        ([0, 1], [0, 0], "groups of one or more"),
        ([0, 1], [1], "starts at 0"),
        ([[0, 1]], [0], "starts at 0"),
        ([0, 2], [0], "takes maxima of entries that value 0 of size 2 does not have"),
        ([-1, 0], [0], "takes maxima of entries that value 0 of size 2 does not have"),
    ],
)
def test_groups_that_are_none(indices: list[int], starts: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Network((2,), (Max(0, indices, starts),))


def test_no_groups_at_all_are_an_empty_value() -> None:
    network = Network((2,), (Max(0, [], []), Affine(((1, np.zeros((1, 0))),), [1.0])))
    assert network.evaluate([1, 2]).tolist() == [1]
    assert over(network, cube(2)).program.columns == 2
    assert crown_bounds(network, cube(2))[-1].upper == pytest.approx([1.0])


def test_groups_are_copies_that_nobody_can_change() -> None:
    indices = np.array([0, 1])
    node = Max(0, indices, [0])
    indices[0] = 7
    assert node.indices.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        node.starts[0] = 1


def test_entries_that_another_one_dominates_are_dropped() -> None:
    (node,) = drawn().nodes
    assert isinstance(node, Max)
    found = candidates(node, BOX)
    assert node.indices[found.best].tolist() == [2, 2, 0, 1, 3]
    assert np.flatnonzero(found.open).tolist() == [3, 4, 10, 11]


@pytest.mark.parametrize("seed", range(200))
def test_candidates_are_what_the_maximum_needs_and_no_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    node = random_maximum(rng, 0, 5)
    lower = rng.integers(-3, 4, 5).astype(float)
    box = Interval(lower, lower + rng.integers(0, 4, 5))
    found = candidates(node, box)
    for group in range(node.starts.size):
        members = node.indices[node.groups == group]
        is_open = found.open[node.groups == group]
        kept = {node.indices[found.best[group]], *members[is_open]}
        for x in rng.uniform(box.lower, box.upper, (20, 5)):
            assert max(x[list(kept)]) == max(x[members])
        for j in kept:
            # where j is highest and the others lowest, the maximum is j's or tied with it
            assert all(box.upper[j] >= box.lower[k] for k in members)


def test_counts_of_drawn_maxima() -> None:
    program = over(drawn(), BOX).program
    assert program.column_names == [
        *("x_0", "x_1", "x_2", "x_3", "x_4"),
        *("z_0_0", "z_0_1", "z_0_2", "z_0_3"),
        *("a_0_1", "a_0_4", "d_0_3", "d_0_4", "d_0_10", "d_0_11"),
    ]
    assert program.binaries == 4
    assert program.row_names == [
        *("define_z_0_0", "define_z_0_1", "define_z_0_2", "define_z_0_3"),
        *("max_above_0_3", "max_above_0_4", "max_above_0_10", "max_above_0_11"),
        *("max_attained_0_3", "max_attained_0_4", "max_attained_0_10", "max_attained_0_11"),
        *("max_one_0_1", "max_one_0_4"),
    ]


def test_big_ms_of_drawn_maxima_are_their_bounds() -> None:
    encoding = over(drawn(), BOX)
    program = encoding.program
    entries = program.matrix.toarray()
    # u of the other candidate, less the entry's own l
    for position, expected in {3: 2.5 - 2, 4: 3 - 1, 10: 2.5 - 0, 11: 2 - 1}.items():
        row = program.row_names.index(f"max_attained_0_{position}")
        column = program.column_names.index(f"d_0_{position}")
        assert entries[row, column] == pytest.approx(expected, abs=1e-12)
    assert encoding.largest_big_m == pytest.approx(2.5, abs=1e-12)


def test_extremes_of_drawn_maxima() -> None:
    encoding = over(drawn(), BOX)
    expected = [(2, 3), (2, 3), (-1, 1), (0, 2), (1, 2.5)]
    for index, ends in enumerate(expected):
        found = extremes(encoding.program, encoding.output, index)
        assert found == pytest.approx(ends, abs=1e-7)


def test_big_ms_with_the_greatest_bound_shared_by_two() -> None:
    box = Interval(np.array([0.0, 1, 0.5]), np.array([3.0, 3, 2]))
    program = over(Network((3,), (Max(0, [0, 1, 2], [0]),)), box).program
    rows = [program.row_names.index(f"max_attained_0_{k}") for k in range(3)]
    assert program.row_upper[rows] == pytest.approx([3 - 0, 3 - 1, 3 - 0.5], abs=1e-12)


def test_a_maximum_with_a_constant_entry() -> None:
    # max(x, ½) for x ∈ [0, 1]
    stacked = Affine(((0, np.array([[1.0], [0.0]])),), [0.0, 0.5])
    network = Network((1,), (stacked, Max(1, [0, 1], [0])))
    encoding = over(network, cube(1))
    assert extremes(encoding.program, encoding.output, 0) == pytest.approx((0.5, 1), abs=1e-7)


def test_linear_bounds_of_a_decided_group_are_the_entry() -> None:
    # a0 − z2 = 0 for the decided group: interval arithmetic cannot know
    difference = Affine(((1, np.eye(5)[:1]), (0, -np.eye(5)[2:3])), [0.0])
    network = Network((5,), (*drawn().nodes, difference))
    bounds = crown_bounds(network, BOX)
    assert bounds[-1].upper == pytest.approx([0], abs=1e-12)
    assert bounds[-1].lower == pytest.approx([0], abs=1e-12)


def test_linear_bounds_of_an_open_group() -> None:
    # above: the constant 3; below: z2, the entry with the greatest lower bound
    network = Network((5,), drawn().nodes)
    bounds = crown_bounds(network, BOX)
    open_group = np.eye(5)[1:2]
    assert upper_bounds(network, BOX, bounds, 1, open_group) == pytest.approx([3], abs=1e-12)
    assert upper_bounds(network, BOX, bounds, 1, -open_group) == pytest.approx([-2], abs=1e-12)


def test_entries_that_interval_arithmetic_leaves_open_are_decided_by_linear_bounds() -> None:
    # r0 − r1 = 0 with r0 = r1 = relu(x): the maximum with ½ is ½
    nodes = (
        Affine(((0, np.array([[1.0], [1.0]])),), [0.0, 0.0]),
        *(Max(1, [0, 1], [0, 1]), Max(2, [0, 1], [0, 1])),
        Affine(((3, np.array([[1.0, -1.0], [0.0, 0.0]])),), [0.0, 0.5]),
        Max(4, [0, 1], [0]),
    )
    network = Network((1,), nodes)
    assert over(network, cube(1)).program.binaries == 2
    assert encode(network, crown_bounds(network, cube(1))).program.binaries == 0
