"""The pool of all known constraints on explanations: scenarios and covers.

The relaxation of the whole tree contains all of them. A subtree's contains few, and adds a
constraint once its optimum violates it: satisfied constraints would only cost time.
"""

from collections.abc import Iterable

import numpy as np

from milp_verix.oracle.perturbation_set import PerturbationSet
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.constraints import Constraint, Cover, Scenario
from verix_encodings.models.scenario import SLACK

_VIOLATED = 10 * SLACK
"""A scenario counts as violated if a margin exceeds this value."""


class ConstraintPool:
    """A list of ``constraints``, known by their numbers in it.

    ``scenarios`` has the numbers of the scenarios among them; ``deltas`` has the perturbation of
    each scenario as a column, shape (d, N).
    """

    def __init__(self, perturbations: PerturbationSet) -> None:
        self.perturbations = perturbations
        self.constraints: list[Constraint] = []
        self.scenarios: IntArray = np.zeros(0, dtype=np.intp)
        self.deltas = np.zeros((perturbations.centre.size, 0))

    def add(self, constraints: Iterable[Constraint]) -> list[int]:
        """Add ``constraints``; return their numbers."""
        numbers = []
        for constraint in constraints:
            numbers.append(len(self.constraints))
            if isinstance(constraint, Scenario):
                self.scenarios = np.append(self.scenarios, len(self.constraints))
                self.deltas = np.concatenate([self.deltas, constraint.delta[:, None]], axis=1)
            self.constraints.append(constraint)
        return numbers

    def violated(self, selection: FloatArray) -> list[int]:
        """Return the numbers of the constraints that ``selection`` violates, the worst first.

        ``selection`` has shape (features,). Scenarios are evaluated on the network itself, not on
        their relaxation.
        """
        by = {
            number: 1.0 - float(selection[constraint.features].sum())
            for number, constraint in enumerate(self.constraints)
            if isinstance(constraint, Cover)
        }
        p = self.perturbations
        worst = np.max(p.margins_at(p.weight(selection), self.deltas), axis=0)
        by.update(zip(self.scenarios.tolist(), worst.tolist(), strict=True))
        return sorted((n for n in by if by[n] > _VIOLATED), key=lambda n: -by[n])
