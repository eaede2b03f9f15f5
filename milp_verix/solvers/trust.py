"""Solvers behind PuLP and Pyomo, whose word "infeasible" is their proof.

No dual bound of theirs reaches us, and a solution that they call optimal is only a point here. The
proof that no point costs less than ``t`` is a row ``c·v ≤ t``: with it, the solver must say that
the program is infeasible. So a claim costs one solve if a target is given, and an optimum two.

PuLP and Pyomo translate what a solver said, and some of their classes say "infeasible" of a missing
file, a time limit or a message about a licence. So each name is listed with what its class maps, as
read in the sources of PuLP 3.3 and Pyomo 6.10; a solver that is not listed finds counterexamples
alone. A solver answers a question with a known answer before its word counts: the program
``min x₁ + x₂`` over ``x₁ + x₂ ≥ 1.5`` in binaries has the optimum 2, its relaxation 1.5.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from milp_verix.base.arguments import LONGEST_CHECK
from milp_verix.base.errors import SolverError, SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.own_solver import OwnSession
from milp_verix.solvers.remote_session import RemoteSession
from milp_verix.solvers.session import Session, SolveResult, SolveStatus, Targets, spend_solve
from milp_verix.solvers.solver_facts import UNKNOWN, SolverFacts, Values, notes_on, read_options
from verix_encodings import Program, ProgramBuilder
from verix_encodings.arrays import FloatArray

TRUSTED: dict[str, dict[str, str]] = {
    "pulp": {
        "PULP_CBC_CMD": "as COIN_CMD",
        "COIN_CMD": 'raises without a file or on an exit code; first word of the file "Infeasible" '
        'or "Integer": LpStatusInfeasible',
        "GLPK_CMD": 'raises without a file or on an exit code; "INFEASIBLE (FINAL)" or "INTEGER '
        'EMPTY" in one file, status "n" in the other',
        "GUROBI": "GRB.INFEASIBLE, INF_OR_UNBD: LpStatusInfeasible; limits: LpStatusNotSolved",
        "HiGHS": "kInfeasible, kUnboundedOrInfeasible: LpStatusInfeasible; limits: NotSolved",
        "HiGHS_CMD": 'raises without a log; the status in it is "Infeasible", else NotSolved',
        "SCIP_CMD": 'raises without a file or on an exit code; "solution status: infeasible"',
        "SCIP_PY": '"infeasible": LpStatusInfeasible; "inforunbd" and limits: LpStatusNotSolved',
    },
    "pyomo": {
        "appsi_cbc": 'raises on an exit code or without a file; "infeasible" in its first line',
        "appsi_gurobi": "GRB.INFEASIBLE: infeasible; INF_OR_UNBD: infeasibleOrUnbounded",
        "appsi_highs": "kInfeasible: infeasible; kUnboundedOrInfeasible: infeasibleOrUnbounded",
        "gurobi_direct": "GRB.INFEASIBLE: infeasible; INF_OR_UNBD: infeasibleOrUnbounded",
        "gurobi_direct_v2": "GRB.INFEASIBLE: provenInfeasible; INF_OR_UNBD: infeasibleOrUnbounded",
        "gurobi_persistent": "as gurobi_direct",
        "gurobi_persistent_v2": "as gurobi_direct_v2",
        "highs": "kInfeasible: provenInfeasible; kUnboundedOrInfeasible: infeasibleOrUnbounded",
        "scip_direct": '"infeasible": provenInfeasible; "inforunbd": infeasibleOrUnbounded',
        "scip_persistent": "as scip_direct",
    },
}
"""The statuses that the class of each trusted solver maps to "infeasible".

