"""The tree's bound rests on what was proven."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.attacks import PerturbationSet
from milp_verix.problem.objective import make_objective
from milp_verix.searches.minimum.branch_and_cut import BranchAndCut, ConstraintPool, Relaxation
from milp_verix.searches.minimum.enumeration import NodeEnumeration
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.solvers.warm_lp import WarmLp
from tests.support.searches import without
from verix_encodings import Affine, Interval, Network, Relu, crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.encoding import Constraint
from verix_encodings.scenario import make_scenario

_COUNT = 8


@dataclass
class Undecided:
    """A search that neither proves nor refutes any set, and has an incumbent of ``cost``."""

    margins: Network
    cost: float
    limits: SearchLimits = field(default_factory=lambda: without("enumeration"))
    until: Deadline = NO_LIMIT
    rounds: int = 0

    def __post_init__(self) -> None:
        count = self.margins.input_size
        centre, ones = np.zeros(count), np.ones(count)
        self.perturbations = PerturbationSet(
            self.margins, centre, Interval(-ones, ones), np.arange(count)
        )
        self.objective = make_objective(count, None, (), ())
        self.separator = self.proposals = self.incumbent = self

    @property
    def cutoff(self) -> float:
        return self.objective.cutoff(self.cost, 0.0)

    def improve(self, selection: FloatArray, bound: float) -> None:
        """Find nothing better."""

    def separate(self, _selection: FloatArray, _pricings: int) -> list[Constraint]:
        """Find nothing against a set."""
        self.rounds += 1
        return []

    def scenario(self, _delta: FloatArray) -> Constraint:
        raise AssertionError("nothing is refuted")

    def tree(self, deltas: FloatArray) -> BranchAndCut:
        p = self.perturbations
        count, numbers, pool = self.margins.input_size, p.feature_of, ConstraintPool(p)
        pool.add(
            [
                make_scenario(
                    p.margins, p.centre, delta, numbers, features=count, method=crown_bounds
                )
                for delta in deltas
            ]
        )
        relaxation = Relaxation(WarmLp(1, Tolerances()), pool, self.objective, self.limits)
        return BranchAndCut(self, relaxation)  # type: ignore[arg-type]


def _drawn(cost: float, **options: Any) -> tuple[Undecided, FloatArray]:
    """Return a search, and six perturbations that small sets do not survive."""
    rng = np.random.default_rng(3)
    first = Affine(((0, rng.normal(size=(5, _COUNT))),), np.zeros(5))
    margin = Affine(((2, np.array([[1.0, -1.0, 1.0, -1.0, 1.0]])),), np.array([-1.0]))
    search = Undecided(Network((_COUNT,), (first, Relu(1), margin)), cost, **options)
    return search, np.where(rng.random((6, _COUNT)) < 0.5, -1.0, 1.0)


def _steps(tree: BranchAndCut, most: int = 500) -> list[float]:
    bounds = [tree.bound]
    while not tree.done:
        tree.step(NO_LIMIT)
        bounds.append(tree.bound)
        assert len(bounds) < most
    tree.close()
    return bounds


@pytest.mark.parametrize("cost", [4.0, 5.0])
def test_sets_that_are_refuted_up_to_a_cost_prove_no_more_than_it(
    cost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # all sets that are asked about, those below the incumbent
    monkeypatch.setattr(NodeEnumeration, "refute", lambda *_: [])
    search, deltas = _drawn(cost)
    tree = search.tree(deltas)
    _steps(tree)
    assert tree.bound == cost


def test_a_gap_proves_no_more_than_the_cutoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NodeEnumeration, "refute", lambda *_: [])
    for cutoff, proven in ((3.5, 4.0), (4.0, 4.0), (4.5, 5.0)):
        monkeypatch.setattr(Undecided, "cutoff", cutoff)
        search, deltas = _drawn(8.0)
        tree = search.tree(deltas)
        _steps(tree)
        # costs are whole: a set that does not cost less than 3.5 costs 4
        assert tree.bound == proven


def test_a_tree_ends_where_sets_are_neither_proven_nor_refuted() -> None:
    # two neurons that add up what is free: at most one of four features may be
    summed = Affine(((0, np.ones((2, 4))),), np.zeros(2))
    margin = Affine(((2, np.ones((1, 2))),), np.array([-2.5]))
    search = Undecided(Network((4,), (summed, Relu(1), margin)), 5.0)
    tree = search.tree(np.ones((1, 4)))
    bounds = _steps(tree, 200)
    assert tree.bound == 3
    assert bounds == sorted(bounds)


@pytest.mark.slow
def test_the_bound_is_the_least_cost() -> None:
    search, deltas = _drawn(6.0)
    tree = search.tree(deltas)
    _steps(tree)
    p, scenarios = search.perturbations, deltas.T
    every = (np.arange(1 << _COUNT)[:, None] >> np.arange(_COUNT)) & 1
    survivors = [
        taken.sum() for taken in every if np.max(p.margins_at(p.weight(taken), scenarios)) <= 0
    ]
    assert 0 < min(survivors) < search.cutoff
    assert tree.bound == min(survivors)


def test_a_late_step_leaves_its_node() -> None:
    search, deltas = _drawn(7.0)
    tree = search.tree(deltas)
    for _ in range(4):
        tree.step(NO_LIMIT)
    before, bound = len(tree._open), tree.bound
    tree._relaxation.solve = lambda *_: SimpleNamespace(late=True)  # type: ignore[method-assign]
    tree.step(NO_LIMIT)
    assert (len(tree._open), tree.bound) == (before, bound)
    tree.close()
