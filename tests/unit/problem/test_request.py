"""The time of a call runs from its arguments on, and sessions for other programs are opened."""

from typing import Any

import pytest

from milp_verix import InputError, Problem, Tolerances
from milp_verix.base.clock import NO_CHECK_LIMIT, Limit
from milp_verix.problem.search import Request, Search
from tests.support.digits_example import images, network


def request(**given: Any) -> Request:
    return Request.now(Problem(network(), images()[0], epsilon=0.1), Search(**given))


def test_limits_count_from_the_call() -> None:
    made = request(time_limit=50.0, check_time_limit=5.0)
    assert made.deadline.at == pytest.approx(made.started + 50.0, abs=1.0)
    assert made.deadline.left == pytest.approx(50.0, abs=1.0)
    assert made.check_limit == Limit(5.0)
    assert 0 <= made.elapsed < 50.0 - made.deadline.seconds + 1.0


def test_a_check_has_five_minutes_unless_a_limit_is_given() -> None:
    assert request().deadline.seconds == float("inf")
    assert request().check_limit == Limit(work=300.0)
    assert request(time_limit=50.0).check_limit == NO_CHECK_LIMIT
    assert request(check_time_limit=float("inf")).check_limit == NO_CHECK_LIMIT
    assert request(check_time_limit=5.0, time_limit=50.0).check_limit == Limit(5.0)


@pytest.mark.parametrize("name", ["time_limit", "check_time_limit"])
def test_a_limit_is_positive(name: str) -> None:
    with pytest.raises(InputError, match=f"^{name} must be positive"):
        request(**{name: 0.0})


def test_tolerances_are_the_usual_ones_unless_given() -> None:
    tight = Tolerances(feasibility=1e-8)
    found = request().search.tolerances, request(tolerances=tight).search.tolerances
    assert found == (Tolerances(), tight)


@pytest.mark.parametrize(
    ("checker", "opened"), [("phase", "highs"), ("split", "highs"), ("cbc", "cbc")]
)
def test_phase_hands_other_programs_to_highs(checker: str, opened: str) -> None:
    session = request().open_session(checker)
    assert session.name == opened
    session.close()
