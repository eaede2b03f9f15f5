"""Explanations of trees of every library, beside all points of small integer domains.

Each point is predicted by the library's own ``predict``. Nothing here uses the trees that were
read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest

from milp_verix import Inputs, Problem, category, integer
from milp_verix.results.explanation import Explanation
from tests.support.exhaustive_explanations import minimal_sets
from tests.support.tree_models import LIBRARIES, Array

_VALUES = 4


@dataclass(frozen=True, eq=False)
class TreeCase:
    """A classifier over whole numbers and codes, with the classes of all points."""

    model: Any
    points: Array
    x: Array
    words: Sequence[int]

    @property
    def inputs(self) -> Inputs:
        """The description of the input."""
        texts = [f"w{code}" for code in range(_VALUES)]
        return Inputs(
            [
                category(f"a{k}", texts) if k in self.words else integer(f"a{k}", 0, _VALUES - 1)
                for k in range(self.x.size)
            ]
        )

    @cached_property
    def classes(self) -> Any:
        """The class of each point, by the library."""
        return np.asarray(self.model.predict(self.points))

    @property
    def prediction(self) -> Any:
        """The class of the input, by the library."""
        return self.classes[(self.points == self.x).all(axis=1)][0]

    def holds(self, free: Sequence[int]) -> bool:
        """Return whether no point changes the class that differs in the features ``free`` alone."""
        kept = [k for k in range(self.x.size) if k not in free]
        near = (self.points[:, kept] == self.x[kept]).all(axis=1)
        return bool((self.classes[near] == self.prediction).all())

    def problem(self) -> Problem:
        """Return the question."""
        return Problem(self.model, self.x, inputs=self.inputs, epsilon=np.inf)


def case(library: str, seed: int) -> TreeCase:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(3, 6))
    X = rng.integers(0, _VALUES, (150, width)).astype(np.float64)
    classes = int(rng.integers(2, 4))
    score = X @ rng.normal(size=width) + 2 * rng.normal(size=len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    words = [1] if library != "scikit-learn" and rng.integers(2) else []
    options = {"categories": words} if words else {}
    model = LIBRARIES[library](rng, X, y, **options)
    points = np.array(list(product(range(_VALUES), repeat=width)), dtype=np.float64)
    return TreeCase(model, points, X[rng.integers(len(X))], words)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(400))
@pytest.mark.parametrize("library", [*LIBRARIES])
@pytest.mark.filterwarnings("ignore")
def test_all_questions_agree_with_all_points(library: str, seed: int) -> None:
    given = case(library, seed)
    problem = given.problem()
    assert problem.question.prediction == int(given.prediction)
    robust, contrasts = minimal_sets(given.x.size, given.holds)
    found = problem.explain()
    require_true(given, found)
    assert not found.unknown
    assert frozenset(found.explanation) in robust
    least = problem.minimum()
    require_true(given, least)
    assert least.proven
    assert len(least.explanation) == min(map(len, robust))
    fewest = problem.contrastive()
    assert fewest.proven
    assert fewest.robust == (not contrasts)
    if fewest.contrast is not None and fewest.counterfactual is not None:
        require_changed(given, fewest.counterfactual.input)
        assert fewest.size == min(map(len, contrasts))
    listed = problem.enumerate()
    assert listed.complete
    assert {frozenset(e) for e in listed.abductive} == robust
    assert {frozenset(c.features) for c in listed.contrasts} == contrasts


def require_true(given: TreeCase, found: Explanation) -> None:
    free = [k for k in range(given.x.size) if k not in found.explanation]
    assert given.holds(free)
    for witness in found.counterfactuals.values():
        require_changed(given, witness.input)


def require_changed(given: TreeCase, point: Array) -> None:
    place = (given.points == point.reshape(-1)).all(axis=1)
    assert given.classes[place][0] != given.prediction
