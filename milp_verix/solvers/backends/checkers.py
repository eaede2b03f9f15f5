"""Names of engines that decide checks and solve no programs: ``split``, ``beta``, ``leaves``.

The engines are :mod:`milp_verix.oracle.engines.input_split`,
:mod:`milp_verix.oracle.engines.phase_split` and :mod:`milp_verix.oracle.engines.leaves`. HiGHS
solves programs that are no checks: masters of searches, and linear relaxations for bounds.
"""

from dataclasses import replace

from milp_verix.solvers.backends import highs
from milp_verix.solvers.own_solver import OwnSolver


def checker(name: str) -> OwnSolver:
    """Return the engine called ``name`` as a solver, with sessions of HiGHS for programs."""
    licence = "BSD-3-Clause, HiGHS MIT"
    return replace(highs.SOLVER, base=name, licence=licence, capabilities=frozenset())
