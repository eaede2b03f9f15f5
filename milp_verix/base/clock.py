"""Deadlines: one frozen value, handed down to all work that takes long; and budgets of memory.

Two clocks run side by side. Seconds of the wall clock end the work, and do nothing else. All
choices, such as how long one engine is asked before the next, go by the clock of work
(:mod:`verix_encodings.work`), so a result does not depend on the speed or the load of a machine.
"""

import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from milp_verix.base.errors import InputError
from verix_encodings.work import UNITS_PER_SECOND, spend, worked

_LEAST_SHARE = 0.1
"""The share of a time limit that counts as left, however much work was done within it."""


class OutOfTimeError(Exception):
    """Raised where the deadline has passed."""


class BeyondMemoryError(MemoryError):
    """Raised where the process holds more memory than a search may."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a part of a search may take: wall-clock ``seconds``, seconds of ``work``."""

    seconds: float = math.inf
    work: float = math.inf


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment, ``at``, in terms of ``time.monotonic()``; infinite where there is no limit.

    ``work_at`` is the reading of the clock of work that ends a slice of the work. ``planned_at`` is
    the reading after all the work that a time limit of ``planned`` seconds is expected to allow.
    ``full`` tells whether the process holds more memory than it may; None without a limit.
    """

    at: float = math.inf
    work_at: float = math.inf
    planned_at: float = math.inf
    planned: float = math.inf
    full: Callable[[], bool] | None = None

    @property
    def seconds(self) -> float:
        """Seconds that are left; negative once it has passed. They end work, and choose nothing."""
        return self.at - time.monotonic()

    @property
    def units(self) -> float:
        """Units of work that are left in this slice; infinite where it is no slice."""
        return self.work_at - worked()

    @property
    def left(self) -> float:
        """Seconds of work that are left in this slice, or expected to be left until the limit."""
        if self.planned < math.inf:
            expected = (self.planned_at - worked()) / UNITS_PER_SECOND
            expected = max(expected, _LEAST_SHARE * self.planned)
            return min(self.units / UNITS_PER_SECOND, expected)
        return self.units / UNITS_PER_SECOND

    def passed(self) -> bool:
        """Return whether the deadline has passed; ``BeyondMemoryError`` if ``full``."""
        if self.full is not None and self.full():
            raise BeyondMemoryError
        return worked() >= self.work_at or (self.at < math.inf and time.monotonic() >= self.at)

    def within(self, work: float) -> Self:
        """Return the sooner of this deadline and the end of a slice of ``work`` seconds of work."""
        return replace(self, work_at=min(self.work_at, _reading_in(work)))

    def limited(self, limit: Limit) -> Self:
        """Return the sooner of this deadline and the end of ``limit`` from now."""
        at = min(self.at, time.monotonic() + limit.seconds)
        return replace(self.within(limit.work), at=at)

    def share(self, part: float) -> Self:
        """Return the sooner of this deadline and the end of a ``part`` of the work left."""
        return self.within(part * self.left)

    def sooner(self, seconds: float) -> Self:
        """Return the deadline that is ``seconds`` of the wall clock sooner."""
        return replace(self, at=self.at - seconds)

    def leaving(self, part: float) -> Self:
        """Return the deadline that leaves a ``part`` of the seconds, and of the slice, left."""
        sooner = self.sooner(part * self.seconds) if self.at < math.inf else self
        left = self.units
        return replace(sooner, work_at=self.work_at - (int(part * left) if left < math.inf else 0))

    def use_up(self) -> None:
        """Count the rest of this slice as work: a solver ended before it, with no more to give."""
        if 0 < self.units < math.inf:
            spend(int(self.units))

    def require_time(self) -> None:
        """Raise ``OutOfTimeError`` once it has passed."""
        if self.passed():
            raise OutOfTimeError


NO_LIMIT = Deadline()
NO_CHECK_LIMIT = Limit()


def deadline_in(seconds: float) -> Deadline:
    """Return the deadline of a time limit of ``seconds`` from now."""
    return Deadline(
        time.monotonic() + seconds, planned_at=_reading_in(seconds), planned=max(seconds, 0.0)
    )


def elapsed_work(since: int) -> float:
    """Return the seconds of work since the reading ``since``."""
    return (worked() - since) / UNITS_PER_SECOND


def _reading_in(work: float) -> float:
    units = work * UNITS_PER_SECOND
    return worked() + int(units) if units < math.inf else math.inf


_STATM = Path("/proc/self/statm")
_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?) ?(" + "|".join(_UNITS) + ")?")


def resident() -> int:
    """Return the bytes that this process holds in memory; ``InputError`` where none can be read."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError as error:
        raise InputError(
            f"memory is a limit where {_STATM} tells what a process holds, on Linux: leave it out"
        ) from error


def holds_more(limit: float) -> bool:
    """Return whether this process holds more than ``limit`` bytes."""
    return resident() > limit


def bytes_of(given: float | str | None) -> float:
    """Return a budget in bytes, infinite for None; ``InputError`` for one that is not above 0."""
    if given is None:
        return math.inf
    read = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if isinstance(given, str) and read is None:
        raise InputError(f"memory is a number of bytes or a text such as '2 GB', got {given!r}")
    found = float(given) if read is None else float(read[1]) * _UNITS[read[2] or "B"]
    if not found > 0:
        raise InputError(f"memory must be positive, got {given}")
    resident()
    return found
