"""The pool of all known constraints on explanations: scenarios and covers."""

from collections.abc import Iterable

import numpy as np

from milp_verix.oracle.perturbation_set import PerturbationSet
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, Cover, Scenario
from verix_encodings.models.scenario import SLACK

_VIOLATED = 10 * SLACK
"""A scenario counts as violated if a margin exceeds this value."""


class ConstraintPool:
    """A list of ``constraints``.

    ``deltas`` has the perturbation of each scenario among them as a column, shape (d, N).
    """

    def __init__(self, perturbations: PerturbationSet) -> None:
        self.perturbations = perturbations
        self.constraints: list[Constraint] = []
        self.deltas = np.zeros((perturbations.centre.size, 0))

    def add(self, constraints: Iterable[Constraint]) -> None:
        """Add ``constraints``."""
        for constraint in constraints:
            if isinstance(constraint, Scenario):
                self.deltas = np.concatenate([self.deltas, constraint.delta[:, None]], axis=1)
            self.constraints.append(constraint)

    def violated(self, selection: FloatArray) -> bool:
        """Return whether ``selection``, shape (features,), violates a constraint.

        Scenarios are evaluated on the network itself, not on their relaxation.
        """
        p = self.perturbations
        covers = (one for one in self.constraints if isinstance(one, Cover))
        if any(1.0 - selection[cover.features].sum() > _VIOLATED for cover in covers):
            return True
        return bool(np.any(p.margins_at(p.weight(selection), self.deltas) > _VIOLATED))
