"""A local minimum survives the known perturbations, and costs as little as it can."""

import numpy as np
import pytest
from scipy.optimize import linprog

from milp_verix.clock import NO_LIMIT
from milp_verix.global_search.explainer import Explainer
from milp_verix.global_search.heuristics import continuous_descent as module
from milp_verix.global_search.heuristics.continuous_descent import local_minimum
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.heuristics.linearised_margins import largest_margin
from milp_verix.global_search.pricing.adversary import Adversary
from milp_verix.oracle.perturbation_set import PerturbationSet
from milp_verix.problem.objective import make_objective
from tests.support.searches import LIMITS, digit, opened_incumbent
from verix_encodings import Affine, Interval, Network
from verix_encodings.arrays import FloatArray, dense

_COUNT = 12
_NEAR = 1e-5


class Attacks(Adversary):
    """An adversary that notes what each selection survived, and the harm done to it next."""

    survived: np.ndarray
    harms: list[float]

    def learn(self, selection: FloatArray, deadline: float) -> float:
        self.survived = self.newest
        # it survives all that was known until then
        assert largest_margin(self._perturbations, self.survived, selection) <= _NEAR
        self.harms = [*getattr(self, "harms", []), super().learn(selection, deadline)]
        return self.harms[-1]


def _linear(rng: np.random.Generator) -> PerturbationSet:
    """Return three linear margins that are above zero at worst, and below it at the centre."""
    slopes = rng.normal(size=(3, _COUNT))
    lower, upper = -rng.random(_COUNT), rng.random(_COUNT)
    most = np.maximum(slopes * lower, slopes * upper).sum(axis=1)
    margins = Network((_COUNT,), (Affine(((0, slopes),), -rng.uniform(0.2, 0.8, 3) * most),))
    numbers = np.arange(_COUNT)
    return PerturbationSet(margins, np.zeros(_COUNT), Interval(lower, upper), numbers)


def test_every_selection_survives_no_perturbation() -> None:
    p = _linear(np.random.default_rng(0))
    assert largest_margin(p, np.zeros((_COUNT, 0)), np.zeros(_COUNT)) == -np.inf


@pytest.mark.parametrize("seed", range(20))
def test_of_linear_margins_it_is_the_minimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng([seed, 83])
    p = _linear(rng)
    costs = rng.integers(1, 4, _COUNT).astype(float)
    objective = make_objective(_COUNT, costs, must=[2], must_not=[])
    node = p.margins.nodes[0]
    assert isinstance(node, Affine)
    slopes = dense(node.terms[0][1])
    # what each feature adds at worst, unless it is fixed
    parts = np.maximum(slopes * p.lower, slopes * p.upper)
    bounds = [(1 if f == 2 else 0, 1) for f in range(_COUNT)]
    exact = linprog(costs, A_ub=-parts, b_ub=-(parts.sum(axis=1) + node.bias), bounds=bounds)
    assert exact.status == 0
    adversary = Adversary(p, LIMITS)
    adversary.learn(np.zeros(_COUNT), NO_LIMIT)
    monkeypatch.setattr(module, "_LITTLE", 0.0)
    # no check is asked for
    incumbent = Incumbent(None, p, objective, adversary)
    selection = local_minimum(incumbent, NO_LIMIT)
    assert selection is not None
    assert selection[2] == 1
    assert costs @ selection == pytest.approx(exact.fun, abs=_NEAR)


@pytest.mark.slow
@pytest.mark.parametrize("index", [1, 15, 16, 17])
def test_nothing_known_hurts_a_local_minimum_much(index: int) -> None:
    objective = make_objective(64, None, must=[3], must_not=[])
    with opened_incumbent(digit(index), objective) as incumbent:
        Explainer(incumbent).first(NO_LIMIT)
        incumbent.adversary.__class__ = Attacks
        selection = local_minimum(incumbent, NO_LIMIT)
    assert selection is not None
    assert np.all((selection >= objective.least) & (selection <= objective.most))
    assert selection.sum() <= incumbent.cost
    harms = incumbent.adversary.harms
    assert harms[-1] <= 0.02 * max(harms)


def test_a_local_minimum_survives_everything_known_before_its_last_attack() -> None:
    with opened_incumbent(digit(12)) as incumbent:
        Explainer(incumbent).first(NO_LIMIT)
        incumbent.adversary.__class__ = Attacks
        selection = local_minimum(incumbent, NO_LIMIT)
        assert selection is not None
        survived = incumbent.adversary.survived
        assert largest_margin(incumbent.perturbations, survived, selection) <= _NEAR
        assert selection.sum() <= incumbent.cost


def test_there_is_none_where_no_selection_survives() -> None:
    objective = make_objective(64, None, must=[], must_not=range(64))
    with opened_incumbent(digit(15), objective) as incumbent:
        incumbent.adversary.learn(np.zeros(64), NO_LIMIT)
        # as if some set were an explanation
        incumbent.chosen = np.ones(64, dtype=bool)
        assert local_minimum(incumbent, NO_LIMIT) is None


def test_margins_just_survived_are_near_zero() -> None:
    p = _linear(np.random.default_rng(97))
    adversary = Adversary(p, LIMITS)
    adversary.remember(
        np.random.default_rng(98).uniform(p.lower[:, None], p.upper[:, None], (12, 9))
    )
    # as far as the first is survived
    ends, middle = [0.0, 1.0], 0.5
    for _ in range(60):
        middle = sum(ends) / 2.0
        harmed = largest_margin(p, adversary.known, np.full(12, middle)) > 0
        ends = [middle, ends[1]] if harmed else [ends[0], middle]
    selection = np.full(12, ends[1])
    found = adversary.just_survived(selection)
    margins = np.max(p.margins_at(p.weight(selection), adversary.known), axis=0)
    assert np.array_equal(found, adversary.known[:, np.abs(margins) < 1e-4])
    assert 0 < found.shape[1] < 9


def test_there_is_none_where_no_perturbation_is_known() -> None:
    with opened_incumbent(digit(12)) as incumbent:
        assert not incumbent.adversary.known.size
        assert local_minimum(incumbent, NO_LIMIT) is None
