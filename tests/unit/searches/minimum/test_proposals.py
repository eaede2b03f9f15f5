"""Proposals search costs by bisection, and get less time the more of them fail."""

import numpy as np
import pytest

from milp_verix.base.clock import NO_LIMIT
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from milp_verix.searches.minimum.proposals import Proposals
from tests.support.searches import LIMITS, digit, opened_incumbent, without
from verix_encodings.arrays import FloatArray
from verix_encodings.work import UNITS_PER_SECOND, worked


def test_costs_halve_what_is_left_until_the_dearest_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    cheapest = 13
    asked: list[float] = []

    def propose(self: Proposals, selection: FloatArray, cost: float) -> bool:
        asked.append(cost)
        if cost < cheapest:
            return False
        return self._incumbent.take(np.arange(64) < cost)

    monkeypatch.setattr(Proposals, "_propose", propose)
    with opened_incumbent(digit(3, 0.1)) as incumbent:
        incumbent.take(np.arange(64) < 20)
        proposals = Proposals(incumbent, without(proposal_share=np.inf), NO_LIMIT)
        for _ in range(10):
            proposals.improve(np.zeros(64), 1.0)
    assert incumbent.cost == cheapest
    # two ways to begin for each cost that fails: 10, then 12 below 15 and 13, then again
    assert asked[:7] == [10, 10, 15, 12, 12, 13, 12]
    assert set(asked[7:]) == {12}


def test_proposals_that_fail_get_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_incumbent(digit(1)) as incumbent:
        proposals = Proposals(incumbent, LIMITS, NO_LIMIT)
        asked: list[int] = []
        monkeypatch.setattr(proposals, "_bisect", lambda *_: asked.append(proposals._failures))
        for failures in (0, 20, 50, 200):
            # a tenth of the work so far; the share allowed is 0.15 / (1 + failures / 50)
            proposals._started, proposals._work = worked() - 100 * UNITS_PER_SECOND, 10.0
            proposals._failures = failures
            proposals.improve(np.zeros(64), 0.0)
    assert asked == [0, 20]


def test_proposals_can_be_switched_off() -> None:
    for limits, better in ((LIMITS, True), (without("proposals"), False)):
        with opened_incumbent(digit(15)) as incumbent:
            proposals = Proposals(incumbent, limits, NO_LIMIT)
            proposals._started = -UNITS_PER_SECOND
            incumbent.adversary.remember(incumbent.adversary.attack(np.zeros(64))[0])
            proposals.improve(np.full(64, 0.3), 0.0)
            assert (incumbent.cost < 64) == better
            assert (proposals.seconds > 0) == better


def test_proposals_are_explanations() -> None:
    with (
        opened_incumbent(digit(15)) as incumbent,
        Oracle(digit(15), Search(solver="highs", reuse=False)) as other,
    ):
        proposals = Proposals(incumbent, without(proposal_share=np.inf), NO_LIMIT)
        incumbent.adversary.remember(incumbent.adversary.attack(np.zeros(64))[0])
        for _ in range(3):
            proposals.improve(np.full(64, 0.3), 0.0)
        assert incumbent.cost < 40
        assert other.check(incumbent.perturbations.free(incumbent.chosen)).holds
