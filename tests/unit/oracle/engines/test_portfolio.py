"""The portfolio asks the engine that decides the most for its work, and loses little to find it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from milp_verix.base.errors import LicenceLimitError, SolverError, SolverUnavailableError
from milp_verix.oracle.engines import portfolio as module
from milp_verix.oracle.engines.engine import Claim, Decision, NotInstalledError
from milp_verix.oracle.engines.portfolio import Candidate, Portfolio
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Verdict
from tests.support.clocks import WorkClock, slice_of, slice_seconds

LATE = Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)


@pytest.fixture
def clock() -> WorkClock:
    return WorkClock()


@dataclass
class Made:
    """An engine that needs ``seconds`` of work for a claim, of which it ``proves`` some margins."""

    clock: WorkClock
    name: str
    seconds: float
    answer: Answer = Answer.HOLDS
    proves: tuple[int, ...] | None = None
    reason: str | None = None
    error: Exception | None = None
    points: dict[int, Any] = field(default_factory=dict)
    version: str = "1"
    notes: tuple[str, ...] = ()
    slices: list[float] = field(default_factory=list)
    asked: list[list[int]] = field(default_factory=list)
    prepared: int = 0
    closed: int = 0

    def prepare(self, *_: Any) -> None:
        self.prepared += 1

    def close(self) -> None:
        self.closed += 1

    def decide(self, claim: Claim) -> Decision:
        self.slices.append(slice_seconds(claim.deadline))
        self.asked.append(claim.open_.tolist())
        if self.error is not None:
            raise self.error
        upper = claim.upper.copy()
        if self.seconds > self.slices[-1]:
            claim.deadline.use_up()
            return Decision(LATE, upper, {})
        self.clock.now += self.seconds
        if self.reason is not None:
            return Decision(Verdict(Answer.UNKNOWN, reason=self.reason), upper, self.points)
        if self.answer is Answer.HOLDS:
            proven = claim.open_ if self.proves is None else np.array(self.proves)
            upper[proven] = -1.0
            whole = set(claim.open_.tolist()) <= set(proven.tolist())
            return Decision(Verdict(Answer.HOLDS) if whole else LATE, upper, {0: np.zeros(1)})
        return Decision(Verdict(self.answer), upper, {})


def claim(seconds: float = np.inf, margins: int = 2) -> Claim:
    anything: Any = None
    below: Any = SimpleNamespace(nodes=(), evaluate=lambda _: np.full(margins, -1.0))
    return Claim(
        below,
        np.arange(1),
        anything,
        anything,
        np.arange(margins),
        np.full(margins, 1e-6),
        np.ones(margins),
        slice_of(seconds),
    )


def candidate(engine: Made) -> Candidate:
    return Candidate(engine.name, lambda: engine)


def portfolio(*engines: Made) -> Portfolio:
    first, *others = [candidate(engine) for engine in engines]
    return Portfolio(first, others)


def test_one_engine_has_all_the_time(clock: WorkClock) -> None:
    only = Made(clock, "only", 70.0)
    assert portfolio(only).decide(claim(100.0)).verdict.holds
    assert only.slices == [pytest.approx(100.0)]


def test_an_easy_claim_opens_no_other_engine(clock: WorkClock) -> None:
    easy, other = Made(clock, "easy", 0.01), Made(clock, "other", 0.001)
    asked = portfolio(easy, other)
    for _ in range(5):
        assert asked.decide(claim(1e9)).verdict.holds
    assert not other.asked
    assert [engine.name for engine in asked.engines] == ["easy"]
    assert [(s.solver, s.checks) for s in asked.solvers if s.checks] == [("easy", 5)]


@pytest.mark.parametrize("place", range(4))
def test_a_hard_claim_costs_a_few_times_the_best_engine_and_later_ones_little_more(
    clock: WorkClock, place: int
) -> None:
    engines = [Made(clock, f"{i}", 1e9 if i != place else 7.0) for i in range(4)]
    asked = portfolio(*engines)
    assert asked.decide(claim(1e9)).verdict.holds
    # slices of 1/4, 1/2, 1, 2, 4 and 8 seconds of each of four engines, the last one used in part
    assert clock.now < 4 * 15.75 + 7.0
    spent = []
    for _ in range(20):
        before = clock.now
        assert asked.decide(claim(1e9)).verdict.holds
        spent.append(clock.now - before)
    assert min(spent) == pytest.approx(7.0) == spent[-1]
    assert sum(spent) < 1.5 * 20 * 7.0
    assert asked.engines[0].name == f"{place}"


def test_the_portfolio_follows_claims_that_change(clock: WorkClock) -> None:
    first, second = Made(clock, "first", 0.1), Made(clock, "second", 1e9)
    asked = portfolio(first, second)
    for _ in range(10):
        asked.decide(claim(1e9))
    first.seconds, second.seconds = 1e9, 3.0
    before = clock.now
    for _ in range(10):
        assert asked.decide(claim(1e9)).verdict.holds
    assert clock.now - before < 2.0 * 10 * 3.0


def test_margins_proven_by_one_engine_are_not_asked_again(clock: WorkClock) -> None:
    first = Made(clock, "first", 0.2, proves=(1,))
    second = Made(clock, "second", 0.2, proves=(0, 2))
    found = portfolio(first, second).decide(claim(1e9, margins=3))
    assert found.verdict.holds
    assert second.asked == [[0, 2]]
    assert (found.upper == -1.0).all()
    assert set(found.points) == {0}


def test_a_counterfactual_ends_it(clock: WorkClock) -> None:
    first, second = Made(clock, "first", 1e9), Made(clock, "second", 0.1, Answer.VIOLATED)
    assert portfolio(first, second).decide(claim(1e9)).verdict.violated


def test_the_deadline_ends_it_and_a_cut_slice_is_no_failure(clock: WorkClock) -> None:
    first, second = Made(clock, "first", 1e9), Made(clock, "second", 1e9)
    asked = portfolio(first, second)
    assert asked.decide(claim(0.9)).verdict.reason == TIME_LIMIT
    assert clock.now == pytest.approx(0.9)


def test_an_engine_that_cannot_decide_is_not_asked_again_with_more_time(clock: WorkClock) -> None:
    first = Made(clock, "first", 0.1, reason="too wide")
    second = Made(clock, "second", 3.0)
    assert portfolio(first, second).decide(claim(1e9)).verdict.holds
    assert len(first.asked) == 1
    none = portfolio(first, Made(clock, "second", 0.1, reason="too deep"))
    assert none.decide(claim(1e9)).verdict.reason == "too wide"


def test_on_a_tie_the_others_have_slices_and_then_it_ends(clock: WorkClock) -> None:
    first = Made(clock, "first", 3.0, reason="within the tolerance", points={0: np.zeros(1)})
    second = Made(clock, "second", 1e9)
    asked = replace(claim(1e9), margins=SimpleNamespace(nodes=(), evaluate=lambda _: np.zeros(2)))  # type: ignore[arg-type]
    found = portfolio(first, second).decide(asked)
    assert found.verdict.reason == "within the tolerance"
    # slices of 1/4 to 4 seconds for the first, and up to four times that for the second
    assert max(second.slices) == pytest.approx(16.0)
    assert clock.now < 50.0


@pytest.mark.parametrize(
    ("error", "times"),
    [(SolverError("it broke"), 2), (LicenceLimitError("too large"), 1)],
)
def test_an_engine_that_fails_is_given_up(clock: WorkClock, error: Exception, times: int) -> None:
    broken, sound = Made(clock, "broken", 1.0, error=error), Made(clock, "sound", 9.0)
    asked = portfolio(broken, sound)
    for _ in range(5):
        assert asked.decide(claim(1e9)).verdict.holds
    assert len(broken.asked) == broken.closed == times
    assert asked.notes == (f"auto gave broken up: {error}",)
    assert [(s.solver, s.checks) for s in asked.solvers if s.checks] == [("sound", 5)]


def test_if_all_fail_the_last_error_is_raised(clock: WorkClock) -> None:
    engines = [Made(clock, name, 1.0, error=SolverError(name)) for name in ("a", "b")]
    with pytest.raises(SolverError, match="b"):
        portfolio(*engines).decide(claim(1e9))


@pytest.mark.parametrize(
    ("error", "notes"),
    [
        (SolverUnavailableError("no licence"), ("auto gave gone up: no licence",)),
        (NotInstalledError("scip is not installed"), ()),
    ],
    ids=["it is given up", "it is not installed and passed over without a word"],
)
def test_an_engine_that_does_not_open(
    error: SolverUnavailableError, notes: tuple[str, ...], clock: WorkClock
) -> None:
    def refuse() -> Any:
        raise error

    slow = Made(clock, "slow", 5.0)
    asked = Portfolio(candidate(slow), [Candidate("gone", refuse)])
    assert asked.decide(claim(1e9)).verdict.holds
    assert asked.notes == notes


def test_engines_that_open_late_are_prepared(clock: WorkClock) -> None:
    first, second = Made(clock, "first", 1e9), Made(clock, "second", 1.0)
    asked = portfolio(first, second)
    anything: Any = ()
    asked.prepare(anything, anything)
    assert (first.prepared, second.prepared) == (1, 0)
    asked.decide(claim(1e9))
    assert (first.prepared, second.prepared) == (1, 1)
    asked.close()
    assert (first.closed, second.closed) == (1, 1)


def test_of_a_group_one_engine_takes_part_until_it_is_given_up(clock: WorkClock) -> None:
    first = Made(clock, "first", 1e9)
    limited = Made(clock, "limited", 1.0, error=LicenceLimitError("too large"))
    slow, last = Made(clock, "slow", 2.0), Made(clock, "last", 2.0)
    grouped = [Candidate(e.name, lambda e=e: e, group="programs") for e in (limited, slow, last)]  # type: ignore[misc]
    asked = Portfolio(candidate(first), grouped)
    assert asked.decide(claim(1e9)).verdict.holds
    assert (len(limited.asked), len(last.asked)) == (1, 0)
    assert slow.asked
    assert asked.notes == ("auto gave limited up: too large",)


def test_an_engine_is_not_asked_about_more_coordinates_than_it_takes(clock: WorkClock) -> None:
    first, few = Made(clock, "first", 3.0), Made(clock, "few", 0.1)
    asked = Portfolio(candidate(first), [Candidate("few", lambda: few, most_free=0)])
    assert asked.decide(claim(1e9)).verdict.holds
    assert not few.asked
    # alone, the other has all the time
    assert first.slices == [pytest.approx(1e9)]


def test_where_no_engine_fits_all_are_asked(clock: WorkClock) -> None:
    engines = [Made(clock, name, 1.0) for name in ("first", "second")]
    first, second = (Candidate(e.name, lambda e=e: e, most_free=0) for e in engines)  # type: ignore[misc]
    assert Portfolio(first, [second]).decide(claim(1e9)).verdict.holds


def test_where_all_are_given_up_each_claim_says_why(clock: WorkClock) -> None:
    engines = [Made(clock, name, 1.0, error=LicenceLimitError("too large")) for name in "ab"]
    asked = portfolio(*engines)
    with pytest.raises(SolverError, match="too large"):
        asked.decide(claim(1e9))
    with pytest.raises(SolverError, match="a: too large; b: too large"):
        asked.decide(claim(1e9))
    assert [len(engine.asked) for engine in engines] == [1, 1]


def test_the_patient_begins_with_a_long_slice_where_few_coordinates_are_free(
    clock: WorkClock,
) -> None:
    for patient_free, begun in ((1, [4.0]), (0, [])):
        first, boxes = Made(clock, "first", 0.2), Made(clock, "boxes", 3.0)
        split = Candidate("boxes", lambda one=boxes: one, patience=4, patient_free=patient_free)  # type: ignore[misc]
        asked = Portfolio(candidate(first), [split])
        assert asked.decide(claim(1e9)).verdict.holds
        assert boxes.slices == begun
        assert bool(first.asked) != bool(begun)


def test_slices_double() -> None:
    seconds: Callable[[int], float] = module._slice
    assert [seconds(k) for k in range(4)] == [0.25, 0.5, 1.0, 2.0]
