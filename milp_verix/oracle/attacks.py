"""Climb margins along gradients: counterfactuals where programs are dear.

Frank and Wolfe's method: with ``g`` the gradient at ``x`` and ``v`` the point of a convex region
with the largest ``g·v``, go to the best of ``x + t (v − x)`` for ``t = 1, ½, ¼, …``; a point counts
only once onnxruntime was run on it.

For the set ``B`` that is proven free, feature ``i`` and margin ``j``, the method climbs

    δ ↦ m_j(x + w ∘ δ),   w = 1 on the coordinates of B ∪ {i}, 0 elsewhere,   x + δ in the ball,

for many pairs ``(i, j)`` in one batch, from the worst points known of ``B`` and from high points of
larger sets, such as the leaves of a check that stayed open. The input that changes the prediction
keeps ``i`` in the explanation for good, since ``B`` only grows. Nothing is proven of features that
survive. Features that need several batches are attacked only if a climb with all of them free finds
something.

For a minimum explanation it climbs over all perturbations, to those that harm a selection. A
fractional selection ``A`` shrinks the perturbation of feature ``f`` by the factor ``1 − A_f``. The
input is ``x + w ∘ δ`` with ``w = 1 − A``, for any ``δ`` in the ball. For a margin ``m`` the search
climbs ``δ ↦ m(x + w ∘ δ)`` by Frank and Wolfe's method. Each step moves towards the ``δ`` in the
ball with the largest ``(w ∘ g)·δ``, where ``g`` is the gradient. Coordinates with ``w = 0`` have no
effect now; they follow ``g``, which hurts most once the feature is freed.

The search proves nothing: any perturbation in the ball gives a valid scenario.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from milp_verix.oracle.verdict import Stage, Verdict, replayed
from milp_verix.problem.problem import ProblemData
from verix_encodings import Interval, Network, NormBall, interval_bounds, slope_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, unit_rows
from verix_encodings.bounds.interval import Late, never
from verix_encodings.bounds.norm_ball import length
from verix_encodings.network import batch_outputs, batch_slopes

_STEPS = 8  # of a climb; not measured
_SHARES = tuple(0.5 ** np.arange(12))

AtPoints: TypeAlias = Callable[[FloatArray, IntArray], FloatArray]
"""A function of points, the columns of shape (d, N), and the numbers of their climbs, (N,).

