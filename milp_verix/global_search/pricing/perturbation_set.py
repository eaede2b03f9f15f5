"""Search for perturbations that change a prediction although some features are fixed, or partly.

A feature that is fixed by the share ``A_f`` loses that share of its perturbation: the input is
``x + w ∘ δ`` with ``w = 1 − A``, and ``δ`` is in the ball whatever ``w`` is. For a margin ``m`` the
search climbs ``δ ↦ m(x + w ∘ δ)`` by Frank and Wolfe's method: with ``g`` the gradient, towards the
``δ`` in the ball with the largest ``(w ∘ g)·δ``. Where ``w`` is zero ``δ`` follows ``g``: it does
nothing there and then, and hurts most once the feature is not fixed.

Nothing is proven here. What is found is a perturbation in the ball, which is all that a scenario
needs to be.
"""

from dataclasses import dataclass

import numpy as np

from milp_verix.problem.problem import Problem
from verix_encodings import Network
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network.batch import batch_gradients, batch_values

_STEPS = 12
_SHARES = (1.0, 0.5, 0.2, 0.05)
_UNFELT = 1e-6
_WIDEST = 20.0
_BISECTIONS = 40
INSIDE = 1.0 - 1e-12
"""What a point that a norm scales into the ball is multiplied by: rounding keeps it there."""


@dataclass(frozen=True, slots=True, eq=False)
class Perturbations:
    """All ``δ`` with ``lower ≤ δ ≤ upper`` and, unless ``norm`` is ``"linf"``, ``‖δ‖ ≤ radius``.

    ``feature_of`` is the feature of each coordinate, shape (d,).
    """

    margins: Network
    centre: FloatArray
    lower: FloatArray
    upper: FloatArray
    norm: str
    radius: float
    feature_of: IntArray

    def weight(self, selection: FloatArray | BoolArray) -> FloatArray:
        """Return ``w``, shape (d,), for the shares of features that are fixed."""
        return 1.0 - selection[self.feature_of].astype(np.float64)

    def free(self, chosen: BoolArray) -> IntArray:
        """Return the coordinates of the features that are not ``chosen``."""
        return np.flatnonzero(~chosen[self.feature_of])

    def reached(self, weight: FloatArray, deltas: FloatArray) -> FloatArray:
        """Return the margins at ``x + w ∘ δ`` for the columns of ``deltas``, shape (m, N)."""
        moved = self.centre[:, None] + weight[:, None] * deltas
        return batch_values(self.margins, moved)[-1]

    def gradient(self, weight: FloatArray, delta: FloatArray, margin: int) -> FloatArray:
        """Return the gradient of one margin in the input at ``x + w ∘ δ``, shape (d,)."""
        values = batch_values(self.margins, (self.centre + weight * delta)[:, None])
        return batch_gradients(self.margins, values, np.array([margin]))[:, 0]

    def worst(
        self, weight: FloatArray, starts: FloatArray, climbs: int, late: Late = never
    ) -> tuple[FloatArray, FloatArray]:
        """Climb each margin from the best ``climbs`` of ``starts``, shape (d, N), weighted ``w``.

        Returns the best perturbation found for each margin, shape (d, m), and its value, (m,). Once
        ``late()``, the climbs end where they are.
        """
        size = self.margins.output_size
        reached = self.reached(weight, starts)
        # the starts that are worst already
        tried = np.argsort(-reached, axis=1, kind="stable")[:, :climbs]
        outputs = np.repeat(np.arange(size), tried.shape[1])
        deltas, values = self._climbed(weight, starts[:, tried.reshape(-1)], outputs, late)
        best = np.argmax(values.reshape(tried.shape), axis=1) + np.arange(size) * tried.shape[1]
        return deltas[:, best], values[best]

    def _climbed(
        self, weight: FloatArray, deltas: FloatArray, outputs: IntArray, late: Late
    ) -> tuple[FloatArray, FloatArray]:
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
            targets = self._farthest(slope * (felt + _UNFELT))
            start = deltas[:, running]
            steps = np.concatenate([start + t * (targets - start) for t in _SHARES], axis=1)
            reached = batch_values(self.margins, centre + felt * steps)[-1]
            rows = np.tile(outputs[running], len(_SHARES))
            found = reached[rows, np.arange(rows.size)].reshape(len(_SHARES), running.size)
            share = np.argmax(found, axis=0)
            value = found[share, np.arange(running.size)]
            better = value > values[running] + 1e-9
            if not better.any():
                break
            picked = share[better] * running.size + np.flatnonzero(better)
            running = running[better]
            deltas[:, running] = steps[:, picked]
            values[running] = value[better]
            there = batch_values(self.margins, centre + felt * deltas)
        unfelt = np.flatnonzero(weight <= _UNFELT)
        if self.norm == "linf" and unfelt.size:
            there = batch_values(self.margins, centre + felt * deltas)
            slope = batch_gradients(self.margins, there, outputs)
            deltas[unfelt] = self._farthest(slope)[unfelt]
        return deltas, values

    def _farthest(self, slope: FloatArray) -> FloatArray:
        """Return the ``δ`` with the largest ``g·δ`` for each column ``g`` of ``slope``."""
        ends = np.where(slope > 0, self.upper[:, None], self.lower[:, None])
        if self.norm == "linf":
            return ends
        room, size = np.abs(ends), np.abs(slope)
        if self.norm == "l1":
            order = np.argsort(-size, axis=0, kind="stable")
            filled = np.cumsum(np.take_along_axis(room, order, axis=0), axis=0)
            before = filled - np.take_along_axis(room, order, axis=0)
            left = np.clip(self.radius - before, 0.0, np.take_along_axis(room, order, axis=0))
            length = np.empty_like(room)
            np.put_along_axis(length, order, left, axis=0)
        else:
            length = self._scaled(size, room)
        return np.sign(ends) * length * INSIDE

    def _scaled(self, size: FloatArray, room: FloatArray) -> FloatArray:
        """Return ``min(s |g|, room)``, ``s`` as large as the L2 ball allows, by bisection.

        Lengths are in terms of the radius, the square of which may be too small for float64.
        """
        if not self.radius:
            return np.zeros_like(room)
        room = np.minimum(room, self.radius) / self.radius
        length = np.linalg.norm(size, axis=0)
        unit = size / np.where(length > 0, length, 1.0)
        low, high = np.zeros(size.shape[1]), np.full(size.shape[1], _WIDEST)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2.0
            fits = np.linalg.norm(np.minimum(np.exp(middle) * unit, room), axis=0) <= 1.0
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        scaled: FloatArray = self.radius * np.minimum(np.exp(low) * unit, room)
        return scaled


def perturbations_of(problem: Problem) -> Perturbations:
    """Return the perturbations in the ball of ``problem``, and the margins that they may raise."""
    feature_of = np.zeros(problem.x.size, dtype=np.intp)
    for feature, group in enumerate(problem.features.groups):
        feature_of[group] = feature
    centre, outer = problem.x.astype(np.float64), problem.ball.outer
    return Perturbations(
        problem.question.margins(problem.network.ir),
        centre,
        outer.lower - centre,
        outer.upper - centre,
        problem.ball.norm,
        problem.ball.epsilon,
        feature_of,
    )
