"""The perturbations of an input, and a gradient search for those that harm a selection.

A fractional selection ``A`` shrinks the perturbation of feature ``f`` by the factor ``1 − A_f``.
The input is ``x + w ∘ δ`` with ``w = 1 − A``, for any ``δ`` in the ball. For a margin ``m`` the
search climbs ``δ ↦ m(x + w ∘ δ)`` by Frank and Wolfe's method. Each step moves towards the
``δ`` in the ball with the largest ``(w ∘ g)·δ``, where ``g`` is the gradient. Coordinates with
``w = 0`` have no effect now; they follow ``g``, which hurts most once the feature is freed.

The search proves nothing: any perturbation in the ball gives a valid scenario.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milp_verix.oracle.attacks import around_zero, frank_wolfe, margins_along
from milp_verix.problem.problem import ProblemData
from verix_encodings import Interval, Network, NormBall
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network import batch_outputs

_STEPS = 12  # of a climb; not measured
_STEP_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # tried at each; not measured
_AT_ONCE = 1 << 24
"""Coordinates of points that are tried at once, 128 MB: time is looked at between."""
_UNFELT = 1e-6  # a weight up to this hides a coordinate
INSIDE = 1.0 - 1e-12
"""The factor on perturbations that keeps them in the ball in spite of rounding."""


# no slots: the region is moved to zero once
@dataclass(frozen=True, eq=False)
class PerturbationSet:
    """The perturbations ``δ`` with ``centre + δ`` in ``region``, and the network of ``margins``.

    ``feature_of`` is the feature of each coordinate, shape (d,).
    """

    margins: Network
    centre: FloatArray
    region: Interval | NormBall
    feature_of: IntArray

    @property
    def box(self) -> Interval:
        """The box around the region."""
        return self.region if isinstance(self.region, Interval) else self.region.box

    @cached_property
    def moves(self) -> Interval | NormBall:
        """The perturbations: adding x would round them, and could carry one out of a small ball."""
        return around_zero(self.region, self.centre)

    def weight(self, selection: FloatArray | BoolArray) -> FloatArray:
        """Return ``w = 1 − A`` for each coordinate, (d,), from a selection ``A``, (features,)."""
        return 1.0 - selection[self.feature_of].astype(np.float64)

    def free(self, chosen: BoolArray) -> IntArray:
        """Return the coordinates of the features that are not ``chosen``."""
        return np.flatnonzero(~chosen[self.feature_of])

    def margins_at(self, weight: FloatArray, deltas: FloatArray, late: Late = never) -> FloatArray:
        """Return the margins at ``x + w ∘ δ`` for the columns of ``deltas``, shape (m, N)."""
        moved = self.centre[:, None] + weight[:, None] * deltas
        return batch_outputs(self.margins, moved, late)

    def worst(
        self, weight: FloatArray, starts: FloatArray, climbs: int, late: Late = never
    ) -> tuple[FloatArray, FloatArray]:
        """Climb each margin at ``weight`` from the best ``climbs`` of ``starts``, shape (d, N).

        Returns the best perturbation found for each margin, shape (d, m), and its value, (m,). Once
        ``late()`` is true, the climbs stop.
        """
        reached = self.margins_at(weight, starts, late)
        # for each margin, the starts with the largest values
        tried = np.argsort(-reached, axis=1, kind="stable")[:, :climbs]
        size, each = self.margins.output_size, tried.shape[1]
        found = np.empty((weight.size, size))
        found[:], worst = starts[:, tried[:, 0]], reached[np.arange(size), tried[:, 0]]
        step = max(_AT_ONCE // (weight.size * each * len(_STEP_LENGTHS)), 1)
        for margins in np.split(np.arange(size), range(step, size, step)):
            if late():
                break
            outputs, begun = np.repeat(margins, each), starts[:, tried[margins].reshape(-1)]
            deltas, values = self._climbed(weight, begun, outputs, late)
            best = np.argmax(values.reshape(-1, each), axis=1) + np.arange(margins.size) * each
            found[:, margins], worst[margins] = deltas[:, best], values[best]
        return found, worst

    def _climbed(
        self, weight: FloatArray, deltas: FloatArray, outputs: IntArray, late: Late
    ) -> tuple[FloatArray, FloatArray]:
        """Climb the margin ``outputs[k]`` from column ``k`` of ``deltas``, all side by side."""
        centre, felt = self.centre[:, None], weight[:, None]

        values, gradients = margins_along(
            self.margins, outputs, lambda points, _: centre + felt * points, late
        )
        deltas, reached = frank_wolfe(
            deltas,
            values,
            lambda points, numbers: gradients(points, numbers) * (felt + _UNFELT),
            self._farthest,
            steps=_STEPS,
            shares=_STEP_LENGTHS,
            gain=1e-9,
            late=late,
        )
        unfelt = np.flatnonzero(weight <= _UNFELT)
        if isinstance(self.region, Interval) and unfelt.size:
            slope = gradients(deltas, np.arange(outputs.size))
            deltas[unfelt] = self._farthest(slope)[unfelt]
        return deltas, reached

    def _farthest(self, slope: FloatArray) -> FloatArray:
        """Return the ``δ`` with the largest ``g·δ`` for each column ``g`` of ``slope``."""
        moves = self.moves
        return moves.farthest(slope) * (1.0 if isinstance(moves, Interval) else INSIDE)


def perturbation_set(problem: ProblemData) -> PerturbationSet:
    """Return the perturbations in the ball of ``problem``."""
    everything = np.arange(problem.x.size)
    return PerturbationSet(
        problem.margins,
        problem.x.astype(np.float64),
        problem.ball.region(everything),
        problem.features.of_coordinate,
    )
