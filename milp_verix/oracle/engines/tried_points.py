"""Points that a search over bounds tries: the worst of each margin, climbs, and replays."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version

import numpy as np

from milp_verix.oracle.attacks import climbs
from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.verdict import Answer, Effort, Verdict, replayed
from milp_verix.problem.problem import PosedProblem
from verix_encodings import Bounds, Interval, Network, NormBall
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network import batch_outputs

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

    problem: PosedProblem
    free: IntArray
    verdict: Verdict | None = None

    def __call__(self, point: FloatArray) -> bool:
        """Return whether the prediction changes at ``point``, shape (d,)."""
        self.verdict = replayed(self.problem, point, self.free)
        return self.verdict is not None


class BoundsEngine:
    """An engine that decides claims by bounds and points, in batches until its deadline.

    It solves no programs, so formulations, segments and threads do not concern it.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, problem: PosedProblem) -> None:
        self._problem = problem
        self.version = version("milp-verix")

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