"Infeasible or unbounded" is "infeasible" here, since the bounds of columns bound the cost.
"""

DISTRUSTED: dict[str, dict[str, str]] = {
    "pulp": {
        "CPLEX_CMD": "a run that wrote no solution is infeasible to PuLP, whatever stopped it",
        "CPLEX_PY": "MIP_time_limit_infeasible is infeasible to PuLP",
        "COINMP_DLL": "statuses 1 and 2 are both infeasible to PuLP",
        "CyLP": "an unbounded relaxation is infeasible to PuLP",
        "FSCIP_CMD": "PuLP reads no infeasible from it",
        "GUROBI_CMD": "PuLP reads no infeasible from it",
        "PYGLPK": "GLP_INFEAS, the status of a point, is infeasible to PuLP",
        "YAPOSIB": "abandoned and limitreached are infeasible to PuLP",
    },
    "pyomo": {
        "cplex": "Pyomo searches its log for infeasible",
        "cbc": "Pyomo takes a line of its log for infeasible that CBC prints at a time limit, too",
        "glpk": "GLP_INFEAS, the status of a point, is infeasible to Pyomo",
        "ipopt": "it proves nothing about integers",
        "scip": 'Pyomo searches its message for "infeasible"',
    },
}
"""Reasons not to trust "infeasible" from some of the other solvers."""


def facts_of(native: str) -> SolverFacts:
    """Return the facts of the solver that PuLP or Pyomo calls ``native``."""
    lowered = native.lower().replace("coin", "cbc")
    if lowered.endswith("_cmd") and "cbc" not in lowered:
        # PuLP's classes for programs get none of our tolerances, except those for CBC
        return UNKNOWN
    for name in ("highs", "gurobi", "scip", "cbc"):
        if name in lowered:
            facts: SolverFacts = import_module(f"milp_verix.solvers.backends.{name}").FACTS
            return facts
    return UNKNOWN


def distrust(family: str, native: str) -> str | None:
    """Return why "infeasible" of the solver ``native`` behind ``family`` is no proof, or None."""
    if native in TRUSTED[family]:
        return None
    why = DISTRUSTED[family].get(native, "nobody has read what is infeasible there")
    return f"{native} behind {family} proves nothing ({why}): its counterexamples alone count"


_SECONDS = 30.0
_COST = np.ones(2)
_OPTIMUM = 2.0
_NEAR = 1e-3


def ask_control(session: Session) -> None:
    """Raise ``SolverUnavailableError`` unless ``session`` solves a tiny program; forget it then."""
    # a cutoff above the optimum: "infeasible" would be wrong
    for targets in (Targets(seconds=_SECONDS), Targets(seconds=_SECONDS, holds_above=2.5)):
        try:
            session.load(_program())
            result = session.minimise(_COST, targets)
        except Exception as error:  # noqa: BLE001, RUF100 - whatever the solver's package raises
            raise _refused(session, f"{type(error).__name__}: {error}") from error
        right = result.point is not None and np.abs(result.point - 1.0).max() < _NEAR
        if not (right and _OPTIMUM - _NEAR < result.bound <= _OPTIMUM):
            detail = result.detail or result.status.value
            if result.status in (SolveStatus.OPTIMAL, SolveStatus.TARGET):
                detail += f", bound {result.bound:g}, point {result.point}"
            raise _refused(session, detail)
    session.close()


def _refused(session: Session, text: str) -> SolverUnavailableError:
    return SolverUnavailableError(
        f"{session.name} fails a program of two binaries whose optimum is 2 ({text}): look at its "
        "options, installation and licence, or use another solver, such as highs"
    )


@cache
def _program() -> Program:
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(2), 0.0, 1.0, integer=True)
    builder.add_rows("sum", np.arange(1), [(np.ones((1, 2)), x)], 1.5, np.inf)
    return builder.build()


_GAP = 5e-6
_WHOLE_GAP = 0.9
_MOST_ROUNDS = 8
_VIOLATION = 1e-6


Solve = Callable[[float, float], SolveResult]
"""Minimise with the row ``c·v ≤ cap`` (none where ``cap`` is infinite) within some seconds.

