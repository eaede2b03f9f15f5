"""The claim that a check leaves to an engine, the engine's decision, and the protocol of engines.

An engine decides margins that known points and bounds leave open. There is one for each solver of
programs (:mod:`~milp_verix.oracle.engines.programs`); others search over bounds, and try points:
the worst of each margin, climbs, and replays.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from milp_verix.base import version
from milp_verix.base.clock import Deadline
from milp_verix.base.errors import SolverUnavailableError
from milp_verix.oracle.attacks import climbs
from milp_verix.oracle.verdict import Answer, Effort, Stage, Verdict, replayed
from milp_verix.problem.problem import ProblemData
from verix_encodings import Bounds, Interval, Network, NormBall
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network import batch_outputs


def unwatched(_: Stage) -> None:
    """Tell nobody which stage begins."""


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """The claim that each margin ``j`` in ``open_`` stays below ``-needed[j]`` over ``region``.

    The coordinates ``free`` move in it; ``bounds`` on all values of ``margins`` hold there, and
    ``upper`` are the bounds on the margins proven so far. ``open_`` begins with the margin whose
    bound is the highest. ``needed`` and ``upper`` have the shape (m,). ``depth`` is that of the
    ``bounds`` as :mod:`~verix_encodings.deepening` counts it, None where they must not
    become deeper. ``on_stage`` is called as a stage of the decision begins.
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
    """A way to decide claims about one problem, by the solver ``name``."""

    name: str
    version: str

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the result."""

    def prepare(self, margins: Network, bounds: Bounds) -> None:
        """Prepare for claims about ``margins``, whose ``bounds`` hold over the whole ball."""

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim``, or UNKNOWN with ``TIME_LIMIT``; ``SolverError`` for no result."""

    def close(self) -> None:
        """Release what the engine holds; it can still decide claims afterwards."""


class NotInstalledError(SolverUnavailableError):
    """Raised where an engine is opened whose solver is not installed."""


_REPLAYS = 3  # points of a batch that onnxruntime runs; not measured


@dataclass(slots=True, eq=False)
class TriedPoints:
    """Points of ``region`` where margins of ``network`` are high.

    A margin holds once it is proven below ``-needed``, (m,). ``replays`` runs an input and returns
    whether the prediction changes there; ``found`` says that one did. ``worst`` is the worst input
    seen for each margin, (m, d), with the value ``reached``, (m,). Climbs end once ``late()``.
    """

    network: Network
    region: Interval | NormBall
    needed: FloatArray
    replays: Callable[[FloatArray], bool]
    worst: FloatArray = field(init=False)
    reached: FloatArray = field(init=False)
    found: bool = False
    late: Late = never

    def __post_init__(self) -> None:
        size = self.needed.size
        self.worst = np.zeros((size, self.network.input_size))
        self.reached = np.full(size, -np.inf)

    def seen(self, points: FloatArray) -> FloatArray:
        """Keep the worst of ``points``, (k, d), and replay them; return their margins, (m, k)."""
        values = batch_outputs(self.network, points.T, self.late)
        best = np.argmax(values, axis=1)
        reached = values[np.arange(best.size), best]
        better = reached > self.reached
        self.worst[better], self.reached[better] = points[best[better]], reached[better]
        highest = (values + self.needed[:, None]).max(axis=0)
        for place in np.argsort(-highest, kind="stable")[:_REPLAYS]:
            if highest[place] >= 0 and not self.found:
                self.found = self.replays(points[place])
        return values

    def climb(self, starts: FloatArray) -> None:
        """Climb the margin that is closest to zero at each of ``starts``, shape (k, d)."""
        margin = np.argmax(batch_outputs(self.network, starts.T, self.late), axis=0)
        self.seen(climbs(self.network, self.region, starts.T, margin, self.late).T)


@dataclass(slots=True, eq=False)
class Replays:
    """Runs points in onnxruntime; ``verdict`` is that of the first which changes the prediction."""

    problem: ProblemData
    free: IntArray
    verdict: Verdict | None = None

    def __call__(self, point: FloatArray) -> bool:
        """Return whether the prediction changes at ``point``, shape (d,)."""
        found = replayed(self.problem, point, self.free)
        self.verdict = found if self.verdict is None else self.verdict
        return found is not None


class BoundsEngine:
    """An engine that decides claims by bounds and points alone, in batches until its deadline."""

    notes: tuple[str, ...] = ()

    def __init__(self, problem: ProblemData) -> None:
        self._problem = problem
        self.version = version()

    def prepare(self, margins: Network, bounds: Bounds) -> None:
        """Prepare nothing: each claim has bounds of its own."""

    def close(self) -> None:
        """Release nothing."""


def decided(
    claim: Claim,
    upper: FloatArray,
    points: dict[int, FloatArray],
    counterfactual: Verdict | None,
    reason: str | None,
    *,
    nodes: int,
) -> Decision:
    """Return the decision of a search: VIOLATED by ``counterfactual``, or UNKNOWN for ``reason``.

    HOLDS if both are None. ``upper`` are the bounds found, (m,), in ``nodes`` nodes.
    """
    if counterfactual is not None:
        verdict = counterfactual
    else:
        verdict = Verdict(Answer.HOLDS if reason is None else Answer.UNKNOWN, reason=reason)
    verdict = replace(verdict, effort=Effort(solves=1, nodes=nodes))
    return Decision(verdict, np.fmin(claim.upper, upper), points)
