"""The name ``split``: branching on inputs, which decides checks and solves no programs.

The engine is :mod:`milp_verix.oracle.engines.input_split`. HiGHS solves programs that are no
checks: masters of searches, and linear relaxations for bounds.
"""

from milp_verix.solvers.backends import highs
from milp_verix.solvers.session import Session
from milp_verix.tolerances import Tolerances

name = "split"
licence = "BSD-3-Clause, HiGHS MIT"
capabilities: frozenset[str] = frozenset()


def unavailable() -> str | None:
    """Return why HiGHS, which solves the programs, cannot be used, or None."""
    return highs.unavailable()


def open(*, threads: int, tolerances: Tolerances) -> Session:  # noqa: A001
    """Open a session of HiGHS; raises ``SolverUnavailableError`` without highspy."""
    return highs.open(threads=threads, tolerances=tolerances)
