"""A session on trial: the program that it must have by now, and what its answers must be."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from types import FrameType

import numpy as np

from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import Solver, SolveResult, SolveStatus, Targets, extend
from milp_verix.solvers.trust import misses
from verix_encodings import Program, ProgramBuilder
from verix_encodings.arrays import FloatArray, IntArray

_GRACE = 10.0
"""Seconds beyond its limit that a solve may take: a process has to be killed on a busy machine."""
_ABOVE, _BELOW = 1e-7, 3e-5
"""A bound may be so far above the optimum, and one given as optimal so far below, of 1 or its size.

The first is a tenth of the least margin that counts. CBC prints eight digits, hence the second.
"""
_POINT = 1e-6
"""A row, a column's bound, a whole number and a target may be missed by so much, of 1 or its size.

What a check makes of a target is half of the least margin that counts.
"""
_NO_TARGETS = Targets()


class Unmet(Exception):  # noqa: N818 - it is no error of ours
    """A session did not do what was ``expected`` of it; ``seen`` is what it did."""

    def __init__(self, expected: str, seen: str) -> None:
        self.expected, self.seen = expected, seen
        super().__init__(f"expected {expected}; seen: {seen}")


@contextmanager
def interrupted_after(seconds: float) -> Iterator[threading.Event]:
    """Press Ctrl-C after ``seconds`` of the block, and set the event; only in the main thread."""
    pressed, seen, inside = threading.Event(), threading.Event(), False
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def press() -> None:
        pressed.set()
        os.kill(os.getpid(), signal.SIGINT)

    def handle(number: int, frame: FrameType | None) -> None:
        seen.set()
        if inside or not pressed.is_set():
            signal.default_int_handler(number, frame)

    before, timer = signal.signal(signal.SIGINT, handle), threading.Timer(seconds, press)
    timer.daemon = True
    timer.start()
    try:
        inside = True
        yield pressed
    except KeyboardInterrupt:
        seen.set()
        raise
    finally:
        inside = False
        timer.cancel()
        timer.join()
        if pressed.is_set():
            # one that is on its way must find this handler
            seen.wait(1.0)
        signal.signal(signal.SIGINT, before)


def exactly(text: str | None) -> float | None:
    """Return the optimum that a case has as a fraction; None where there is no point."""
    return None if text is None else -np.inf if text == "-inf" else float(Fraction(text))


class Trial:
    """An open session of ``solver`` that is judged at each answer; it gets ``seconds`` for each.

    Each method raises :class:`Unmet` for what no session may do, and whatever the session raises.
    """

    def __init__(self, solver: Solver, seconds: float) -> None:
        self.solver, self.seconds = solver, seconds
        self.session = solver.open(threads=1, tolerances=Tolerances())
        self.program = ProgramBuilder().build()

    def load(self, program: Program) -> "Trial":
        """Replace the program; return the trial itself."""
        self.program = program
        self.session.load(program)
        return self

    def extend(self, program: Program) -> None:
        """Replace the program by its extension."""
        self.program = program
        extend(self.session, program)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change bounds of columns."""
        self.program = self.program.with_bounds(columns, lower, upper)
        self.session.set_bounds(columns, lower * 1.0, upper * 1.0)

    def ask(
        self,
        cost: FloatArray,
        best: float | None,
        targets: Targets = _NO_TARGETS,
        *,
        may_fail: bool = False,
        bound_alone: bool = False,
    ) -> SolveResult:
        """Minimise, and compare the answer with the optimum, None if the program has no point.

        It may be FAILED, which claims nothing, if ``may_fail``. Where the entries of a row may be
        dropped, its ``bound_alone`` counts.
        """
        limited = targets.seconds < self.seconds or targets.work < np.inf
        targets, given = targets.within(self.seconds), cost.copy()
        most, began = targets.seconds + _GRACE, time.monotonic()
        too_long = Unmet(f"an end within {targets.seconds:g} s", f"none within {most:g} s")
        try:
            with interrupted_after(most) as pressed:
                result = self.session.minimise(given, targets)
        except KeyboardInterrupt:
            if not pressed.is_set():
                raise
            raise too_long from None
        if time.monotonic() - began > most:
            raise too_long
        if not np.array_equal(cost, given):
            raise Unmet("the cost as it was", "it was written over")
        if bound_alone and best is not None:
            if not result.bound <= best + _ABOVE:
                raise Unmet(f"a bound of at most {best:.12g}", f"{result.bound:.12g}")
        elif not (may_fail and result.status is SolveStatus.FAILED and result.bound == -np.inf):
            _judge(self.program, cost, targets, result, best, limited=limited)
        return result


def _judge(
    program: Program,
    cost: FloatArray,
    targets: Targets,
    result: SolveResult,
    best: float | None,
    *,
    limited: bool,
) -> None:
    """Raise :class:`Unmet` if ``result`` cannot be, or is less than was to be had."""
    status, bound, point = result.status, float(result.bound), result.point
    seen = f"{status.name}, bound {bound:.12g}"

    def need(condition: bool, expected: str) -> None:
        if not condition:
            raise Unmet(expected, seen)

    value = np.inf
    if point is not None:
        seen += f", a point of shape {np.shape(point)}"
        need(np.shape(point) == cost.shape, f"a point of shape {cost.shape}")
        value, gap = float(cost @ point), misses(program, np.asarray(point, dtype=np.float64))
        seen = f"{status.name}, bound {bound:.12g}, a point of cost {value:.12g}"
        seen += f" that misses the program by {gap:.3g}" if gap else ""
        need(gap <= _POINT, "a point of the program, integers whole")
    need(bound < np.inf, "a bound that is a number or -inf")
    hit = value < targets.violated_below or bound > targets.holds_above - _POINT / 2
    need(status is not SolveStatus.TARGET or hit, "a target that is met")
    late = status is SolveStatus.TIME_LIMIT
    need(limited or not late, "an end before the time limit")
    if best is None:
        need(point is None, "no point: the program has none")
        need(late or hit or status is SolveStatus.INFEASIBLE, "INFEASIBLE")
        need(hit or bound == -np.inf, "-inf as the bound of an infeasible program")
        return
    least, size = best, max(1.0, abs(best))
    need(status is not SolveStatus.INFEASIBLE, f"a feasible program, whose optimum is {least:.12g}")
    need(bound <= least + _ABOVE * size or bound == least, f"a bound of at most {least:.12g}")
    need(value >= least - _POINT * size, f"a point of the program, whose optimum is {least:.12g}")
    if least == -np.inf:
        need(status is not SolveStatus.OPTIMAL, "no optimum: costs have no lower bound")
    elif status is SolveStatus.OPTIMAL:
        near = bound > least - 1 if targets.whole else bound >= least - _BELOW * size
        need(near, f"an optimum, which is {least:.12g}")
        # without columns there is no point to give
        near = value <= least + _POINT * size or not program.columns
        need(near, f"a point of cost {least:.12g}")
    else:
        need(status is not SolveStatus.FAILED, f"the optimum {least:.12g}")
