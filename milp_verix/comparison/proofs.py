"""What solvers prove of a program, each by itself, and whether they contradict each other."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from milp_verix.base.errors import SolverError, first_line
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import SOLVERS, Targets
from verix_encodings import Program
from verix_encodings.arrays import FloatArray

PROVERS = ("gurobi", "highs", "scip", "cbc", "cplex", "copt", "xpress")
"""Solvers in the order in which they are asked; our own branch and bound is none of them."""

_AGREED, _WHOLE = 1e-5, 1e-6
"""Relative differences of optima that agree; what a point may violate, relative to its size."""


@dataclass(frozen=True, slots=True)
class SolverProof:
    """What a solver says: a proven ``bound``, the cost of a feasible point, or None, and how."""

    solver: str
    bound: float
    value: float | None
    seconds: float

    @property
    def optimal(self) -> bool:
        """Whether the bound meets the cost of the point."""
        return self.value is not None and self.value - self.bound <= _AGREED * _scale(self.value)

    def refutes(self, other: "SolverProof") -> bool:
        """Return whether a point of this has a cost below what the other one proved."""
        return self.value is not None and self.value < other.bound - _AGREED * _scale(self.value)


def _scale(value: float) -> float:
    return max(1.0, abs(value))


def two_proofs(
    program: Program, cost: FloatArray, limit: float, solvers: Sequence[str]
) -> list[SolverProof | str]:
    """Return the proofs of the first two of ``solvers`` that take ``program``.

    Each has ``limit`` seconds. In place of one that fails, or whose licence is too small, stands
    its name with the reason.
    """
    found: list[SolverProof | str] = []
    for name in solvers:
        if not program.needs <= SOLVERS[name].capabilities:
            continue
        try:
            found.append(_proof_by(name, program, cost, limit))
        except SolverError as error:
            found.append(f"{name}: {first_line(error)}")
        if sum(isinstance(one, SolverProof) for one in found) == 2:
            break
    return found


def _proof_by(name: str, program: Program, cost: FloatArray, limit: float) -> SolverProof:
    # not by ``open_session``: another solver would take what is beyond a licence
    began, value = time.monotonic(), None
    with closing(SOLVERS[name].open(threads=1, tolerances=Tolerances())) as session:
        session.load(program)
        result = session.minimise(cost, Targets(seconds=limit))
    if result.point is not None and _feasible(program, result.point):
        value = float(cost @ result.point)
    seconds = result.seconds if result.seconds is not None else time.monotonic() - began
    return SolverProof(f"{name} {session.version}", result.bound, value, seconds)


def _feasible(program: Program, point: FloatArray) -> bool:
    """Return whether ``point`` is in the program, but for tolerances."""
    rows, whole = program.matrix @ point, point[program.integer]
    gaps = [
        *(program.row_lower - rows, rows - program.row_upper),
        *(program.column_lower - point, point - program.column_upper),
        np.abs(whole - np.round(whole)),
        np.array([np.sort(np.abs(point[one.columns]))[:-1].max() for one in program.sos1]),
        np.array(
            [
                rule.coefficients @ point[rule.columns] - rule.upper
                for rule in program.indicators
                if round(point[rule.binary]) == rule.value
            ]
        ),
    ]
    worst = max(float(gap.max(initial=0.0)) for gap in gaps)
    return worst <= _WHOLE * _scale(float(np.abs(point).max(initial=0.0)))
