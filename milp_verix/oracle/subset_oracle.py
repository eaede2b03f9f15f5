"""Checks on sets of features that use monotonicity.

Freeing more features can only break a claim: a claim on a set holds for its subsets, and a
counterfactual for a set is one for its supersets. So a few verdicts answer many checks. A violated
set shrinks to a minimal contrastive explanation; a robust set grows until the features outside of
it are a minimal abductive explanation (Liffiton, Previti, Malik, Marques-Silva, *Fast, flexible MUS
enumeration*, Constraints 2016). A set whose check is UNKNOWN is neither.
"""

from collections.abc import Collection, Iterable

import numpy as np

from milp_verix.base.clock import Deadline, Limit
from milp_verix.oracle.attacks import gradient
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Verdict, replayed
from verix_encodings.arrays import FloatArray
from verix_encodings.network import batch_outputs

_ONE_BY_ONE = 64  # features at most that are put back one by one; not measured
_ROUNDS = 3  # of ranking and bisection; not measured


class SubsetOracle:
    """Answers checks on sets of features by the ``deadline``, each within ``check_limit``.

    ``everything`` are all features but those ``held``, which the ball of the problem must not move.
    ``robust`` maps the largest sets proven to hold to their verdicts, ``contrasts`` sets of
    features to the counterfactuals that change them. These sets are bit masks: inclusion takes a
    word operation for 64 features. The ``oracle`` counts the work.
    """

    def __init__(
        self, oracle: Oracle, deadline: Deadline, check_limit: Limit, held: Collection[int] = ()
    ) -> None:
        self.problem = oracle.problem
        self.deadline = deadline
        self.margins = self.problem.margins
        self.centre = self.problem.x.astype(np.float64)
        self.everything = frozenset(range(self.problem.features.count)) - {*held}
        self.feature_of = self.problem.features.of_coordinate
        self.robust: dict[int, Verdict] = {}
        self.contrasts: dict[int, Verdict] = {}
        self.oracle = oracle
        self._check_limit = check_limit

    def late(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline.passed()

    def check(self, free: frozenset[int]) -> Verdict:
        """Decide the claim for the features ``free``; UNKNOWN once the deadline has passed."""
        mask = self._mask(free)
        for robust, verdict in self.robust.items():
            if _within(mask, robust):
                return verdict
        for contrast, verdict in self.contrasts.items():
            if _within(contrast, mask):
                return verdict
        if self._stopped():
            return Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)
        coordinates = self.problem.features.coordinates(sorted(free))
        verdict = self.oracle.check(coordinates, self.deadline.limited(self._check_limit))
        if verdict.holds:
            self.robust = {k: v for k, v in self.robust.items() if not _within(k, mask)}
            self.robust[mask] = verdict
        elif verdict.violated:
            verdict = self.learn(verdict)
        return verdict

    def learn(self, verdict: Verdict) -> Verdict:
        """Keep a counterfactual, with as many features put back as a few forward passes allow.

        UNKNOWN if it lies inside a set that is proven robust: there onnxruntime rounds across a
        margin that is below zero in real arithmetic.
        """
        for candidate in (self._reverted(verdict), verdict):
            contrast = self._mask(self.changed(candidate))
            if not any(_within(contrast, robust) for robust in self.robust):
                self.contrasts = {
                    c: v for c, v in self.contrasts.items() if not _within(contrast, c)
                }
                self.contrasts[contrast] = candidate
                return candidate
        return Verdict(Answer.UNKNOWN, reason="rounding in onnxruntime exceeds the margin")

    def changed(self, verdict: Verdict) -> frozenset[int]:
        """Return the features in which the counterfactual of a violated claim is not the input."""
        moved = verdict.point != self.problem.x
        return frozenset(self.feature_of[moved].tolist())

    @property
    def sufficient(self) -> list[tuple[int, ...]]:
        """The sets of features outside of the ``robust`` ones: fixing them keeps the prediction."""
        count = self.problem.features.count
        everything = (1 << 8 * ((count + 7) // 8)) - 1
        return [_features(everything ^ mask, count) for mask in self.robust]

    def shrink(self, verdict: Verdict) -> tuple[Verdict, bool]:
        """Return a counterfactual of a minimal contrastive set inside that of ``verdict``.

        Also return whether the set is proven minimal. After an UNKNOWN check the feature stays in
        the set, and the set is not proven minimal. At the deadline it is the smallest set so far.
        """
        doubtful, left = [], self.changed(verdict)
        for feature in self.ranked(verdict.point):
            if self._stopped():
                return verdict, False
            if feature not in left:
                continue
            found = self.check(left - {feature})
            if found.violated:
                verdict, left = found, self.changed(found)
            elif not found.holds:
                doubtful.append(feature)
        # smaller sets are decided more easily than larger ones
        for feature in doubtful:
            found = self.check(left - {feature})
            if found.violated:
                return self.shrink(found)
            if not found.holds:
                return verdict, False
        return verdict, True

    def grow(self, free: frozenset[int], order: Iterable[int]) -> tuple[frozenset[int], bool]:
        """Return a robust set around the robust set ``free``, features freed in ``order``.

        Also return whether it is proven that no feature can be added. At the deadline it is the
        largest set so far.
        """
        maximal = True
        for feature in order:
            if feature in free:
                continue
            if self._stopped():
                return free, False
            found = self.check(free | {feature})
            if found.holds:
                free |= {feature}
            elif not found.violated:
                maximal = False
        return free, maximal

    def _stopped(self) -> bool:
        """Return whether no check is made any more: late, unless all of them are proven."""
        return self.late() and not self.oracle.proven

    def _mask(self, features: Collection[int]) -> int:
        """Return the set of ``features`` as a bit mask."""
        there = np.zeros(self.problem.features.count, dtype=bool)
        there[list(features)] = True
        return int.from_bytes(np.packbits(there).tobytes())

    def _reverted(self, verdict: Verdict) -> Verdict:
        """Return a counterfactual near that of ``verdict`` that changes fewer features, if any."""
        point = verdict.point
        for _ in range(_ROUNDS):
            if self.late():
                return verdict
            ranked = self.ranked(point)
            fewer = self._bisected(point, ranked)
            if np.array_equal(fewer, point):
                break
            point = fewer
        ranked = self.ranked(point)
        if len(ranked) <= _ONE_BY_ONE:
            for feature in ranked:
                if self.late():
                    break
                without = self._put_back(point, [feature])
                if self._worst(without) > 0:
                    point = without
        free = np.flatnonzero(point != self.centre)
        found = replayed(self.problem, point, free)
        return verdict if found is None else found

    def _bisected(self, point: FloatArray, ranked: list[int]) -> FloatArray:
        """Return ``point`` with the longest prefix of ``ranked`` put back that bisection finds."""
        low, high, best = 0, len(ranked), point
        while low < high and not self.late():
            middle = (low + high + 1) // 2
            without = self._put_back(point, ranked[:middle])
            if self._worst(without) > 0:
                low, best = middle, without
            else:
                high = middle - 1
        return best

    def ranked(
        self, point: FloatArray, margin: int | None = None, costs: FloatArray | None = None
    ) -> list[int]:
        """Return the features changed at ``point``, sorted by their first-order gain of a margin.

        The least comes first; ``margin`` is the worst one by default; ``costs`` divide the gains.
        """
        if margin is None:
            margin = int(np.argmax(self.margins.evaluate(point)))
        slope = gradient(self.margins, margin, point)
        if self.margins.stepped or not np.isfinite(slope).all():
            by_feature = self._losses(point, margin)
        else:
            by_feature = np.zeros(self.problem.features.count)
            np.add.at(by_feature, self.feature_of, slope * (point - self.centre))
        by_cost = by_feature if costs is None else by_feature / costs
        moved = np.unique(self.feature_of[point != self.centre])
        return [int(f) for f in moved[np.argsort(by_cost[moved], kind="stable")]]

    def _losses(self, point: FloatArray, margin: int) -> FloatArray:
        """Return the margin's fall as each changed feature alone is put back, (features,)."""
        moved = np.unique(self.feature_of[point != self.centre]).tolist()
        tried = np.array([point, *(self._put_back(point, [f]) for f in moved)])
        reached = batch_outputs(self.margins, tried.T)[margin]
        losses = np.zeros(self.problem.features.count)
        losses[moved] = reached[0] - reached[1:]
        return losses

    def _put_back(self, point: FloatArray, features: list[int]) -> FloatArray:
        coordinates = self.problem.features.coordinates(features)
        result = point.copy()
        result[coordinates] = self.centre[coordinates]
        return result

    def _worst(self, point: FloatArray) -> float:
        return float(np.max(self.margins.evaluate(point)))


def _features(mask: int, count: int) -> tuple[int, ...]:
    """Return the features in a bit mask, ascending."""
    there = np.frombuffer(mask.to_bytes((count + 7) // 8), dtype=np.uint8)
    return tuple(np.flatnonzero(np.unpackbits(there, count=count)).tolist())


def _within(inner: int, outer: int) -> bool:
    """Return whether the bit mask ``inner`` is a subset of ``outer``."""
    return inner & ~outer == 0
