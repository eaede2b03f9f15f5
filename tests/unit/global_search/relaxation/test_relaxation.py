"""A relaxation, whole or of a subtree, bounds every set that it is about."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from milp_verix.clock import NO_LIMIT
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.lp import NO_FIXINGS, Fixings
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.search_limits import SearchLimits
from milp_verix.problem.objective import make_objective
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.phase.warm_lp import LpResult, WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.scenario_cases import (
    COUNT,
    assert_inside,
    drawn_constraints,
    drawn_perturbations,
    of_interest,
    point,
)
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, Scenario

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
    relaxation = Relaxation(lp, pool, objective, limits or SearchLimits())
    relaxation.extend(constraints)
    sets = [taken for taken in of_interest(constraints) if costs @ taken <= cutoff]
    return Drawn(relaxation, constraints, costs, cutoff, sets, rng)


def _node(rng: np.random.Generator, relaxation: Relaxation) -> Fixings:
    """Return some phases and features at either end."""
    phases, features = relaxation._now.table.phase, np.arange(relaxation.free.size)
    count = min(int(rng.integers(0, 3)), phases.size), min(int(rng.integers(0, 3)), features.size)
    columns = np.concatenate(
        [rng.permutation(phases)[: count[0]], rng.permutation(features)[: count[1]]]
    )
    return columns, rng.integers(0, 2, columns.size).astype(float)


def _in_node(relaxation: Relaxation, fixings: Fixings, taken: FloatArray) -> bool:
    """Return whether a set of all features is in the node, beyond doubt."""
    restriction = relaxation.restriction_by(fixings)
    if not np.array_equal(restriction.full_selection(taken[restriction.free]), taken):
        return False
    table, mine = relaxation._now.table, taken[relaxation.free]
    for column, value in zip(*fixings, strict=True):
        for place in np.flatnonzero(table.phase == column):
            constraint = relaxation._constraints[int(table.constraint[place])]
            assert isinstance(constraint, Scenario)
            source = constraint.network.nodes[int(table.node[place])].sources[0]
            z = constraint.network.values(mine)[source][int(table.neuron[place])]
            if (z > -_NEAR) if value == 0.0 else (z < _NEAR):
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


def _assert_bounds(
    drawn: Drawn, relaxation: Relaxation, fixings: Fixings, mine: list[FloatArray], seen: Seen
) -> None:
    costs = sorted({float(drawn.costs @ taken) for taken in mine})
    seen.nodes += 1
    # a little above each cost: features are fixed for sets that are cheaper
    for limit in [*(cost + 1e-3 for cost in costs[:4]), drawn.cutoff, np.inf]:
        solution = relaxation.solve(fixings, limit, NO_LIMIT)
        columns, values = solution.fixings
        seen.fixed += columns.size
        if solution.bound == np.inf:
            seen.infeasible += 1
            assert not mine
        for taken in (taken for taken in mine if drawn.costs @ taken < limit):
            cost = float(drawn.costs @ taken)
            assert solution.bound <= cost + 1e-9
            np.testing.assert_array_equal(taken[relaxation.free[columns]], values)
            seen.sets, seen.close = seen.sets + 1, seen.close + (solution.bound > cost - 0.2)


@pytest.mark.slow
def test_no_set_of_a_node_is_below_its_bound_or_moves_a_fixed_feature(tmp_path: Path) -> None:
    whole, inner, innermost = Seen(), Seen(), Seen()
    for seed in range(20):
        drawn = _drawn(seed, tmp_path)
        for _ in range(4):
            relaxation, mine = drawn.relaxation, drawn.sets
            for seen in (whole, inner, innermost):
                fixings = _node(drawn.rng, relaxation)
                mine = [taken for taken in mine if _in_node(relaxation, fixings, taken)]
                _assert_bounds(drawn, relaxation, fixings, mine, seen)
                solution = relaxation.solve(fixings, np.inf, NO_LIMIT)
                if solution.selection is None:
                    break
                smaller = relaxation.restricted(
                    relaxation.restriction_by(fixings), fixings, solution, drawn.cutoff
                )
                if smaller is None:
                    assert not mine
                    break
                relaxation = smaller
        drawn.relaxation.close()
    for seen in (whole, inner, innermost):
        assert seen.nodes > 40, seen
        assert seen.sets > 300, seen
        assert seen.close > 30, seen
    assert whole.fixed + inner.fixed > 50
    assert whole.infeasible + inner.infeasible > 5


def test_selections_and_reduced_costs_are_those_of_all_features(tmp_path: Path) -> None:
    compared = 0
    for seed in range(20):
        drawn = _drawn(seed, tmp_path)
        fixings = (np.arange(3), drawn.rng.integers(0, 2, 3).astype(float))
        whole = drawn.relaxation.solve(fixings, np.inf, NO_LIMIT)
        if whole.selection is None:
            continue
        restriction = drawn.relaxation.restriction_by(fixings)
        assert restriction.free.tolist() == [3, 4, 5, 6]
        assert np.flatnonzero(restriction.fixed_in).tolist() == np.flatnonzero(fixings[1]).tolist()
        smaller = drawn.relaxation.restricted(restriction, fixings, whole, np.inf)
        if smaller is None:
            continue
        assert smaller.free.tolist() == [3, 4, 5, 6]
        # as columns of the smaller program; in all features these are 4 and 6
        further = np.array([1, 3]), np.array([1.0, 0.0])
        inside = smaller.restriction_by(further)
        assert inside.free.tolist() == [3, 5]
        assert inside.fixed_in[:3].tolist() == (fixings[1] > 0).tolist()
        assert inside.fixed_in[3:].tolist() == [False, True, False, False]
        solution = smaller.solve(further, np.inf, NO_LIMIT)
        if solution.selection is None or solution.reduced_costs is None:
            continue
        assert solution.selection.shape == solution.reduced_costs.shape == (COUNT,)
        assert solution.selection[:3].tolist() == fixings[1].tolist()
        assert solution.selection[[4, 6]].tolist() == [1.0, 0.0]
        assert not solution.reduced_costs[:3].any()
        # a smaller box, and tighter bounds in it
        assert solution.bound >= drawn.costs[:3] @ fixings[1] - 1e-9
        compared += 1
    assert compared >= 8


@pytest.mark.slow
def test_constraints_that_join_keep_every_set_of_interest(tmp_path: Path) -> None:
    checked = 0
    for seed in range(40):
        drawn = _drawn(2 * seed, tmp_path)
        relaxation, costs = drawn.relaxation, drawn.costs
        *first, last = [c for c in drawn.constraints if isinstance(c, Scenario)]
        relaxation.close()
        lp = WarmLp(1, Tolerances())
        objective = make_objective(COUNT, costs, (), ())
        relaxation = Relaxation(
            lp, ConstraintPool(relaxation.pool.perturbations), objective, SearchLimits()
        )
        relaxation.extend(first)
        relaxation.extend([last])
        mine, program = relaxation._constraints, relaxation._now.program
        sets = [one for one in of_interest([*first, last]) if costs @ one <= drawn.cutoff]
        for taken in sets:
            assert_inside(program, point(program, mine, taken))
        # and the pool has the bounds that the relaxation has
        pool = relaxation.pool.constraints
        assert [id(c) for c in pool] == [id(c) for c in mine]
        checked += bool(sets)
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
