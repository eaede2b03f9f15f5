"""Sessions for other processes that crash, hang, lie or print."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import LicenceLimitError, SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import SolveResult, SolveStatus, Targets
from milp_verix.solvers.backends.highs import HighsSession
from verix_encodings import Program


@dataclass
class Odd:
    """HiGHS, but for what ``habit`` says; ``once`` is a file that keeps it to one time."""

    habit: str
    once: str | None = None

    name, version, largest_big_m = "odd", "1.0", 1e4
    capabilities: frozenset[str] = frozenset({"partition"})
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.habit == "no licence":
            raise SolverUnavailableError("the licence expired in 2020: renew it")
        if self.habit == "no session":
            raise RuntimeError("nothing opens here")
        self._highs = HighsSession(1, Tolerances())

    def load(self, program: Program) -> None:
        self._highs.load(program)

    def set_bounds(
        self, columns: NDArray[np.intp], lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> None:
        self._highs.set_bounds(columns, lower, upper)

    def minimise(self, cost: NDArray[np.float64], targets: Targets) -> SolveResult:
        if self.once is None:
            self._misbehave(cost.size)
        elif not os.path.exists(self.once):  # noqa: PTH110
            open(self.once, "w").close()  # noqa: PTH123
            self._misbehave(cost.size)
        bounds = {"nan": np.nan, "lie": np.inf}
        if self.habit in bounds:
            return SolveResult(SolveStatus.OPTIMAL, bounds[self.habit], np.full(cost.size, np.nan))
        if self.habit == "short":
            return SolveResult(SolveStatus.OPTIMAL, 0.0, np.zeros(1))
        return self._highs.minimise(cost, targets)

    def _misbehave(self, _size: int) -> None:
        if self.habit == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.habit == "exit":
            os.write(2, b"out of memory\n")
            os._exit(7)
        if self.habit == "hang":
            subprocess.run(["sleep", f"9{os.getppid()}"], check=False)
        if self.habit == "raise":
            raise ZeroDivisionError("by zero")
        if self.habit == "licence lost":
            raise LicenceLimitError("the token was returned")
        if self.habit == "print":
            os.write(1, b"much to say" * 100000)
        if self.habit == "slow":
            time.sleep(0.2)

    def close(self) -> None:
        self._highs.close()
