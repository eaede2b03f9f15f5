"""What each scenario asks of the sets in a node holds for every set that satisfies them all."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from milp_verix.global_search.relaxation.active_constraints import grouped
from milp_verix.global_search.relaxation.surrogates import (
    Surrogates,
    no_surrogates,
    surrogates_of,
)
from milp_verix.solvers.interrupt import Interrupt
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.scenario_cases import (
    COUNT,
    drawn_constraints,
    drawn_perturbations,
    grown,
    of_interest,
)
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.interval import Interval
from verix_encodings.models.constraints import (
    Constraint,
    CostLimit,
    PairedRelus,
    Scenario,
    row_error,
)
from verix_encodings.models.restricted import Restriction
from verix_encodings.program.program import Program
from verix_encodings.proofs.safe_bound import SafeBound

_ALL = [np.array(bits, dtype=float) for bits in product((0, 1), repeat=COUNT)]


def _duals(program: Program, ends: tuple[FloatArray, FloatArray], cost: FloatArray) -> FloatArray:
    """Return the row duals of the relaxation, or what proves that it has no point."""
    lp = WarmLp(1, Tolerances())
    lp.load(program)
    lp.set_cost(cost)
    lp.set_bounds(*ends)
    result = lp.solve(np.inf, np.inf, Interrupt())
    lp.close()
    assert result.multipliers is not None
    return result.multipliers


def _constraints(seed: int, tmp_path: Path) -> tuple[list[Constraint], np.random.Generator]:
    rng = np.random.default_rng(seed)
    constraints = drawn_constraints(rng, drawn_perturbations(rng, tmp_path))
    return [CostLimit(np.ones(COUNT), float(rng.integers(3, COUNT))), *constraints], rng


def _surrogates(
    constraints: list[Constraint],
    y: FloatArray,
    program: Program,
    ends: tuple[FloatArray, FloatArray],
) -> Surrogates:
    constraint_of_rows = grown(constraints).constraint_of_rows
    safe = SafeBound(program)
    groups = grouped(constraints, constraint_of_rows, safe.usable(y))[constraint_of_rows]
    return surrogates_of(safe, y, groups, COUNT, row_error=row_error(constraints), ends=ends)


def _refuted(surrogates: Surrogates, taken: FloatArray) -> bool:
    return bool(np.any(surrogates.matrix @ taken + surrogates.constant > 0))


@pytest.mark.parametrize("seed", range(30))
def test_no_set_that_satisfies_all_parts_is_refuted(seed: int, tmp_path: Path) -> None:
    constraints, rng = _constraints(seed, tmp_path)
    program, sets = grown(constraints).build(), of_interest(constraints)
    ends = program.column_lower, program.column_upper
    duals = _duals(program, ends, np.where(np.arange(program.columns) < COUNT, 1.0, 0.0))
    for y in (duals, rng.normal(size=program.rows), duals * rng.uniform(0.5, 2.0, program.rows)):
        surrogates = _surrogates(constraints, y, program, ends)
        assert not any(_refuted(surrogates, taken) for taken in sets)


@pytest.mark.parametrize("seed", range(30))
def test_a_phase_that_is_fixed_refutes_only_sets_in_the_other(seed: int, tmp_path: Path) -> None:
    constraints, rng = _constraints(seed, tmp_path)
    growing = grown(constraints)
    program, table = growing.build(), growing.phases()
    assert table.phase.size
    cost = np.where(np.arange(program.columns) < COUNT, 1.0, 0.0)
    place = int(rng.integers(table.phase.size))
    constraint = constraints[int(table.constraint[place])]
    assert isinstance(constraint, Scenario)
    source = constraint.network.nodes[int(table.node[place])].sources[0]
    for active in (0.0, 1.0):
        low, high = program.column_lower.copy(), program.column_upper.copy()
        low[table.phase[place]] = high[table.phase[place]] = active
        surrogates = _surrogates(
            constraints, _duals(program, (low, high), cost), program, (low, high)
        )
        for taken in of_interest(constraints):
            z = constraint.network.values(taken)[source][int(table.neuron[place])]
            if (z > 0) == bool(active):
                assert not _refuted(surrogates, taken)


def test_rows_that_may_be_off_ask_for_less(tmp_path: Path) -> None:
    constraints, rng = _constraints(0, tmp_path)
    program = grown(constraints).build()
    safe, ends = SafeBound(program), (program.column_lower, program.column_upper)
    y = safe.usable(rng.normal(size=program.rows))
    columns = np.arange(COUNT)
    (g, exact), (same, loose) = (safe.surrogate(y, columns, error, ends) for error in (0.0, 0.25))
    np.testing.assert_array_equal(g, same)
    assert loose == pytest.approx(exact - 0.25 * np.abs(y).sum())


@pytest.mark.parametrize("scale", [1e307, 1e308, 1.7e308])
def test_multipliers_that_overflow_refute_nothing(scale: float, tmp_path: Path) -> None:
    overflows, survivors = 0, 0
    for seed in range(10):
        constraints, rng = _constraints(seed, tmp_path)
        program, sets = grown(constraints).build(), of_interest(constraints)
        ends = program.column_lower, program.column_upper
        y = scale * rng.uniform(-1, 1, program.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            surrogates = _surrogates(constraints, y, program, ends)
        overflows += int(np.sum(surrogates.constant == -np.inf))
        for taken in sets:
            assert np.all(surrogates.matrix @ taken + surrogates.constant <= 0)
            survivors += 1
    assert survivors > 30
    assert (overflows > 10) == (scale > 1e307)


def test_each_row_refutes_what_the_sum_does_not(tmp_path: Path) -> None:
    more = 0
    for seed in range(30):
        constraints, _ = _constraints(seed, tmp_path)
        program = grown(constraints).build()
        ends = program.column_lower, program.column_upper
        cost = np.where(np.arange(program.columns) < COUNT, 1.0, 0.0)
        y = _duals(program, ends, cost)
        safe = SafeBound(program)
        surrogates = _surrogates(constraints, y, program, ends)
        together = np.zeros(program.rows, dtype=np.intp)
        whole = surrogates_of(safe, y, together, COUNT, row_error=row_error(constraints), ends=ends)
        for taken in _ALL:
            assert _refuted(surrogates, taken) or not _refuted(whole, taken)
            more += _refuted(surrogates, taken) and not _refuted(whole, taken)
    assert more > 30


@pytest.mark.parametrize("seed", range(10))
def test_rows_on_what_is_free_are_those_of_all_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # in, free, or out
    kind = rng.integers(3, size=12)
    restriction = Restriction(kind == 0, np.flatnonzero(kind == 1))
    own = Surrogates(rng.normal(size=(3, 12)), rng.normal(size=3))
    on = own.on(restriction)
    assert on.matrix.shape == (3, restriction.free.size)
    for bits in product((0.0, 1.0), repeat=restriction.free.size):
        taken = np.array(bits)
        values = own.matrix @ restriction.full_selection(taken) + own.constant
        np.testing.assert_allclose(on.matrix @ taken + on.constant, values, atol=1e-12)
    nothing = no_surrogates(12).on(restriction)
    assert (nothing.matrix.shape, nothing.constant.shape) == ((0, restriction.free.size), (0,))


def test_scenarios_with_twins_that_bear_ask_together(tmp_path: Path) -> None:
    constraints, _ = _constraints(1, tmp_path)
    scenarios = [n for n, constraint in enumerate(constraints) if isinstance(constraint, Scenario)]
    apart = Interval(np.array([-1.0]), np.array([1.0]))
    constraints.append(PairedRelus(scenarios[0], scenarios[2], 1, np.array([0]), apart))
    rows = np.arange(len(constraints))
    y = np.ones(len(constraints))
    groups = grouped(constraints, rows, y)
    assert groups[scenarios[0]] == groups[scenarios[2]] == groups[-1]
    assert np.unique(groups).size == len(constraints) - 2
    y[-1] = 0.0
    assert np.unique(grouped(constraints, rows, y)).size == len(constraints)
