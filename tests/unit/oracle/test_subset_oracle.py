"""What is made of verdicts on sets: monotonicity, and what to do where rounding breaks it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from milp_verix import Problem
from milp_verix.base.clock import NO_CHECK_LIMIT, NO_LIMIT, Deadline
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import Answer, Verdict
from tests.support.random_networks import as_layers, dense_network


def sum_of_three(folder: Path) -> Problem:
    """Return a problem with the margin x0 + x1 + 2 x2 − 1 at the origin, ε = 0.4."""
    layers = as_layers(([[1, 1, 2]], [0]), ([[0], [1]], [1, 0]))
    return Problem(dense_network(layers, folder), np.zeros(3), epsilon=0.4)


def frozen(*features: int) -> frozenset[int]:
    return frozenset(features)


def test_few_checks_answer_many(tmp_path: Path) -> None:
    with Oracle(sum_of_three(tmp_path)) as oracle:
        subsets = SubsetOracle(oracle, NO_LIMIT, NO_CHECK_LIMIT)
        assert subsets.check(frozen(0, 1)).holds
        assert subsets.check(frozen(1, 2)).violated
        assert subsets.oracle.checks == 2
        assert subsets.check(frozen(1)).holds
        assert subsets.check(frozen(0, 1, 2)).violated
        assert subsets.oracle.checks == 2
        found, minimal = subsets.shrink(subsets.check(frozen(0, 1, 2)))
        assert (subsets.changed(found), minimal) == (frozen(1, 2), True)
        assert subsets.grow(frozen(0), [1, 2]) == (frozen(0, 1), True)


def test_nothing_is_decided_after_the_deadline(tmp_path: Path) -> None:
    with Oracle(sum_of_three(tmp_path)) as oracle:
        subsets = SubsetOracle(oracle, Deadline(-np.inf), NO_CHECK_LIMIT)
        assert subsets.check(frozen(0)).answer is Answer.UNKNOWN
        assert subsets.grow(frozen(), [0, 1, 2]) == (frozen(), False)
        assert subsets.oracle.checks == 0


def test_a_set_inside_which_checks_are_unknown_is_not_proven_minimal(tmp_path: Path) -> None:
    class Doubtful(Oracle):
        def check(self, free: NDArray[np.intp], deadline: Deadline = NO_LIMIT) -> Verdict:
            verdict = super().check(free, deadline)
            return verdict if verdict.violated else Verdict(Answer.UNKNOWN, reason="in doubt")

    with Doubtful(sum_of_three(tmp_path)) as oracle:
        subsets = SubsetOracle(oracle, NO_LIMIT, NO_CHECK_LIMIT)
        found, minimal = subsets.shrink(subsets.check(frozen(0, 1, 2)))
        assert (subsets.changed(found), minimal) == (frozen(1, 2), False)


def test_a_counterfactual_inside_a_robust_set_is_no_answer(tmp_path: Path) -> None:
    class Rounding(Oracle):
        def check(self, free: NDArray[np.intp], deadline: Deadline = NO_LIMIT) -> Verdict:
            if free.size < 3:
                return super().check(free, deadline)
            # as if float32 had carried this point, which keeps the class, across the margin
            witness = np.array([[0.4, 0.4, 0.0]], dtype=np.float32)
            return Verdict(Answer.VIOLATED, witness=witness, prediction=1)

    with Rounding(sum_of_three(tmp_path)) as oracle:
        subsets = SubsetOracle(oracle, NO_LIMIT, NO_CHECK_LIMIT)
        assert subsets.check(frozen(0, 1)).holds
        verdict = subsets.check(frozen(0, 1, 2))
        assert verdict.answer is Answer.UNKNOWN
        assert verdict.reason is not None
        assert "rounding" in verdict.reason
        assert not subsets.contrasts


def test_no_set_is_looked_at_after_the_deadline(tmp_path: Path) -> None:
    with Oracle(sum_of_three(tmp_path)) as oracle:
        subsets = SubsetOracle(oracle, NO_LIMIT, NO_CHECK_LIMIT)
        everything = subsets.check(frozen(0, 1, 2))
        # a verdict of the whole set, not of the smallest that one forward pass finds
        wide = replace(everything, witness=np.full((1, 3), 0.4, dtype=np.float32))
        asked: list[frozenset[int]] = []
        subsets.check = asked.append  # type: ignore[method-assign,assignment]
        subsets.deadline = Deadline(-np.inf)
        assert subsets.shrink(wide) == (wide, False)
        assert subsets.grow(frozen(0), [1, 2]) == (frozen(0), False)
        assert asked == []
