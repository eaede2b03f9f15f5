"""Lines around nodes on many sets of inputs at once, for backward bounds in batches.

Row ``r`` belongs to the set ``owner[r]``, and has its lines:

    c·v ≤ Σ_s (c⁺ S_s + c⁻ B_s) z_s + c⁺·t + c⁻·b            B z + b ≤ v ≤ S z + t on each set
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray, relative_error
from verix_encodings.work import spend_entries

Products: TypeAlias = list[tuple[int, FloatArray]]
"""The coefficients of each source, by the number of its value."""


class BatchRelaxation(Protocol):
    """Forms above and below a node on each set of inputs."""

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        """Return a form above ``row·v`` on the set of each row: constants, and coefficients."""


class FollowedForms(BatchRelaxation, Protocol):
    """Forms of a node that is split at points, which may be followed forward, too."""

    def followed(
        self, values: Mapping[int, FloatArray], met: FloatArray | None, owner: IntArray
    ) -> FloatArray:
        """Return the values of the forms that each row takes, shape (rows, size).

        ``values`` are those of the sources, shape (rows, size); ``met`` are the coefficients met at
        the node, None for zeros: positive ones take the upper form.
        """


@dataclass(frozen=True, slots=True, eq=False)
class BatchLines:
    """Lines neuron by neuron: ``terms`` are sources, their slopes above and those below.

    All arrays have the shape (sets, neurons). ``floor`` is zero if it is None. ``reach`` is at
    least the magnitude of all products and intercepts, for the rounding; None where the caller
    counts that.
    """

    terms: tuple[tuple[int, FloatArray, FloatArray], ...]
    ceiling: FloatArray
    floor: FloatArray | None = None
    reach: FloatArray | None = None

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        """Return a form above ``row·v`` on the set of each row: constants, and coefficients."""
        spend_entries(row.size, 8)
        positive = np.maximum(row, 0.0)
        shift = np.einsum("rn,rn->r", positive, self.ceiling[owner])
        negative = row - positive
        if self.floor is not None:
            shift += np.einsum("rn,rn->r", negative, self.floor[owner])
        if self.reach is not None:
            gamma = relative_error(row.shape[1])
            shift += gamma * np.einsum("rn,rn->r", np.abs(row), self.reach[owner])
        products = []
        for source, above, below in self.terms:
            # gathered copies are changed in place: no array is written twice
            product, lower = above[owner], below[owner]
            product *= positive
            lower *= negative
            product += lower
            products.append((source, product))
        return shift, products

    def followed(
        self, values: Mapping[int, FloatArray], met: FloatArray | None, owner: IntArray
    ) -> FloatArray:
        """Return the values of the lines that each row takes."""
        high = self.ceiling[owner]
        low = np.zeros_like(high) if self.floor is None else self.floor[owner]
        for source, above, below in self.terms:
            z = values[source]
            spend_entries(z.size, 4)
            high = high + above[owner] * z
            low = low + below[owner] * z
        return low if met is None else np.where(met > 0, high, low)
