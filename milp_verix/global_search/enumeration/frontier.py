"""Ways to choose features one after the other, which leave nothing of several accounts negative.

Each way has some of each account left, and each feature takes from these, whether it is in or not.
All ways are kept side by side, as columns.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray


class Frontier:
    """The ways so far, at first one without features.

    ``left`` is what is left of each account, shape (accounts, ways); nothing of it is negative once
    a feature was chosen.
    """

    def __init__(self, left: FloatArray) -> None:
        self.left = left
        # for each feature, the ways that it went on from, and how many of them, the first, have it
        self._steps: list[tuple[IntArray, int]] = []

    @property
    def ways(self) -> int:
        """How many there are."""
        return int(self.left.shape[1])

    @property
    def features(self) -> int:
        """How many features were chosen."""
        return len(self._steps)

    def choose(self, sides: Sequence[tuple[bool, FloatArray]]) -> None:
        """Go on to a feature by each of the ``sides``: whether it is in, and what that takes.

        The side that is in comes first; what it takes has shape (accounts,).
        """
        parents, left, inside = [], [], 0
        for is_in, takes in sides:
            # one account alone first: where most ways fail by it, little is left to be copied
            may = np.flatnonzero(self.left[0] >= takes[0])
            rest = self.left.take(may, axis=1) - takes[:, None]
            lasting = np.all(rest >= 0.0, axis=0)
            if not lasting.all():
                may, rest = may[lasting], rest[:, lasting]
            parents.append(may)
            left.append(rest)
            inside += may.size * is_in
        self.left = np.concatenate(left, axis=1)
        self._steps.append((np.concatenate(parents), inside))

    def account(self, left: FloatArray) -> None:
        """Keep further accounts, shape (accounts, ways), and the ways with nothing negative."""
        alive = np.flatnonzero(np.all(left >= 0.0, axis=0))
        self.left = np.concatenate([self.left.take(alive, axis=1), left.take(alive, axis=1)])
        parents, inside = self._steps[-1]
        self._steps[-1] = parents[alive], int(np.count_nonzero(alive < inside))

    def chosen(self, ways: IntArray) -> FloatArray:
        """Return the ``ways`` as columns: a row for each feature, in order, 1 where it is in."""
        result = np.empty((len(self._steps), ways.size))
        for row, (parents, inside) in zip(result[::-1], self._steps[::-1], strict=True):
            row[:] = ways < inside
            ways = parents[ways]
        return result
