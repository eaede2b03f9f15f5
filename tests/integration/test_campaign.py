"""The campaign asks what it says, and finds a planted fault."""

from collections import Counter

import pytest

from tests.campaign import questions
from tests.campaign.__main__ import outcomes, table
from tests.campaign.cases import FiniteCase


@pytest.mark.slow
def test_a_seed_is_asked_all_questions_and_none_is_wrong() -> None:
    told = outcomes(0)
    assert [question for _, question, _, _ in told] == [*questions.QUESTIONS]
    assert {outcome for _, _, outcome, _ in told} <= {"decided", "open"}


@pytest.mark.slow
def test_the_same_seed_asks_the_same() -> None:
    assert outcomes(3) == outcomes(3)


@pytest.mark.slow
def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = FiniteCase.holds
    monkeypatch.setattr(FiniteCase, "holds", lambda self, free: not truth(self, free))
    found = [outcome for seed in range(2) for _, _, outcome, _ in outcomes(seed)]
    assert "wrong" in found


def test_the_table_counts_by_model() -> None:
    text = table(Counter({("ReLU", "check", "decided"): 2, ("ReLU", "explain", "open"): 1}))
    assert text.splitlines()[-1] == "| ReLU | 2 | 2 | 1 | 0 | 0 |"
