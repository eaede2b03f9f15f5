"""The perturbations of an input, and a search for those that harm a selection of features.

A feature that is fixed by the share ``A_f`` loses that share of its perturbation: the input is
``x + w ∘ δ`` with ``w = 1 − A``, and ``δ`` is in the ball whatever ``w`` is. For a margin ``m`` the
search climbs ``δ ↦ m(x + w ∘ δ)`` by Frank and Wolfe's method: with ``g`` the gradient, towards the
``δ`` in the ball with the largest ``(w ∘ g)·δ``. Coordinates with ``w = 0`` have no effect now;
they follow ``g``, which hurts most once the feature is freed.

Nothing is proven here. A scenario needs a perturbation in the ball, and nothing else of it.
"""

from dataclasses import dataclass

import numpy as np

from milp_verix.problem.problem import Problem
from verix_encodings import Interval, Network, NormBall
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network.batch import batch_gradients, batch_values

_STEPS = 12
_STEP_LENGTHS = (1.0, 0.5, 0.2, 0.05)
_UNFELT = 1e-6
INSIDE = 1.0 - 1e-12
"""The factor that keeps a perturbation in the ball, whatever rounding adds."""


@dataclass(frozen=True, slots=True, eq=False)
class PerturbationSet:
    """All ``δ`` with ``centre + δ`` in ``region``, and the network ``margins`` that they may raise.

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

    @property
    def lower(self) -> FloatArray:
        """The least ``δ`` of each coordinate."""
        return self.box.lower - self.centre

    @property
    def upper(self) -> FloatArray:
        """The largest ``δ`` of each coordinate."""
        return self.box.upper - self.centre

    def weight(self, selection: FloatArray | BoolArray) -> FloatArray:
        """Return ``w``, shape (d,), for a selection of features, shape (features,)."""
        return 1.0 - selection[self.feature_of].astype(np.float64)

    def free(self, chosen: BoolArray) -> IntArray:
        """Return the coordinates of the features that are not ``chosen``."""
        return np.flatnonzero(~chosen[self.feature_of])

    def margins_at(self, weight: FloatArray, deltas: FloatArray) -> FloatArray:
        """Return the margins at ``x + w ∘ δ`` for the columns of ``deltas``, shape (m, N)."""
        moved = self.centre[:, None] + weight[:, None] * deltas
        return batch_values(self.margins, moved)[-1]

    def worst(
        self, weight: FloatArray, starts: FloatArray, climbs: int, late: Late = never
    ) -> tuple[FloatArray, FloatArray]:
        """Climb each margin from the best ``climbs`` of ``starts``, shape (d, N), weighted ``w``.

        Returns the best perturbation found for each margin, shape (d, m), and its value, (m,). Once
        ``late()``, the climbs end where they are.
        """
        reached = self.margins_at(weight, starts)
        # the starts that are worst already
        tried = np.argsort(-reached, axis=1, kind="stable")[:, :climbs]
        size = self.margins.output_size
        outputs = np.repeat(np.arange(size), tried.shape[1])
        deltas, values = self._climbed(weight, starts[:, tried.reshape(-1)], outputs, late)
        best = np.argmax(values.reshape(tried.shape), axis=1) + np.arange(size) * tried.shape[1]
        return deltas[:, best], values[best]

    def _climbed(
        self, weight: FloatArray, deltas: FloatArray, outputs: IntArray, late: Late
    ) -> tuple[FloatArray, FloatArray]:
        """Climb the margin ``outputs[k]`` from column ``k`` of ``deltas``, all side by side."""
        deltas = deltas.copy()
        centre, felt = self.centre[:, None], weight[:, None]
        there = batch_values(self.margins, centre + felt * deltas)
        values = there[-1][outputs, np.arange(outputs.size)]
        running = np.arange(outputs.size)
        for _ in range(_STEPS):
            if late():
                return deltas, values
            at_running = [value[:, running] for value in there]
            slope = batch_gradients(self.margins, at_running, outputs[running])
            start = deltas[:, running]
            way = self._farthest(slope * (felt + _UNFELT)) - start
            steps = np.concatenate([start + t * way for t in _STEP_LENGTHS], axis=1)
            reached = batch_values(self.margins, centre + felt * steps)[-1]
            rows = np.tile(outputs[running], len(_STEP_LENGTHS))
            found = reached[rows, np.arange(rows.size)].reshape(len(_STEP_LENGTHS), running.size)
            longest = np.argmax(found, axis=0)
            value = found[longest, np.arange(running.size)]
            better = value > values[running] + 1e-9
            if not better.any():
                break
            picked = longest[better] * running.size + np.flatnonzero(better)
            running = running[better]
            deltas[:, running] = steps[:, picked]
            values[running] = value[better]
            there = batch_values(self.margins, centre + felt * deltas)
        unfelt = np.flatnonzero(weight <= _UNFELT)
        if isinstance(self.region, Interval) and unfelt.size:
            there = batch_values(self.margins, centre + felt * deltas)
            slope = batch_gradients(self.margins, there, outputs)
            deltas[unfelt] = self._farthest(slope)[unfelt]
        return deltas, values

    def _farthest(self, slope: FloatArray) -> FloatArray:
        """Return the ``δ`` with the largest ``g·δ`` for each column ``g`` of ``slope``."""
        if isinstance(self.region, Interval):
            return np.where(slope > 0, self.upper[:, None], self.lower[:, None])
        # around zero: x + δ would round δ to the grid of x, and carry it out of a small ball
        box, zero = Interval(self.lower, self.upper), np.zeros_like(self.centre)
        moves = NormBall(box, zero, self.region.radius, self.region.norm)
        return np.stack([moves.farthest(column) for column in slope.T], axis=1) * INSIDE


def perturbation_set(problem: Problem) -> PerturbationSet:
    """Return the perturbations in the ball of ``problem``."""
    everything = np.arange(problem.x.size)
    feature_of = np.zeros(problem.x.size, dtype=np.intp)
    for feature, group in enumerate(problem.features.groups):
        feature_of[group] = feature
    return PerturbationSet(
        problem.question.margins(problem.network.ir),
        problem.x.astype(np.float64),
        problem.ball.region(everything),
        feature_of,
    )
