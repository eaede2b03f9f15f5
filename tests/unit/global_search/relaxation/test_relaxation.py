"""A scenario that joins a tightened relaxation is coupled, too, and no set of interest is lost."""

from pathlib import Path

import numpy as np

from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.problem.objective import make_objective
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.scenario_cases import (
    COUNT,
    assert_apart,
    assert_inside,
    drawn_similar,
    of_interest,
    point,
)
from verix_encodings.models.constraints import CostLimit, PairedRelus, Scenario


def test_what_joins_is_coupled_and_every_set_of_interest_is_left(tmp_path: Path) -> None:
    joined, checked = 0, 0
    for seed in range(40):
        (budget, *constraints), _, p = drawn_similar(seed, tmp_path)
        assert isinstance(budget, CostLimit)
        lp = WarmLp(1, Tolerances())
        relaxation = Relaxation(lp, ConstraintPool(p), make_objective(COUNT, None, (), ()))
        *first, last = constraints
        relaxation.extend(first)
        relaxation.tighten(budget.limit, np.inf)
        before = len(relaxation._constraints)
        relaxation.extend([last])
        mine, program = relaxation._constraints, relaxation._now.program
        new = [constraint for constraint in mine[before:] if isinstance(constraint, PairedRelus)]
        # the budget of the relaxation itself is that of all features
        sets = of_interest(
            [budget, *(constraint for constraint in mine if isinstance(constraint, Scenario))]
        )
        sets = [taken for taken in sets if all(taken[c.features].any() for c in constraints[:1])]
        assert_apart(
            mine, [constraint for constraint in mine if isinstance(constraint, PairedRelus)], sets
        )
        for taken in sets:
            assert_inside(program, point(program, mine, taken))
        joined += bool(new)
        checked += bool(new) and bool(sets)
        assert all(before in (paired.of, paired.beside) for paired in new)
        relaxation.close()
    assert joined >= 10
    assert checked >= 5
