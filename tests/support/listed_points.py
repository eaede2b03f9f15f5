"""Cases whose points are listed, NaN among them: the list says what every answer must be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milp_verix import Problem
from tests.support.exhaustive_explanations import minimal_sets


@dataclass(frozen=True, eq=False)
class ListedCase:
    """A problem; its points that change the prediction, and the features that these move."""

    problem: Problem
    changed: NDArray[np.bool_]
    moved: NDArray[np.bool_]

    def suffices(self, kept: set[int]) -> bool:
        return not np.any(self.changed & ~self.moved[:, list(kept)].any(axis=1))

    @property
    def explanations(self) -> set[tuple[int, ...]]:
        every = frozenset(range(self.moved.shape[1]))
        found, _ = minimal_sets(len(every), lambda free: self.suffices({*every.difference(free)}))
        return {tuple(sorted(one)) for one in found}

    @property
    def fewest(self) -> int | None:
        """The fewest features that a change of the prediction moves; None if nothing changes it."""
        return min(self.moved[self.changed].sum(axis=1).tolist(), default=None)

    def assert_sizes(self) -> None:
        """Ask for an explanation, for a minimum and for a contrast; hold them with the list."""
        found = self.problem.explain()
        assert not found.unknown, found.notes
        assert found.explanation in self.explanations
        least = self.problem.minimum()
        assert least.proven
        assert least.size == min(map(len, self.explanations))
        contrast = self.problem.contrastive().contrast
        assert (None if contrast is None else len(contrast)) == self.fewest
