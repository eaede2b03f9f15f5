"""All that is known against sets of features, whoever found it: scenarios and covers.

A relaxation holds few of them. What its optimum violates among the others joins it; what it
survives would not change that optimum, and only costs time. So nothing is lost by what is not held.
"""

from collections.abc import Iterable, Set

import numpy as np

from milp_verix.global_search.pricing.perturbation_set import Perturbations
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.constraints import Constraint, Cover, Scenario
from verix_encodings.models.scenario import SLACK
from verix_encodings.network.batch import batch_values

VIOLATED = 10 * SLACK
"""From which margin on a scenario counts as violated."""


class ConstraintPool:
    """``constraints``, by number, and the perturbation of each scenario.

    ``scenarios`` are the numbers of those; ``deltas`` has a column for each of them, shape (d, N).
    """

    def __init__(self, perturbations: Perturbations) -> None:
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

    def reached(self, selection: FloatArray) -> list[FloatArray]:
        """Return every value of the margins' network under each perturbation, (size, N) each."""
        p = self.perturbations
        inputs = p.centre[:, None] + p.weight(selection)[:, None] * self.deltas
        return batch_values(p.margins, inputs)

    def missing(self, selection: FloatArray, worst: FloatArray, held: Set[int]) -> int | None:
        """Return the constraint not ``held`` that ``selection`` violates most, if any.

        ``worst`` are the largest margins under each perturbation, shape (N,).
        """
        violated = {
            number: 1.0 - float(selection[constraint.features].sum())
            for number, constraint in enumerate(self.constraints)
            if isinstance(constraint, Cover)
        }
        violated.update(zip(self.scenarios.tolist(), worst.tolist(), strict=True))
        most = max(violated.keys() - held, key=violated.__getitem__, default=None)
        return most if most is not None and violated[most] > VIOLATED else None
