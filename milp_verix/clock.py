"""Deadlines: one frozen value, handed down to all work that takes long."""

import math
import time
from dataclasses import dataclass, field
from threading import Event


class OutOfTimeError(Exception):
    """Raised where the deadline has passed."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment, ``at``, in terms of ``time.monotonic()``; infinite where there is no limit."""

    at: float = math.inf

    @property
    def seconds(self) -> float:
        """Seconds that are left; negative once it has passed."""
        return self.at - time.monotonic()

    def passed(self) -> bool:
        """Return whether the deadline has passed."""
        return time.monotonic() >= self.at

    def within(self, seconds: float) -> "Deadline":
        """Return the sooner of this deadline and the one that is ``seconds`` from now."""
        return Deadline(min(self.at, time.monotonic() + seconds))

    def check(self) -> None:
        """Raise ``OutOfTimeError`` once it has passed."""
        if self.passed():
            raise OutOfTimeError


@dataclass(frozen=True, slots=True)
class StoppableDeadline(Deadline):
    """A deadline that another thread may bring about by ``stop()``."""

    stopped: Event = field(default_factory=Event)

    @property
    def seconds(self) -> float:
        """Seconds that are left; negative once it has passed, or was stopped."""
        return -1.0 if self.stopped.is_set() else Deadline.seconds.__get__(self)

    def passed(self) -> bool:
        """Return whether the deadline has passed, or was stopped."""
        return self.seconds <= 0

    def stop(self) -> None:
        """Let the deadline pass now."""
        self.stopped.set()


NO_LIMIT = Deadline()


def deadline_in(seconds: float) -> Deadline:
    """Return the deadline that is ``seconds`` from now."""
    return Deadline(time.monotonic() + seconds)
