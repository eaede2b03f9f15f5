"""A search begins with the scenarios that a local minimum just survives, unless they are many."""

import numpy as np
import pytest

from tests.support.searches import digit, opened


@pytest.mark.slow
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
        search.lower_bound = search.incumbent.cutoff
        assert not search.open
