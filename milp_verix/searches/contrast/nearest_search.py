"""The nearest counterfactual: a contrast search that minimises the distance of a change.

A program for each margin has the least distance at which the margin reaches zero; its dual bound is
proven. There the prediction is about to change, and onnxruntime may not see it yet: a point on the
ray from the input, a little beyond, shows the change. So bound and distance differ by roundings.
"""

import numpy as np

from milp_verix.oracle.attacks import climb
from milp_verix.oracle.verdict import Answer, Verdict, replayed
from milp_verix.searches.contrast.contrast_search import ContrastSearch
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.norm_ball import length

_BEYOND = (0.0, *(10.0**k for k in range(-8, 0)))
"""Steps beyond a point along its ray that are tried, as shares of its distance."""
_HALVINGS = 20  # to a millionth of the way
_STILL = 1e-6
"""A coordinate of a program's point that moves by less, as a share of its scale, stays."""
_OUTSIDE = 1e-6
"""A tangent to an L2 ball is worth a program where a point is that far outside, as a share."""


class NearestSearch(ContrastSearch):
    """The nearest counterfactual so far, and the bound proven for each rival."""

    def _improve(self, best: Verdict) -> None:
        """Leave the contrast as it is: fewer features may be farther away."""

    def _offer(self, verdict: Verdict) -> None:
        super()._offer(verdict)
        if self.best is verdict:
            centre = self._subsets.centre
            super()._offer(self._first_change(centre, verdict.point))

    def _judge(self, chosen: frozenset[int], point: FloatArray) -> bool:
        """Offer the counterfactuals next to a program's point.

        They are on the ray from the input through ``point``, and on the way from ``point`` to where
        a climb of the margin leads. Returns whether the program has changed since: a tangent cuts
        ``point`` off an L2 ball.
        """
        subsets, centre = self._subsets, self._subsets.centre
        # a solver's zero is one up to its tolerance
        still = np.abs(point - centre) <= _STILL * self._measure.scales
        point = np.where(still, centre, point)
        for beyond in _BEYOND:
            found = self._first_change(centre, centre + (1 + beyond) * (point - centre))
            self._offer(found)
            if found.violated:
                self._offer(subsets.learn(found))
                break
        ball, margin = subsets.problem.ball, int(np.argmax(subsets.margins.evaluate(point)))
        # features that move already, before all of them
        for free in (np.flatnonzero(~still), self._everything):
            if not self.proven:
                top = climb(subsets.margins, ball.region(free), point, margin, subsets.late)
                self._offer(self._first_change(point, top))
        if ball.norm == "l2" and not self.proven:
            excess = length(point - centre, 2) / ball.epsilon - 1
            if excess > _OUTSIDE:
                self._points.append(point)
                return True
        if not self.proven:
            told = "the solver's point does not change the prediction in onnxruntime"
            self._doubt(told + self._rounded)
        return False

    def _first_change(self, start: FloatArray, end: FloatArray) -> Verdict:
        """Return the first counterfactual that bisection finds from ``start`` to ``end``.

        Points are moved into the ball first. UNKNOWN if there is no change at ``end``.
        """
        subsets = self._subsets
        free, low, high = np.arange(start.size), 0.0, 1.0
        found = replayed(subsets.problem, end, free)
        if found is None:
            return Verdict(Answer.UNKNOWN)
        for _ in range(_HALVINGS):
            if subsets.late():
                break
            middle = (low + high) / 2
            nearer = replayed(subsets.problem, start + middle * (end - start), free)
            if nearer is None:
                low = middle
            else:
                high, found = middle, nearer
        return found
