"""Every formulation of a ReLU is the ReLU; they differ in size and in their linear relaxations."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.random_networks import (
    convolutional,
    cube,
    drawn,
    network_of,
    pooled,
    random_box,
    random_graph,
    random_layers,
    residual,
)
from tests.support.scipy_reference import extremes, optimum, pinned
from verix_encodings import (
    FORMULATIONS,
    Affine,
    Encoding,
    Expressions,
    Interval,
    Network,
    Program,
    ProgramBuilder,
    Relu,
    big_m_relu,
    crown_bounds,
    encode,
    formulation_named,
    interval_bounds,
    partition_relu,
)
from verix_encodings.blocks.layers import triangle

PLAIN = ["indicator:plain", "sos1:plain", "general:plain"]

NAMES = [*FORMULATIONS, "partition:1", "partition:3", "partition:99", *PLAIN]
LINEAR = ["big_m", "partition:1", "partition:2", "partition:3", "partition:99"]
each_formulation = pytest.mark.parametrize("name", NAMES)


def encoded(name: str, network: Network, box: Interval) -> Encoding:
    relu = formulation_named(name).relu
    return encode(network, interval_bounds(network, box), relu=relu)


def random_case(seed: int) -> tuple[Network, Interval]:
    rng = np.random.default_rng(seed)
    if seed % 2:
        return random_graph(rng, size=3, nodes=8), random_box(rng, 3)
    return network_of(random_layers(rng, (3, 4, 3, 2))), cube(3)


def assert_fixed_input_gives_the_output(
    encoding: Encoding, network: Network, box: Interval, x: NDArray[np.float64]
) -> None:
    free = np.flatnonzero(box.lower < box.upper)
    program = pinned(encoding.program, encoding.input.columns, x[free])
    for index, value in enumerate(network.evaluate(x)):
        found = extremes(program, encoding.output, index)
        assert found == pytest.approx((value, value), abs=1e-6 * (1 + abs(value)))


@pytest.mark.usefixtures("matrix_storage")
@each_formulation
@pytest.mark.parametrize("seed", range(12))
def test_fixed_input_leaves_one_output(name: str, seed: int) -> None:
    network, box = random_case(seed)
    x = np.random.default_rng(seed).uniform(box.lower, box.upper)
    assert_fixed_input_gives_the_output(encoded(name, network, box), network, box, x)


@each_formulation
def test_fixed_input_of_networks_from_files(name: str, tmp_path: Path) -> None:
    for make in (convolutional, residual, pooled):
        network = make(tmp_path).ir
        box = cube(network.input_size)
        x = np.random.default_rng(3).uniform(0, 1, network.input_size)
        assert_fixed_input_gives_the_output(encoded(name, network, box), network, box, x)


@each_formulation
@pytest.mark.parametrize("ends", [(-5e-4, 1.0), (-1.0, 5e-4), (-5e-4, 5e-4)])
def test_a_neuron_that_hardly_reaches_one_of_its_phases_has_both(
    name: str, ends: tuple[float, float]
) -> None:
    network = Network((1,), (Affine(((0, np.eye(1)),), np.zeros(1)), Relu(1)))
    encoding = encoded(name, network, Interval(*np.array(ends)[:, None]))
    for x in ends:
        program = pinned(encoding.program, encoding.input.columns, np.array([x]))
        found = extremes(program, encoding.output, 0)
        assert found == pytest.approx((max(x, 0.0),) * 2, abs=2e-6)


@pytest.mark.slow
@each_formulation
@pytest.mark.parametrize("seed", range(12))
def test_extremes_are_those_of_big_m(name: str, seed: int) -> None:
    network, box = random_case(seed)
    expected, found = encoded("big_m", network, box), encoded(name, network, box)
    for index in range(network.output_size):
        reference = extremes(expected.program, expected.output, index)
        slack = 1e-6 * (1 + max(map(abs, reference)))
        assert extremes(found.program, found.output, index) == pytest.approx(reference, abs=slack)


@pytest.mark.parametrize("name", ["indicator", "sos1", "general"])
@pytest.mark.parametrize("seed", range(24))
def test_relaxations_are_that_of_big_m(name: str, seed: int, tmp_path: Path) -> None:
    network, box = random_case(seed)
    if seed % 3 == 0:
        network = pooled(tmp_path).ir
        box = cube(network.input_size)
    expected = encoded("big_m", network, box)
    found, plain = (encoded(one, network, box) for one in (name, f"{name}:plain"))
    for index in range(network.output_size):
        low, high = extremes(expected.program.relaxed, expected.output, index)
        ends = extremes(found.program.relaxed, found.output, index)
        assert ends == pytest.approx((low, high), abs=1e-6 * (1 + abs(low) + abs(high)))
        wider = extremes(plain.program.relaxed, plain.output, index)
        assert wider[0] <= low + 1e-6
        assert high - 1e-6 <= wider[1]


def names_of(program: Program) -> tuple[list[str], list[str], int, int, int]:
    logic = [len(program.indicators), len(program.sos1)]
    return program.column_names, program.row_names, program.binaries, *logic


def test_size_of_a_drawn_network_by_indicators() -> None:
    program = encoded("indicator:plain", *drawn()).program
    columns, rows, binaries, indicators, sets = names_of(program)
    assert columns == [
        *("x_0", "x_2"),
        *("z_1_0", "z_1_2", "z_1_3", "a_1_2", "a_1_3", "d_1_2", "d_1_3"),
        *("z_3_0", "a_3_0", "d_3_0"),
    ]
    assert rows == [
        *("define_z_1_0", "define_z_1_2", "define_z_1_3"),
        *("relu_above_z_1_2", "relu_above_z_1_3"),
        *("define_z_3_0", "relu_above_z_3_0"),
    ]
    assert (binaries, indicators, sets) == (3, 6, 0)
    assert program.needs == {"indicator"}
    assert program.largest_big_m == 0
    # d_1_2 = 1 ⇒ a_1_2 − z_1_2 ≤ 0
    rule = program.indicators[0]
    assert (rule.name, columns[rule.binary], rule.value) == ("relu_active_1_2", "d_1_2", 1)
    terms = dict(zip([columns[j] for j in rule.columns], rule.coefficients, strict=True))
    assert (terms, rule.upper) == ({"a_1_2": 1, "z_1_2": -1}, 0)


def test_the_triangle_is_a_row_for_each_unstable_neuron() -> None:
    triangles = [f"relu_triangle_{one}" for one in ("1_2", "1_3", "3_0")]
    above = [f"relu_above_z_{one}" for one in ("1_2", "1_3", "3_0")]
    for name, more in (
        ("indicator", triangles),
        ("sos1", triangles),
        ("general", triangles + above),
    ):
        full, plain = (encoded(one, *drawn()).program for one in (name, f"{name}:plain"))
        assert full.column_names == plain.column_names
        assert {*full.row_names} - {*plain.row_names} == {*more}


def test_size_of_a_drawn_network_by_sets() -> None:
    program = encoded("sos1:plain", *drawn()).program
    columns, rows, binaries, indicators, sets = names_of(program)
    assert columns == [
        *("x_0", "x_2"),
        *("z_1_0", "a_1_2", "a_1_3", "s_1_2", "s_1_3"),
        *("a_3_0", "s_3_0"),
    ]
    assert rows == ["define_z_1_0", "relu_parts_1_2", "relu_parts_1_3", "relu_parts_3_0"]
    assert (binaries, indicators, sets) == (0, 0, 3)
    assert program.needs == {"sos1"}
    assert program.largest_big_m == 0
    chosen = [(item.name, [columns[j] for j in item.columns]) for item in program.sos1]
    assert chosen[1] == ("relu_one_1_3", ["a_1_3", "s_1_3"])


def test_size_of_a_drawn_network_by_general_constraints() -> None:
    program = encoded("general:plain", *drawn()).program
    columns = program.column_names
    assert program.binaries == 0
    assert program.needs == {"general"}
    assert program.row_names == [
        *("define_z_1_0", "define_z_1_2", "define_z_1_3"),
        "define_z_3_0",
    ]
    told = [
        (one.name, columns[one.result], *(columns[j] for j in one.columns), one.constant)
        for one in program.maxima
    ]
    assert told == [
        ("relu_1_2", "a_1_2", "z_1_2", 0.0),
        ("relu_1_3", "a_1_3", "z_1_3", 0.0),
        ("relu_3_0", "a_3_0", "z_3_0", 0.0),
    ]
    assert not program.relaxed.needs


def test_maxima_are_general_constraints_beside_such_relus(tmp_path: Path) -> None:
    network = pooled(tmp_path).ir
    program = encoded("general", network, cube(network.input_size)).program
    assert {len(one.columns) for one in program.maxima if one.name.startswith("max")} == {2}
    assert program.binaries == 0
    assert encoded("sos1", network, cube(network.input_size)).program.binaries > 0


@pytest.mark.parametrize(
    ("name", "parts"),
    # z2 reads two free inputs, z3 one, the output neuron three columns
    [("partition:1", [1, 1, 1]), ("partition", [2, 1, 2]), ("partition:99", [2, 1, 3])],
)
def test_size_of_a_drawn_network_by_parts(name: str, parts: list[int]) -> None:
    program = encoded(name, *drawn()).program
    assert program.columns == 2 + 1 + sum(2 * n + 2 for n in parts)
    assert program.rows == 1 + sum(5 * n + 4 for n in parts)
    assert program.binaries == 3
    assert not program.needs
    assert {"t0_1_3", "s0_1_3", "a_3_0", "d_3_0"} <= set(program.column_names)
    assert ("t1_1_2" in program.column_names) == (name != "partition:1")
    assert len(set(program.column_names)) == program.columns
    assert len(set(program.row_names)) == program.rows


def test_parts_are_sorted_by_weight_and_of_equal_size() -> None:
    weights = [[5.0, -4.0, 3.0, -2.0, 1.0]]
    network = network_of([(np.array(weights), np.zeros(1)), (np.ones((1, 1)), np.zeros(1))])
    program = encoded("partition:2", network, Interval(-np.ones(5), np.ones(5))).program
    rows, entries = program.row_names, program.matrix.toarray()
    found = [entries[rows.index(f"part{n}_1_0"), :5].tolist() for n in (0, 1)]
    assert found == [[0, 4, 0, 2, -1], [-5, 0, -3, 0, 0]]


def test_bounds_of_parts_do_not_cross_zero_by_rounding() -> None:
    rng = np.random.default_rng(0)
    network = network_of(random_layers(rng, (4, 8, 6, 3)))
    program = encoded("partition:3", network, cube(4)).program
    rows = [i for i, name in enumerate(program.row_names) if name[:7] in ("t_lower", "s_lower")]
    entries = program.matrix[rows, :].data
    # solvers drop entries below 1e-9, and prune what the row then excludes
    assert np.min(np.abs(entries)) > 1e-9
    assert np.count_nonzero(entries < 0)


def test_tiny_bounds_of_parts_are_moved_outward() -> None:
    network = Network((2,), (Affine(((0, np.array([[1.0, 1e-8]])),), np.zeros(1)), Relu(1)))
    program = encoded("partition:2", network, Interval(-np.ones(2), np.ones(2))).program
    for sign, bound in ((-1, program.column_lower), (1, program.column_upper)):
        parts = [i for i, name in enumerate(program.column_names) if name[:2] in ("t0", "s0")]
        assert np.all(sign * bound[parts] >= 1e-8)


def relaxed(program: Program, expressions: Expressions, index: int) -> tuple[float, float]:
    return extremes(program.relaxed, expressions, index)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("bounds", [interval_bounds, crown_bounds])
def test_relaxations_enclose_one_another(seed: int, bounds: Callable[..., tuple[Interval, ...]]):
    network, box = random_case(seed)
    found = []
    for name in LINEAR:
        encoding = encode(network, bounds(network, box), relu=formulation_named(name).relu)
        found.append([relaxed(encoding.program, encoding.output, i) for i in (0, -1)])
    big_m, one, *more, hull = np.array(found)
    assert one == pytest.approx(big_m, abs=1e-6)
    for few in (big_m, *more):
        assert np.all(few[:, 0] <= hull[:, 0] + 1e-6)
        assert np.all(few[:, 1] >= hull[:, 1] - 1e-6)
        assert np.all(few[:, 0] >= big_m[:, 0] - 1e-6)
        assert np.all(few[:, 1] <= big_m[:, 1] + 1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_as_many_parts_as_terms_are_the_convex_hull_of_a_neuron(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, bias = rng.normal(size=(1, 5)), rng.normal(size=1) / 10
    network = network_of([(weights, bias), (np.ones((1, 1)), np.zeros(1))])
    box = Interval(-np.ones(5), np.ones(5))
    hull, loose = encoded("partition:5", network, box), encoded("big_m", network, box)
    gaps = []
    for _ in range(10):
        # over the hull of a set a linear cost has the optimum that it has over the set
        cost = np.zeros(hull.program.columns)
        cost[hull.input.columns] = rng.normal(size=5)
        cost[hull.output.columns] = rng.normal()
        assert optimum(hull.program.relaxed, cost)[0] == pytest.approx(
            optimum(hull.program, cost)[0], abs=1e-7
        )
        other = np.zeros(loose.program.columns)
        other[loose.input.columns] = cost[hull.input.columns]
        other[loose.output.columns] = cost[hull.output.columns]
        gaps.append(optimum(loose.program, other)[0] - optimum(loose.program.relaxed, other)[0])
    assert max(gaps) > 1e-3


def test_a_column_that_stands_in_a_sum_twice_is_one_term() -> None:
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(2), -1.0, 1.0)
    # z = 2 x0 − x1 − x0 ∈ [−2, 2]
    z = Expressions(np.array([x[0], x[1], x[0]]), np.array([[2.0, -1.0, -1.0]]), np.zeros(1))
    interval = Interval(np.array([-2.0]), np.array([2.0]))
    a = partition_relu(builder, "1", z, interval, parts=3)
    program = builder.build()
    assert "t1_1_0" in program.column_names
    assert "t2_1_0" not in program.column_names
    assert extremes(program, a, 0) == pytest.approx((0, 2), abs=1e-7)


@pytest.mark.parametrize(
    "name", ["", "bigm", "partition:", "partition:0", "partition:-1", "sos1:2"]
)
def test_unknown_formulations_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"choose one of {', '.join(FORMULATIONS)}, partition:N"):
        formulation_named(name)


def test_the_default_is_big_m() -> None:
    assert formulation_named("big_m").relu is big_m_relu
    assert formulation_named("partition:2").name == "partition:2"


def test_the_row_of_the_triangle_cuts_nothing_off() -> None:
    rng = np.random.default_rng(0)
    low, high = -(10.0 ** rng.uniform(-7, 6, 2000)), 10.0 ** rng.uniform(-7, 6, 2000)
    slope, right = triangle(Interval(low, high), np.arange(low.size))
    rows = zip(low, high, slope, 1 - slope, right, strict=True)
    for l, u, s, rest, r in (map(Fraction, map(float, row)) for row in rows):
        # of the columns a and z, and a and s, at both ends of the graph
        assert max(u - s * u, -s * l, rest * u) <= r
