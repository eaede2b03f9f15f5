"""The perturbation that hurts shares of features the most, by mixed-integer programs.

With ``w = 1 − A`` for the shares ``A`` that are fixed, it is where

    max_j max_δ m_j(x + w ∘ δ),   δ in the ball,

is reached: a check of the network ``δ ↦ m(x + w ∘ δ)``. A search by gradients ends at what is worst
nearby, and nearly always there is worse. A relaxation needs several times as many scenarios of that
kind, each with phases of its own to split.

Nothing is proven by that, whatever solver proves bounds: the programs are solved by the branch and
bound that checks take by default. The ball in the L2 norm is left to the search: programs enclose
it by tangents, and take seconds.
"""

import time
from collections.abc import Callable
from contextlib import closing

import numpy as np
import scipy.sparse as sp

from milp_verix.clock import Deadline
from milp_verix.errors import SolverError
from milp_verix.global_search.pricing.perturbation_set import INSIDE, Perturbations
from milp_verix.oracle.gradient_ascent import pulled_in
from milp_verix.solvers import Session, Targets, open_session
from verix_encodings import Interval, NormBall, ball_encoding, crown_bounds, encode
from verix_encodings.arrays import FloatArray

_FIRST_SECONDS = 2.0
_SHARE = 0.25


def _session() -> Session:
    return open_session("phase")


class WorstCase:
    """Looks for the worst perturbations, for a quarter of the time since it was made.

    ``another`` opens a session.
    """

    def __init__(
        self, perturbations: Perturbations, another: Callable[[], Session] = _session
    ) -> None:
        self._perturbations = perturbations
        self._another = another
        self._started = time.monotonic()
        self._spent = 0.0
        self._able = perturbations.norm != "l2"

    def against(self, selection: FloatArray, least: float, deadline: float) -> FloatArray | None:
        """Return the perturbation under which the largest margin is larger than ``least``, if any.

        None, too, where that could not be found out by ``deadline`` or in the time that is left.
        """
        now = time.monotonic()
        left = _FIRST_SECONDS + _SHARE * (now - self._started) - self._spent
        if not self._able or left <= 0:
            return None
        try:
            return self._worst(selection, least, min(deadline, now + left))
        except (OverflowError, SolverError):
            # nothing rests on it, and what fails once does so again
            self._able = False
            return None
        finally:
            self._spent += time.monotonic() - now

    def _worst(self, selection: FloatArray, least: float, deadline: float) -> FloatArray | None:
        p = self._perturbations
        weight, found = p.weight(selection), None
        network = p.margins.after(sp.diags_array(weight).tocsr(), p.centre)
        # what is not felt is no column
        box = Interval(*(np.where(weight > 0, end, 0.0) for end in (p.lower, p.upper)))
        region: Interval | NormBall = box
        inside = 1.0
        if p.norm == "l1":
            region, inside = NormBall(box, np.zeros(weight.size), p.radius, 1), INSIDE
        until = Deadline(deadline)
        bounds = crown_bounds(network, region, late=until.passed)
        if until.passed():
            return None
        encoding = encode(network, bounds, ball=ball_encoding(region))
        upper = bounds[-1].upper
        with closing(self._another()) as session:
            session.load(encoding.program)
            for margin in np.argsort(-upper, kind="stable"):
                seconds = deadline - time.monotonic()
                if upper[margin] <= least or seconds <= 0:
                    break
                cost, constant = encoding.output.row(int(margin), encoding.program.columns)
                targets = Targets(seconds=seconds, holds_above=constant - least)
                point = session.minimise(-cost, targets).point
                if point is None:
                    continue
                # a solver's tolerance may have left it outside
                delta = inside * pulled_in(region, encoding.input.at(point))
                reached = float(np.max(p.reached(weight, delta[:, None])))
                if reached > least:
                    least, found = reached, delta
        return found
