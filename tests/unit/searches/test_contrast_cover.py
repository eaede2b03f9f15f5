"""Contrastive sets change the prediction, and the bound of their cover is below the least cost."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.problem.objective import Objective
from milp_verix.searches.budget_bound import ContrastCover
from milp_verix.solvers import open_session
from tests.support.brute_force_cases import case
from tests.support.exhaustive_explanations import (
    posed,
    problem_with_least_costs,
    truth,
)
from tests.support.searches import digit, opened_incumbent

_MOST_STEPS = 50


@contextmanager
def _opened(problem: Problem, objective: Objective | None = None) -> Iterator[ContrastCover]:
    with opened_incumbent(problem, objective) as incumbent:
        cover = ContrastCover(
            problem,
            incumbent.objective,
            incumbent.perturbations,
            incumbent.adversary,
            lambda: open_session("highs"),
        )
        yield cover
        cover.close()


def _run(cover: ContrastCover) -> None:
    for _ in range(_MOST_STEPS):
        if cover.exhausted or cover.ended:
            return
        cover.step(NO_LIMIT)
    raise AssertionError("these cases have few contrastive sets")


@pytest.mark.slow
def test_the_bound_is_below_the_least_cost(tmp_path: Path) -> None:
    reached = 0
    for seed in range(16):
        problem, asked = problem_with_least_costs(seed, tmp_path)
        for objective, least in asked:
            with _opened(problem, objective) as cover:
                _run(cover)
                assert cover.bound <= least + 1e-6
                # gradients alone do not always find each contrastive set
                reached += 0 < least <= cover.bound + 1e-6
                assert np.all(cover.candidate[objective.must])
                assert not np.any(cover.candidate[objective.must_not])
    assert reached > 40


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("seed", [1, 4, 6, 8, 9, 11])
def test_each_set_holds_a_contrastive_explanation(seed: int, norm: str, tmp_path: Path) -> None:
    small = case(seed)
    _, contrasts = truth(seed, norm)
    problem = Problem(small.network(tmp_path), small.x, **posed(small, norm))
    with _opened(problem) as cover:
        _run(cover)
        for one in cover.sets:
            found = {*np.flatnonzero(one).tolist()}
            assert any(contrast <= found for contrast in contrasts)


def test_a_digit_has_a_bound_after_one_step() -> None:
    with _opened(digit(15)) as cover:
        cover.step(NO_LIMIT)
        assert cover.bound >= 1
        first = cover.sets[0]
        assert 0 < first.sum() < 64
        # disjoint sets
        assert np.all(np.sum(cover.sets, axis=0) <= 1)


def test_a_step_is_brief_where_no_time_is_left() -> None:
    with _opened(digit(15)) as cover:
        cover.step(Deadline(-np.inf))
        assert len(cover.sets) == 1
        assert not cover.exhausted
        assert cover.bound <= 1


def test_a_perturbation_found_elsewhere_refutes_the_candidate() -> None:
    with _opened(digit(15)) as cover:
        deltas, values = cover._attacker.attack(np.zeros(64))
        cover.refute(deltas[:, int(np.argmax(values))], NO_LIMIT)
        assert cover.bound == 1
        assert not cover.ended
    with _opened(digit(0, 0.001)) as cover:
        cover.refute(np.zeros(64), NO_LIMIT)
        assert cover.ended
        assert cover.bound == 0


def test_sets_as_large_as_half_the_features_prove_no_more_than_two() -> None:
    with _opened(digit(15)) as cover:
        assert not cover.hopeless(64)
        cover.sets.append(np.arange(64) < 32)
        assert not cover.hopeless(2)
        assert cover.hopeless(3)
