"""A node is closed where each of its sets is refuted, and only there."""

from typing import Any

import numpy as np
import pytest

from milp_verix import minimum
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.searches.minimum.branch_and_cut import Restriction
from milp_verix.searches.minimum.enumeration import (
    NodeEnumeration,
    Unrefuted,
    reduced_cost_sets,
    refuting_margins,
)
from milp_verix.searches.minimum.search_limits import SearchLimits
from tests.support.digits_example import images, network
from tests.support.scenario_cases import full_selection
from tests.support.searches import digit, opened_incumbent


@pytest.mark.slow
@pytest.mark.parametrize("index", [15, 16, 17])
def test_an_explanation_is_never_refuted_and_all_below_the_minimum_are(index: int) -> None:
    net, x = network(), images()[index]
    best = minimum(net, x, epsilon=0.1)
    assert best.proven
    explanation = np.array(best.explanation, dtype=int)
    rng = np.random.default_rng(index)
    others = rng.permutation(np.setdiff1d(np.arange(64), explanation))[:5]
    inside = np.zeros(64, dtype=bool)
    inside[explanation[3:]] = True
    restriction = Restriction(inside, np.sort(np.concatenate([explanation[:3], others])))
    selection = np.zeros(64)
    selection[explanation] = 1.0
    with opened_incumbent(digit(index, 0.1)) as incumbent:
        perturbations = incumbent.perturbations
        enumeration = NodeEnumeration(incumbent, SearchLimits(), NO_LIMIT)
        count = restriction.free.size

        def remainder(size: int) -> Any:
            bounds = float(size - 1), float(size)
            return restriction, selection, np.zeros(count), bounds

        assert enumeration.refute(*remainder(best.size)) is None
        # the set itself was met on the way, and proven
        assert incumbent.cost <= 64
        before = incumbent.adversary.known.shape[1]
        found = enumeration.refute(*remainder(best.size - 1))
        assert found is not None
        assert all(delta.shape == (64,) for delta in found)
        assert incumbent.adversary.known.shape[1] >= before + len(found)
        subsets = reduced_cost_sets(np.ones(count), np.zeros(count), 0.0, 2.0, 1000)
        assert subsets is not None
        left = Unrefuted(perturbations, restriction, subsets, refuting_margins(perturbations))
        for delta in incumbent.adversary.known.T:
            sets = left.sets.T
            left.refute(delta)
            for row in sets:
                chosen = full_selection(restriction, row)
                reached = perturbations.margins_at(perturbations.weight(chosen), delta[:, None])
                kept = bool(np.any(np.all(row == left.sets.T, axis=1)))
                assert kept == bool(np.max(reached) <= 1e-7) or abs(np.max(reached)) < 1e-6
        assert not left.count


def test_only_few_sets_are_listed() -> None:
    restriction = Restriction(np.arange(64) < 40, np.arange(40, 60))
    # two of the free features at most, or one
    two, one = 1 + 20 + 190, 1 + 20

    def listed(cutoff: float, **numbers: float) -> int | None:
        enumeration = NodeEnumeration(incumbent, SearchLimits(**numbers), NO_LIMIT)
        sets = enumeration._sets(restriction, np.ones(20), 40.0, cutoff)
        return None if sets is None else sets.shape[1]

    with opened_incumbent(digit(15, 0.1)) as incumbent:
        assert listed(42.5) == two
        assert listed(41.5) == one
        # estimated as few, but more than may be listed
        assert listed(42.5, most_sets=two - 1) is None
        assert listed(41.5, most_sets=two - 1) == one
        # estimated as more than are worth listing
        assert listed(41.5, most_sets=10_000, estimate_per_set=1e-3) is None
        # more work than a perturbation is worth
        assert listed(41.5, most_work=1.0) is None


@pytest.mark.parametrize(
    "limits",
    [SearchLimits(without=frozenset({"enumeration"})), SearchLimits(most_free=7)],
)
def test_nodes_are_not_closed_where_that_is_off_or_many_are_free(limits: SearchLimits) -> None:
    with opened_incumbent(digit(15, 0.1)) as incumbent:
        restriction = Restriction(np.zeros(64, dtype=bool), np.arange(8))
        # no set costs so little
        nothing = restriction, np.zeros(64), np.zeros(8), (-2.0, -1.0)
        assert NodeEnumeration(incumbent, SearchLimits(), NO_LIMIT).refute(*nothing) == []
        assert NodeEnumeration(incumbent, limits, NO_LIMIT).refute(*nothing) is None


def test_no_set_is_refuted_once_time_is_up() -> None:
    with opened_incumbent(digit(15, 0.1)) as incumbent:
        restriction = Restriction(np.zeros(64, dtype=bool), np.arange(8))
        remainder = restriction, np.zeros(64), np.zeros(8), (0.0, 1.0)
        assert (
            NodeEnumeration(incumbent, SearchLimits(), Deadline(-np.inf)).refute(*remainder) is None
        )
        found = NodeEnumeration(incumbent, SearchLimits(), NO_LIMIT).refute(*remainder)
        # all of them at once, by few perturbations
        assert found is not None
        assert 0 < len(found) < 9


def test_a_set_that_cannot_be_decided_ends_the_enumeration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened_incumbent(digit(0, 0.001)) as incumbent:
        asked: list[int] = []

        def unknown(*_: object) -> Verdict:
            asked.append(len(asked))
            return Verdict(Answer.UNKNOWN, reason="in doubt")

        monkeypatch.setattr(incumbent.oracle, "check", unknown)
        restriction = Restriction(np.zeros(64, dtype=bool), np.arange(8))
        remainder = restriction, np.zeros(64), np.zeros(8), (0.0, 1.0)
        enumeration = NodeEnumeration(incumbent, SearchLimits(), NO_LIMIT)
        for _ in range(3):
            assert enumeration.refute(*remainder) is None
        assert asked == [0]
