"""Perturbations that a set of features does not survive: by gradients, and by a search on phases.

Moves are rounded towards zero to whole multiples of a step, so that they are exact in a few digits
and stay in the ball.
"""

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.certificates.reading import rounded_network
from milp_verix.oracle.engines.phase_search import PhaseSearch
from milp_verix.oracle.perturbation_set import PerturbationSet
from verix_checker.claim import Claim
from verix_encodings import Interval, NormBall, crown_bounds
from verix_encodings.arrays import BoolArray, FloatArray

_STEPS = 2**15
"""Steps from the input to the end of the ball, about."""

_CLIMBS, _MORE_CLIMBS = 3, 16


class Refuter:
    """Finds perturbations; ``known`` has those found so far, shape (d, N), in whole steps.

    ``step`` is the exact length of a step, and ``perturbations`` are all of the ball.
    """

    def __init__(self, claim: Claim, deadline: Deadline) -> None:
        ball, size, one = claim.ball, claim.net.size, claim.one
        low, high = ball.cut(*ball.ends({*range(1, 1 + size)})) or ball.ends(set())
        ends = [np.array([end / one for end in side[1:]]) for side in (low, high)]
        centre = np.array([end / one for end in ball.x[1:]])
        box = Interval(*ends)
        region = NormBall(box, centre, ball.epsilon / one, ball.norm) if ball.norm else box
        feature_of = np.zeros(size, dtype=np.intp)
        for feature, group in enumerate(claim.groups):
            feature_of[group] = feature
        network, _ = rounded_network(claim.net, claim.margins)
        self.perturbations = PerturbationSet(network, centre, region, feature_of)
        self._deadline, self._coarse = deadline, np.zeros(size, dtype=bool)
        self._coarse[[v - 1 for v in ball.whole]] = True
        furthest = max(float(np.max(box.upper - box.lower, initial=0.0)), 1e-300)
        exponent = int(np.log2(_STEPS / furthest)) + 1
        # a step is a whole multiple of the unit
        self.step = 2.0 ** -min(max(exponent, 0), one.bit_length() - 1)
        self.known = np.zeros((size, 0))
        self._most = 0.0

    def moves(self, delta: FloatArray) -> list[int]:
        """Return a perturbation in whole steps, towards zero."""
        whole = np.where(self._coarse, np.trunc(delta), delta)
        return [int(move) for move in np.trunc(whole / self.step)]

    def violated(self, selection: FloatArray) -> bool:
        """Return whether a known perturbation makes a margin positive at ``selection``."""
        p = self.perturbations
        return bool(np.any(p.margins_at(p.weight(selection), self.known) > 1e-7))

    def against(self, selection: FloatArray) -> list[int] | None:
        """Return the moves of a new perturbation that ``selection`` does not survive, or None.

        Whole selections are searched to the end; fractional ones by gradients alone, and small
        violations of these count as none.
        """
        p, whole = self.perturbations, bool(np.all((selection == 0) | (selection == 1)))
        weight = p.weight(selection)
        starts = np.concatenate([np.zeros((weight.size, 1)), self.known], axis=1)
        climbs = _MORE_CLIMBS if whole else _CLIMBS
        found, _ = p.worst(weight, starts, climbs, self._deadline.passed)
        # later scenarios differ less, and each brings phases to split
        worth = 1e-3 * max(1.0, (self.known.shape[1] / selection.size) ** 2)
        best = self._best(weight, found, 0.0 if whole else worth * self._most)
        if best is None and whole:
            start = self._searched(selection > 0.5)
            if start is not None:
                found, _ = p.worst(weight, start[:, None], climbs, self._deadline.passed)
                best = self._best(weight, np.hstack([found, start[:, None]]), 0.0)
        return best

    def _best(self, weight: FloatArray, deltas: FloatArray, least: float) -> list[int] | None:
        """Return the worst of ``deltas`` after rounding if a margin is above ``least``."""
        moves = [self.moves(delta) for delta in deltas.T]
        rounded = np.array(moves, dtype=np.float64).T * self.step
        values = self.perturbations.margins_at(weight, rounded).max(axis=0)
        best = int(np.argmax(values))
        self._most = max(self._most, float(values[best]))
        if values[best] <= max(least, 1e-9):
            return None
        self.known = np.concatenate([self.known, rounded[:, [best]]], axis=1)
        return moves[best]

    def _searched(self, chosen: BoolArray) -> FloatArray | None:
        """Return a perturbation that the set ``chosen`` does not survive, by branching on phases.

        None if there is none, or the deadline passes.
        """
        p, network = self.perturbations, self.perturbations.margins
        fixed = chosen[p.feature_of]
        box = Interval(
            np.where(fixed, p.centre, p.box.lower), np.where(fixed, p.centre, p.box.upper)
        )
        region: Interval | NormBall = box
        if isinstance(p.region, NormBall):
            region = NormBall(box, p.centre, p.region.radius, p.region.norm)
        bounds = crown_bounds(network, region)
        found: list[FloatArray] = []

        def replays(point: FloatArray) -> bool:
            found.append(point)
            return bool(np.max(network.evaluate(point)) > 0)

        needed = np.zeros(network.output_size)
        search = PhaseSearch(network, region, bounds, bounds[-1].upper, needed, replays)
        search.run(self._deadline.passed)
        return found[-1] - p.centre if search.tried.found and found else None
