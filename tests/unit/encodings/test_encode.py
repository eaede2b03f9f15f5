"""The program of a network is the network: its values, its size and its names."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.random_networks import (
    as_layers,
    convolutional,
    cube,
    drawn,
    network_of,
    random_box,
    random_graph,
    random_layers,
    residual,
)
from tests.support.scipy_reference import extremes, over, pinned
from verix_encodings import (
    Expressions,
    Interval,
    Network,
    ProgramBuilder,
    Relu,
    big_m_relu,
    encode,
    interval_bounds,
)

pytestmark = pytest.mark.usefixtures("matrix_storage")

SEEDS = range(25)


def assert_fixed_input_gives_the_output(network: Network, box: Interval, seed: int) -> None:
    """Pin the input, in the box and then in the program; every output has one value left."""
    x = np.random.default_rng(seed).uniform(box.lower, box.upper)
    expected = network.evaluate(x)
    at_point, whole = over(network, Interval(x, x)), over(network, box)
    columns = whole.input.columns
    free = np.flatnonzero(box.lower < box.upper)
    program = pinned(whole.program, columns, x[free])
    assert columns.size == free.size
    for index, value in enumerate(expected):
        slack = 1e-6 * (1 + abs(value))
        assert extremes(at_point.program, at_point.output, index) == pytest.approx(
            (value, value), abs=slack
        )
        assert extremes(program, whole.output, index) == pytest.approx((value, value), abs=slack)


@pytest.mark.parametrize("seed", SEEDS)
def test_fixed_input_of_a_random_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_graph(rng, size=3, nodes=8)
    assert_fixed_input_gives_the_output(network, random_box(rng, 3), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_fixed_input_of_a_dense_network(seed: int) -> None:
    network = network_of(random_layers(np.random.default_rng(seed), (4, 6, 5, 3)))
    assert over(network, cube(4)).program.binaries > 0
    assert_fixed_input_gives_the_output(network, cube(4), seed)


def test_fixed_input_of_networks_from_files(tmp_path: Path) -> None:
    for network in (convolutional(tmp_path).ir, residual(tmp_path).ir):
        assert over(network, cube(network.input_size)).program.binaries > 0
        assert_fixed_input_gives_the_output(network, cube(network.input_size), seed=0)


def test_counts_of_a_drawn_network() -> None:
    program = over(*drawn()).program
    assert program.column_names == [
        *("x_0", "x_2"),
        *("z_1_0", "z_1_2", "z_1_3", "a_1_2", "a_1_3", "d_1_2", "d_1_3"),
        *("z_3_0", "a_3_0", "d_3_0"),
    ]
    assert program.columns == 12
    assert program.binaries == 3
    assert [name for name, i in zip(program.column_names, program.integer, strict=True) if i] == [
        *("d_1_2", "d_1_3", "d_3_0")
    ]
    # a defining row for each modelled neuron, three more for an unstable one
    assert program.rows == 4 + 3 * 3
    assert program.row_names == [
        *("define_z_1_0", "define_z_1_2", "define_z_1_3"),
        *("relu_above_z_1_2", "relu_above_z_1_3"),
        *("relu_active_1_2", "relu_active_1_3"),
        *("relu_inactive_1_2", "relu_inactive_1_3"),
        *("define_z_3_0", "relu_above_z_3_0", "relu_active_3_0", "relu_inactive_3_0"),
    ]


def test_big_ms_of_a_drawn_network_are_its_bounds() -> None:
    encoding = over(*drawn())
    program = encoding.program
    entries = program.matrix.toarray()

    def entry(row: str, column: str) -> float:
        return float(entries[program.row_names.index(row), program.column_names.index(column)])

    # a ≤ z − l (1 − d) and a ≤ u d
    assert entry("relu_active_1_2", "d_1_2") == pytest.approx(1, abs=1e-12)
    assert entry("relu_inactive_1_3", "d_1_3") == pytest.approx(-0.5, abs=1e-12)
    assert entry("relu_active_3_0", "d_3_0") == pytest.approx(1.5, abs=1e-12)
    assert encoding.largest_big_m == pytest.approx(1.5, abs=1e-12)


def test_extremes_of_a_drawn_network() -> None:
    encoding = over(*drawn())
    # greatest at x = (1, ½, ½): 2 + 0 − ½ − 0 − ½
    assert extremes(encoding.program, encoding.output, 0) == pytest.approx((0, 1), abs=1e-7)


def test_a_box_without_freedom_has_no_input_columns() -> None:
    network, _ = drawn()
    x = np.array([0.25, 0.5, 0.75])
    encoding = over(network, Interval(x, x))
    assert encoding.input.columns.size == 0
    assert not [name for name in encoding.program.column_names if name.startswith("x_")]
    assert encoding.program.binaries == 0
    assert encoding.input.at(np.zeros(encoding.program.columns)).tolist() == x.tolist()


def test_a_network_without_relus_is_its_box() -> None:
    network = network_of(random_layers(np.random.default_rng(0), (3, 2)))
    encoding = over(network, cube(3))
    assert (encoding.program.rows, encoding.program.columns) == (0, 3)
    assert encoding.largest_big_m == 0
    output = interval_bounds(network, cube(3))[-1]
    for index in range(2):
        expected = (output.lower[index], output.upper[index])
        found = extremes(encoding.program, encoding.output, index)
        assert found == pytest.approx(expected, abs=1e-9)


def test_dead_relus_leave_only_the_input() -> None:
    network = network_of(as_layers(([[1, 1], [1, -1]], [-3, -2]), ([[5, 7]], [0.25])))
    encoding = over(network, cube(2))
    assert encoding.program.column_names == ["x_0", "x_1"]
    assert extremes(encoding.program, encoding.output, 0) == (0.25, 0.25)


def test_a_relu_may_be_the_output_and_read_the_input() -> None:
    network = Network((2,), (Relu(0),))
    encoding = over(network, Interval(np.array([-1.0, -3]), np.array([2.0, -1])))
    assert extremes(encoding.program, encoding.output, 0) == pytest.approx((0, 2), abs=1e-9)
    assert extremes(encoding.program, encoding.output, 1) == (0, 0)


def test_another_relu_encoding_may_be_given() -> None:
    network, box = drawn()
    seen: list[tuple[str, int]] = []

    def spying(
        builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
    ) -> Expressions:
        seen.append((label, interval.lower.size))
        return big_m_relu(builder, label, z, interval)

    encode(network, interval_bounds(network, box), relu=spying)
    assert seen == [("1", 4), ("3", 1)]
