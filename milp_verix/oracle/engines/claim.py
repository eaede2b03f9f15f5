"""The claim that a check leaves to an engine, the engine's decision, and the protocol of engines.

An engine decides margins that known points and bounds leave open. There is one for each solver of
programs (:mod:`~milp_verix.oracle.engines.programs`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import SolverUnavailableError
from milp_verix.oracle.verdict import Stage, Verdict
from verix_encodings import Bounds, Interval, Network, NormBall
from verix_encodings.arrays import FloatArray, IntArray


def unwatched(_: Stage) -> None:
    """Tell nobody which stage begins."""


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """The claim that each margin ``j`` in ``open_`` stays below ``-needed[j]`` over ``region``.

    The coordinates ``free`` move in it; ``bounds`` on all values of ``margins`` hold there, and
    ``upper`` are the bounds on the margins proven so far. ``open_`` begins with the margin whose
    bound is the highest. ``needed`` and ``upper`` have the shape (m,). ``depth`` is that of the
    ``bounds`` as :mod:`~verix_encodings.propagation.deepening` counts it, None where they must not
    become deeper. ``search_limit`` are the seconds of work after which a search ends that no
    deeper bounds help. ``on_stage`` is called as a stage of the decision begins.
    """

    margins: Network
    free: IntArray
    region: Interval | NormBall
    bounds: Bounds
    open_: IntArray
    needed: FloatArray
    upper: FloatArray
    deadline: Deadline
    depth: int | None = None
    search_limit: float = np.inf
    on_stage: Callable[[Stage], None] = unwatched

    def after(self, decision: "Decision") -> "Claim":
        """Return the claim about the margins that ``decision`` leaves open."""
        upper = np.minimum(self.upper, decision.upper)
        left = self.open_[~(upper[self.open_] < -self.needed[self.open_])]
        deeper = decision.deeper or Deeper(self.bounds, self.depth)
        return replace(self, open_=left, upper=upper, bounds=deeper.bounds, depth=deeper.depth)

    def deeper_than(self, bounds: Bounds) -> "Deeper | None":
        """Return the bounds with their depth, unless they are the ``bounds`` that were given."""
        return None if self.bounds is bounds else Deeper(self.bounds, self.depth)


@dataclass(frozen=True, slots=True, eq=False)
class Deeper:
    """Tighter ``bounds`` over the region of a claim, and their ``depth``."""

    bounds: Bounds
    depth: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The ``verdict`` on a claim, and what an engine learnt on the way to it.

    ``upper`` are bounds proven on the margins, shape (m,); ``points`` maps margins to inputs of the
    region where they are high. ``deeper`` are tighter bounds on neurons, if the engine found any.
    """

    verdict: Verdict
    upper: FloatArray
    points: Mapping[int, FloatArray]
    deeper: Deeper | None = None


class Engine(Protocol):
    """A way to decide claims about one problem."""

    @property
    def name(self) -> str:
        """Name of the solver."""

    @property
    def version(self) -> str:
        """Version of the solver."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the result."""

    def prepare(self, margins: Network, bounds: Bounds) -> None:
        """Prepare for claims about ``margins``, whose ``bounds`` hold over the whole ball."""

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline; UNKNOWN with ``TIME_LIMIT`` where that ended the work.

        Raises ``SolverError`` where the solver fails in a way that leaves no result.
        """

    def close(self) -> None:
        """Release what the engine holds; it can still decide claims afterwards."""


class NotInstalledError(SolverUnavailableError):
    """Raised where an engine is opened whose solver is not installed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An engine that may be opened: ``open()`` raises ``SolverError`` where it does not open.

    It is not asked about claims with more than ``most_free`` coordinates, nor more than
    ``most_open`` neurons that bounds leave undecided behind the first layer, nor if a candidate of
    its ``group`` before it has not been given up. With ``patience`` its first slice is that much
    later in the sequence, and so longer, and comes before all others.
    """

    name: str
    open: Callable[[], Engine]
    most_free: float = np.inf
    most_open: float = np.inf
    group: str | None = None
    patience: int = 0

    def takes(self, claim: Claim, undecided: int) -> bool:
        """Return whether the engine may be asked about ``claim``, with so many open neurons."""
        return claim.free.size <= self.most_free and undecided <= self.most_open
