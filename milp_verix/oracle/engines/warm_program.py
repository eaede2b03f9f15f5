"""One program over the whole ball that checks share, in place of one for each check.

There are three ways to keep it from check to check:

- ``"numbers"``: all its numbers become those of the check's ball (``models.retightened``), and the
  solver keeps its simplex basis;
- ``"in_place"``: it is loaded once, and only bounds of columns change: those of inputs, and those
  of neurons over the check's ball. Its big-Ms are those of the whole ball;
- ``"start"``: in place, and a solve begins at the worst input known of its margin.

The program has columns for all inputs and for every neuron that is unstable over the whole ball, so
it is larger than one for the check alone.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.errors import InputError
from milp_verix.problem.problem import PosedProblem
from milp_verix.solvers import Session
from verix_encodings import Bounds, Encoding, Formulation, Interval, Network, NormBall
from verix_encodings.arrays import FloatArray
from verix_encodings.blocks.formulations import BIG_M
from verix_encodings.models.retightened import (
    RetightenedEncoding,
    can_be_retightened,
    retightened_encoding,
)
from verix_encodings.models.trajectory import fill
from verix_encodings.program.labels import blocks


@dataclass(slots=True)
class WarmProgram:
    """The program of the ``network`` of margins over the whole ball, kept in one of three ways.

    ``points`` are the worst inputs known, by the number of the margin.
    """

    network: Network
    encoding: RetightenedEncoding
    way: str
    lp_only: bool = False
    points: dict[int, FloatArray] = field(default_factory=dict)
    _loaded: Session | None = None

    def load(self, session: Session, bounds: Bounds) -> Encoding:
        """Load the program over the box ``bounds[0]``, where ``bounds`` hold, and return it."""
        restricted = self.encoding.over(bounds)
        if self.way == "numbers":
            program = restricted.program
            session.load(program.relaxed if self.lp_only else program)
            return restricted
        full = self.encoding.full
        whole = full.program.relaxed if self.lp_only else full.program
        if self._loaded is not session:
            session.load(whole)
            self._loaded = session
        ends = restricted.program.column_lower, restricted.program.column_upper
        columns = np.arange(whole.columns)
        session.set_bounds(columns, *ends)
        return replace(full, program=full.program.with_bounds(columns, *ends))

    def start(self, index: int, region: Interval | NormBall) -> FloatArray | None:
        """Return the point of the worst input known of margin ``index``, moved into ``region``."""
        if self.way != "start" or index not in self.points or not isinstance(region, Interval):
            return None
        x = np.clip(self.points[index], region.lower, region.upper)
        point = np.full(self.encoding.full.program.columns, np.nan)
        point[self.encoding.inputs] = x[self.encoding.coordinates]
        columns = blocks(self.encoding.full.program.column_labels)
        fill(point, columns, self.network, self.network.values(x))
        return point if np.isfinite(point).all() else None


def warm_program(
    problem: PosedProblem,
    margins: Network,
    formulation: Formulation,
    session: Session,
    bounds: Bounds,
    *,
    warm: str = "auto",
    lp_only: bool = False,
) -> WarmProgram | None:
    """Return the program that the checks of a traversal share; None if each has its own.

    ``bounds`` must hold over the full ball, with every feature free. ``"auto"`` shares one where
    the session changes rows in place and keeps its basis: with the solver ``phase`` this saves a
    third to a half of the simplex iterations (``docs/warm_starts.md``). A solver of mixed-integer
    programs begins anew each time, and is slower on a program that is shared. Raises ``InputError``
    for a way of ``warm`` that the question or the solver does not have.
    """
    rows = "in_place_rows" in session.capabilities
    if warm == "rebuilt" or (warm == "auto" and not rows):
        return None
    box = problem.ball.region(np.arange(problem.x.size))
    boxed = isinstance(box, Interval) and problem.ball.mixed is None
    alike = boxed and formulation is BIG_M and can_be_retightened(margins)
    if warm == "auto":
        way = "numbers"
    else:
        needed = "start" if warm == "start" else "in_place_bounds"
        if needed not in session.capabilities:
            raise InputError(f"warm={warm!r} is nothing that {session.name} can do: use 'rebuilt'")
        if not alike:
            raise InputError(
                f"warm={warm!r} needs an L∞ ball of real numbers, ReLUs or maxima, and the "
                "formulation big_m: use 'rebuilt'"
            )
        way = "numbers" if warm == "in_place" and rows else warm
    if not alike:
        return None
    return WarmProgram(margins, retightened_encoding(margins, bounds), way, lp_only)
