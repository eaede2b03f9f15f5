"""Exact pricing: the perturbation that hurts a selection the most, by mixed-integer programs.

With ``w = 1 − A`` for the selection ``A``, that perturbation is a maximiser of

    max_j max_δ m_j(x + w ∘ δ),   δ in the ball,

which is a verification problem for the network ``δ ↦ m(x + w ∘ δ)``. A search by gradients ends at
a local maximum, and nearly always there is a higher one. With local maxima alone, a relaxation
needs several times the scenarios, each with phases of its own to branch on.

No bound rests on these programs. So their solver is the branch and bound over phases, whichever
solver proves the bounds. Balls in the L2 norm are left to the search by gradients: programs enclose
them by tangents, and take seconds.
"""

from collections.abc import Callable
from contextlib import closing

import numpy as np
import scipy.sparse as sp

from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.base.errors import SolverError
from milp_verix.oracle.attacks import pulled_in
from milp_verix.oracle.perturbation_set import INSIDE, PerturbationSet
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.solvers import Session, Targets, open_session
from verix_encodings import Interval, NormBall, ball_encoding, crown_bounds, encode
from verix_encodings.arrays import FloatArray
from verix_encodings.work import worked


def _session() -> Session:
    return open_session("phase")


class ExactPricing:
    """Finds worst perturbations, within a share of the work since this object was made.

    ``another`` opens a session.
    """

    def __init__(
        self,
        perturbations: PerturbationSet,
        limits: SearchLimits,
        another: Callable[[], Session] = _session,
    ) -> None:
        self._perturbations, self._limits, self._another = perturbations, limits, another
        self._started = worked()
        self._spent = 0.0
        region = perturbations.region
        l2 = isinstance(region, NormBall) and region.norm == 2
        self._able = limits.uses("exact pricing") and not l2

    def worst(self, selection: FloatArray, least: float, deadline: Deadline) -> FloatArray | None:
        """Return the perturbation with the largest margin, if that exceeds ``least``; shape (d,).

        None if there is none. At ``deadline``, or after the work for pricing, it is the worst
        perturbation found so far, None if there is none yet.
        """
        now = worked()
        share = self._limits.pricing_share * elapsed_work(self._started)
        left = self._limits.first_pricing_seconds + share - self._spent
        if not self._able or left <= 0:
            return None
        try:
            return self._worst(selection, least, deadline.within(left))
        except (OverflowError, SolverError):
            # no bound rests on pricing, and the failure would repeat
            self._able = False
            return None
        finally:
            self._spent += elapsed_work(now)

    def _worst(self, selection: FloatArray, least: float, deadline: Deadline) -> FloatArray | None:
        p = self._perturbations
        weight, found = p.weight(selection), None
        network = p.margins.after(sp.diags_array(weight).tocsr(), p.centre)
        # coordinates without effect are fixed at zero
        box = Interval(*(np.where(weight > 0, end, 0.0) for end in (p.lower, p.upper)))
        region: Interval | NormBall = box
        inside = 1.0
        if isinstance(p.region, NormBall):
            region, inside = NormBall(box, np.zeros(weight.size), p.region.radius, 1), INSIDE
        bounds = crown_bounds(network, region, late=deadline.passed)
        if deadline.passed():
            return None
        encoding = encode(network, bounds, ball=ball_encoding(region))
        upper = bounds[-1].upper
        with closing(self._another()) as session:
            session.load(encoding.program)
            for margin in np.argsort(-upper, kind="stable"):
                if upper[margin] <= least or deadline.passed():
                    break
                cost, constant = encoding.output.row(int(margin), encoding.program.columns)
                targets = Targets(holds_above=constant - least).by(deadline)
                point = session.minimise(-cost, targets).point
                if point is None:
                    continue
                # within the solver's tolerance, the point may be outside the region
                delta = inside * pulled_in(region, encoding.input.at(point))
                reached = float(np.max(p.margins_at(weight, delta[:, None])))
                if reached > least:
                    least, found = reached, delta
        return found
