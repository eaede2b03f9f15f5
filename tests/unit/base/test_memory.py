"""Budgets of memory: read from words, and kept by searches."""

from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import InputError, Search
from milp_verix.base.clock import bytes_of, holds_more, resident
from milp_verix.oracle.engines.beta import PhaseSplit
from milp_verix.oracle.engines.engine import Claim, Decision
from milp_verix.oracle.verdict import MEMORY_LIMIT
from tests.support.digits_example import images, network


def explained(**options: Any) -> milp_verix.Explanation:
    return milp_verix.explain(network(), images()[0], epsilon=0.1, solver="beta", **options)


def test_what_the_process_holds_grows_with_what_it_makes() -> None:
    before = resident()
    made = np.ones(2**23)
    assert made.nbytes * 0.5 < resident() - before < made.nbytes * 2
    assert holds_more(before)
    assert not holds_more(2.0**60)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("2 GB", 2e9),
        ("1.5GiB", 1.5 * 2**30),
        ("300", 300),
        ("1e10", 1e10),
        ("2e3 kB", 2e6),
        (1e6, 1e6),
        (None, np.inf),
    ],
)
def test_a_budget_is_a_number_or_words(given: Any, found: float) -> None:
    assert bytes_of(given) == found


@pytest.mark.parametrize("given", ["", "much", "2 gigabytes", "-1 GB", "0 GB", 0, -5])
def test_other_budgets_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match="memory"):
        Search(memory=given)


def test_a_search_that_begins_beyond_its_budget_ends_with_what_is_sound() -> None:
    found = milp_verix.explain(network(), images()[10], epsilon=0.1, memory="1 MB")
    assert found.statistics.stopped == MEMORY_LIMIT
    assert len(found.explanation) == len(found.unknown) == 64


def test_a_check_that_goes_beyond_is_undecided_and_later_ones_are_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual, decides, asked = explained(), PhaseSplit.decide, []

    def hungry(self: PhaseSplit, claim: Claim) -> Decision:
        asked.append(claim.free.size)
        held: list[Any] = []
        while len(asked) == 1 and not claim.deadline.passed():
            held.append(np.ones(2**20))
            assert len(held) < 100
        return decides(self, claim)

    monkeypatch.setattr(PhaseSplit, "decide", hungry)
    found = explained(memory=resident() + 4 * 10**8)
    assert len(asked) > 1
    assert found.statistics.stopped is None
    assert {*found.unknown_reasons.values()} <= {MEMORY_LIMIT}
    assert {*found.explanation} >= {*usual.explanation} - {*found.irrelevant}


def test_memory_that_the_machine_does_not_give_leaves_a_check_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(self: PhaseSplit, claim: Claim) -> Decision:
        raise MemoryError

    monkeypatch.setattr(PhaseSplit, "decide", refused)
    found = explained()
    assert {*found.unknown_reasons.values()} == {MEMORY_LIMIT}
    told = " ".join(str(cell) for column in found.summary().columns for cell in column.cells)
    assert "more memory" in told
