"""Reuse between checks: proven bounds, worst points, and guesses on the features that come next.

A traversal frees more and more coordinates, and a check on a larger set ``B'`` can use the bounds
proven on a smaller one, ``B ⊆ B'``:

    sup_{B'} m_j  ≤  sup_B m_j + Σ_{i ∈ B' − B} max(s⁺_ij h⁺_i, −s⁻_ij h⁻_i, 0)

with ``[s⁻, s⁺]`` bounds on ``∂m_j/∂x_i`` over ``B'`` and ``h`` the headroom of coordinate ``i`` on
each side. An input that changes the prediction and differs from ``x`` in ``B ∪ {i}`` alone keeps
``i`` in the explanation for good. From the worst point ``x*`` of margin ``j``, its gradient ``g``,

    m_j(x* + d) ≈ m_j(x*) + g·d

is exact until a phase changes: it picks the features worth a forward pass, and estimates how many
features in a row may be freed together. No proof rests on it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.attacks import climb, climbs, gradient
from milp_verix.oracle.verdict import Stage, Verdict, replayed
from milp_verix.problem.problem import ProblemData
from verix_encodings import Bounds, Interval, Network, NormBall, interval_bounds, slope_bounds
from verix_encodings.arrays import FloatArray, IntArray, relative_error
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network import batch_outputs

# each costs two evaluations of the network for each margin
_ONE_BY_ONE = 8
_MOST_VALUES = 2**17  # of points that move in one batch, 1 MB; not measured


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Bounds and worst points of the margins of ``network`` with the coordinates ``free`` free.

    ``upper`` are proven bounds on the margins over that ball, shape (m,); ``points`` are inputs of
    it, one for each margin, shape (m, d), with the values ``reached`` there, shape (m,), and the
    ``gradients``, shape (m, d).
    """

    network: Network
    centre: FloatArray
    free: IntArray
    upper: FloatArray
    points: FloatArray
    reached: FloatArray
    gradients: FloatArray

    def extra(self, free: IntArray) -> IntArray | None:
        """Return the coordinates in ``free`` that are new, or None if an old one is missing."""
        if not np.isin(self.free, free).all():
            return None
        return np.setdiff1d(free, self.free)

    def grown(self, extra: IntArray, bounds: Bounds) -> FloatArray:
        """Return bounds on the margins with ``extra`` free, in ``bounds``; NaN on overflow."""
        low, high = slope_bounds(self.network, bounds)
        box, centre = bounds[0], self.centre
        up = np.nextafter(box.upper[extra] - centre[extra], np.inf)
        down = np.nextafter(centre[extra] - box.lower[extra], np.inf)
        with np.errstate(over="ignore"):
            ways = np.maximum(np.maximum(high[:, extra] * up, -low[:, extra] * down), 0.0)
            growth = np.sum(ways, axis=1) * (1.0 + relative_error(extra.size))
            error = relative_error(1) * (np.abs(self.upper) + growth)
            return np.asarray(self.upper + growth + error)

    def rises(self, box: Interval, region: Interval | NormBall) -> FloatArray:
        """Estimate the gain of each margin as one coordinate may move in ``box``; shape (m, d).

        ``region`` are the inputs with the coordinates ``free`` free. By the gradients at the worst
        points: exact until a phase changes for L∞; for L1 and L2 if the points are the worst.
        """
        if isinstance(region, NormBall):
            return region.gains(self.gradients, box)
        up, down = box.upper - self.points, self.points - box.lower
        return np.asarray(np.maximum(self.gradients * up, -self.gradients * down))

    def suspects(
        self, extra: IntArray, region: Interval | NormBall, late: Late = never
    ) -> Iterator[tuple[int, FloatArray, float]]:
        """Yield (margin, input of ``region``, value there) for each margin, the closest first.

        Each is the worst point, moved along the gradient; or, if few coordinates are new, with each
        of these at its worse end. Once ``late()``, it ends.
        """
        order = np.argsort(-self.reached, kind="stable")
        if isinstance(region, NormBall):
            # programs cost far more here than the few steps of a climb
            points = climbs(self.network, region, self.points[order].T, order, late)
            values = batch_outputs(self.network, points, late)[order, np.arange(order.size)]
            yield from zip(order.tolist(), points.T, values.tolist(), strict=True)
            return
        few = 0 < extra.size <= _ONE_BY_ONE
        for margin in order.tolist():
            if late():
                return
            point, value = self.points[margin], float(self.reached[margin])
            if few:
                point, value = self._flipped(margin, extra, region)
            else:
                moved = region.farthest(self.gradients[margin])
                there = float(self.network.evaluate(moved)[margin])
                point, value = (moved, there) if there > value else (point, value)
            yield margin, point, value

    def _flipped(self, margin: int, extra: IntArray, box: Interval) -> tuple[FloatArray, float]:
        point, value = self.points[margin].copy(), float(self.reached[margin])
        for i in extra:
            worst = point[i]
            for end in (box.lower[i], box.upper[i]):
                point[i] = end
                there = float(self.network.evaluate(point)[margin])
                if there > value:
                    value, worst = there, end
            point[i] = worst
        return point, value

    def proven(
        self,
        free: IntArray,
        upper: FloatArray,
        points: Mapping[int, FloatArray],
        late: Late = never,
    ) -> "Memory":
        """Return the memory once ``free`` is proven, with ``upper`` and better ``points``."""
        kept, reached, gradients = self.points.copy(), self.reached.copy(), self.gradients.copy()
        for margin, point in points.items():
            if late():
                break
            value = float(self.network.evaluate(point)[margin])
            if value > reached[margin]:
                kept[margin], reached[margin] = point, value
                gradients[margin] = gradient(self.network, margin, point)
        return replace(
            self, free=free, upper=upper, points=kept, reached=reached, gradients=gradients
        )

    def pulled(
        self, beyond: NDArray[Any], region: Interval | NormBall, late: Late = never
    ) -> "Memory":
        """Return the memory with ``beyond``, of a larger ball, pulled into ``region``.

        ``region`` is the ball of the memory. A solver that stops once a margin is proven leaves
        points far from the worst, and guesses made from these are too bold.
        """
        point = beyond.reshape(-1).astype(np.float64)
        margin = int(np.argmax(self.network.evaluate(point)))
        inside = climb(self.network, region, point, margin, late)
        return self.proven(self.free, self.upper, {margin: inside}, late)


