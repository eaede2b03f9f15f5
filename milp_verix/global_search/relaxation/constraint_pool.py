"""Every known constraint on explanations: scenarios and covers, whoever found them.

A relaxation holds few of them, and takes in those that its optimum violates. A constraint that the
optimum satisfies would not change it and would only cost time.
"""

from collections.abc import Iterable

import numpy as np

from milp_verix.global_search.pricing.perturbation_set import PerturbationSet
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.constraints import Constraint, Cover, Scenario
from verix_encodings.models.scenario import SLACK

_VIOLATED = 10 * SLACK
"""The margin from which on a scenario counts as violated."""


class ConstraintPool:
    """``constraints`` by number, and the perturbations of the scenarios among them.

    ``scenarios`` are the numbers of these; ``deltas`` has a column for each, shape (d, N).
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

        ``selection`` has shape (features,). A scenario is evaluated exactly, not as relaxed.
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
