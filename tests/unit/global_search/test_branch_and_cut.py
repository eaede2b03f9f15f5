"""When a tree starts again from its root, and how much of it is left."""

from collections.abc import Callable

import numpy as np
import pytest

from milp_verix.global_search import branch_and_cut as scenario_tree
from milp_verix.global_search.branch_and_cut import ScenarioTree
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.separation import NodeRemainder, SeparationOracle
from milp_verix.problem.objective import make_objective
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.scenario_cases import Undecided
from verix_encodings import Affine, Network, Relu, crown_bounds
from verix_encodings.models.constraints import Constraint
from verix_encodings.models.scenario import make_scenario

_COUNT = 8


class Refuting(Undecided):
    """Refutes all sets that are asked about: those below what is asked for."""

    def enumerate_node(self, remainder: NodeRemainder) -> list[Constraint] | None:
        return []


def _tree(cutoff: Callable[[], float], separator: SeparationOracle | None = None) -> ScenarioTree:
    rng = np.random.default_rng(3)
    first = Affine(((0, rng.normal(size=(5, _COUNT))),), np.zeros(5))
    margin = Affine(((2, np.array([[1.0, -1.0, 1.0, -1.0, 1.0]])),), np.array([-1.0]))
    margins = Network((_COUNT,), (first, Relu(1), margin))
    ones, numbers = np.ones(_COUNT), np.arange(_COUNT)
    p = Perturbations(margins, np.zeros(_COUNT), -ones, ones, "linf", 1.0, numbers)
    objective = make_objective(_COUNT, None, (), ())
    relaxation = Relaxation(WarmLp(1, Tolerances()), ConstraintPool(p), objective)
    ends = np.where(rng.random((6, _COUNT)) < 0.5, -1.0, 1.0)
    relaxation.extend(
        [
            make_scenario(margins, p.centre, delta, numbers, features=_COUNT, method=crown_bounds)
            for delta in ends
        ]
    )
    return ScenarioTree(relaxation, separator or Undecided(), objective.attainable, cutoff, 1)


def _steps(tree: ScenarioTree) -> list[float]:
    left = [tree.left]
    while not tree.done:
        tree.step(np.inf)
        left.append(tree.left)
    tree.close()
    return left


def test_what_is_left_sinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Relaxation, "loose", lambda *_: False)
    monkeypatch.setattr(scenario_tree, "_MOST_FREE", 3)
    left = _steps(_tree(lambda: 7.0))
    assert len(left) > 10
    assert left[0] == 1.0
    assert np.all(np.diff(left) <= 0)
    assert 0 <= left[-1] < 0.1


@pytest.mark.parametrize("cutoff", [3.5, 4.0, 4.5])
def test_sets_that_are_refuted_up_to_a_cost_prove_no_more_than_it(cutoff: float) -> None:
    tree = _tree(lambda: cutoff, Refuting())
    _steps(tree)
    # whole costs: what is not below 3.5 is 4
    assert tree.bound == np.ceil(cutoff)


@pytest.mark.parametrize(("share", "again"), [(0.4, False), (0.6, True)])
def test_a_tree_is_given_up_where_much_is_left_or_an_explanation_is_better(
    share: float, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, tightened, tighten = [7.0], [], Relaxation.tighten

    def counted(relaxation: Relaxation, cutoff: float, deadline: float) -> None:
        tightened.append(cutoff)
        tighten(relaxation, cutoff, deadline)

    monkeypatch.setattr(Relaxation, "loose", lambda *_: True)
    monkeypatch.setattr(Relaxation, "tighten", counted)
    monkeypatch.setattr(ScenarioTree, "left", share)
    monkeypatch.setattr(scenario_tree, "_PERIOD", 1)
    tree = _tree(lambda: best[0])
    for _ in range(8):
        tree.step(np.inf)
    assert (len(tightened) > 1) == again
    assert set(tightened) == {7.0}
    best[0] = 6.0
    for _ in range(8):
        tree.step(np.inf)
    assert 6.0 in tightened
    tree.close()