def first_memory(network: Network, centre: FloatArray, late: Late = never) -> Memory | None:
    """Return the memory made from the centre alone; None if bounds overflow, or once ``late()``."""
    if late():
        return None
    try:
        at_centre = interval_bounds(network, Interval(centre, centre))[-1].upper
    except OverflowError:
        return None
    gradients = []
    for j in range(at_centre.size):
        if late():
            return None
        gradients.append(gradient(network, j, centre))
    return Memory(
        network,
        centre,
        np.zeros(0, dtype=np.intp),
        at_centre,
        np.tile(centre, (at_centre.size, 1)),
        network.evaluate(centre),
        np.array(gradients).reshape(at_centre.size, centre.size),
    )


def flipped(
    problem: ProblemData,
    memory: Memory,
    irrelevant: Sequence[int],
    features: Sequence[int],
    late: Late = never,
) -> Iterator[tuple[int, Verdict]]:
    """Yield the ``features`` whose change, added to a worst point, changes the prediction."""
    expected = memory.reached[:, None] + _rises(problem, memory)
    hopeful = [feature for feature in features if np.any(expected[:, feature] > 0)]
    together = max(_MOST_VALUES // memory.points.size, 1)
    points: dict[int, list[FloatArray]] = {}
    for number, feature in enumerate(hopeful):
        if late():
            return
        if number % together == 0:
            points = _moved(problem, memory, irrelevant, hopeful[number:][:together], expected)
        for point in points[feature]:
            free = problem.features.coordinates([*irrelevant, feature])
            if (verdict := replayed(problem, point, free)) is not None:
                yield feature, replace(verdict, stage=Stage.POINTS)
                break


def _moved(
    problem: ProblemData,
    memory: Memory,
    irrelevant: Sequence[int],
    features: Sequence[int],
    expected: FloatArray,
) -> dict[int, list[FloatArray]]:
    """Return inputs with each of ``features`` freed where a margin is above zero, by feature.

    For each margin that is ``expected`` there, (m, features), the highest first, the input is where
    its gradient leads; for L∞ the worst point with the feature moved along the gradient.
    """
    margins, places = np.nonzero(expected[:, list(features)] > 0)
    chosen = np.asarray(features)[places]
    own = problem.features.of_coordinate == chosen[:, None]
    felt = own.copy()
    felt[:, memory.free] = True
    region = problem.ball.region(problem.features.coordinates([*irrelevant, *features]))
    points = region.farthest(np.where(felt, memory.gradients[margins], 0.0).T).T
    if problem.ball.norm == "linf":
        points = np.where(own, points, memory.points[margins])
    values = batch_outputs(memory.network, points.T)[margins, np.arange(margins.size)]
    found: dict[int, list[FloatArray]] = {feature: [] for feature in features}
    for place in np.argsort(-expected[margins, chosen], kind="stable").tolist():
        if values[place] > 0:
            found[int(chosen[place])].append(points[place])
    return found


def _rises(problem: ProblemData, memory: Memory) -> FloatArray:
    """Return the first-order gain of each margin with each feature freed; shape (m, features)."""
    rises = memory.rises(problem.ball.outer, problem.ball.region(memory.free))
    return problem.features.totals(rises)


def forecast(
    problem: ProblemData, memory: Memory, irrelevant: Sequence[int], features: Sequence[int]
) -> int:
    """Guess how many of ``features``, from the first on, can be freed together; at least one."""
    if problem.ball.norm == "linf":
        rises = _rises(problem, memory)[:, list(features)]
        expected = memory.reached[:, None] + np.cumsum(rises, axis=1)
        beyond = np.flatnonzero((expected >= 0).any(axis=0))
        return max(1, int(beyond[0])) if beyond.size else len(features)
    base = memory.reached - _greatest(problem, memory, irrelevant)
    least, most = 0, len(features)
    while least < most:
        middle = (least + most + 1) // 2
        there = base + _greatest(problem, memory, [*irrelevant, *features[:middle]])
        least, most = (middle, most) if np.all(there < 0) else (least, middle - 1)
    return max(1, least)


def _greatest(problem: ProblemData, memory: Memory, features: Sequence[int]) -> FloatArray:
    """Return the largest value of each margin's gradient over the ball with ``features`` free."""
    region = problem.ball.region(problem.features.coordinates(features))
    assert isinstance(region, NormBall)
    return region.greatest(memory.gradients)


_DISJOINT = 8  # contrasts that are compared; not measured


def disjoint_contrasts(problem: ProblemData, known: Iterable[Verdict]) -> int:
    """Return how many disjoint contrasts some violated claims have, as a lower bound.

    Each explanation has a feature of every contrast. Only a few small ones are looked at. A
    counterfactual counts where a margin is above zero in real arithmetic.
    """
    points = [v.witness.reshape(-1) for v in known if v.witness is not None]
    sets = [np.unique(problem.features.of_coordinate[point != problem.x]) for point in points]
    covered: set[int] = set()
    found = 0
    for place in sorted(range(len(sets)), key=lambda place: sets[place].size)[:_DISJOINT]:
        if covered.isdisjoint(sets[place].tolist()) and _clear(problem, points[place]):
            covered.update(sets[place].tolist())
            found += 1
    return found


def _clear(problem: ProblemData, point: FloatArray) -> bool:
    """Return whether a margin is above zero at ``point``, shape (d,), in real arithmetic."""
    there = point.astype(np.float64)
    try:
        values = interval_bounds(problem.margins, Interval(there, there))
    except OverflowError:
        return False
    return bool(np.any(values[-1].lower > 0))
