"""FICO Xpress through its own package, by matrix calls, in a process of its own.

The community licence that comes with the package is limited in size, and its package warns of it.
Early stops are its notifications of bounds and points; an amount by which it would cut off what
improves a point too little is zero, since its bound would be wrong by it.
"""

import warnings
from typing import Any

import numpy as np

from milp_verix.solvers.own_solver import OwnSession, OwnSolver, proven
from milp_verix.solvers.session import NODE_LIMIT, SolveResult, SolveStatus, Targets, spend_solve
from milp_verix.solvers.solver_facts import SolverFacts, floored, settable, words
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import UNITS_PER_SECOND, spend

_INFINITY = 1e20
_USUAL_PRIORITY = 500
_OF_CUTS = 1e-6  # what a bound by cuts around a ball may be wrong by, relatively: 5e-7 was seen


FACTS = SolverFacts(
    "xpress",
    "proprietary",
    free="5000 rows and columns",
    # its documents advise no less
    tolerances=floored(1e-9, "FEASTOL OPTIMALITYTOL", "MIPTOL"),
    ours={
        "PRESOLVE": (0, 1),
        "CUTSTRATEGY": (0, -1),
        "HEUREMPHASIS": (0, -1),
        "MIPRELSTOP": (0.0, 1e-4),
        "MIPABSSTOP": (0.0, 0.0),
        "MATRIXTOL": (1e-12, 1e-9),
    },
    always={
        # nodes that improve a point by less would be cut off, and its bound would not know them
        "MIPADDCUTOFF": (0.0, -1e-5),
        "MIPRELCUTOFF": (0.0, 1e-4),
        # by linear cuts: its bounds are those of linear programs
        "MIQCPALG": (1, -1),
        "QCROOTALG": (1, -1),
        # at its default bounds over balls were up to 1e-6 of themselves higher
        "BARGAPSTOP": (1e-12, 0.0),
    },
    balls={"PRESOLVE": 1},  # else its points may miss the ball by 1e-3
    words=words(
        "threads THREADS, seed RANDOMSEED, gap MIPRELSTOP, presolve PRESOLVE, cuts CUTSTRATEGY, "
        "heuristics HEUREMPHASIS"
    ),
    options=settable(
        "THREADS 1 to 1024, RANDOMSEED 0 to 2147483647, PRESOLVE 0 to 1, MIPPRESOLVE -1 to 65535, "
        "CUTSTRATEGY -1 to 3, HEUREMPHASIS -1 to 3, NODESELECTION 1 to 5, VARSELECTION -1 to 9, "
        "SYMMETRY 0 to 2, MAXNODE 0 to 2147483647, MIPRELSTOP 0.0 to 1.0"
    ),
    dropped=1e-12,
)


