"""A CBC binary, on an MPS file of ours: the one that PuLP brings, or one on the path.

CBC reports an optimum but no dual bound, prints eight digits, and prunes nodes that could improve
the incumbent by no more than its ``increment``. Proofs are made in two ways. With a cutoff,
"infeasible" says that no point costs less than it, up to the tolerances (``_CUTOFF_SLACK``).
Without one, the claimed bound stays below the optimum by more than rounding and pruning can hide
(``_BOUND_SLACK``, ``_PRINTED``). Its integrality leaks at smaller big-Ms than that of other
solvers, hence the low ``largest_big_m``. On the degenerate rows of the partition formulation it
prunes optima, even with tight bounds (one of a hundred was wrong), so it takes no partitions.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from milp_verix.base.errors import SolverError, SolverUnavailableError, refusing
from milp_verix.solvers import session
from milp_verix.solvers.own_solver import OwnSession, OwnSolver
from milp_verix.solvers.session import SolveResult, SolveStatus, Targets
from milp_verix.solvers.solver_facts import SolverFacts, settable, words
from milp_verix.solvers.trust import ask_control, refuse_large
from verix_encodings import Program, write_mps
from verix_encodings.arrays import FloatArray, IntArray

_CUTOFF_SLACK = 1e-7
_BOUND_SLACK = 1e-5
_PRINTED = 1e-7
_GRACE_SECONDS = 5.0
# it has no limit of iterations, only of nodes
_ITERATIONS_OF_A_NODE = 20
_MOST_NODES = 2_000_000_000

_STATUS = {
    "Optimal": SolveStatus.OPTIMAL,
    "Stopped": SolveStatus.TIME_LIMIT,
    "Infeasible": SolveStatus.INFEASIBLE,
    "Integer": SolveStatus.INFEASIBLE,
}


def binary() -> str | None:
    """Return the path of a CBC binary: PuLP's own, else one on the PATH, else None."""
    try:
        import pulp
    except ImportError:
        return shutil.which("cbc")
    # PULP_CBC_CMD leaves in PuLP 4, as it says each time; what follows it finds CBC on the path
    bundled = getattr(pulp, "PULP_CBC_CMD", None)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        if bundled is not None and bundled().available():
            return str(bundled().path)
    return shutil.which("cbc")


def version_of(path: str) -> str:
    """Return the version that the binary ``path`` tells, or ``"unknown"``."""
    done = subprocess.run([path, "-quit"], capture_output=True, text=True, timeout=30, check=False)
    found = re.search(r"Version: (\S+)", done.stdout)
    return found.group(1) if found else "unknown"


OPTIONS = settable("threads 1 to 1024, strong 0 to 2147483647, maxNodes 0 to 2147483647")
FACTS = SolverFacts(
    "cbc",
    "EPL-2.0",
    tolerances=lambda tolerances: {
        "primalT": f"{tolerances.feasibility:g}",
        "dualT": f"{tolerances.feasibility:g}",
        "integerT": f"{tolerances.integrality:g}",
    },
    ours={
        "ratio": (0, 0),
        "allow": (0, 1e-10),
        "increment": (1e-9, 1e-5),
        **dict.fromkeys(("presolve", "preprocess", "cuts", "heur"), ("off", "on")),
    },
    words=words(
        "threads threads, seed randomCbcSeed, presolve presolve preprocess, cuts cuts, "
        "heuristics heur"
    ),
    options=OPTIONS
    | settable(
        "randomSeed 0 to 2147483647, randomCbcSeed 0 to 2147483647, presolve off or on, "
        "preprocess off or on, cuts off or on, heur off or on"
    ),
    least_threads=2,  # told of one, it runs its parallel search
    largest_big_m=50.0,
    largest_coefficient=1e9,
    partition=False,
    dropped=1e-13,
    proofs='"infeasible" under a cutoff, or its optimum less the rounding of its eight digits',
)


