"""Branch and bound over phases of ReLUs on one warm linear program of HiGHS.

The binaries of an encoding are phases of activations. Relaxed to [0, 1] they give the triangle
relaxation; fixing one to 0 or 1 is a change of two bounds, and the simplex basis stays. A node is
split at the phase ``d_j`` with the greatest

    min(d_j, 1 − d_j) Σ_i |A_ij y_i|

for the row duals ``y``: to first order, the gain of the bound if the phase is fixed.

The bound of a node does not rest on the solver: it is evaluated from the row duals alone, with
rounding errors accounted for (:mod:`~verix_encodings.safe_bounds`), and so is the infeasibility of
a node, from its dual ray. Phases are fixed exactly, so no integrality tolerance leaks, whatever the
big-Ms. At every moment the closed nodes and the open ones cover all cases, so the least of their
bounds is proven, and their multipliers are its certificate.
"""

import heapq
import time
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from milp_verix.solvers import session
from milp_verix.solvers.backends import highs
from milp_verix.solvers.own_solver import OwnSession, OwnSolver
from milp_verix.solvers.session import SolveResult, SolveStatus, Targets
from milp_verix.solvers.solver_facts import SolverFacts
from milp_verix.solvers.warm_lp import LpResult, WarmLp
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray, Matrix
from verix_encodings.safe_bounds import Case, Leaf, SafeBound

_GAP = 1e-9
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, order=True)
class CaseNode:
    """A case with the ``bound`` and, for a certificate, the ``multipliers`` that prove it."""

    bound: float
    number: int
    fixed: Case = field(compare=False, default=())
    multipliers: FloatArray | None = field(compare=False, default=None)


@dataclass(slots=True)
class Minimisation:
    """The state of one minimisation of ``cost·v``.

    A search that only has to reach a target goes depth first: every node below the target has to be
    expanded anyway, and neighbours share most of a simplex basis. A search for the optimum takes
    the node with the least bound: this expands the fewest nodes. ``root_bound`` is that of the root
    node, ``first_at`` the reading of ``time.monotonic()`` at the first point.
    """

    cost: FloatArray
    targets: Targets
    open: list[CaseNode] = field(default_factory=lambda: [CaseNode(-np.inf, 0)])
    closed: float = np.inf
    leaves: list[CaseNode] = field(default_factory=list)
    best: float = np.inf
    point: FloatArray | None = None
    nodes: int = 0
    iterations: int = 0
    trouble: str = ""
    root_bound: float = -np.inf
    first_at: float | None = None

    @property
    def bound(self) -> float:
        """The proven lower bound so far."""
        return min(self.closed, min((node.bound for node in self.open), default=np.inf))

    @property
    def cutoff(self) -> float:
        """The bound above which a node needs no more work."""
        return min(self.targets.holds_above, self.best - _GAP, _LARGEST)

    @property
    def _depth_first(self) -> bool:
        return self.targets.holds_above < np.inf

    def take(self) -> CaseNode | None:
        """Return the node to expand next, or None; nodes above the cutoff are closed on the way."""
        while self.open:
            node = self.open.pop() if self._depth_first else heapq.heappop(self.open)
            if node.bound <= self.cutoff:
                return node
            self.close(node)
        return None

    def put_back(self, node: CaseNode) -> None:
        """Leave ``node`` open, to be taken next."""
        if self._depth_first:
            self.open.append(node)
        else:
            heapq.heappush(self.open, node)

    def answers(self, cost: FloatArray, targets: Targets) -> bool:
        """Return whether this search for ``cost`` goes on to ``targets``, but for their limits."""
        seconds, work, probe = targets.seconds, targets.work, targets.probe
        own = replace(self.targets, seconds=seconds, work=work, probe=probe)
        return own == targets and np.array_equal(self.cost, cost)

    def close(self, node: CaseNode) -> None:
        self.closed = min(self.closed, node.bound)
        if self.targets.certify:
            self.leaves.append(node)

    def split(self, node: CaseNode, column: int, first: int) -> None:
        """Open the two cases of an integer ``column``, ``first`` to be expanded first."""
        for order, end in enumerate((1 - first, first)):
            number = 2 * self.nodes + order
            self.put_back(
                CaseNode(node.bound, number, (*node.fixed, (column, end)), node.multipliers)
            )

    def certificate(self, rows: int) -> tuple[Leaf, ...] | None:
        """Return the certificate of :attr:`bound` over ``rows`` rows; None unless asked for."""
        if not self.targets.certify:
            return None
        nothing = np.zeros(rows)
        return tuple(
            Leaf(node.fixed, nothing if node.multipliers is None else node.multipliers)
            for node in (*self.leaves, *self.open)
        )


