"""What summaries say may help where something is open."""

from milp_verix.oracle.ball_bounds import BOUNDS
from milp_verix.views.facts import DEEPER
from milp_verix.views.result_words import facts_of
from tests.support.handmade_results import made


def test_an_explanation_names_more_time_and_tighter_bounds() -> None:
    open_ = made((1, 3), explained=(2,), undecided={1: "time limit"})
    told = dict(facts_of(open_))["to try"]
    assert told.startswith("more time, a smaller ε")
    assert ('bounds="' in told) == (open_.bounds in DEEPER)
    assert told.endswith("or features in groups")
    bounds = made((1, 3), explained=(2,), undecided={1: "bounds alone do not decide it"})
    assert 'exactness="exact"' in dict(facts_of(bounds))["to try"]
    assert "to try" not in dict(facts_of(made((1, 3), explained=(2,))))


def test_bounds_to_try_are_bounds() -> None:
    assert {*DEEPER, *DEEPER.values()} <= {*BOUNDS}
    names = [*BOUNDS]
    assert all(names.index(wide) < names.index(tight) for wide, tight in DEEPER.items())
