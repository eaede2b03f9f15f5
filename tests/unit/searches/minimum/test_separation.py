"""Constraints that a selection violates: scenarios, and covers where a set comes again."""

from dataclasses import replace

import numpy as np
import pytest

from milp_verix.base.clock import NO_LIMIT
from milp_verix.problem.objective import make_objective
from milp_verix.searches.minimum.incumbent import Separator
from tests.support.searches import LIMITS, digit, opened_incumbent, without
from verix_encodings.encoding import Cover, Scenario


def test_a_set_that_comes_again_is_covered() -> None:
    with opened_incumbent(digit(15)) as incumbent:
        separator = Separator(incumbent, LIMITS, NO_LIMIT)
        selection = (np.arange(64) < 5).astype(float)
        (scenario,) = separator.separate(selection, 0)
        assert isinstance(scenario, Scenario)
        assert np.max(scenario.network.evaluate(selection)) > 0
        for _ in range(2):
            (cover,) = separator.separate(selection, 0)
            assert isinstance(cover, Cover)
            assert cover.features.tolist() == list(range(5, 64))
        # a selection that is no set has no cover
        selection[0] = 0.5
        for _ in range(2):
            (scenario,) = separator.separate(selection, 0)
            assert isinstance(scenario, Scenario)
        assert separator.rounds == 5


def test_an_explanation_violates_nothing_and_is_taken() -> None:
    with opened_incumbent(digit(15)) as incumbent:
        separator = Separator(incumbent, LIMITS, NO_LIMIT)
        selection = np.ones(64)
        selection[0] = 0.0
        assert separator.separate(selection, 0) == []
        assert incumbent.cost == 63


@pytest.mark.parametrize("dear", [False, True])
def test_a_scenario_holds_for_each_set_as_cheap_as_the_incumbent(dear: bool) -> None:
    costs = np.where(np.arange(64) % 3, 1.0, 2.0) if dear else np.ones(64)
    with opened_incumbent(digit(15), make_objective(64, costs, (), ())) as incumbent:
        incumbent.take(np.arange(64) < 8)
        p = incumbent.perturbations
        ends = np.random.default_rng(0).random((4, 64)) < 0.5
        reached = 0
        for delta in np.where(ends, p.moves.box.lower, p.moves.box.upper):
            found = Separator(incumbent, LIMITS, NO_LIMIT).scenario(delta)
            others = Separator(incumbent, without("scenario budget"), NO_LIMIT).scenario(delta)
            upper, wide = found.bounds[1].upper, others.bounds[1].upper
            assert np.all(upper <= wide + 1e-9)
            assert np.any(upper < wide - 1e-3)
            at_zero = found.network.values(np.zeros(64))[1]
            units = np.array([found.network.values(one)[1] for one in np.eye(64)]) - at_zero
            # the first layer is affine: the features that raise a neuron the most are its worst set
            for neuron, gains in enumerate(units.T):
                order = np.argsort(-gains / costs, kind="stable")
                chosen = np.zeros(64)
                for feature in order[gains[order] > 0]:
                    if costs @ chosen + costs[feature] <= incumbent.cost:
                        chosen[feature] = 1.0
                there = found.network.values(chosen)
                for value, interval in zip(there, found.bounds, strict=True):
                    assert np.all(value <= interval.upper + 1e-9)
                    assert np.all(value >= interval.lower - 1e-9)
                reached += there[1][neuron] > upper[neuron] - 1e-9
        assert dear or reached > 30


def test_fractional_selections_are_priced_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = replace(LIMITS, pricings=3, pricing_period=5)
    with opened_incumbent(digit(15)) as incumbent:
        separator, asked = Separator(incumbent, limits, NO_LIMIT), []
        for fraction in (0.5, 1.0):
            selection = np.zeros(64)
            selection[0] = fraction
            for pricings in range(13):
                before = incumbent.adversary.known.shape[1]
                separator.separate(selection, pricings)
                if incumbent.adversary.known.shape[1] > before:
                    asked.append((fraction, pricings))
    assert asked == [*((0.5, n) for n in (0, 1, 2, 5, 10)), *((1.0, n) for n in range(13))]


def test_a_perturbation_of_little_harm_is_not_worth_a_scenario() -> None:
    with opened_incumbent(digit(15)) as incumbent:
        selection = np.full(64, 0.1)
        for least_harm, worth in ((1e-3, 1), (1.01, 0)):
            separator = Separator(incumbent, replace(LIMITS, least_harm=least_harm), NO_LIMIT)
            # the most harm is done to the selection of nothing
            assert len(separator.separate(selection, 0)) == worth
