"""Constraints that a selection violates, the worst first."""

import numpy as np
import pytest

from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.oracle.perturbation_set import PerturbationSet
from verix_encodings import Affine, Interval, crown_bounds
from verix_encodings.models.constraints import Cover, Scenario
from verix_encodings.models.scenario import SLACK, make_scenario
from verix_encodings.network.network import Network


def _pool(deltas: list[list[float]]) -> ConstraintPool:
    """Margin ``Σ x − 1`` around zero: shares survive ``δ`` where ``Σ (1 − A) δ ≤ 1``."""
    margins = Network((3,), (Affine(((0, np.ones((1, 3))),), np.array([-1.0])),))
    ones, numbers = np.ones(3), np.arange(3)
    p = PerturbationSet(margins, np.zeros(3), Interval(-ones, ones), numbers)
    pool = ConstraintPool(p)
    for delta in deltas:
        moved = np.array(delta)
        pool.add(
            [make_scenario(margins, p.centre, moved, numbers, features=3, method=crown_bounds)]
        )
    return pool


def _missing(pool: ConstraintPool, selection: list[float], held: set[int]) -> int | None:
    """Return the worst violated constraint that is not held."""
    violated = pool.violated(np.array(selection))
    return next((number for number in violated if number not in held), None)


def test_the_worst_that_is_not_held_is_missing() -> None:
    pool = _pool([[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    assert _missing(pool, [0, 0, 0], set()) == 1
    assert _missing(pool, [0, 0, 0], {1}) == 0
    assert _missing(pool, [0, 0, 0], {0, 1}) is None
    assert _missing(pool, [0, 0, 1], set()) in {0, 1}
    assert _missing(pool, [1, 1, 0], set()) is None


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_cover_is_missing_by_what_lacks_of_one(share: float) -> None:
    pool = _pool([[0.5, 0.5, 0.5]])
    assert pool.add([Cover(np.array([1, 2]))]) == [1]
    expected = 1 if share < 1.0 else None
    # the scenario is violated by a half at most
    assert _missing(pool, [1.0, share, 0.0], set()) == expected
    assert _missing(pool, [1.0, share, 0.0], {1}) is None


def test_numbers_go_on_and_scenarios_have_their_perturbations() -> None:
    pool = _pool([[1, 0, 0]])
    pool.add([Cover(np.array([0]))])
    delta = np.array([0.0, 1.0, 0.0])
    p = pool.perturbations
    scenario = make_scenario(
        p.margins, p.centre, delta, p.feature_of, features=3, method=crown_bounds
    )
    assert pool.add([scenario]) == [2]
    assert pool.scenarios.tolist() == [0, 2]
    np.testing.assert_array_equal(pool.deltas[:, 1], delta)
    assert isinstance(pool.constraints[0], Scenario)


@pytest.mark.parametrize(("margin", "violated"), [(5 * SLACK, []), (20 * SLACK, [0])])
def test_a_margin_within_the_tolerances_of_solvers_is_no_violation(
    margin: float, violated: list[int]
) -> None:
    assert _pool([[1.0, 0.0, margin]]).violated(np.zeros(3)) == violated
