"""Deadlines: seconds end the work, and slices, shares and limits count it."""

import math
from threading import Thread

import pytest

from milp_verix.base.clock import NO_LIMIT, Deadline, Limit, deadline_in
from tests.support.clocks import WorkClock, slice_seconds, wall_clock
from verix_encodings.work import UNITS_PER_SECOND, spend, worked


def test_a_slice_ends_by_work_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, clock = wall_clock(monkeypatch), WorkClock()
    deadline = NO_LIMIT.within(2.0)
    wall.now += 1e9
    assert not deadline.passed()
    clock.now += 1.5
    assert slice_seconds(deadline) == deadline.left == 0.5
    assert deadline.within(9.0).left == 0.5
    deadline.use_up()
    assert deadline.passed()
    assert clock.now == 2.0


def test_a_limit_ends_by_seconds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, clock = wall_clock(monkeypatch), WorkClock()
    deadline = deadline_in(10.0)
    clock.now += 1e6
    assert not deadline.passed()
    wall.now += 10.0
    assert deadline.passed()


def test_what_is_left_of_a_limit_is_planned_by_work(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, clock = wall_clock(monkeypatch), WorkClock()
    deadline = deadline_in(10.0)
    wall.now += 9.0
    assert deadline.left == 10.0
    clock.now += 4.0
    assert deadline.left == 6.0
    assert deadline.share(0.5).left == 3.0
    # a fast machine does more than was planned
    clock.now += 1e6
    assert deadline.left == 1.0


def test_what_is_kept_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    wall_clock(monkeypatch)
    whole = deadline_in(10.0).within(2.0)
    sooner = whole.leaving(0.1)
    assert (sooner.seconds, sooner.left) == (9.0, 1.8)
    assert NO_LIMIT.leaving(0.1) == NO_LIMIT


def test_a_check_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = wall_clock(monkeypatch)
    assert deadline_in(10.0).limited(Limit(seconds=3.0)).seconds == 3.0
    assert deadline_in(2.0).limited(Limit(seconds=3.0)).seconds == 2.0
    by_work = NO_LIMIT.limited(Limit(work=3.0))
    wall.now += 1e9
    assert slice_seconds(by_work) == 3.0
    assert not by_work.passed()


@pytest.mark.parametrize("seconds", [math.inf, 1e300])
def test_limits_may_be_long(seconds: float) -> None:
    assert deadline_in(seconds).left >= seconds
    assert not NO_LIMIT.within(seconds).passed()


def test_an_empty_slice_has_passed() -> None:
    assert NO_LIMIT.within(0.0).passed()
    assert Deadline(-math.inf).passed()


def test_each_thread_has_a_clock_of_its_own() -> None:
    before, seen = worked(), list[int]()

    def work() -> None:
        spend(5 * UNITS_PER_SECOND)
        seen.append(worked())

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [5 * UNITS_PER_SECOND]
    assert worked() == before
