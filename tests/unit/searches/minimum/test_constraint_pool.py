"""A selection violates a scenario or a cover of the pool."""

import numpy as np
import pytest

from milp_verix.oracle.attacks import PerturbationSet
from milp_verix.searches.minimum.branch_and_cut import ConstraintPool
from verix_encodings import Affine, Interval, crown_bounds
from verix_encodings.encoding import Cover, Scenario
from verix_encodings.network import Network
from verix_encodings.scenario import SLACK, make_scenario


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


@pytest.mark.parametrize(
    ("selection", "violated"),
    [([0, 0, 0], True), ([0, 0, 1], True), ([1, 1, 0], False), ([1, 0.5, 0], True)],
)
def test_a_scenario_is_violated_where_a_margin_is_reached(
    selection: list[float], violated: bool
) -> None:
    pool = _pool([[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    assert pool.violated(np.array(selection)) == violated


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_cover_is_violated_by_less_than_one(share: float) -> None:
    pool = _pool([[0.5, 0.5, 0.5]])
    selection = np.array([1.0, share, 0.0])
    assert not pool.violated(selection)
    pool.add([Cover(np.array([1, 2]))])
    assert pool.violated(selection) == (share < 1.0)


def test_scenarios_have_their_perturbations() -> None:
    pool = _pool([[1, 0, 0]])
    pool.add([Cover(np.array([0]))])
    delta = np.array([0.0, 1.0, 0.0])
    p = pool.perturbations
    scenario = make_scenario(
        p.margins, p.centre, delta, p.feature_of, features=3, method=crown_bounds
    )
    pool.add([scenario])
    assert [type(one) for one in pool.constraints] == [Scenario, Cover, Scenario]
    assert pool.deltas.T.tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(("margin", "violated"), [(5 * SLACK, False), (20 * SLACK, True)])
def test_a_margin_within_the_tolerances_of_solvers_is_no_violation(
    margin: float, violated: bool
) -> None:
    assert _pool([[1.0, 0.0, margin]]).violated(np.zeros(3)) == violated