class XpressSession(OwnSession):
    """One problem, kept between solves."""

    facts, package = FACTS, "xpress"

    def _open(self) -> None:
        xpress = self._package
        self._errors = xpress.SolverError, xpress.ModelError, xpress.InterfaceError
        self.version = xpress.__version__
        self._seen: dict[str, float] = {}
        self._first = np.zeros(0, dtype=np.int64)
        self._model = self._new()

    def _new(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # which licence it uses
            problem = self._package.problem()
        problem.setOutputEnabled(False)
        for option, value in self.parameters.items():
            problem.setControl(option, value)
        if self._given.log:
            problem.setLogFile(self._given.log)
        self._watch(problem)
        return problem

    def _build(self, kept: Program) -> None:
        self._first = np.zeros(0, dtype=np.int64)
        self._model = problem = self._new()
        self._add_rest(kept, 0, 0)
        # without integers it would use its barrier method, whose objective is no bound
        if kept.quadratic_rows and not kept.integer.any():
            problem.addCols([0.0], None, None, None, [0.0], [1.0])
            problem.chgColType([kept.columns], ["B"])
        for option, value in self._of_balls(kept).items():
            problem.setControl(option, value)
        for row in kept.quadratic_rows:
            at = problem.attributes.rows
            problem.addRows(["L"], [row.radius**2])
            problem.addQMatrix(at, row.columns, row.columns, np.ones(row.columns.size))
        for rule in kept.indicators:
            at = problem.attributes.rows
            sizes = [0, rule.columns.size]
            problem.addRows(["L"], [rule.upper], None, sizes, rule.columns, rule.coefficients)
            problem.setIndicators([at], [rule.binary], [1 if rule.value else -1])
        for one in kept.maxima:
            kind, none = self._package.GenConsType.MAX, one.constant is None
            values = ([0], []) if none else ([0], [one.constant])
            problem.addGenCons([kind], [one.result], [0], one.columns, *values)
        for chosen in kept.sos1:
            size = chosen.columns.size
            problem.addSets(["1"], [0, size], chosen.columns, np.arange(1.0, size + 1))

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        problem = self._model
        new = np.flatnonzero(program.integer[columns:]) + columns
        if program.columns > columns:
            ends = program.column_lower[columns:], program.column_upper[columns:]
            problem.addCols(None, None, None, None, *map(_clipped, ends))
        if new.size:
            problem.chgColType(new, ["B"] * new.size)  # which forgets their bounds
            self._change(new, program.column_lower[new], program.column_upper[new])
        if program.rows > rows:
            low, high = program.row_lower[rows:], program.row_upper[rows:]
            kinds = np.where(np.isfinite(low), np.where(np.isfinite(high), "R", "G"), "L")
            kinds = np.where(low == high, "E", np.where(np.isinf(low) & np.isinf(high), "N", kinds))
            side = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0))
            matrix = program.matrix[rows:, :]
            entries = matrix.indptr, matrix.indices, matrix.data
            # its lower side is high − width, rounded: no higher than low
            width = np.where(kinds == "R", np.nextafter(high - low, np.inf), 0.0)
            problem.addRows(kinds.tolist(), side, width, *entries)

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        kinds = np.repeat(["L", "U"], columns.size).tolist()
        ends = _clipped(np.concatenate([lower, upper]))
        self._model.chgBounds(np.tile(columns, 2), kinds, ends)

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        problem, controls = self._model, self._model.controls
        problem.chgObj(np.arange(cost.size), cost)
        first = self._first[:0] if targets.first is None else targets.first
        for columns, priority in ((self._first, _USUAL_PRIORITY), (first, 1)):
            if columns.size:
                problem.loadDirs(columns, [priority] * columns.size)
        self._first = first
        if targets.start is not None:
            problem.addMipSol(targets.start, np.arange(cost.size))
        controls.timelimit = min(max(targets.seconds, 0.0), _INFINITY)
        controls.worklimit = min(targets.work / UNITS_PER_SECOND, _INFINITY)
        controls.mipabsgapnotifyobj = max(targets.violated_below, -_INFINITY)
        controls.mipabsgapnotifybound = min(targets.holds_above, _INFINITY)
        self._seen.clear()
        problem.optimize()
        result = self._result(cost)
        if problem.attributes.stopstatus == self._package.StopType.WORKLIMIT:
            self._deadline.use_up()
        spend_solve(program, 0)
        spend(int(problem.attributes.work * UNITS_PER_SECOND))
        problem.postSolve()
        return result

    def _watch(self, problem: Any) -> None:
        """Note the time of the first point, the bound of the root, and stop at a target."""
        seen = self._seen

        def stop(running: Any, _data: object) -> tuple[float, float, float, float]:
            running.interrupt(self._package.StopType.USER)
            return -1.0, -1.0, -_INFINITY, _INFINITY

        def point(running: Any, _data: object) -> None:
            seen.setdefault("first", float(running.attributes.time))

        def node(running: Any, _data: object) -> None:
            if running.attributes.nodes <= 1:
                seen["root"] = float(running.attributes.bestbound)

        problem.addGapNotifyCallback(stop)
        problem.addIntsolCallback(point)
        problem.addPrenodeCallback(node)

    def _result(self, cost: FloatArray) -> SolveResult:
        facts, problem, kinds = self._model.attributes, self._model, self._package
        ended, found, why = facts.solvestatus, facts.solstatus, facts.stopstatus
        status = SolveStatus.FAILED
        if ended == kinds.SolveStatus.COMPLETED:
            status = {
                kinds.SolStatus.OPTIMAL: SolveStatus.OPTIMAL,
                kinds.SolStatus.INFEASIBLE: SolveStatus.INFEASIBLE,
            }.get(found, status)
        elif ended == kinds.SolveStatus.STOPPED:
            status = {
                kinds.StopType.USER: SolveStatus.TARGET,
                kinds.StopType.TIMELIMIT: SolveStatus.TIME_LIMIT,
                kinds.StopType.WORKLIMIT: SolveStatus.TIME_LIMIT,
                kinds.StopType.NODELIMIT: SolveStatus.TIME_LIMIT,
                kinds.StopType.MIPGAP: SolveStatus.OPTIMAL,  # by a user's own gap
            }.get(why, status)
        bound, point = -np.inf, None
        whole = facts.optimizetypeused == kinds.OptimizeType.MIP
        if status.sound:
            if found in (kinds.SolStatus.OPTIMAL, kinds.SolStatus.FEASIBLE):
                point = np.array(problem.getSolution(), dtype=np.float64)[: cost.size]
            if whole or status is SolveStatus.OPTIMAL:
                slack = _OF_CUTS if facts.originalqconstraints else 0.0
                ends = float(facts.bestbound if whole else facts.lpobjval)
                bound = proven(ends, _INFINITY, cost, point, slack)
        nodes, root = int(facts.nodes), self._seen.get("root", -np.inf)
        if whole and nodes <= 1 and bound > -np.inf:
            root = bound
        words = f"{ended.name}, {found.name}, {why}"
        detail = NODE_LIMIT if why == kinds.StopType.NODELIMIT else words
        result = SolveResult(status, bound, point, nodes, int(facts.simplexiter), detail)
        known = root if abs(root) < _INFINITY else None
        return result.timed(known, self._seen.get("first"), float(facts.time))

    def _beyond_licence(self, error: Exception) -> bool:
        return "Problem has too many" in str(error)


def _clipped(ends: FloatArray) -> FloatArray:
    return np.clip(ends, -_INFINITY, _INFINITY)


# it holds Python's lock, and brings libraries of its own
SOLVER = OwnSolver(XpressSession, apart=True)