Values have the shape (N,), gradients (d, N).
"""


def frank_wolfe(
    points: FloatArray,
    values: AtPoints,
    gradients: AtPoints,
    farthest: Callable[[FloatArray], FloatArray],
    *,
    steps: int = _STEPS,
    shares: Sequence[float] = _SHARES,
    gain: float = 0.0,
    enough: float = np.inf,
    late: Late = never,
) -> tuple[FloatArray, FloatArray]:
    """Climb from each column of ``points``, shape (d, N), all at once, for so many ``steps``.

    ``farthest`` returns the points of a convex set along gradients, both (d, N), such as
    ``Region.farthest``; a step goes a share of ``shares`` of the way there. A climb ends where no
    share gains more than ``gain`` or the value is above ``enough``, and all end once ``late()``.
    Returns the points reached and their values, (N,), no less than those of ``points``.
    """
    points, running = points.copy(), np.arange(points.shape[1])
    reached = values(points, running)
    for _ in range(steps):
        running = running[reached[running] <= enough]
        if late() or not running.size:
            break
        start = points[:, running]
        ends = farthest(gradients(start, running))
        # a gradient that overflows, as at a jump, leads nowhere
        ends = np.where(np.isnan(ends).any(axis=0), start, ends)
        tried = np.concatenate([start + share * (ends - start) for share in shares], axis=1)
        found = values(tried, np.tile(running, len(shares))).reshape(len(shares), -1)
        found[np.isnan(found)] = -np.inf  # undefined there
        best = np.argmax(found, axis=0)
        value = found[best, np.arange(running.size)]
        better = value > reached[running] + gain
        if not better.any():
            break
        picked = best[better] * running.size + np.flatnonzero(better)
        running = running[better]
        points[:, running], reached[running] = tried[:, picked], value[better]
    return points, reached


def gradient(network: Network, output: int, x: FloatArray) -> FloatArray:
    """Return an output's gradient at ``x``, (d,): at a kink the mean of both sides; NaN if beyond.

    It is zero where the network has steps.
    """
    if network.stepped:
        return np.zeros(x.size)
    one_output = network.then(unit_rows([output], network.output_size), np.zeros(1))
    try:
        lower, upper = slope_bounds(one_output, interval_bounds(one_output, Interval(x, x)))
    except OverflowError:
        return np.full(x.size, np.nan)
    return np.asarray(lower[0] / 2 + upper[0] / 2)


def pulled_in(region: Interval | NormBall, point: FloatArray) -> FloatArray:
    """Return ``point``, moved towards the centre of the region until it lies inside."""
    x: FloatArray = np.clip(point, region.box.lower, region.box.upper)
    if isinstance(region, Interval):
        return x
    moved = length(x - region.centre, region.norm)
    share = min(1.0, region.radius / moved) if moved else 1.0
    return np.asarray(region.centre + share * (x - region.centre))


def around_zero(region: Interval | NormBall, centre: FloatArray) -> Interval | NormBall:
    """Return the moves from ``centre`` that stay in a region: the region, moved to zero."""
    box = region.box
    moves = Interval(np.minimum(box.lower - centre, 0.0), np.maximum(box.upper - centre, 0.0))
    if isinstance(region, Interval):
        return moves
    return NormBall(moves, np.zeros(centre.size), region.radius, region.norm)


def margins_along(
    network: Network, outputs: IntArray, inputs: AtPoints, late: Late
) -> tuple[AtPoints, AtPoints]:
    """Return the values of ``outputs``, (N,), at the ``inputs`` of points; and gradients there."""

    def values(points: FloatArray, numbers: IntArray) -> FloatArray:
        reached = batch_outputs(network, inputs(points, numbers), late)
        return np.asarray(reached[outputs[numbers], np.arange(numbers.size)])

    def gradients(points: FloatArray, numbers: IntArray) -> FloatArray:
        return batch_slopes(network, inputs(points, numbers), outputs[numbers], late)

    return values, gradients


def climbs(
    network: Network,
    region: Interval | NormBall,
    points: FloatArray,
    outputs: IntArray,
    late: Late = never,
) -> FloatArray:
    """Climb output ``outputs[n]`` from column ``n`` of ``points``, (d, N), inside ``region``."""
    if network.stepped:
        return points

    along = margins_along(network, outputs, lambda x, _: x, late)
    return frank_wolfe(points, *along, region.farthest, late=late)[0]


def climb(
    network: Network,
    region: Interval | NormBall,
    point: FloatArray,
    output: int,
    late: Late = never,
) -> FloatArray:
    """Return a point of ``region`` where one output is no less than at ``point``, often more.

    A point outside is pulled in first. Once ``late()``, the climb returns its current point.
    """
    start = pulled_in(region, point)[:, None]
    return climbs(network, region, start, np.array([output]), late)[:, 0]


_RIVALS = 3  # margins that are climbed; not measured
_ATTACK_STEPS = 20  # of a climb; not measured
_STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)  # tried at each; not measured
_MOST_VALUES = 2e6  # of a batch: 16 MB
# of a margin: more than what onnxruntime rounds
_ENOUGH = 1e-3


def attacked(
    problem: ProblemData,
    margins: Network,
    starts: FloatArray,
    irrelevant: Sequence[int],
    features: Sequence[int],
    *,
    beyond: Sequence[FloatArray] = (),
    late: Late = never,
) -> Iterator[tuple[int, Verdict]]:
    """Yield those of ``features`` that a climb shows to be needed beside ``irrelevant``.

    ``starts`` are inputs of the ball over ``irrelevant``, the worst one known for each margin,
    shape (m, d), or one for all of them, (1, d); ``beyond`` are inputs of the whole ball, of which
    the coordinates that are free are kept. Once ``late()``, no more features are looked at.
    """
    if margins.stepped:
        return
    centre = problem.x.astype(np.float64)
    reached = np.max(batch_outputs(margins, starts.T, late), axis=1)
    rivals = np.argsort(-reached, kind="stable")[:_RIVALS]
    base = np.zeros(centre.size)
    base[problem.features.coordinates(irrelevant)] = 1.0
    deltas = np.broadcast_to(starts, (margins.output_size, centre.size))[rivals] - centre
    if len(beyond):
        others = np.array(beyond).reshape(len(beyond), -1)
        highest = np.argmax(batch_outputs(margins, others.T, late), axis=0)
        rivals, deltas = np.append(rivals, highest), np.concatenate([deltas, others - centre])
    # a batch holds every value of the network for each climb and step
    values = sum(margins.sizes) * rivals.size * len(_STEP_LENGTHS)
    size = max(int(_MOST_VALUES / values), 1)
    if size < len(features):
        # several batches: not worth it if nothing is found with all features free
        every = base.copy()
        every[problem.features.coordinates(features)] = 1.0
        all_free = _Batch(problem, margins, features[:1], every[:, None], rivals, late)
        points, reached = all_free.climb(deltas)
        if np.all(reached <= 0):
            return
        deltas = points.T
    for first in range(0, len(features), size):
        if late():
            return
        some = features[first : first + size]
        weights = np.repeat(base[:, None], len(some), axis=1)
        for column, feature in enumerate(some):
            weights[problem.features.groups[feature], column] = 1.0
        batch = _Batch(problem, margins, some, weights, rivals, late)
        yield from batch.climbed(deltas)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Climbs of each of the margins ``rivals`` for each of ``features``, side by side.

    ``weights`` are ``w``, shape (d, features). The columns of a batch are pairs of a rival and a
    feature: those of the first rival first. Climbs end once ``late()``.
    """

    problem: ProblemData
    margins: Network
    features: Sequence[int]
    weights: FloatArray
    rivals: IntArray
    late: Late

    def climbed(self, deltas: FloatArray) -> Iterator[tuple[int, Verdict]]:
        """Yield features with their counterfactuals; climbs begin at ``deltas``, (rivals, d)."""
        count = len(self.features)
        points, reached = self.climb(deltas, _ENOUGH)
        inputs = self._inputs(points, np.arange(reached.size))
        for place, feature in enumerate(self.features):
            mine = np.arange(place, reached.size, count)
            coordinates = np.flatnonzero(self.weights[:, place])
            for best in mine[np.argsort(-reached[mine], kind="stable")]:
                # many rules make a replay a program of its own
                if reached[best] <= 0 or self.late():
                    break
                verdict = replayed(self.problem, inputs[:, best], coordinates)
                if verdict is not None:
                    yield feature, replace(verdict, stage=Stage.POINTS)
                    break

    def climb(self, deltas: FloatArray, enough: float = np.inf) -> tuple[FloatArray, FloatArray]:
        """Return the points δ where the climbs from ``deltas`` end, and the margins there.

        A climb ends once its margin is above ``enough``.
        """
        count = len(self.features)
        region = self.problem.ball.region(np.arange(self.problem.x.size))
        outputs = np.repeat(self.rivals, count)
        values, slopes = margins_along(self.margins, outputs, self._inputs, self.late)
        return frank_wolfe(
            np.repeat(deltas.T, count, axis=1),
            values,
            lambda points, numbers: self.weights[:, numbers % count] * slopes(points, numbers),
            around_zero(region, self.problem.x.astype(np.float64)).farthest,
            steps=_ATTACK_STEPS,
            shares=_STEP_LENGTHS,
            gain=1e-9,
            enough=enough,
            late=self.late,
        )

    def _inputs(self, points: FloatArray, numbers: IntArray) -> FloatArray:
        """Return ``x + w ∘ δ`` for the ``points`` δ of the columns ``numbers``."""
        weight = self.weights[:, numbers % len(self.features)]
        return np.asarray(self.problem.x.astype(np.float64)[:, None] + weight * points)


_MOVES = 12  # of a climb; not measured
_MOVE_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # tried at each; not measured
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
        step = max(_AT_ONCE // (weight.size * each * len(_MOVE_LENGTHS)), 1)
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
            steps=_MOVES,
            shares=_MOVE_LENGTHS,
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
