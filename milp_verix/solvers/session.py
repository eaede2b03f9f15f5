"""The protocol of a solver: it loads a program and minimises one cost after another.

A session keeps its program between solves, so that a check with nine rivals loads one program and
minimises nine costs; bounds of columns change without a new program. A solver's report becomes a
:class:`SolveResult`; proofs may rest on its ``bound`` alone.

The work of solvers is iterations times the size of the program. The constants were measured by
``benchmarks/work_clock.py`` on checks of MNIST 10×2 and the digits networks, and in explanations by
``phase`` of ten networks with 800 to 9,700 rows and columns. A solver that is off by a factor gets
slices that are longer or shorter by it, and decides the same.

Ctrl-C while a solver is in native code is remembered: the solver is stopped, then it is raised.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from types import FrameType
from typing import Any, Protocol

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import SolverError
from milp_verix.base.tolerances import Tolerances
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.safe_bounds import Leaf
from verix_encodings.work import spend, worked

_SOLVE, _ENTRY_OF_A_SOLVE, _END_OF_A_SOLVE = 200_000, 5, 60
_ITERATION, _PER_ENTRY, _PER_END = 6_000, 2, 15


def units_of_iteration(program: Program) -> int:
    """Return the units of a simplex iteration: factors, prices and ratios all grow with it."""
    ends = program.rows + program.columns
    return _ITERATION + _PER_ENTRY * int(program.matrix.nnz) + _PER_END * ends


def spend_solve(program: Program, iterations: int) -> None:
    """Count a solve with so many ``iterations``."""
    ends = program.rows + program.columns
    loading = _ENTRY_OF_A_SOLVE * int(program.matrix.nnz) + _END_OF_A_SOLVE * ends
    spend(_SOLVE + loading + iterations * units_of_iteration(program))


NODE_LIMIT = "node limit"
"""The detail of a solve that ended at a limit of nodes, which a user gave its solver."""


class SolveStatus(Enum):
    """The end of a solve."""

    OPTIMAL = "optimal"
    TARGET = "stopped at the target asked for"
    TIME_LIMIT = "time limit"  # of seconds, work or nodes
    INFEASIBLE = "reported infeasible"
    FAILED = "numerical trouble"

    @property
    def sound(self) -> bool:
        """Whether the bound and the point that come with it count."""
        return self not in (SolveStatus.INFEASIBLE, SolveStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets at which a solve may stop.

    ``seconds`` is a limit of the wall clock, ``work`` one in units of the clock of work: solvers
    with the capability ``work_limit`` keep it, the others go on to the end. A point with cost below
    ``violated_below`` answers the question, and so does a proof that no point has a cost below
    ``holds_above``; a solver that can stop there does, the others go on to the optimum. ``probe``
    is called with points of the linear relaxation, which need not be integral; if it returns true,
    the last point answers the question. Solvers that never hold such a point do not call it.
    ``whole`` says that every feasible cost is a whole number, as in a covering problem: a bound
    less than one below the best cost proves it, and presolve, cuts and heuristics pay, unlike in
    checks. ``start`` is a point to begin with, a value for each column, feasible or not; it never
    changes the answer, and a solver without the capability ``start`` ignores it. ``first`` are
    integer columns to branch on before all others; a solver without ``priorities`` ignores them.
    ``certify`` asks for a certificate of the bound, from solvers that have one.
    """

    seconds: float = float("inf")
    work: float = float("inf")
    violated_below: float = -np.inf
    holds_above: float = np.inf
    probe: Callable[[FloatArray], bool] | None = None
    whole: bool = False
    start: FloatArray | None = field(default=None, compare=False)
    first: IntArray | None = field(default=None, compare=False)
    certify: bool = False

    def until(self, deadline: Deadline) -> "Targets":
        """Return these targets with ``deadline`` as their limits."""
        seconds, work = max(deadline.seconds, 0.0), max(deadline.units, 0)
        return replace(self, seconds=seconds, work=work)

    def within(self, seconds: float) -> "Targets":
        """Return these targets with at most ``seconds``."""
        return replace(self, seconds=min(self.seconds, seconds))

    def deadline(self) -> Deadline:
        """Return the deadline of a solve that begins now."""
        return Deadline(time.monotonic() + self.seconds, worked() + self.work)


@dataclass(frozen=True, slots=True, eq=False)
class SolveResult:
    """The outcome of one minimisation.

    ``bound`` is a proven lower bound on the cost over the program (-inf where there is none);
    ``point`` the best point found, one value per column, or None; ``detail`` the solver's own
    words for the status. ``nodes`` and ``iterations`` are the solver's counts, None where it tells
    none. ``duals`` are the row duals of a linear program, if the solver gave them:
    ``c − Aᵀy`` are then the reduced costs. ``certificate``, if asked for, proves a bound no lower
    than ``bound`` without the solver (:func:`~verix_encodings.safe_bounds.certified_bound`).
    ``seconds`` is the solve's time by the solver's own clock.
    ``root_bound`` is the dual bound at the end of the root node, ``first_seconds`` the time of the
    first feasible point, in seconds since the solve began; None where the solver does not tell it.
    """

    status: SolveStatus
    bound: float = -np.inf
    point: FloatArray | None = None
    nodes: int | None = None
    iterations: int | None = None
    detail: str = ""
    duals: FloatArray | None = None
    certificate: tuple[Leaf, ...] | None = None
    root_bound: float | None = None
    first_seconds: float | None = None
    seconds: float | None = None

    def timed(self, root: float | None, first: float | None, seconds: float) -> "SolveResult":
        """Return this result with the bound of the root, None unless finite, and its times."""
        root = root if root is not None and np.isfinite(root) else None
        return replace(self, root_bound=root, first_seconds=first, seconds=seconds)


