"""Seconds of each stage of a check."""

import time

from milp_verix.oracle.verdict import Effort, Stage


class StageClock:
    """Measures how long each stage takes: it runs for one of them at a time."""

    def __init__(self, stage: Stage) -> None:
        self._started = self._since = time.monotonic()
        self._stage = stage
        self._seconds = dict.fromkeys(Stage, 0.0)

    def turn_to(self, stage: Stage) -> None:
        """Count time for ``stage`` from here on."""
        now = time.monotonic()
        self._seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now

    def read(self) -> Effort:
        """Return the seconds so far, as an effort."""
        self.turn_to(self._stage)
        return Effort(seconds=self._since - self._started, stages=tuple(self._seconds.values()))
