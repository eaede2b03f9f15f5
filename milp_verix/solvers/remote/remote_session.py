"""A session that lives in a process of its own, for solvers that cannot be stopped in ours.

Some solvers hold Python's lock while they solve, swallow Ctrl-C, leave processes of their own
behind, or crash. Here only their process is lost: it is killed with all it started, at Ctrl-C, past
the time limit, and when ours ends.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from milp_verix.base.errors import SolverError
from milp_verix.solvers.remote.process import SolverProcess, give_back, take
from milp_verix.solvers.session import (
    Session,
    SolveResult,
    SolveStatus,
    Targets,
    refuse_beyond,
    start_of,
)
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import spend

_GRACE_SECONDS = 5.0


class RemoteSession:
    """The session that ``make`` opens, in another process; ``make`` can be pickled.

    The program is kept here and sent with the next solve, so that a process that had to be killed
    is replaced by another. Raises ``SolverUnavailableError`` if ``make`` does.
    """

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._program: Program | None = None
        self._news: list[tuple[object, ...]] = []
        self._process: SolverProcess | None = take(make)
        about = self._process.about
        self.name, self.version, self.capabilities, self.largest_big_m, self.notes = about

    def load(self, program: Program) -> None:
        """Replace the program; the process gets it with the next solve."""
        refuse_beyond(self, program)
        self._program, self._news = program, [("load", program)]

    def extend(self, program: Program) -> None:
        """Replace the program by its extension; the process gets it with the next solve."""
        refuse_beyond(self, program)
        self._program = program
        self._news.append(("extend", program))

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change bounds; the process gets them with the next solve."""
        if self._program is None:
            raise SolverError("load a program before its bounds")
        self._program = self._program.with_bounds(columns, lower, upper)
        self._news.append(("set_bounds", columns, lower, upper))

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        """Minimise in the process; see :class:`~milp_verix.solvers.session.Session`."""
        if self._program is None:
            raise SolverError("load a program before minimising")
        deadline = time.monotonic() + targets.seconds
        start = start_of(targets, cost.size) if "start" in self.capabilities else None
        if self._process is None or not self._process.usable:
            self._process, self._news = take(self._make), [("load", self._program)]
        news, self._news = self._news, []
        seconds = deadline - time.monotonic()
        asked = replace(targets, seconds=seconds, start=start, probe=None)
        question = (*news, ("minimise", cost, asked))
        try:
            said = self._process.ask(question, max(seconds, 0.0) + _GRACE_SECONDS)
        except SolverError:
            # it may be in any state
            self._end()
            raise
        if said is None:
            return SolveResult(SolveStatus.TIME_LIMIT, detail="killed at the time limit")
        result: SolveResult
        result, self.notes, work = said
        spend(work)
        if result.point is not None and result.point.shape != cost.shape:
            raise SolverError(f"{self.name} gave a point of shape {result.point.shape}")
        return result

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._process = None

    def close(self) -> None:
        """Leave the process to the next session of the same recipe."""
        if self._process is not None:
            give_back(self._process)
        self._process, self._program = None, None
