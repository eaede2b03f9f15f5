"""What each scenario by itself asks of the sets in a node: a row in the features alone.

The row duals of an optimum aggregate all rows of a program to its bound. Those of one scenario's
rows alone aggregate these to a surrogate ``g·A + h ≤ 0``, with every other column where it asks
least (``SafeBound.surrogate``). The bound and its reduced costs say
what the sum of these says: of a million sets that satisfy the sum, hardly one satisfies each. All
together they rule out most sets before these are chosen to the end
(:mod:`~milp_verix.global_search.relaxation.surviving_sets`).
"""

from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.restricted import Restriction
from verix_encodings.proofs.safe_bound import SafeBound


@dataclass(frozen=True, slots=True, eq=False)
class Surrogates:
    """Rows ``g·A + h ≤ 0`` for every set ``A`` of a node: ``matrix`` holds each ``g``.

    Its shape is (rows, features); ``constant`` holds each ``h``.
    """

    matrix: FloatArray
    constant: FloatArray

    def on(self, restriction: Restriction) -> "Surrogates":
        """Return the same of the free features of ``restriction`` alone."""
        inside = self.matrix[:, restriction.fixed_in].sum(axis=1)
        return Surrogates(self.matrix[:, restriction.free], self.constant + inside)


def no_surrogates(features: int) -> Surrogates:
    """Return no rows at all."""
    return Surrogates(np.zeros((0, features)), np.zeros(0))


def surrogates_of(
    safe: SafeBound,
    y: FloatArray,
    group_of_rows: IntArray,
    features: int,
    *,
    row_error: float,
    ends: tuple[FloatArray, FloatArray],
) -> Surrogates:
    """Return a row for each group of rows with multipliers ``y``, shape (rows,), that are not zero.

    The first columns of the program of ``safe`` are the ``features``; ``ends`` are what bounds the
    columns in the node. Every row is off by ``row_error`` at most.
    """
    columns = np.arange(features)
    found = [
        safe.surrogate(np.where(group_of_rows == group, y, 0.0), columns, row_error, ends)
        for group in np.unique(group_of_rows[y != 0]).tolist()
    ]
    if not found:
        return no_surrogates(features)
    rows, constants = zip(*found, strict=True)
    return Surrogates(np.array(rows), np.array(constants))
