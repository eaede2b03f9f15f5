"""A budget holds all that few features can do: nothing smaller than a proof allows slips by."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from milp_verix.searches.change_measure import budgeted, feature_count
from tests.support.brute_force_cases import case
from tests.support.exhaustive_explanations import subsets, truth
from verix_encodings import NormBall


@pytest.mark.parametrize("seed", range(30))
def test_a_budget_holds_every_set_that_it_pays_for(seed: int, tmp_path: Path) -> None:
    problem, (_, contrasts) = case(seed), truth(seed)
    posed = Problem(problem.network(tmp_path), problem.x, **problem.options)
    count = len(problem.groups)
    costs = np.random.default_rng(seed).uniform(0.5, 2.0, count)
    everything = np.arange(posed.x.size)
    centre, outer = posed.x.astype(np.float64), posed.ball.outer
    for limit in (0.4, 1.0, 2.2, 4.5):
        within = budgeted(posed, feature_count(posed, costs), limit)
        region = within.ball.region(everything)
        assert isinstance(region, NormBall)
        for free in subsets(range(count)):
            if costs[list(free)].sum() > limit:
                continue
            moving = posed.features.coordinates(sorted(free))
            ends = [(outer.lower[i], outer.upper[i]) for i in moving]
            for corner in product(*ends):
                point = centre.copy()
                point[moving] = corner
                assert np.abs(point - centre).sum() <= region.radius
        with Oracle(within, Search(reuse=False)) as oracle:
            verdict = oracle.check(everything)
        if verdict.holds:
            assert all(costs[list(contrast)].sum() > limit for contrast in contrasts)


def test_a_budget_is_no_larger_than_the_room(tmp_path: Path) -> None:
    problem = case(0)
    posed = Problem(problem.network(tmp_path), problem.x, **problem.options)
    outer, centre = posed.ball.outer, posed.x.astype(np.float64)
    room = np.maximum(outer.upper - centre, centre - outer.lower)
    costs = np.ones(len(problem.groups))
    measure = feature_count(posed, costs)
    radii = [
        budgeted(posed, measure, cost).ball.region(np.arange(centre.size)).radius
        for cost in (0.0, 1.0, float(costs.sum()))
    ]
    assert radii == pytest.approx([0.0, room.max(), room.sum()])
