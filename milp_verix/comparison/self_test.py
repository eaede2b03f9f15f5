"""Test of a solver as it is installed: two tiny problems whose answers are known on paper.

The program ``min −5a − 4b − 3c`` over ``2a + 3b + c ≤ 5``, ``4a + b + 2c ≤ 11``,
``3a + 4b + 2c ≤ 8`` in binaries has the optimum −9, at (1, 1, 0). The network with the scores
``(½, |x₁ − x₂|)`` keeps class 0 around (½, ½) as long as 2 ε < ½.
"""

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import scipy.sparse as sp

from milp_verix.base.clock import deadline_in
from milp_verix.base.errors import MilpVerixError, SolverUnavailableError
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer
from milp_verix.problem.problem import problem_of
from milp_verix.problem.search import Given, Search
from milp_verix.solvers import SolveStatus, Targets, open_session, resolve_solver, solver_named
from verix_encodings import Program, ProgramBuilder

_SECONDS = 60.0
_NETWORK = """
<ir_version: 8, opset_import: ["": 17]>
distance (float[1, 2] x) => (float[1, 2] y)
<float[2, 2] A = {1, -1, -1, 1}, float[2, 2] B = {0, 1, 0, 1}, float[2] b = {0.5, 0}>
{
    h = MatMul (x, A)
    r = Relu (h)
    y = Gemm (r, B, b)
}
"""
_RADII = {0.2: Answer.HOLDS, 0.3: Answer.VIOLATED}


@dataclass(frozen=True, slots=True)
class SolverReport:
    """A solver's version, capabilities and self-test on this machine.

    Attributes:
        name: Name of the solver.
        version: Its version; None if it cannot be used.
        licence: Its licence.
        features: Its capabilities.
        problem: Why it cannot be used, or what its test found; or None.
        seconds: Time of the test.
    """

    name: str
    version: str | None
    licence: str
    features: frozenset[str]
    problem: str | None
    seconds: float = 0.0

    @property
    def installed(self) -> bool:
        """True if the solver can be used at all."""
        return self.version is not None


def report_on(name: str) -> SolverReport:
    """Try the solver called ``name``; raises ``InputError`` for a name that is not known."""
    solver, version = solver_named(name), None
    started = time.monotonic()
    try:
        resolve_solver(name)
        with closing(open_session(name)) as session:
            version = session.version
        problem = self_test(name)
    except SolverUnavailableError as error:
        problem = str(error).removeprefix(f"solver {name!r}: ")
    except MilpVerixError as error:
        version, problem = version or "unknown", str(error)
    seconds = time.monotonic() - started
    return SolverReport(name, version, solver.licence, solver.capabilities, problem, seconds)


def self_test(name: str) -> str | None:
    """Return the first wrong answer of the solver ``name``, or None; raises as sessions do."""
    with closing(open_session(name)) as session:
        session.load(_program())
        for bounds, expected in (((0.0, 1.0), -9.0), ((0.0, 0.0), -8.0)):
            # without b the best is (1, 0, 1)
            session.set_bounds(np.array([1]), np.array([bounds[0]]), np.array([bounds[1]]))
            cost = np.array([-5.0, -4.0, -3.0])
            result = session.minimise(cost, Targets(seconds=_SECONDS))
            if result.status is not SolveStatus.OPTIMAL or result.point is None:
                return f"no optimum of a tiny program: {result.detail or result.status.value}"
            value = float(cost @ result.point)
            if not (abs(value - expected) < 1e-6 and abs(result.bound - expected) < 1e-3):
                return f"an optimum of {value:g}, bound {result.bound:g}, where it is {expected:g}"
            if result.bound > expected + 1e-9:
                return f"a bound of {result.bound:.12g} above the optimum {expected:g}"
    # leaves of trees decide no network: there is the session alone to test
    return None if name == "leaves" else _checks(name)


def _checks(name: str) -> str | None:
    with TemporaryDirectory(prefix="milp-verix-") as folder:
        path = Path(folder) / "distance.onnx"
        onnx.save(onnx.parser.parse_model(_NETWORK), path)
        for epsilon, expected in _RADII.items():
            problem = problem_of(path, np.full(2, 0.5), Given(epsilon=epsilon))
            # interval bounds decide neither, nor does a point known before
            search = Search(solver=name, bounds="interval", reuse=False)
            with Oracle(problem, search) as oracle:
                verdict = oracle.check(np.arange(2), deadline_in(_SECONDS))
            if verdict.answer is not expected:
                said = f"{verdict.answer.name} {verdict.reason or ''}".strip()
                return f"a check that is {expected.name} came out as {said}"
            if not verdict.effort.solves:
                return "a check was decided without the solver"
    return None


def _program() -> Program:
    builder = ProgramBuilder()
    columns = builder.add_columns("d", np.arange(3), 0.0, 1.0, integer=True)
    rows = sp.csr_array(np.array([[2.0, 3.0, 1.0], [4.0, 1.0, 2.0], [3.0, 4.0, 2.0]]))
    limits = [5.0, 11.0, 8.0]
    builder.add_rows("row", np.arange(3), [(rows, columns)], -np.inf, limits)
    return builder.build()
