"""The engine ``split``: claims about few inputs with wide ranges, decided by branching on these."""

import numpy as np

from milp_verix.oracle.engines.box_search import BoxSearch
from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.engines.tried_points import BoundsEngine, Replays, decided
from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.problem.problem import PosedProblem
from verix_encodings import Bounds, Interval, Network, NormBall, crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.mixed_domain import MixedDomain
from verix_encodings.bounds.one_hot_box import one_hot_box

_MOST_VALUES = 20_000  # of a network whose boxes are worth splitting; not measured


class InputSplit(BoundsEngine):
    """Decides claims by a :class:`~milp_verix.oracle.engines.box_search.BoxSearch`.

    Each claim folds its own fixed inputs away. Networks of more than 20,000 values are UNKNOWN at
    once: rows of their backward bounds are held as dense arrays.
    """

    name = "split"

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline, which is looked at between batches."""
        values = sum(claim.margins.sizes)
        if values > _MOST_VALUES:
            refused = f"the network has {values} values, and split takes {_MOST_VALUES} at most"
            return Decision(Verdict(Answer.UNKNOWN, reason=refused), claim.upper, {})
        replays = Replays(self._problem, claim.free)
        mixed = self._problem.ball.mixed
        domain = None if mixed is None else mixed.among(claim.free, self._problem.x)
        network, region, root = _folded(self._problem, claim, domain)
        search = BoxSearch(
            network,
            region,
            root,
            claim.upper,
            claim.needed,
            lambda moved: replays(self._whole(claim, moved)),
            domain,
        )
        with np.errstate(over="ignore", invalid="ignore"):
            holds = search.run(claim.deadline.passed)
        points = {
            int(margin): self._whole(claim, search.tried.worst[margin])
            for margin in claim.open_
            if np.isfinite(search.tried.reached[margin])
        }
        reason = None if holds else _reason(claim, search)
        return decided(claim, search.upper, points, replays.verdict, reason, nodes=search.boxes)

    def _whole(self, claim: Claim, moved: FloatArray) -> FloatArray:
        """Return the input whose free coordinates are ``moved``, shape (d,)."""
        point = self._problem.x.astype(np.float64)
        point[claim.free] = moved
        return point


def _folded(
    problem: PosedProblem, claim: Claim, domain: MixedDomain | None
) -> tuple[Network, Interval | NormBall, Bounds]:
    """Return the margins in the free coordinates alone, their region, and bounds over it."""
    rest = problem.x.astype(np.float64)
    rest[claim.free] = 0.0
    network = claim.margins.among(claim.free, rest)
    box = Interval(claim.region.box.lower[claim.free], claim.region.box.upper[claim.free])
    region: Interval | NormBall = box if domain is None else one_hot_box(box, domain.blocks)
    if isinstance(claim.region, NormBall):
        ball = claim.region
        region = NormBall(box, ball.centre[claim.free], ball.radius, ball.norm)
    if claim.margins.affine_first:
        return network, region, (box, *claim.bounds[1:])
    # with one more value than the claim's network
    return network, region, crown_bounds(network, region, late=claim.deadline.passed)


def _reason(claim: Claim, search: BoxSearch) -> str:
    if not search.stuck or claim.deadline.passed():
        return TIME_LIMIT
    worst = float(search.tried.reached.max())
    return f"no split proves it: the worst margin, {worst:.2e}, is so close to zero, or to a jump"
