"""A search begins with the scenarios that a local minimum just survives, unless they are many."""

from dataclasses import replace

import numpy as np
import pytest

from milp_verix.clock import NO_LIMIT
from milp_verix.global_search.explainer import Explainer
from tests.support.searches import digit, opened
from verix_encodings.models.constraints import Cover, Scenario


@pytest.mark.slow
def test_a_search_begins_with_the_scenarios_of_a_local_minimum() -> None:
    begun = 0
    for index in range(8):
        with opened(digit(index)) as search:
            assert search.proposals.deciding.shape == (64, 0)
            Explainer(search.incumbent).first(NO_LIMIT)
            search.proposals.descend(NO_LIMIT)
            deciding = search.proposals.deciding
            known = {delta.tobytes() for delta in search.incumbent.adversary.known.T}
            assert {delta.tobytes() for delta in deciding.T} <= known
            count, limits = deciding.shape[1], search.limits
            if not count:
                continue
            for most, without, some in (
                (count, (), True),
                (count - 1, (), False),
                (count, ("first scenarios",), False),
            ):
                search.limits = replace(limits, most_first=most, without=frozenset(without))
                first, *scenarios = search.first_scenarios()
                # the empty set is refuted by a scenario; it is covered when it comes again
                assert isinstance(first, Scenario if some else Cover)
                assert len(scenarios) == (count if some else 0)
                for scenario, delta in zip(scenarios, deciding.T if some else [], strict=True):
                    assert np.array_equal(scenario.delta, delta)
            begun += 1
    assert begun >= 2


def test_nothing_is_to_be_raised_where_the_features_that_must_be_in_suffice() -> None:
    with opened(digit(0, 0.001)) as search:
        assert search.first_scenarios() == []
        assert search.incumbent.cost == 0
        assert not search.incumbent.chosen.any()


def test_no_time_is_left_open() -> None:
    with opened(digit(15), deadline=-np.inf) as search:
        assert not search.open
    with opened(digit(15)) as search:
        assert search.open
        search._bound = search.incumbent.cutoff
        assert not search.open
