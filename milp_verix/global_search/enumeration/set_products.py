"""Many sets of features, each a pair of two halves that others have, too.

What a linear map gives for a set is the sum of what it gives for the halves: it is applied to each
half once, however many sets there are.
"""

from dataclasses import dataclass, replace

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class SetProducts:
    """Sets ``n`` that have a first half, number ``of_first[n]``, and a second, ``of_second[n]``.

    The columns of ``first`` and ``second`` are halves, 1 for a feature that is in and 0 for one
    that is not; the rows are features, those of ``first_features`` and ``second_features``.
    """

    first_features: IntArray
    second_features: IntArray
    first: FloatArray
    second: FloatArray
    of_first: IntArray
    of_second: IntArray

    def __len__(self) -> int:
        return self.of_first.size

    def members(self, number: int) -> BoolArray:
        """Return the set of that number, shape (features,)."""
        members: BoolArray = self.rows(np.array([number]))[0]
        return members

    def rows(self, numbers: IntArray | None = None) -> BoolArray:
        """Return the sets of those numbers, or all, as rows; shape (N, features)."""
        if numbers is None:
            numbers = np.arange(len(self))
        features = self.first_features.size + self.second_features.size
        sets = np.zeros((numbers.size, features), dtype=bool)
        sets[:, self.first_features] = self.first[:, self.of_first[numbers]].T
        sets[:, self.second_features] = self.second[:, self.of_second[numbers]].T
        return sets

    def halves(self, matrix: FloatArray, bias: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``u`` and ``v`` with ``M A + b = u[of_first[n]] + v[of_second[n]]`` for set ``n``.

        ``matrix`` is ``M``, shape (k, features); ``bias`` is ``b``, shape (k,).
        """
        one = self.first.T @ matrix[:, self.first_features].T + bias
        return one, self.second.T @ matrix[:, self.second_features].T

    def kept(self, survive: BoolArray) -> "SetProducts":
        """Return the sets that ``survive``, shape (N,)."""
        of_first, of_second = self.of_first[survive], self.of_second[survive]
        first, of_first = _used(self.first, of_first)
        second, of_second = _used(self.second, of_second)
        return replace(self, first=first, second=second, of_first=of_first, of_second=of_second)


def _used(halves: FloatArray, numbers: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the halves that are used, and their new numbers; all, where most are used."""
    used = np.zeros(halves.shape[1], dtype=bool)
    used[numbers] = True
    left = np.flatnonzero(used)
    if 2 * left.size > used.size:
        return halves, numbers
    return halves[:, left], (np.cumsum(used) - 1)[numbers]
