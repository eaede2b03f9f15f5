"""Names of engines that decide checks and solve no programs: ``split``, ``beta``, ``leaves``.

The engines are :mod:`milp_verix.oracle.engines.input_split`,
:mod:`milp_verix.oracle.engines.phase_split` and :mod:`milp_verix.oracle.engines.leaves`. HiGHS
solves programs that are no checks: masters of searches, and linear relaxations for bounds.
"""

from dataclasses import dataclass

from milp_verix.solvers.backends import highs
from milp_verix.solvers.session import Session
from milp_verix.tolerances import Tolerances


@dataclass(frozen=True, slots=True)
class Checker:
    """The name of an engine, with sessions of HiGHS for programs."""

    name: str
    licence: str = "BSD-3-Clause, HiGHS MIT"
    capabilities: frozenset[str] = frozenset()

    def unavailable(self) -> str | None:
        """Return why HiGHS, which solves the programs, cannot be used, or None."""
        return highs.unavailable()

    def open(self, *, threads: int, tolerances: Tolerances) -> Session:
        """Open a session of HiGHS; raises ``SolverUnavailableError`` without highspy."""
        return highs.open(threads=threads, tolerances=tolerances)
