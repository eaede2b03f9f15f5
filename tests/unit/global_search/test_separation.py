"""Constraints that a selection violates: scenarios, and covers where a set comes again."""

from dataclasses import replace

import numpy as np
import pytest

from milp_verix.clock import NO_LIMIT
from milp_verix.global_search.separation import Separator
from tests.support.searches import LIMITS, digit, opened_incumbent
from verix_encodings.models.constraints import Cover, Scenario


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
