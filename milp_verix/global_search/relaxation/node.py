"""What the relaxation of a node says: a bound, the features' shares, and what follows of both."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray

_NONE, _NOTHING = np.zeros(0, dtype=np.intp), np.zeros(0)

Fixings: TypeAlias = tuple[IntArray, FloatArray]
"""Columns of the program, and the value, 0 or 1, that each is fixed at."""


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """The relaxation with some columns fixed.

    ``bound`` is proven, infinite where it is infeasible. ``selection`` of the features are those of
    its optimum, shape (features,), None where there is none; ``phase`` is the integer column, no
    feature, that it gets most wrong, None where every scenario is survived.
    ``reduced_cost_fixings`` are features that keep their value in everything cheaper than asked
    for. ``reduced_costs`` are what the bound gains by each feature's being in, where positive, or
    out, where negative.
    """

    bound: float
    selection: FloatArray | None = None
    phase: int | None = None
    reduced_cost_fixings: Fixings = (_NONE, _NOTHING)
    reduced_costs: FloatArray | None = None
    late: bool = False

    @property
    def whole(self) -> bool:
        """Whether every feature is in or out."""
        return self.selection is not None and bool(
            np.all((self.selection == 0) | (self.selection == 1))
        )


def fixed_by_reduced_cost(
    reduced_costs: FloatArray | None, selection: FloatArray, fixed: IntArray, slack: float
) -> Fixings:
    """Return the features that would cost more than ``slack`` elsewhere, and where they are.

    A feature at one end whose reduced cost is ``d`` raises the bound by ``|d|`` at the other. The
    first columns are those of the features; ``fixed`` ones are left out.
    """
    if reduced_costs is None or not np.isfinite(slack):
        return _NONE, _NOTHING
    free = np.ones(reduced_costs.size, dtype=bool)
    free[fixed[fixed < reduced_costs.size]] = False
    far = np.abs(reduced_costs) > slack + 1e-6 * (1.0 + slack)
    at_end = np.where(reduced_costs > 0, selection == 0.0, selection == 1.0)
    features = np.flatnonzero(free & far & at_end)
    return features, selection[features]