What is optimal is a point here; the bound of the result counts for nothing.
"""


def minimise_by_cutoff(
    program: Program, cost: FloatArray, targets: Targets, facts: SolverFacts, solve: Solve
) -> SolveResult:
    """Minimise ``cost·v`` over ``program`` by ``solve``, with a bound proven by cutoffs.

    ``program`` is the program that the solver has, without entries that it would drop.

    Raises ``SolverError`` if the solver's answer would prove nothing: for a cost that is not
    bounded by the bounds of the columns ("infeasible" may stand for "unbounded" then), and for
    coefficients larger than the solver is trusted with.
    """
    if not program.columns:
        return SolveResult(SolveStatus.OPTIMAL, 0.0, np.zeros(0), detail="no columns")
    refuse_large(program, cost, facts)
    floor = _floor(program, cost)
    # the most that entries of the cutoff can contribute which the solver may drop
    tiny = np.flatnonzero((cost != 0) & (np.abs(cost) <= facts.dropped))
    low, high = np.abs(program.column_lower[tiny]), np.abs(program.column_upper[tiny])
    lost = float(np.abs(cost[tiny]) @ np.maximum(low, high))
    # they know no limit of work
    most = LONGEST_CHECK if targets.work < np.inf else np.inf
    deadline = time.monotonic() + min(targets.seconds, most)
    cap = proves = np.inf
    if np.isfinite(above := targets.holds_above):
        # a little more is asked for, so that what is proven is all that is needed
        cap, proves = above + _slack(facts, above, lost), above
    best: FloatArray | None = None
    value = np.inf
    for _ in range(_MOST_ROUNDS):
        seconds = deadline - time.monotonic()
        late = SolveResult(SolveStatus.TIME_LIMIT, detail="time limit")
        attempt = solve(cap, seconds) if seconds > 0 else late
        spend_solve(program, program.rows)  # these solvers do not tell their iterations
        point = attempt.point if _is_point(program, attempt.point) else None
        if point is not None and cost @ point < value:
            best, value = point, float(cost @ point)
        if attempt.status is not SolveStatus.OPTIMAL:
            return _ended(attempt, cap, proves, best)
        if point is None:
            detail = f"a point that does not fit the program ({attempt.detail})"
            return SolveResult(SolveStatus.FAILED, point=best, detail=detail)
        if value < targets.violated_below:
            return SolveResult(SolveStatus.TARGET, point=best, detail=attempt.detail)
        gap = _WHOLE_GAP if targets.whole else _GAP * max(1.0, abs(value))
        cap, proves = value - gap, value - gap - _slack(facts, value, lost)
        if cap < floor:
            return SolveResult(SolveStatus.OPTIMAL, floor, best, detail=attempt.detail)
    return SolveResult(SolveStatus.FAILED, point=best, detail="ever better points, and no end")


def refuse_large(program: Program, cost: FloatArray, facts: SolverFacts) -> None:
    """Raise ``SolverError`` for coefficients larger than the solver is trusted with."""
    largest = max(float(np.max(np.abs(n), initial=0.0)) for n in (program.matrix.data, cost))
    if largest > facts.largest_coefficient:
        raise SolverError(f"{facts.name} is not trusted with a coefficient of {largest:.3g}")


def _floor(program: Program, cost: FloatArray) -> float:
    """Return the bound that the columns' bounds prove."""
    used = np.flatnonzero(cost)
    ends = np.stack([program.column_lower[used], program.column_upper[used]]) * cost[used]
    floor = float(np.sum(np.min(ends, axis=0)))
    if not np.isfinite(floor):
        raise SolverError("the cost is not bounded by the bounds of the columns")
    return floor - 1e-12 * float(np.sum(np.abs(ends)))


def _slack(facts: SolverFacts, value: float, lost: float) -> float:
    return facts.slack * max(1.0, abs(value)) + lost


def _ended(attempt: SolveResult, cap: float, proves: float, best: FloatArray | None) -> SolveResult:
    """Return the result of a search whose last solve brought no better point."""
    status, bound = attempt.status, -np.inf
    if status is SolveStatus.INFEASIBLE and best is not None:
        status, bound = SolveStatus.OPTIMAL, proves
    elif status is SolveStatus.INFEASIBLE and np.isfinite(cap):
        status, bound = SolveStatus.TARGET, proves
    return SolveResult(status, bound, best, detail=attempt.detail)


def _is_point(program: Program, point: FloatArray | None) -> bool:
    """Return whether ``point`` satisfies ``program`` up to the digits that solvers print."""
    if point is None or point.shape != (program.columns,):
        return False
    return misses(program, point) <= _VIOLATION