class Session(Protocol):
    """An open solver. Sessions are cheap to open and hold at most one program.

    ``capabilities`` are kinds of rows that it takes and abilities that it has, see
    ``CAPABILITIES``.
    """

    name: str
    version: str
    capabilities: frozenset[str]

    @property
    def largest_big_m(self) -> float:
        """The big-M up to which the solver's proofs are trusted."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the result on the session."""

    def load(self, program: Program) -> None:
        """Replace the session's program; ``SolverError`` for one beyond ``capabilities``."""

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of ``columns`` in the program loaded, until the next ``load``.

        Solvers with the capability ``in_place_bounds`` change their model, the others build it
        again.
        """

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        """Minimise ``cost·v`` over the program loaded.

        The solve is counted on the clock of work, no less than the limit if that ended it. Raises
        ``SolverError`` where the solver fails in a way that leaves no result,
        ``LicenceLimitError`` where its licence does not cover the program, and
        ``KeyboardInterrupt`` after Ctrl-C, with the session still usable.
        """

    def close(self) -> None:
        """Release what the session holds: memory, files, licence."""


def extend(session: Session, program: Program) -> None:
    """Replace the program by its extension, in place if the solver can, with its own bounds."""
    if "growth" in session.capabilities:
        session.extend(program)  # type: ignore[attr-defined]
    else:
        session.load(program)


def refuse_beyond(session: Any, program: Program) -> None:
    """Raise ``SolverError`` for a program whose needs the session lacks: never drop any."""
    if beyond := program.needs - session.capabilities:
        raise SolverError(f"{session.name} takes no {in_words(beyond)}")


def start_of(targets: Targets, columns: int) -> FloatArray | None:
    """Return the start of ``targets``, or None; a start that is not finite is ignored.

    Raises ``ValueError`` unless it has a value for each of the ``columns``.
    """
    if targets.start is None:
        return None
    if targets.start.shape != (columns,):
        raise ValueError(f"a start has {columns} values, got shape {targets.start.shape}")
    return targets.start if np.isfinite(targets.start).all() else None


def finite(value: float) -> float | None:
    """Return ``value``, or None for an infinite one, as modelling packages say no bound."""
    return float(value) if np.isfinite(value) else None


def constraints_of(
    program: Program, first: int, summed: Callable[[FloatArray, IntArray], Any]
) -> Iterator[tuple[int, Any]]:
    """Yield constraints, two for a row with two sides, with the numbers of rows from ``first`` on.

    ``summed`` returns the sum of columns times factors, in terms of a modelling package.
    """
    matrix = program.matrix
    for i in range(first, program.rows):
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        body = summed(matrix.data[entries], matrix.indices[entries])
        low, high = float(program.row_lower[i]), float(program.row_upper[i])
        if low == high:
            yield i, body == low
            continue
        if np.isfinite(low):
            yield i, body >= low
        if np.isfinite(high):
            yield i, body <= high


def in_words(capabilities: frozenset[str]) -> str:
    """Return ``capabilities`` in words."""
    return " or ".join(CAPABILITIES[name] for name in sorted(capabilities))


CAPABILITIES = {
    "indicator": "indicator constraints",
    "general": "general constraints",
    "partition": "partition formulation",
    "quadratic": "quadratic rows",
    "sos1": "special ordered sets",
    "in_place_bounds": "bounds in place",
    "growth": "growth in place",
    "priorities": "branching priorities",
    "start": "start",
    "early_stop": "early stop",
    "work_limit": "limit of work",
    "duals": "duals",
}
"""Capabilities in words: kinds of rows (beyond linear ones, see ``Program.needs``), abilities."""

FULL = frozenset(CAPABILITIES) - {"duals"}
"""The capabilities of a solver of mixed-integer programs that has them all."""

PROGRAM_NEEDS = frozenset({"general", "indicator", "partition", "quadratic", "sos1"})
"""Capabilities that a program may need."""


class Solver(Protocol):
    """A solver that may or may not be installed."""

    @property
    def name(self) -> str:
        """The name that users choose it by."""

    @property
    def licence(self) -> str:
        """The licence of the solver, in a word or two."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Kinds of rows that sessions take and abilities that they have, see ``CAPABILITIES``."""

    def unavailable(self) -> str | None:
        """Return why the solver cannot be used and what to do, or None; cheap."""

    def open(self, *, threads: int, tolerances: Tolerances) -> Session:
        """Open a session. Raises ``SolverUnavailableError`` where that is impossible."""


_SIGNALS = (signal.SIGINT, signal.SIGTERM)

LONGEST_WAIT = 0.5
"""Seconds after which a wait for a process returns to Python, to raise pending interrupts.

A signal that arrives just before a system call, or in another thread, does not end the call.
"""


@dataclass(slots=True)
class Interrupt:
    """A flag: Ctrl-C was pressed since the solve began."""

    pending: bool = False


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Turn signals that raise into a flag for the block; raise KeyboardInterrupt at its end.

    An exception inside a solver's callback would cross native frames: solvers swallow it or crash.
    Signals that are ignored or have their default action are left alone, and so are all signals
    outside the main thread, where Python delivers none.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def remember(_signal: int, _frame: FrameType | None) -> None:
        interrupt.pending = True

    handled = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = {number: handler for number, handler in handled.items() if callable(handler)}
    for number in handled:
        signal.signal(number, remember)
    try:
        yield interrupt
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
    if interrupt.pending:
        raise KeyboardInterrupt