class CbcSession(OwnSession):
    """A program in memory; each solve is a process, with files in a temporary folder."""

    facts, package = FACTS, "subprocess"  # it is no package
    capabilities = frozenset({"sos1", "start", "early_stop", "work_limit"})

    @classmethod
    def lacking(cls) -> str | None:
        none = "no CBC binary found: pip install 'pulp<4', or put cbc on the PATH"
        return None if binary() else none

    def _open(self) -> None:
        self._path = str(binary())
        try:
            self.version = version_of(self._path)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SolverUnavailableError(f"the CBC binary does not run: {error}") from error
        # the user's limit is not for the question with a known answer
        longest, self.longest = self.longest, np.inf
        ask_control(self)
        self.longest = longest

    def load(self, program: Program) -> None:
        session.refuse_beyond(self, program)
        self._program = program

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self._program = self._before("its bounds").with_bounds(columns, lower, upper)

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        refuse_large(program, cost, FACTS)
        with tempfile.TemporaryDirectory(prefix="milp-verix-") as folder:
            return self._solve_in(Path(folder), program, cost, targets)

    def _solve_in(
        self, folder: Path, program: Program, cost: FloatArray, targets: Targets
    ) -> SolveResult:
        model, solution = folder / "check.mps", folder / "check.sol"
        write_mps(program.without_tiny(FACTS.dropped), cost, model)
        command = self._command(model, solution, program, targets)
        if targets.start is not None and program.binaries:
            # as one of its solutions, behind a line without meaning
            values = enumerate(zip(program.column_names, targets.start, strict=True))
            lines = [f"{j} {name} {value:.17g} 0\n" for j, (name, value) in values]
            text = "".join(["Optimal - objective value 0\n", *lines])
            (folder / "check.start").write_text(text, encoding="ascii")
            command[2:2] = ["-mipstart", str(folder / "check.start")]
        log = self._run(command, targets.seconds)
        if log is None:
            return SolveResult(SolveStatus.TIME_LIMIT, detail="killed at the time limit")
        if self._given.log is not None:
            with Path(self._given.log).open("a", encoding="utf-8") as file:
                file.write(log)
        if not solution.exists():
            last = log.strip().splitlines()[-1:] or ["no output"]
            raise SolverError(f"CBC wrote no solution: {last[0]}")
        result = self._read(solution, log, cost, targets)
        spent = re.search(r"Total time \(CPU seconds\):.*\(Wallclock seconds\):\s+([\d.]+)", log)
        result = replace(result, seconds=float(spent.group(1)) if spent else None)
        session.spend_solve(program, result.iterations or 0)
        if result.status is SolveStatus.TIME_LIMIT and targets.work < np.inf:
            self._deadline.use_up()
        return result

    def _command(
        self, model: Path, solution: Path, program: Program, targets: Targets
    ) -> list[str]:
        command = [self._path, str(model), "-timeMode", "elapsed"]
        if np.isfinite(targets.seconds):
            command += ["-sec", f"{max(targets.seconds, 0.001):.3f}"]
        if np.isfinite(targets.work):
            each = _ITERATIONS_OF_A_NODE * session.units_of_iteration(program)
            command += ["-maxNodes", str(int(min(targets.work / each, _MOST_NODES)) + 1)]
        if np.isfinite(targets.holds_above):
            command += ["-cutoff", f"{targets.holds_above:.17g}"]
        for option, value in self.parameters.items():
            command += [f"-{option}", str(value)]
        return [*command, "-printing", "all", "-solve", "-solu", str(solution)]

    def _run(self, command: list[str], seconds: float) -> str | None:
        """Run CBC; return its log, or None where it had to be killed at its time limit."""
        deadline = time.monotonic() + seconds + _GRACE_SECONDS
        process: subprocess.Popen[str] | None = None
        log = None
        try:
            # Ctrl-C between its start and its name would leave it running
            with session.deferred_interrupt():
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    # Ctrl-C in the terminal reaches us alone, and we end the process
                    start_new_session=True,
                )
            while log is None:
                left = deadline - time.monotonic()
                with suppress(subprocess.TimeoutExpired):
                    log, _ = process.communicate(timeout=max(min(left, session.LONGEST_WAIT), 0.0))
                if log is None and left <= 0:
                    return None
        finally:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode != 0:
            raise SolverError(f"CBC ended with exit code {process.returncode}")
        return log

    def _read(self, solution: Path, log: str, cost: FloatArray, targets: Targets) -> SolveResult:
        lines = solution.read_text().splitlines()
        detail = lines[0] if lines else "empty solution file"
        status = _STATUS.get(detail.split()[0] if detail.split() else "", SolveStatus.FAILED)
        # its words for the limit of nodes differ
        limits = ("time", "nodes", "iterations") if targets.work < np.inf else ("time",)
        if status is SolveStatus.TIME_LIMIT and not any(limit in detail for limit in limits):
            status = SolveStatus.FAILED
        nodes = _number(r"Enumerated nodes:\s+(\d+)", log)
        iterations = _number(r"Total iterations:\s+(\d+)", log)
        found = re.search(r"Integer solution of .*\(([\d.]+) seconds\)", log)
        first = float(found.group(1)) if found else None
        cutoff = targets.holds_above
        if status is SolveStatus.INFEASIBLE and np.isfinite(cutoff):
            bound = cutoff - _CUTOFF_SLACK - _PRINTED / 100 * abs(cutoff)
            return SolveResult(SolveStatus.TARGET, bound, None, nodes, iterations, detail)
        if status is not SolveStatus.OPTIMAL:
            return SolveResult(
                status, nodes=nodes, iterations=iterations, detail=detail, first_seconds=first
            )
        assert self._program is not None
        # it has no line for a row without ends
        ends = np.stack([self._program.row_lower, self._program.row_upper])
        top = 1 + int(np.isfinite(ends).any(axis=0).sum())
        with refusing("CBC's solution file is garbled", ValueError, IndexError, kind=SolverError):
            point = _point(lines[top : top + cost.size], cost.size)
            objective = float(detail.split("objective value")[1])
        if not np.isfinite(point).all():
            raise SolverError("CBC's solution file lacks columns")
        bound = objective - _BOUND_SLACK - _PRINTED * abs(objective)
        return SolveResult(status, bound, point, nodes, iterations, detail, first_seconds=first)


def _number(pattern: str, log: str) -> int:
    found = re.search(pattern, log)
    return int(found.group(1)) if found else 0


def _point(lines: list[str], size: int) -> FloatArray:
    point = np.full(size, np.nan)
    for line in lines:
        # lines that violate a tolerance are marked by two asterisks in front
        index, _column, value, *_ = line.replace("**", " ").split()
        point[int(index)] = float(value)
    return point


SOLVER = OwnSolver(CbcSession)
