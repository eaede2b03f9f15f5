"""Tightened bounds of scenarios' neurons hold for every set that is cheap enough."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix.clock import NO_LIMIT, Deadline
from milp_verix.global_search.relaxation.bound_tightening import tightened
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.lp import NO_FIXINGS
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.search_limits import SearchLimits
from milp_verix.problem.objective import make_objective
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.scenario_cases import (
    COUNT,
    drawn_constraints,
    drawn_perturbations,
    grown,
    least_cost,
    of_interest,
)
from verix_encodings import Relu
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, CostLimit, Scenario

_SLACK = 1e-9


def _relaxation(pool: ConstraintPool) -> Relaxation:
    objective = make_objective(COUNT, None, (), ())
    return Relaxation(WarmLp(1, Tolerances()), pool, objective, SearchLimits())


def _assert_bounded(constraints: list[Constraint], sets: list[FloatArray]) -> None:
    for constraint in constraints:
        if isinstance(constraint, Scenario):
            for taken in sets:
                values = constraint.network.values(taken)
                for value, interval in zip(values, constraint.bounds, strict=True):
                    assert np.all(value >= interval.lower - _SLACK)
                    assert np.all(value <= interval.upper + _SLACK)


def _width(constraints: list[Constraint]) -> float:
    """Return how far the arguments of ReLUs can be from each other, where both signs are."""
    return sum(
        float(np.sum((bounds.upper - bounds.lower)[(bounds.lower < 0) & (bounds.upper > 0)]))
        for constraint in constraints
        if isinstance(constraint, Scenario)
        for node in constraint.network.nodes
        if isinstance(node, Relu)
        for bounds in [constraint.bounds[node.source]]
    )


@pytest.mark.parametrize("seed", range(40))
def test_any_core_bounds_every_set_within_the_budget(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 31])
    costs = rng.integers(1, 5, COUNT).astype(float)
    budget = CostLimit(costs, float(np.ceil(costs.sum() * rng.uniform(0.4, 0.9))))
    constraints = [budget, *drawn_constraints(rng, drawn_perturbations(rng, tmp_path))]
    sets = of_interest(constraints)
    lp = WarmLp(1, Tolerances())
    for core in (
        {0},
        {0, *rng.permutation(len(constraints))[:3].tolist()},
        set(range(len(constraints))),
    ):
        tight = tightened(constraints, core, range(len(constraints)), grown, lp, deadline=NO_LIMIT)
        _assert_bounded(tight, sets)
        assert _width(tight) <= _width(constraints) + _SLACK
        for before, after in zip(constraints, tight, strict=True):
            assert isinstance(before, Scenario) or after is before
        alone = tightened(constraints, core, core, grown, lp, deadline=NO_LIMIT)
        _assert_bounded(alone, sets)
        assert all(
            alone[n] is constraint for n, constraint in enumerate(constraints) if n not in core
        )
    assert (
        tightened(constraints, {0}, range(len(constraints)), grown, lp, deadline=Deadline(-np.inf))[
            0
        ]
        is budget
    )
    assert _width(
        tightened(constraints, {0}, range(len(constraints)), grown, lp, deadline=Deadline(-np.inf))
    ) == _width(constraints)
    lp.close()


@pytest.mark.parametrize("seed", range(20))
def test_the_first_bounds_are_those_of_another_solver(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 32])
    budget = CostLimit(np.ones(COUNT), 4.0)
    constraints = [budget, *drawn_constraints(rng, drawn_perturbations(rng, tmp_path))]
    first = next(n for n, constraint in enumerate(constraints) if isinstance(constraint, Scenario))
    growing = grown(constraints)
    program = growing.build()
    lp = WarmLp(1, Tolerances())
    tight = tightened(
        constraints,
        set(range(len(constraints))),
        range(len(constraints)),
        grown,
        lp,
        deadline=NO_LIMIT,
    )[first]
    lp.close()
    before = constraints[first]
    assert isinstance(before, Scenario)
    assert isinstance(tight, Scenario)
    value, z = growing.arguments[first][0]
    known, now = before.bounds[value], tight.bounds[value]
    for i in np.flatnonzero((known.lower < 0) & (known.upper > 0)).tolist():
        cost, constant = z.row(i, program.columns)
        # what is near a point that is known is not asked for
        near = 0.05 * (known.upper[i] - known.lower[i]) + 1e-6
        for sign, mine in ((1.0, now.lower[i]), (-1.0, -now.upper[i])):
            least = least_cost(program, sign * cost) + sign * constant
            if least == np.inf:
                # nothing is cheaper than the budget: any bound holds
                continue
            assert mine <= least + 1e-6
            assert mine >= min(least, -1e-7) - near


@pytest.mark.parametrize("seed", range(30))
def test_a_relaxation_keeps_what_is_cheap_enough(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 33])
    p = drawn_perturbations(rng, tmp_path)
    constraints = drawn_constraints(rng, p)
    pool = ConstraintPool(p)
    relaxation = _relaxation(pool)
    relaxation.extend(constraints)
    cutoff = float(rng.integers(3, COUNT)) + 0.5
    sets = of_interest([CostLimit(np.ones(COUNT), cutoff), *constraints])
    relaxation.tighten(cutoff, NO_LIMIT)
    assert not relaxation.loose(cutoff)
    _assert_bounded(pool.constraints, sets)
    least = min((float(taken.sum()) for taken in sets), default=np.inf)
    assert relaxation.solve(NO_FIXINGS, np.inf, NO_LIMIT).bound <= least + 1e-6
    relaxation.close()


@pytest.mark.slow
def test_there_is_something_to_bound_and_bounds_move(tmp_path: Path) -> None:
    with_sets, moved = 0, 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 31])
        costs = rng.integers(1, 5, COUNT).astype(float)
        budget = CostLimit(costs, float(np.ceil(costs.sum() * rng.uniform(0.4, 0.9))))
        constraints = [budget, *drawn_constraints(rng, drawn_perturbations(rng, tmp_path))]
        lp = WarmLp(1, Tolerances())
        tight = tightened(
            constraints, {0, 1, 2}, range(len(constraints)), grown, lp, deadline=NO_LIMIT
        )
        lp.close()
        with_sets += bool(of_interest(constraints))
        moved += bool(of_interest(constraints)) and _width(tight) < 0.95 * _width(constraints)
    assert with_sets >= 15
    assert moved >= 8


@pytest.mark.slow
def test_what_joins_later_is_tightened_and_holds_for_every_set(tmp_path: Path) -> None:
    before, after = 0.0, 0.0
    for seed in range(30):
        rng = np.random.default_rng([seed, 34])
        p = drawn_perturbations(rng, tmp_path)
        *first, last = [
            constraint
            for constraint in drawn_constraints(rng, p)
            if isinstance(constraint, Scenario)
        ]
        budget = float(rng.integers(2, COUNT))
        pool = ConstraintPool(p)
        relaxation = _relaxation(pool)
        relaxation.extend(first)
        relaxation.tighten(budget, NO_LIMIT)
        relaxation.solve(NO_FIXINGS, budget, NO_LIMIT)
        relaxation.extend([last])
        relaxation.close()
        sets = of_interest([CostLimit(np.ones(COUNT), budget), *first, last])
        _assert_bounded(pool.constraints, sets)
        before, after = before + _width([last]), after + _width(pool.constraints[-1:])
    assert after < 0.9 * before


def test_what_joins_late_in_time_stays_as_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng([0, 35])
    p = drawn_perturbations(rng, tmp_path)
    *first, last = [
        constraint for constraint in drawn_constraints(rng, p) if isinstance(constraint, Scenario)
    ]
    pool = ConstraintPool(p)
    relaxation = _relaxation(pool)
    relaxation.extend(first)
    relaxation.tighten(3.0, NO_LIMIT)
    relaxation.extend([last], Deadline(-np.inf))
    relaxation.close()
    assert _width(pool.constraints[-1:]) == _width([last]) > 0
