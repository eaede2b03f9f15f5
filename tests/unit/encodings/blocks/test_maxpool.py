"""The program of maxima: which pairs need a binary, their big-Ms and their extremes, by hand."""

import numpy as np
import pytest

from tests.support.random_networks import cube
from tests.support.scipy_reference import extremes, over
from verix_encodings import (
    Affine,
    Interval,
    Max,
    Network,
    Relu,
    crown_bounds,
    encode,
    pairwise_maxima,
)

pytestmark = pytest.mark.usefixtures("matrix_storage")

BOX = Interval(np.array([-1.0, 0, 2, 1, -1]), np.array([1.0, 2, 3, 2.5, 0]))


def drawn() -> Network:
    """Maxima over z0 ∈ [−1, 1], z1 ∈ [0, 2], z2 ∈ [2, 3], z3 ∈ [1, 2½], z4 ∈ [−1, 0].

    a0 = max(z1, z2) = z2    z2 is at least 2
    a1 = max(z2, z3)         they overlap
    a2 = max(z0) = z0
    a3 = max(z1, z4) = z1    they touch in 0
    a4 = max(z0, z1)         they overlap
    """
    groups = np.array([1, 2, *(2, 3), 0, *(1, 4), *(0, 1)])
    return Network((5,), pairwise_maxima(1, 0, 5, groups, np.array([0, 2, 4, 5, 7])))


def test_counts_of_drawn_maxima() -> None:
    program = over(drawn(), BOX).program
    inputs = ("x_0", "x_1", "x_2", "x_3", "x_4")
    # an input is one column already
    assert program.column_names == [*inputs, "a_1_1", "a_1_4", "d_1_1", "d_1_4"]
    kinds = ("max_above_first", "max_above_second", "max_active", "max_inactive")
    assert program.row_names == [f"{kind}_1_{i}" for kind in kinds for i in (1, 4)]


def test_entries_that_are_sums_get_columns() -> None:
    # z = (x0 + x1, x0 − x1, ½): only entries that are read have columns
    sums = Affine(((0, np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])),), [0.0, 0.0, 0.5])
    nodes = pairwise_maxima(2, 1, 3, np.array([0, 1]), np.array([0]))
    program = over(Network((2,), (sums, *nodes)), cube(2)).program
    assert program.column_names == ["x_0", "x_1", "z_2_0", "z_2_1", "a_2_0", "d_2_0"]


def test_big_ms_of_drawn_maxima_are_bounds_on_differences() -> None:
    encoding = over(drawn(), BOX)
    entries, names = encoding.program.matrix.toarray(), encoding.program.row_names
    # z3 − z2 ∈ [1 − 3, 2½ − 2],  z1 − z0 ∈ [0 − 1, 2 + 1]
    for pair, (low, high) in {1: (-2.0, 0.5), 4: (-1.0, 3.0)}.items():
        column = encoding.program.column_names.index(f"d_1_{pair}")
        active, inactive = (names.index(f"max_{kind}_1_{pair}") for kind in ("active", "inactive"))
        assert entries[active, column] == pytest.approx(-low, abs=1e-12)
        assert encoding.program.row_upper[active] == pytest.approx(-low, abs=1e-12)
        assert entries[inactive, column] == pytest.approx(-high, abs=1e-12)
    assert encoding.largest_big_m == pytest.approx(3.0, abs=1e-12)


def test_extremes_of_drawn_maxima() -> None:
    encoding = over(drawn(), BOX)
    for index, ends in enumerate([(2, 3), (2, 3), (-1, 1), (0, 2), (0, 2)]):
        found = extremes(encoding.program, encoding.output, index)
        assert found == pytest.approx(ends, abs=1e-7)


def test_a_maximum_with_a_constant_entry() -> None:
    # max(x, ½) for x ∈ [0, 1]
    stacked = Affine(((0, np.array([[1.0], [0.0]])),), [0.0, 0.5])
    nodes = pairwise_maxima(2, 1, 2, np.array([0, 1]), np.array([0]))
    encoding = over(Network((1,), (stacked, *nodes)), cube(1))
    assert extremes(encoding.program, encoding.output, 0) == pytest.approx((0.5, 1), abs=1e-7)


def test_no_binary_where_linear_bounds_order_the_entries() -> None:
    # relu(x) + ¼ is above relu(x), although their ranges overlap
    shifted = Affine(((1, np.array([[1.0], [1.0]])),), [0.0, 0.25])
    nodes = pairwise_maxima(3, 2, 2, np.array([0, 1]), np.array([0]))
    network = Network((1,), (Relu(0), shifted, *nodes))
    box = Interval(np.array([-1.0]), np.array([1.0]))
    encoding = encode(network, crown_bounds(network, box))
    assert isinstance(network.nodes[-1], Max)
    # that of relu(x) alone
    assert encoding.program.binaries == 1
    assert extremes(encoding.program, encoding.output, 0) == pytest.approx((0.25, 1.25), abs=1e-7)
