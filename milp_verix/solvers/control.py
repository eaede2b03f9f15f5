"""A question with a known answer, which a solver answers before its word counts as a proof.

The program ``min x₁ + x₂`` over ``x₁ + x₂ ≥ 1.5`` in binaries has the optimum 2, at (1, 1); its
linear relaxation has 1.5.
"""

from functools import cache

import numpy as np

from milp_verix.base.errors import SolverUnavailableError
from milp_verix.solvers.session import Session, SolveStatus, Targets
from verix_encodings import Program, ProgramBuilder

_SECONDS = 30.0
_COST = np.ones(2)
_OPTIMUM = 2.0
_NEAR = 1e-3


def ask_control(session: Session) -> None:
    """Raise ``SolverUnavailableError`` unless ``session`` solves a tiny program; forget it then.

    A solver that calls everything infeasible, or everything optimal, or writes nothing fails it.
    """
    # a cutoff above the optimum: "infeasible" would be wrong
    for targets in (Targets(seconds=_SECONDS), Targets(seconds=_SECONDS, holds_above=2.5)):
        try:
            session.load(_program())
            result = session.minimise(_COST, targets)
        except Exception as error:  # noqa: BLE001, RUF100 - whatever the solver's package raises
            raise _refused(session, f"{type(error).__name__}: {error}") from error
        right = result.point is not None and np.abs(result.point - 1.0).max() < _NEAR
        if not (right and _OPTIMUM - _NEAR < result.bound <= _OPTIMUM):
            told = result.detail or result.status.value
            if result.status in (SolveStatus.OPTIMAL, SolveStatus.TARGET):
                told += f", bound {result.bound:g}, point {result.point}"
            raise _refused(session, told)
    session.close()


def _refused(session: Session, told: str) -> SolverUnavailableError:
    return SolverUnavailableError(
        f"{session.name} fails a program of two binaries whose optimum is 2 ({told}): look at its "
        "installation and licence, or use another solver, such as highs"
    )


@cache
def _program() -> Program:
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(2), 0.0, 1.0, integer=True)
    builder.add_rows("sum", np.arange(1), [(np.ones((1, 2)), x)], 1.5, np.inf)
    return builder.build()