def misses(program: Program, point: FloatArray) -> float:
    """Return by how much ``point`` misses rows, bounds and whole numbers, of its largest number.

    Of 1 if that is larger; ∞ if a number is not finite. ``point`` has shape (columns,).
    """
    if not np.isfinite(point).all():
        return np.inf
    rows, whole = program.matrix @ point, point[program.integer]
    gaps = (
        program.row_lower - rows,
        rows - program.row_upper,
        program.column_lower - point,
        point - program.column_upper,
        np.abs(whole - np.round(whole)),
    )
    worst = max(float(np.max(gap, initial=0.0)) for gap in gaps)
    return worst / float(np.max(np.abs(point), initial=1.0))


@dataclass(frozen=True, slots=True)
class FamilySolver:
    """The solver that a package of many calls ``native``, with the user's own ``options``.

    ``package`` is the name and the licence of the package, ``session`` the class of its sessions;
    ``allowed`` has the options that a string may set for each name that it has for a solver.
    """

    name: str
    native: str
    options: dict[str, Any] = field(default_factory=dict)
    package: ClassVar[str]
    session: ClassVar[Any]
    allowed: ClassVar[dict[str, dict[str, Values]]]

    @property
    def facts(self) -> SolverFacts:
        """The facts of the solver itself."""
        return facts_of(self.native)

    @property
    def licence(self) -> str:
        return f"{self.package}, {self.facts.licence}"

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"partition"} if self.facts.partition else ())

    def named(self, name: str, pairs: list[tuple[str, str]]) -> "FamilySolver":
        """Return the solver that ``name`` says; ``InputError`` for a wrong option in it."""
        family, _, native = name.partition("?")[0].partition(":")
        native, kind = native or self.native, type(self).__name__
        call = f"{kind}({f'{family}:{native}'!r}, {native!r}, {{OPTION: VALUE}})"
        allowed = self.allowed.get(native, {})
        options = read_options(name, facts_of(native), allowed, pairs, call)
        return replace(self, name=name, native=native, options=options)

    def unavailable(self) -> str | None:
        raise NotImplementedError

    def open(self, *, threads: int, tolerances: Tolerances) -> RemoteSession:
        if reason := self.unavailable():
            raise SolverUnavailableError(reason)
        return RemoteSession(partial(self.session, self, threads, tolerances))


class FamilySession(OwnSession):
    """A session of a solver behind the package ``family``, which proves by cutoff."""

    def __init__(self, family: str, solver: FamilySolver, version: str, dropped: float = 0.0):
        facts = solver.facts
        self._facts = replace(facts, dropped=max(facts.dropped, dropped))
        self._solver, self.name, self.version = solver, solver.name, version
        self.capabilities, self.dropped = solver.capabilities, self._facts.dropped
        self.largest_big_m = facts.largest_big_m
        self._distrust = distrust(family, solver.native)
        self.notes = notes_on(solver.name, solver.options, self._distrust)
        self._kept: Program | None = None
        self._variables: list[Any] = []
        if self._distrust is None:
            ask_control(self)

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        self._before("minimising")
        assert self._kept is not None
        return minimise_by_cutoff(self._kept, cost, targets, self._facts, self._solve_of(cost))

    def _solve_of(self, cost: FloatArray) -> Solve:
        """Return what minimises ``cost`` with a cutoff."""
        raise NotImplementedError

    def _said(self, status: SolveStatus, point: FloatArray | None, detail: str) -> SolveResult:
        """Return what a solver said, whose word "infeasible" may be worth nothing."""
        if status is SolveStatus.INFEASIBLE and self._distrust is not None:
            status, detail = SolveStatus.FAILED, f"{detail}; {self._distrust}"
        return SolveResult(status, point=point, detail=detail)

    def _filled(self, values: Sequence[float | None]) -> FloatArray:
        """Return ``values`` as a point; a column in no row or cost has None, and gets any value."""
        assert self._kept is not None
        anything = np.maximum(self._kept.column_lower, np.minimum(self._kept.column_upper, 0.0))
        pairs = zip(values, anything.tolist(), strict=True)
        return np.array([other if value is None else value for value, other in pairs], np.float64)

    def close(self) -> None:
        self._program, self._kept, self._variables = None, None, []