_DECIDED = 1e-9


@dataclass(slots=True, eq=False)
class _Loaded:
    """Parts of the loaded program, the current bounds of its columns, and an unfinished search."""

    safe: SafeBound
    phases: IntArray
    big_ms: Matrix
    lower: FloatArray
    upper: FloatArray
    unfinished: Minimisation | None = None

    @classmethod
    def of(cls, program: Program) -> "_Loaded":
        phases = np.flatnonzero(program.integer)
        ends = program.column_lower, program.column_upper
        matrix = program.matrix
        entries = np.flatnonzero(program.integer[matrix.indices])
        rows = np.searchsorted(matrix.indptr, entries, side="right") - 1
        numbers = np.searchsorted(phases, matrix.indices[entries])
        shape = phases.size, program.rows
        big_ms = sp.csr_array((np.abs(matrix.data[entries]), (numbers, rows)), shape=shape)
        return cls(SafeBound(program.relaxed), phases, big_ms, *ends)

    def ends(self, node: CaseNode) -> tuple[FloatArray, FloatArray]:
        """Return the column bounds of ``node``."""
        lower, upper = self.lower.copy(), self.upper.copy()
        for column, end in node.fixed:
            lower[column] = upper[column] = end
        return lower, upper


class PhaseSession(OwnSession):
    """One warm linear program; each minimisation is a search over phases."""

    facts = SolverFacts(
        "phase",
        "BSD-3-Clause, HiGHS MIT",
        # phases are fixed exactly
        largest_big_m=np.inf,
        dropped=highs.FACTS.dropped,
        proofs="row duals, evaluated with rounding accounted for",
    )
    package = highs.HighsSession.package
    capabilities = frozenset({"partition", "in_place_bounds", "growth", "early_stop", "work_limit"})

    _state: _Loaded

    def _open(self) -> None:
        self._lp = WarmLp(*self._begun_with)
        self.version = self._lp.version

    def load(self, program: Program) -> None:
        session.refuse_beyond(self, program)
        self._program = None
        self._lp.load(program)
        self._program, self._state = program, _Loaded.of(program)

    def _grow(self, program: Program, _old: Program) -> None:
        self._lp.extend(program)
        self._state = _Loaded.of(program)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some columns; within the loaded bounds, the basis stays."""
        program, loaded = self._before("its bounds"), self._state
        low, high = loaded.lower.copy(), loaded.upper.copy()
        low[columns], high[columns] = lower, upper
        if np.any(low < program.column_lower) or np.any(high > program.column_upper):
            # what was derived from the bounds loaded holds no longer
            self.load(program.with_bounds(np.arange(program.columns), low, high))
        else:
            loaded.lower, loaded.upper, loaded.unfinished = low, high, None

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        """Minimise as any session; a search that ran out of time goes on if asked again."""
        self._before("minimising")
        loaded, targets, began = self._state, targets.within(self._given.seconds), time.monotonic()
        search, loaded.unfinished = loaded.unfinished, None
        if search is None or not search.answers(cost, targets):
            search = Minimisation(cost, targets)
        search.targets = targets
        nodes, iterations = search.nodes, search.iterations
        self._lp.set_cost(cost)
        with session.deferred_interrupt() as interrupt:
            status, detail = self._run(loaded, search, interrupt)
        seconds = time.monotonic() - began
        if status is SolveStatus.TIME_LIMIT:
            loaded.unfinished = search
        certificate = search.certificate(loaded.safe.program.rows)
        bound = search.bound
        if bound == np.inf:
            status, bound, detail = SolveStatus.INFEASIBLE, -np.inf, "no phase is feasible"
        elif bound == -np.inf and status is SolveStatus.OPTIMAL:
            status, detail = SolveStatus.FAILED, "columns without ends leave no bound proven"
        counts = search.nodes - nodes, search.iterations - iterations
        result = SolveResult(status, bound, search.point, *counts, detail, certificate=certificate)
        first = None if search.first_at is None else max(search.first_at - began, 0.0)
        return result.timed(search.root_bound, first, seconds)

    def _run(
        self, loaded: _Loaded, search: Minimisation, interrupt: session.Interrupt
    ) -> tuple[SolveStatus, str]:
        """Expand nodes until the question is answered; return how the search ended."""
        deadline = search.targets.deadline()
        while (node := search.take()) is not None:
            result = None
            if not (interrupt.pending or deadline.passed()):
                search.nodes += 1
                ends = loaded.ends(node)
                self._lp.set_bounds(*ends)
                for cutoff in (search.cutoff, np.inf):
                    result = self._lp.solve(cutoff, deadline, interrupt)
                    search.iterations += result.iterations
                    node = _tightened(loaded.safe, node, result, search.cost, ends)
                    if not node.fixed:
                        search.root_bound = node.bound
                    # where the word of HiGHS is not good enough for arithmetic, to the optimum
                    if result.status is not SolveStatus.TARGET or node.bound > search.cutoff:
                        break
            if result is None or result.status is SolveStatus.TIME_LIMIT:
                search.put_back(node)
                return SolveStatus.TIME_LIMIT, "time limit"
            if _settled(loaded, search, node, result):
                return SolveStatus.TARGET, "a point beyond the target"
        if search.trouble:
            return SolveStatus.FAILED, search.trouble
        if search.bound > search.targets.holds_above:
            return SolveStatus.TARGET, "proven up to the target"
        return SolveStatus.OPTIMAL, "optimal"

    def close(self) -> None:
        self._lp.close()


def _tightened(
    safe: SafeBound,
    node: CaseNode,
    result: LpResult,
    cost: FloatArray,
    ends: tuple[FloatArray, FloatArray],
) -> CaseNode:
    """Return ``node`` with the bound that the multipliers of ``result`` prove on its ``ends``."""
    y = result.multipliers
    if y is None:
        return node
    if result.status is SolveStatus.INFEASIBLE:
        nothing = np.zeros_like(cost)
        for ray in (y, -y):
            if safe.lower(nothing, ray, ends=ends) > 0:
                return replace(node, bound=np.inf, multipliers=ray)
        return node
    bound = safe.lower(cost, y, ends=ends)
    return replace(node, bound=bound, multipliers=y) if bound > node.bound else node


def _settled(loaded: _Loaded, search: Minimisation, node: CaseNode, result: LpResult) -> bool:
    """Close or split a solved node; return whether its point ends the search."""
    targets, point = search.targets, result.point
    phases = np.full(loaded.phases.size, 0.5)
    whole = False
    if point is not None:
        phases = point[loaded.phases]
        value = float(search.cost @ point)
        hit = targets.probe is not None and targets.probe(point)
        whole = bool(np.max(np.minimum(phases, 1.0 - phases), initial=0.0) <= _DECIDED)
        if hit or (whole and value < search.best):
            search.best, search.point = value, point
            search.first_at = time.monotonic() if search.first_at is None else search.first_at
        if hit or (whole and value < targets.violated_below):
            search.close(node)
            return True
    lower, upper = loaded.ends(node)
    unfixed = lower[loaded.phases] < upper[loaded.phases]
    settled = node.bound > search.cutoff
    if settled or whole or not unfixed.any():
        search.close(node)
        if point is None and not settled:
            search.trouble = f"a linear program ended with: {result.detail}"
        return False
    open_ = np.minimum(phases, 1.0 - phases)
    gain = (
        open_
        if result.multipliers is None
        else open_ * (loaded.big_ms @ np.abs(result.multipliers))
    )
    # where the duals tell nothing apart, the most undecided one
    split = int(np.lexsort((open_, gain, unfixed))[-1])
    search.split(node, int(loaded.phases[split]), int(phases[split] >= 0.5))
    return False


SOLVER = OwnSolver(PhaseSession)
