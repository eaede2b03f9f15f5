"""Safe bounds hold in exact arithmetic, whatever the multipliers, and lose next to nothing."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix.solvers import Targets, open_session
from tests.support.exact_values import exact_values, examples, inside, seeds
from tests.support.random_networks import boxed_graph, random_box, random_graph
from tests.support.scipy_reference import optimum
from verix_encodings import (
    Encoding,
    Max,
    Network,
    Program,
    ProgramBuilder,
    Relu,
    crown_bounds,
    encode,
)
from verix_encodings.safe_bounds import SafeBound, encoding_error

pytestmark = pytest.mark.usefixtures("matrix_storage")


def random_encoding(rng: np.random.Generator) -> tuple[Network, Encoding]:
    while True:
        network = random_graph(rng, size=3, nodes=8)
        box = random_box(rng, 3)
        encoding = encode(network, crown_bounds(network, box))
        if encoding.program.rows:
            return network, encoding


def exact_bound(program: Program, cost: NDArray[np.float64], y: NDArray[np.float64]) -> Fraction:
    """Evaluate the formula of the docstring in rational arithmetic."""
    matrix = program.matrix.toarray()
    total = Fraction(0)
    reduced = [Fraction(float(c)) for c in cost]
    for i, multiplier in enumerate(y):
        share = Fraction(float(multiplier))
        if not share:
            continue
        total += share * Fraction(float((program.row_lower if share > 0 else program.row_upper)[i]))
        for j in np.flatnonzero(matrix[i]):
            reduced[j] -= share * Fraction(float(matrix[i, j]))
    for d, low, high in zip(reduced, program.column_lower, program.column_upper, strict=True):
        total += min(d * Fraction(float(low)), d * Fraction(float(high)))
    return total


@pytest.mark.slow
@examples(100, seeds)
def test_any_multipliers_give_a_bound_below_the_exact_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, encoding = random_encoding(rng)
    program = encoding.program
    cost = rng.normal(size=program.columns) * 10.0 ** rng.integers(-6, 6)
    y = rng.normal(size=program.rows) * 10.0 ** rng.integers(-6, 6, program.rows)
    y = np.where(y > 0, y * np.isfinite(program.row_lower), y * np.isfinite(program.row_upper))
    found, exact = SafeBound(program).lower(cost, y), exact_bound(program, cost, y)
    assert Fraction(found) <= exact
    scale = np.abs(y).max() * 1e3 + np.abs(cost).max() * 1e3
    assert float(exact) - found <= 1e-10 * scale


@pytest.mark.parametrize("ends", [(-1e18, 0.0), (0.0, 1e18), (-1e18, 1e18)])
def test_reduced_costs_that_cancel_are_off_by_what_their_columns_reach(
    ends: tuple[float, float],
) -> None:
    rng = np.random.default_rng(0)
    below = 0
    for weight, multiplier in rng.uniform(0.1, 1.0, (50, 2)):
        builder = ProgramBuilder()
        columns = builder.add_columns("v", np.arange(1), *ends)
        builder.add_rows("row", np.arange(1), [(np.array([weight]), columns)], 0.0, np.inf)
        # nothing is left of the reduced cost in float64, but for what was rounded
        cost, y = np.array([weight * multiplier]), np.array([multiplier])
        exact = exact_bound(builder.build(), cost, y)
        assert Fraction(SafeBound(builder.build()).lower(cost, y)) <= exact
        below += exact < -1
    assert below > 10


@pytest.mark.parametrize("seed", range(10))
def test_rows_may_be_off_by_their_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, encoding = random_encoding(rng)
    program, error = encoding.program, 0.25
    wider = replace(
        program, row_lower=program.row_lower - error, row_upper=program.row_upper + error
    )
    cost, y = rng.normal(size=program.columns), rng.normal(size=program.rows)
    y = np.where(y > 0, y * np.isfinite(program.row_lower), y * np.isfinite(program.row_upper))
    found = SafeBound(program).lower(cost, y, error)
    assert Fraction(found) <= exact_bound(wider, cost, y)
    assert found == pytest.approx(float(exact_bound(wider, cost, y)), rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_duals_of_highs_prove_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, encoding = random_encoding(rng)
    program = encoding.program.relaxed
    session = open_session("highs")
    session.load(program)
    try:
        for index in range(encoding.output.constant.size):
            row, _ = encoding.output.row(index, program.columns)
            for cost in (row, -row):
                result = session.minimise(cost, Targets())
                assert result.duals is not None
                best, _ = optimum(program, cost)
                found = SafeBound(program).lower(cost, result.duals)
                assert found <= best + 1e-9 * (1 + abs(best))
                assert found == pytest.approx(best, abs=1e-7 * (1 + abs(best)))
    finally:
        session.close()


def test_multipliers_on_infinite_sides_and_without_a_number_are_left_out() -> None:
    _, encoding = random_encoding(np.random.default_rng(4))
    program = encoding.program
    cost = np.ones(program.columns)
    plain = SafeBound(program).lower(cost, np.zeros(program.rows))
    wrong = np.where(np.isfinite(program.row_lower), 0.0, 7.0)
    assert wrong.any()
    assert SafeBound(program).lower(cost, wrong) == plain
    assert SafeBound(program).lower(cost, np.full(program.rows, np.nan)) == plain
    assert plain == pytest.approx(program.column_lower.sum())


def test_a_column_without_an_end_has_no_bound() -> None:
    _, encoding = random_encoding(np.random.default_rng(3))
    upper = encoding.program.column_upper.copy()
    upper[0] = np.inf
    program = replace(encoding.program, column_upper=upper)
    nothing = np.zeros(program.rows)
    assert SafeBound(program).lower(np.ones(program.columns), nothing) == -np.inf
    without = np.ones(program.columns)
    without[0] = 0
    assert np.isfinite(SafeBound(program).lower(without, nothing))


@pytest.mark.slow
@examples(60, seeds)
def test_exact_trajectories_miss_no_row_by_more_than_the_encoding_error(seed: int) -> None:
    network, box, rng = boxed_graph(seed, size=3, nodes=8)
    bounds = crown_bounds(network, box)
    encoding = encode(network, bounds)
    error = Fraction(encoding_error(network, bounds))
    point = inside(box, rng)
    values = exact_values(network, point)
    columns = trajectory(encoding.program, values, network)
    matrix = encoding.program.matrix.toarray()
    for row, low, high in zip(
        matrix, encoding.program.row_lower, encoding.program.row_upper, strict=True
    ):
        activity = sum(
            (Fraction(float(row[j])) * columns[j] for j in np.flatnonzero(row)), Fraction(0)
        )
        assert not np.isfinite(low) or activity >= Fraction(float(low)) - error
        assert not np.isfinite(high) or activity <= Fraction(float(high)) + error


def trajectory(program: Program, values: list[list[Fraction]], network: Network) -> list[Fraction]:
    """Return the value of each column, by its name, on the trajectory ``values``."""
    found = []
    for name in program.column_names:
        kind, *numbers = name.split("_")
        if kind == "x":
            found.append(values[0][int(numbers[0])])
            continue
        index, neuron = (int(n) for n in numbers)
        node = network.nodes[index]
        assert isinstance(node, Relu | Max)
        read = node.entries if isinstance(node, Max) else node.source
        value = {"z": read, "a": index + 1, "d": node.source}[kind]
        result = values[value][neuron]
        found.append(Fraction(int(result > 0)) if kind == "d" else result)
    return found
