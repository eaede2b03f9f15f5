"""A relaxation bounds every set that satisfies its constraints."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.tolerances import Tolerances
from milp_verix.problem.objective import make_objective
from milp_verix.searches.minimum.branch_and_cut import (
    NO_FIXINGS,
    ConstraintPool,
    Fixings,
    Relaxation,
)
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.warm_lp import LpResult, WarmLp
from tests.support.scenario_cases import (
    COUNT,
    assert_inside,
    drawn_constraints,
    drawn_perturbations,
    of_interest,
    point,
)
from verix_encodings.arrays import FloatArray
from verix_encodings.encoding import Constraint, Scenario

_KINDS = 3
_NEAR = 1e-6


@dataclass
class Drawn:
    """A relaxation of scenarios and a cover, and the sets that satisfy them and are cheap."""

    relaxation: Relaxation
    constraints: list[Constraint]
    costs: FloatArray
    cutoff: float
    sets: list[FloatArray]
    rng: np.random.Generator


def _drawn(seed: int, tmp_path: Path, limits: SearchLimits | None = None) -> Drawn:
    rng = np.random.default_rng([seed, 61])
    p = drawn_perturbations(rng, tmp_path)
    kinds = np.ones(COUNT), rng.integers(0, 5, COUNT).astype(float), rng.random(COUNT)
    costs = kinds[seed % _KINDS]
    objective = make_objective(COUNT, costs, (), ())
    cutoff = float(rng.uniform(0.4, 1.0) * costs.sum())
    constraints = drawn_constraints(rng, p, objective.most_features(cutoff))
    pool, lp = ConstraintPool(p), WarmLp(1, Tolerances())
    pool.add(constraints)
    relaxation = Relaxation(lp, pool, objective, limits or SearchLimits())
    sets = [taken for taken in of_interest(constraints) if costs @ taken <= cutoff]
    return Drawn(relaxation, constraints, costs, cutoff, sets, rng)


def _node(rng: np.random.Generator, relaxation: Relaxation) -> Fixings:
    """Return some phases and features at either end."""
    phases = relaxation.branching.columns
    count = min(int(rng.integers(0, 3)), phases.size), int(rng.integers(0, 3))
    columns = np.concatenate(
        [rng.permutation(phases)[: count[0]], rng.permutation(COUNT)[: count[1]]]
    )
    return columns, rng.integers(0, 2, columns.size).astype(float)


def _in_node(drawn: Drawn, fixings: Fixings, taken: FloatArray) -> bool:
    """Return whether a set of all features is in the node, beyond doubt."""
    there = point(drawn.relaxation._now.program, drawn.constraints, taken)
    names = drawn.relaxation._now.program.column_names
    for column, value in zip(*fixings, strict=True):
        if column < COUNT:
            if taken[column] != value:
                return False
            continue
        number, node, neuron = map(int, names[column].split("_")[1:])
        scenario = drawn.constraints[number]
        assert isinstance(scenario, Scenario)
        z = scenario.network.values(taken)[scenario.network.nodes[node].sources[0]][neuron]
        if there[column] != value or abs(z) < _NEAR:
            return False
    return True


@dataclass
class Seen:
    """Counts of nodes, sets in them, fixed features, and bounds that are nearly reached."""

    nodes: int = 0
    sets: int = 0
    fixed: int = 0
    close: int = 0
    infeasible: int = 0


def _assert_bounds(drawn: Drawn, fixings: Fixings, mine: list[FloatArray], seen: Seen) -> None:
    costs = sorted({float(drawn.costs @ taken) for taken in mine})
    seen.nodes += 1
    # a little above each cost: features are fixed for sets that are cheaper
    for limit in [*(cost + 1e-3 for cost in costs[:4]), drawn.cutoff, np.inf]:
        solution = drawn.relaxation.solve(fixings, limit, NO_LIMIT)
        columns, values = solution.fixings
        seen.fixed += columns.size
        if solution.bound == np.inf:
            seen.infeasible += 1
            assert not mine
        for taken in (taken for taken in mine if drawn.costs @ taken < limit):
            cost = float(drawn.costs @ taken)
            assert solution.bound <= cost + 1e-9
            np.testing.assert_array_equal(taken[columns], values)
            seen.sets, seen.close = seen.sets + 1, seen.close + (solution.bound > cost - 0.2)


@pytest.mark.slow
def test_no_set_of_a_node_is_below_its_bound_or_moves_a_fixed_feature(tmp_path: Path) -> None:
    seen = Seen()
    for seed in range(20):
        drawn = _drawn(seed, tmp_path)
        for _ in range(4):
            fixings = _node(drawn.rng, drawn.relaxation)
            mine = [taken for taken in drawn.sets if _in_node(drawn, fixings, taken)]
            _assert_bounds(drawn, fixings, mine, seen)
        drawn.relaxation.close()
    assert seen.nodes > 40, seen
    assert seen.sets > 300, seen
    assert seen.close > 30, seen
    assert seen.fixed > 50, seen
    assert seen.infeasible > 5, seen


def test_fixings_say_which_features_are_free(tmp_path: Path) -> None:
    relaxation = _drawn(0, tmp_path).relaxation
    further = np.array([4, 6, COUNT + 1]), np.array([1.0, 0.0, 1.0])
    restriction = relaxation.restriction_by((np.arange(2), np.array([1.0, 0.0])), further)
    assert restriction.free.tolist() == [2, 3, 5]
    assert np.flatnonzero(restriction.fixed_in).tolist() == [0, 4]
    relaxation.close()


@pytest.mark.slow
def test_constraints_that_join_keep_every_set_of_interest(tmp_path: Path) -> None:
    checked = 0
    for seed in range(40):
        drawn = _drawn(2 * seed, tmp_path)
        first = drawn.relaxation
        *known, last = [c for c in drawn.constraints if isinstance(c, Scenario)]
        pool = ConstraintPool(first.pool.perturbations)
        pool.add(known)
        objective = make_objective(COUNT, drawn.costs, (), ())
        relaxation = Relaxation(WarmLp(1, Tolerances()), pool, objective, SearchLimits())
        before = relaxation._now.program.rows
        pool.add([last])
        relaxation.solve(NO_FIXINGS, np.inf, NO_LIMIT)
        program, mine = relaxation._now.program, [*known, last]
        assert program.rows > before
        sets = [one for one in of_interest(mine) if drawn.costs @ one <= drawn.cutoff]
        for taken in sets:
            assert_inside(program, point(program, mine, taken))
        checked += bool(sets)
        first.close()
        relaxation.close()
    assert checked >= 10


def test_reduced_cost_fixing_can_be_switched_off(tmp_path: Path) -> None:
    fixed = {True: 0, False: 0}
    for on in fixed:
        without = frozenset[str]() if on else frozenset({"reduced-cost fixing"})
        for seed in range(0, 20, 2):
            drawn = _drawn(seed, tmp_path, SearchLimits(without=without))
            least = min((float(drawn.costs @ s) for s in drawn.sets), default=drawn.cutoff)
            fixed[on] += drawn.relaxation.solve(NO_FIXINGS, least, NO_LIMIT).fixings[0].size
            drawn.relaxation.close()
    assert fixed[True] > 5
    assert fixed[False] == 0


def test_a_relaxation_out_of_time_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = _drawn(0, tmp_path)
    ended = LpResult(SolveStatus.TIME_LIMIT, None, None, 0, "time is up")
    monkeypatch.setattr(WarmLp, "solve", lambda *_: ended)
    solution = drawn.relaxation.solve(NO_FIXINGS, np.inf, NO_LIMIT)
    assert (solution.late, solution.bound, solution.selection) == (True, -np.inf, None)
    drawn.relaxation.close()


def test_a_bound_that_is_enough_fixes_no_more(tmp_path: Path) -> None:
    open_ = fixed = 0
    for seed in range(60):
        drawn = _drawn(seed, tmp_path)
        usual = drawn.relaxation.solve(NO_FIXINGS, drawn.cutoff, NO_LIMIT)
        enough = usual.bound + 1e-3
        if usual.selection is None or enough >= drawn.cutoff:
            continue
        early = drawn.relaxation.solve(NO_FIXINGS, drawn.cutoff, NO_LIMIT, enough)
        # all that a bound just above this one fixes is free up to the cutoff
        sooner = drawn.relaxation.solve(NO_FIXINGS, enough, NO_LIMIT)
        assert early.fixings[0].tolist() == usual.fixings[0].tolist()
        open_ += 1
        fixed += sooner.fixings[0].size > usual.fixings[0].size
    assert min(open_, fixed) > 5
