"""The incumbent is the cheapest proven set, and what refutes another is made worse."""

import numpy as np
import pytest

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.searches.strategies import Traversal
from tests.support.searches import digit, opened_incumbent


def test_a_counterfactual_is_kept_as_bad_as_a_search_makes_it() -> None:
    with opened_incumbent(digit(15)) as incumbent:
        p, chosen = incumbent.perturbations, np.zeros(64, dtype=bool)
        weight = p.weight(chosen)
        verdict = incumbent.oracle.check(p.free(chosen))
        assert verdict.witness is not None
        start = verdict.witness.reshape(-1, 1).astype(np.float64) - p.centre[:, None]
        at_witness = np.max(p.margins_at(weight, start))
        decision = incumbent.decide(chosen, NO_LIMIT)
        known = incumbent.adversary.known
    assert not decision.holds
    assert decision.delta is not None
    kept = np.max(p.margins_at(weight, known), axis=0)
    assert kept.size
    assert kept.min() > 0
    assert kept.max() > at_witness + 0.1
    worst = np.max(p.margins_at(weight, decision.delta[:, None]))
    assert worst == pytest.approx(kept.max(), abs=1e-9)
    assert np.all(known <= p.moves.box.upper[:, None])
    assert np.all(known >= p.moves.box.lower[:, None])


def test_a_set_that_holds_is_taken_if_it_is_cheaper() -> None:
    changes: list[float] = []
    with opened_incumbent(digit(15)) as incumbent:
        incumbent.on_change = lambda: changes.append(incumbent.cost)
        # a pixel less than all
        chosen = np.arange(64) > 0
        assert incumbent.decide(chosen, NO_LIMIT) == (True, None)
        assert incumbent.cost == 63
        assert incumbent.decide(np.ones(64, dtype=bool), NO_LIMIT) == (True, None)
        assert np.array_equal(incumbent.chosen, chosen)
        # nothing is known without a check
        assert incumbent.decide(np.zeros(64, dtype=bool), Deadline(-np.inf)) == (False, None)
        chosen[1] = False
        assert incumbent.cost == 63
    assert changes == [63]


def test_counterfactuals_for_as_cheap_a_set_are_welcome() -> None:
    with opened_incumbent(digit(15)) as incumbent:
        first, second = np.arange(64) < 20, np.arange(64) >= 44
        assert incumbent.take(first)
        assert not incumbent.take(second)
        assert np.array_equal(incumbent.chosen, first)
        assert not incumbent.take(second, Traversal(()))
        assert np.array_equal(incumbent.chosen, second)
        assert not incumbent.take(first, Traversal(()))
        assert np.array_equal(incumbent.chosen, second)
        assert incumbent.cutoff == incumbent.objective.cutoff(20.0, 0.0)
