"""Branch and bound over the phases, on one live linear program of HiGHS.

The binaries of an encoding are phases of activations. Relaxed to [0, 1] they give the triangle
relaxation; fixing one to 0 or 1 is a change of two bounds, and the simplex basis stays. Nodes are
taken best bound first and split at the phase that is most undecided.

The bound of a node does not rest on the solver: it is evaluated from the row duals alone, with
rounding errors accounted for (:mod:`verix_encodings.safe_bound`), and so is the infeasibility of a
node, from its dual ray. Phases are fixed exactly, so no integrality tolerance leaks, however large
the big-Ms.
"""

import heapq
import time
from dataclasses import dataclass, replace

import numpy as np

from milp_verix.errors import SolverError, SolverUnavailableError
from milp_verix.solvers import highs
from milp_verix.solvers.session import SolveResult, SolveStatus, Targets, refuse_beyond
from milp_verix.tolerances import Tolerances
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.safe_bound import safe_lower_bound

name = "phase"
features = frozenset({"partition", "live_bounds", "early_stop"})
_DECIDED = 1e-9
_GAP = 1e-9


def unavailable() -> str | None:
    """Return why HiGHS, which solves the linear programs, cannot be used, or None."""
    return highs.unavailable()


def open(*, threads: int, tolerances: Tolerances) -> "PhaseSession":  # noqa: A001
    """Open a session; raises ``SolverUnavailableError`` without highspy."""
    if reason := unavailable():
        raise SolverUnavailableError(reason)
    return PhaseSession(threads, tolerances)


@dataclass(frozen=True, slots=True, order=True)
class _Node:
    """A set of fixed phases: the bounds of the integer columns, and the cost's bound above it."""

    bound: float
    number: int
    lower: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(slots=True)
class _Search:
    """The state of one minimisation: open nodes, the least bound of the closed ones, the best."""

    open: list[_Node]
    closed: float = np.inf
    cost: float = np.inf
    point: FloatArray | None = None
    nodes: int = 0
    iterations: int = 0
    trouble: str = ""

    @property
    def bound(self) -> float:
        """The proven lower bound so far."""
        return min(self.closed, min((node.bound for node in self.open), default=np.inf))


class PhaseSession:
    """One live linear program; each minimisation is a search over phases."""

    name = name
    largest_big_m = np.inf
    features = features
    notes: tuple[str, ...] = ()

    def __init__(self, threads: int, tolerances: Tolerances) -> None:
        self._lp = highs.HighsSession(threads, tolerances)
        self.version = self._lp.version
        self._program: Program | None = None
        self._phases: IntArray = np.zeros(0, dtype=np.intp)
        self._weight = np.zeros(0)

    def load(self, program: Program) -> None:
        """Replace the program: its relaxation becomes the live one."""
        refuse_beyond(self, program)
        relaxed = replace(program, integer=np.zeros(program.columns, dtype=bool))
        self._lp.load(relaxed)
        self._program = relaxed
        self._phases = np.flatnonzero(program.integer)
        self._weight = np.zeros(self._phases.size)
        if self._phases.size:
            columns = abs(program.matrix[:, self._phases])
            self._weight = np.asarray(columns.max(axis=0).todense()).reshape(-1)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some columns; phases are fixed inside of theirs."""
        if self._program is None:
            raise SolverError("load a program before its bounds")
        self._program = self._program.with_bounds(columns, lower, upper)
        self._lp.set_bounds(columns, lower, upper)

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        """Minimise ``cost·v``; see :class:`~milp_verix.solvers.session.Session`."""
        if self._program is None:
            raise SolverError("load a program before minimising")
        if not self._program.columns:
            return self._lp.minimise(cost, targets)
        deadline = time.monotonic() + targets.seconds
        lower = self._program.column_lower[self._phases]
        upper = self._program.column_upper[self._phases]
        search = _Search([_Node(-np.inf, 0, tuple(lower.tolist()), tuple(upper.tolist()))])
        while search.open and search.bound <= min(targets.holds_above, search.cost - _GAP):
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                return self._ended(SolveStatus.TIME_LIMIT, search, "time limit")
            node = heapq.heappop(search.open)
            if self._expand(node, cost, replace(targets, seconds=seconds), search):
                return self._ended(SolveStatus.TARGET, search, "a point beyond the target")
        if search.trouble:
            return self._ended(SolveStatus.FAILED, search, search.trouble)
        if search.bound > targets.holds_above:
            return self._ended(SolveStatus.TARGET, search, "proven up to the target")
        return self._ended(SolveStatus.OPTIMAL, search, "optimal")

    def _expand(self, node: _Node, cost: FloatArray, targets: Targets, search: _Search) -> bool:
        """Solve a node and close or split it; return whether its point ends the search."""
        self._lp.set_bounds(self._phases, np.array(node.lower), np.array(node.upper))
        result = self._lp.minimise(cost, Targets(seconds=targets.seconds))
        search.nodes += 1
        search.iterations += result.iterations
        if result.status is SolveStatus.TIME_LIMIT:
            heapq.heappush(search.open, node)
            return False
        bound = max(node.bound, self._proven(node, cost, result))
        unfixed = np.array(node.lower) < np.array(node.upper)
        phases = np.full(self._phases.size, 0.5)
        if result.point is not None:
            phases = result.point[self._phases]
            value = float(cost @ result.point)
            hit = targets.probe is not None and targets.probe(result.point)
            whole = bool(np.max(np.minimum(phases, 1.0 - phases), initial=0.0) <= _DECIDED)
            if hit or (whole and value < search.cost):
                search.cost, search.point = value, result.point
            if hit or (whole and value < targets.violated_below):
                search.closed = min(search.closed, bound)
                return True
            unfixed &= not whole
        settled = bound == np.inf or bound > min(targets.holds_above, search.cost - _GAP)
        if settled or not unfixed.any():
            search.closed = min(search.closed, bound)
            if result.point is None and not settled:
                search.trouble = f"a linear program ended with: {result.detail}"
            return False
        undecided = np.minimum(phases, 1.0 - phases) * self._weight
        split = int(np.argmax(np.where(unfixed, undecided, -1.0)))
        for end in (0.0, 1.0):
            lower, upper = list(node.lower), list(node.upper)
            lower[split] = upper[split] = end
            number = 2 * search.nodes + int(end)
            heapq.heappush(search.open, _Node(bound, number, tuple(lower), tuple(upper)))
        return False

    def _proven(self, node: _Node, cost: FloatArray, result: SolveResult) -> float:
        """Return the bound that duals prove for a node, infinite for one proven infeasible."""
        assert self._program is not None
        low, high = self._program.column_lower.copy(), self._program.column_upper.copy()
        low[self._phases], high[self._phases] = node.lower, node.upper
        fixed = replace(self._program, column_lower=low, column_upper=high)
        if result.status is SolveStatus.INFEASIBLE:
            ray = self._lp.dual_ray()
            if ray is None:
                return -np.inf
            nothing = np.zeros_like(cost)
            proven = max(safe_lower_bound(fixed, nothing, sign * ray) for sign in (1.0, -1.0))
            return np.inf if proven > 0 else -np.inf
        if result.duals is None:
            return -np.inf
        return safe_lower_bound(fixed, cost, result.duals)

    def _ended(self, status: SolveStatus, search: _Search, detail: str) -> SolveResult:
        if search.bound == np.inf:
            return SolveResult(SolveStatus.INFEASIBLE, detail="no phase is feasible")
        return SolveResult(
            status, search.bound, search.point, search.nodes, search.iterations, detail
        )

    def close(self) -> None:
        """Free the model."""
        self._lp.close()
