"""What scenarios' neurons are bounded by holds for every set of interest."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix.global_search.relaxation.constraint_pool import PartPool
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.relaxation.tightened_parts import tightened
from milp_verix.problem.objective import make_wishes
from milp_verix.solvers.phase.warm_lp import LiveLp
from milp_verix.tolerances import Tolerances
from tests.scenario_parts import (
    COUNT,
    drawn_parts,
    drawn_perturbations,
    grown,
    least_cost,
    of_interest,
)
from verix_encodings.arrays import FloatArray
from verix_encodings.models.scenario import CostLimit, Part, Scenario
from verix_encodings.network.network import Relu

_SLACK = 1e-9


def _assert_bounded(parts: list[Part], sets: list[FloatArray]) -> None:
    for part in parts:
        if isinstance(part, Scenario):
            for taken in sets:
                values = part.network.values(taken)
                for value, interval in zip(values, part.bounds, strict=True):
                    assert np.all(value >= interval.lower - _SLACK)
                    assert np.all(value <= interval.upper + _SLACK)


def _width(parts: list[Part]) -> float:
    """Return how far the arguments of ReLUs can be from each other, where both signs are."""
    return sum(
        float(np.sum((bounds.upper - bounds.lower)[(bounds.lower < 0) & (bounds.upper > 0)]))
        for part in parts
        if isinstance(part, Scenario)
        for node in part.network.nodes
        if isinstance(node, Relu)
        for bounds in [part.bounds[node.source]]
    )


@pytest.mark.parametrize("seed", range(40))
def test_any_core_bounds_every_set_within_the_budget(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 31])
    costs = rng.integers(1, 5, COUNT).astype(float)
    budget = CostLimit(costs, float(np.ceil(costs.sum() * rng.uniform(0.4, 0.9))))
    parts = [budget, *drawn_parts(rng, drawn_perturbations(rng, tmp_path))]
    sets = of_interest(parts)
    lp = LiveLp(1, Tolerances())
    for core in ({0}, {0, *rng.permutation(len(parts))[:3].tolist()}, set(range(len(parts)))):
        tight = tightened(parts, core, range(len(parts)), grown, lp, deadline=np.inf)
        _assert_bounded(tight, sets)
        assert _width(tight) <= _width(parts) + _SLACK
        for before, after in zip(parts, tight, strict=True):
            assert isinstance(before, Scenario) or after is before
        alone = tightened(parts, core, core, grown, lp, deadline=np.inf)
        _assert_bounded(alone, sets)
        assert all(alone[n] is part for n, part in enumerate(parts) if n not in core)
    assert tightened(parts, {0}, range(len(parts)), grown, lp, deadline=-np.inf)[0] is budget
    assert _width(tightened(parts, {0}, range(len(parts)), grown, lp, deadline=-np.inf)) == _width(
        parts
    )
    lp.close()


@pytest.mark.parametrize("seed", range(20))
def test_the_first_bounds_are_those_of_another_solver(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 32])
    budget = CostLimit(np.ones(COUNT), 4.0)
    parts = [budget, *drawn_parts(rng, drawn_perturbations(rng, tmp_path))]
    first = next(n for n, part in enumerate(parts) if isinstance(part, Scenario))
    growing = grown(parts)
    program = growing.build()
    lp = LiveLp(1, Tolerances())
    tight = tightened(parts, set(range(len(parts))), range(len(parts)), grown, lp, deadline=np.inf)[
        first
    ]
    lp.close()
    before = parts[first]
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
    parts = drawn_parts(rng, p)
    wishes = make_wishes(COUNT, None, (), ())
    pool = PartPool(p)
    relaxation = Relaxation(LiveLp(1, Tolerances()), pool, wishes)
    relaxation.extend(parts)
    enough = float(rng.integers(3, COUNT)) + 0.5
    sets = of_interest([CostLimit(np.ones(COUNT), enough), *parts])
    relaxation.tighten(enough, np.inf)
    assert not relaxation.loose(enough)
    _assert_bounded(pool.parts, sets)
    nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
    least = min((float(taken.sum()) for taken in sets), default=np.inf)
    assert relaxation.solve(nothing, np.inf, np.inf).bound <= least + 1e-6
    relaxation.close()


def test_there_is_something_to_bound_and_bounds_move(tmp_path: Path) -> None:
    with_sets, moved = 0, 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 31])
        costs = rng.integers(1, 5, COUNT).astype(float)
        budget = CostLimit(costs, float(np.ceil(costs.sum() * rng.uniform(0.4, 0.9))))
        parts = [budget, *drawn_parts(rng, drawn_perturbations(rng, tmp_path))]
        lp = LiveLp(1, Tolerances())
        tight = tightened(parts, {0, 1, 2}, range(len(parts)), grown, lp, deadline=np.inf)
        lp.close()
        with_sets += bool(of_interest(parts))
        moved += bool(of_interest(parts)) and _width(tight) < 0.95 * _width(parts)
    assert with_sets >= 15
    assert moved >= 8


def test_what_joins_later_is_tightened_and_holds_for_every_set(tmp_path: Path) -> None:
    before, after = 0.0, 0.0
    for seed in range(30):
        rng = np.random.default_rng([seed, 34])
        p = drawn_perturbations(rng, tmp_path)
        *first, last = [part for part in drawn_parts(rng, p) if isinstance(part, Scenario)]
        budget = float(rng.integers(2, COUNT))
        pool = PartPool(p)
        relaxation = Relaxation(LiveLp(1, Tolerances()), pool, make_wishes(COUNT, None, (), ()))
        relaxation.extend(first)
        nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
        relaxation.tighten(budget, np.inf)
        relaxation.solve(nothing, budget, np.inf)
        relaxation.extend([last])
        relaxation.close()
        sets = of_interest([CostLimit(np.ones(COUNT), budget), *first, last])
        _assert_bounded(pool.parts, sets)
        before, after = before + _width([last]), after + _width(pool.parts[-1:])
    assert after < 0.9 * before


def test_what_joins_late_in_time_stays_as_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng([0, 35])
    p = drawn_perturbations(rng, tmp_path)
    *first, last = [part for part in drawn_parts(rng, p) if isinstance(part, Scenario)]
    pool = PartPool(p)
    relaxation = Relaxation(LiveLp(1, Tolerances()), pool, make_wishes(COUNT, None, (), ()))
    relaxation.extend(first)
    relaxation.tighten(3.0, np.inf)
    relaxation.extend([last], -np.inf)
    relaxation.close()
    assert _width(pool.parts[-1:]) == _width([last]) > 0
