"""Clocks for tests: one of work that tests move on, and wall clocks that go wrong."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from milp_verix.base.clock import Deadline, elapsed_work
from verix_encodings.work import UNITS_PER_SECOND, spend, worked


def wait_until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait until ``condition`` is true; fail after so many seconds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


@dataclass
class WorkClock:
    """The clock of work, in seconds since this object was made; to set ``now`` is to do work."""

    _since: int = field(default_factory=worked)

    @property
    def now(self) -> float:
        return elapsed_work(self._since)

    @now.setter
    def now(self, seconds: float) -> None:
        spend(round((seconds - self.now) * UNITS_PER_SECOND))


def slice_of(work: float) -> Deadline:
    """Return the end of a slice of so many seconds of work."""
    return Deadline().within(work)


def planned(seconds: float) -> Deadline:
    """Return the deadline of a time limit whose seconds do not run out, only the work planned."""
    return Deadline(planned_at=worked() + seconds * UNITS_PER_SECOND, planned=seconds)


def slice_seconds(deadline: Deadline) -> float:
    """Return the seconds of work that a deadline leaves."""
    return float(deadline.units / UNITS_PER_SECOND)


@dataclass
class WallClock:
    """A wall clock that stands still but where a test moves it on; it stands for ``time``."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


def wall_clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    """Return the clock that all deadlines go by during a test."""
    clock = WallClock()
    for module in ("milp_verix.base.clock", "milp_verix.solvers.session"):
        monkeypatch.setattr(f"{module}.time", clock)
    return clock


class WildClock:
    """A wall clock that runs many times too fast, and by leaps; it stands for ``time``."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._ahead = 0.0

    def monotonic(self) -> float:
        self._ahead += float(self._rng.exponential(0.5))
        return time.perf_counter() + self._ahead

    perf_counter = monotonic

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)
