"""One program over the whole ball that checks share, in place of one for each check.

There are two ways to keep it from check to check:

- ``"in_place"``: it is loaded once, and only bounds of columns change: those of inputs, and those
  of neurons over the check's ball. Its big-Ms are those of the whole ball;
- ``"start"``: in place, and a solve begins at the worst input known of its margin.

Over the check's ball, with bounds ``[l, u]``, a neuron has ``z ∈ [l, u]``, ``a ∈ [max(l, 0),
max(u, 0)]``, and a phase ``d`` that is 1 if ``l > 0`` and 0 if ``u ≤ 0``; a maximum
``a = z_p + max(d, 0)`` has the phase of ``d``. So the points of the program are the trajectories
over that ball. It has columns for all inputs and for every neuron that is unstable over the whole
ball, so it is larger than one for the check alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search, resolve_formulation
from milp_verix.solvers import Session
from verix_encodings import Affine, Bounds, Encoding, Interval, Network, NormBall, encode
from verix_encodings.arrays import FloatArray
from verix_encodings.blocks.formulations import BIG_M
from verix_encodings.program_files import blocks
from verix_encodings.scenario import Columns, fill


@dataclass(eq=False)
class WarmProgram:
    """The program of the ``network`` of margins over the whole ball, kept in one of two ways.

    ``bounds`` hold over the whole ball, where ``encoding`` is that of the network. ``points`` are
    the worst inputs known, by the number of the margin.
    """

    network: Network
    bounds: Bounds
    encoding: Encoding
    way: str
    lp_only: bool = False
    points: dict[int, FloatArray] = field(default_factory=dict)
    _loaded: Session | None = None

    def load(self, session: Session, bounds: Bounds) -> Encoding:
        """Load the program over the box ``bounds[0]``, where ``bounds`` hold, and return it."""
        program = self.encoding.program
        if self._loaded is not session:
            session.load(program.relaxed if self.lp_only else program)
            self._loaded = session
        columns, ends = np.arange(program.columns), self.ends(bounds)
        session.set_bounds(columns, *ends)
        return replace(self.encoding, program=program.with_bounds(columns, *ends))

    def ends(self, bounds: Bounds) -> tuple[FloatArray, FloatArray]:
        """Return the columns' bounds over the box ``bounds[0]``; ``ValueError`` for one outside."""
        outer, box = self.bounds[0], bounds[0]
        if np.any(box.lower < outer.lower) or np.any(box.upper > outer.upper):
            raise ValueError("the program of a ball is narrowed to boxes inside of it alone")
        both = list(zip(self.bounds, bounds, strict=True))
        return (
            self._point([np.maximum(whole.lower, own.lower) for whole, own in both]),
            self._point([np.minimum(whole.upper, own.upper) for whole, own in both]),
        )

    def _point(self, values: Sequence[FloatArray]) -> FloatArray:
        """Return a value for each column where the ``values`` of the network are these."""
        point = np.full(self.encoding.program.columns, np.nan)
        places, coordinates = self._columns["x"]
        point[places] = values[0][coordinates]
        fill(point, self._columns, self.network, values)
        return point

    @cached_property
    def _columns(self) -> Columns:
        return blocks(self.encoding.program.column_labels)

    def start(self, index: int, region: Interval | NormBall) -> FloatArray | None:
        """Return the point of the worst input known of margin ``index``, moved into ``region``."""
        if self.way != "start" or index not in self.points or not isinstance(region, Interval):
            return None
        x = np.clip(self.points[index], region.lower, region.upper)
        point = self._point(self.network.values(x))
        return point if np.isfinite(point).all() else None


def warm_program(
    problem: ProblemData, search: Search, session: Session, margins: Network, bounds: Bounds
) -> WarmProgram:
    """Return the program that the checks of a traversal share.

    ``bounds`` must hold over the full ball, with every feature free. Raises ``InputError`` for a
    way of ``warm`` that the question or the solver does not have.
    """
    warm = search.warm
    needed = "start" if warm == "start" else "in_place_bounds"
    if needed not in session.capabilities:
        raise InputError(f"warm={warm!r} is nothing that {session.name} can do: use 'rebuilt'")
    box = problem.ball.region(np.arange(problem.x.size))
    boxed = isinstance(box, Interval) and problem.ball.mixed is None
    phased = all(node.phase is not None or isinstance(node, Affine) for node in margins.nodes)
    if not (boxed and resolve_formulation(search.formulation) is BIG_M and phased):
        raise InputError(
            f"warm={warm!r} needs an L∞ ball of real numbers, ReLUs or maxima, and the "
            "formulation big_m: use 'rebuilt'"
        )
    lp_only = search.exactness == "relaxation"
    return WarmProgram(margins, bounds, encode(margins, bounds), warm, lp_only)
