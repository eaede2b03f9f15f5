"""The campaign asks what it says, finds a planted fault, and keeps a journal."""

from pathlib import Path

import pytest

from milp_verix.models.onnx import onnx_network  # noqa: F401 - it registers the operators
from milp_verix.models.onnx.registry import every_operator
from tests.campaign import questions
from tests.campaign.__main__ import asked
from tests.campaign.cases import FiniteCase
from tests.campaign.journal import Asked, append, read, seeds, table
from tests.campaign.operators import FAMILIES


@pytest.mark.slow
def test_a_seed_is_asked_all_questions_and_none_is_wrong() -> None:
    found = asked(0)
    assert [*found.outcomes] == [*questions.QUESTIONS]
    assert {*found.outcomes.values()} <= {"decided", "open"}
    assert found.points > 1


@pytest.mark.slow
def test_the_same_seed_asks_the_same() -> None:
    assert asked(3) == asked(3)


@pytest.mark.slow
def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = FiniteCase.holds
    monkeypatch.setattr(FiniteCase, "holds", lambda self, free: not truth(self, free))
    assert "wrong" in {outcome for seed in range(2) for outcome in asked(seed).outcomes.values()}


def test_a_journal_goes_on_and_is_told_by_model_and_question(tmp_path: Path) -> None:
    cases = [
        Asked(4, "abc", "ReLU", 1200, {"check": "decided", "explain": "open"}, {}),
        Asked(5, "abc", "trees", 30, {"check": "wrong", "explain": "decided"}, {"check": "no"}),
        Asked(6, "def", "ReLU", 20, {"check": "decided", "explain": "decided"}, {}),
    ]
    journal = tmp_path / "campaign.jsonl"
    assert read(journal) == []
    for one in cases:
        append(journal, one)
    with journal.open("a") as file:
        file.write('{"seed": 7, "comm')
    assert read(journal) == cases
    assert table(cases, "model").splitlines()[2:] == [
        "| ReLU | 2 | 1,220 | 3 | 1 | 0 | 0 |",
        "| trees | 1 | 30 | 1 | 0 | 0 | 1 |",
        "| all | 3 | 1,250 | 4 | 1 | 0 | 1 |",
    ]
    assert table(cases, "question").splitlines()[2] == "| check | 3 | 1,250 | 2 | 0 | 0 | 1 |"
    assert seeds(cases) == "`abc`: 2 seeds, 4 to 5; `def`: 1 seeds, 6 to 6"


def test_each_operator_of_the_reader_is_drawn() -> None:
    every = [one for family in FAMILIES.values() for part in family for one in part.nodes]
    assert {".".join(filter(None, (one.domain, one.op_type))) for one in every} == {
        *every_operator()
    }
