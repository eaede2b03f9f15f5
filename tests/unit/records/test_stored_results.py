"""Files that earlier versions wrote are read as ever, and their counterfactuals replay."""

from milp_verix import ContrastiveExplanation, Enumeration, Explanation
from tests.support.digits_example import network
from tests.support.repository import FIXTURES

STORED = FIXTURES / "results"


def test_an_explanation_without_later_fields_is_read() -> None:
    found = Explanation.from_json(STORED / "explanation.json")
    assert (found.size, found.minimal, found.lower_bound) == (6, True, None)
    assert found.replay(network()) == ()
    assert "locally minimal" in repr(found)


def test_a_minimum_without_later_fields_is_read() -> None:
    found = Explanation.from_json(STORED / "minimum.json")
    assert (found.size, found.lower_bound, found.proven) == (10, 10, True)
    assert found.replay(network()) == ()
    again = Explanation.from_json(found.to_json())
    assert (again.statistics, again.explanation) == (found.statistics, found.explanation)


def test_a_contrastive_explanation_without_later_fields_is_read() -> None:
    found = ContrastiveExplanation.from_json(STORED / "contrastive.json")
    assert (found.size, found.proven) == (6, True)
    assert found.replay(network())


def test_an_enumeration_without_later_fields_is_read() -> None:
    found = Enumeration.from_json(STORED / "enumeration.json")
    assert (len(found.abductive), len(found.contrastive), found.complete) == (7, 22, True)
    assert found.replay(network()) == ()
