"""Room: how far a set that is proven free is from its limits, and what each feature takes of it.

Let ``u_j < 0`` be the proven bound on margin ``j`` over the ball of the free set ``B``, and
``a_j·x + b_j`` CROWN's linear form that is above the margin there. Freeing coordinate ``k`` adds
at most ``max(a_jk (u_k − x_k), a_jk (l_k − x_k))`` to it: ``g_ij`` is the sum over feature ``i``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milp_verix.problem.problem import Problem
from verix_encodings import Bounds, Network
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.propagation.linear_form import upper_form

_MOST = 100.0  # by how much faster margins may be expected to grow; not measured


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """The bounds ``u``, shape (m,), and the growth ``g``, shape (m, features)."""

    upper: FloatArray
    growth: FloatArray

    def fitting(self, features: Sequence[int]) -> list[int]:
        """Return those of ``features`` that the form leaves room for, one at a time."""
        fits = np.all(self.upper[:, None] + self.growth[:, list(features)] < 0, axis=0)
        return [feature for feature, fit in zip(features, fits.tolist(), strict=True) if fit]

    def together(self, features: Sequence[int], factor: float) -> int:
        """Return how many of ``features``, from the first on, have room together; at least one.

        The margins are expected to grow ``factor`` times as fast as the form.
        """
        grown = factor * np.cumsum(self.growth[:, list(features)], axis=1)
        fits = np.all(self.upper[:, None] + grown < 0, axis=0)
        return len(features) if fits.all() else max(1, int(np.argmin(fits)))

    def factor(self, features: Sequence[int], later: FloatArray) -> float:
        """Return the ratio of the margins' growth to the form's, with ``features`` free.

        ``later`` are the bounds of the margins then. The ratio is the largest of all margins, at
        least 1 and at most 100.
        """
        expected = np.sum(self.growth[:, list(features)], axis=1)
        grown = (later - self.upper) / np.where(expected > 0, expected, np.inf)
        return float(np.clip(np.max(grown, initial=1.0), 1.0, _MOST))


def room_of(problem: Problem, margins: Network, bounds: Bounds, upper: FloatArray) -> Room:
    """Return the room of a set: ``bounds`` hold over its L∞ ball, ``upper`` bound its margins."""
    every = np.eye(margins.output_size)
    slopes = dense(upper_form(margins, bounds, len(margins.nodes), every).coefficients)
    centre, box = problem.x.astype(np.float64), problem.ball.outer
    ways = np.maximum(slopes * (box.upper - centre), slopes * (box.lower - centre))
    return Room(upper, problem.features.totals(ways))
