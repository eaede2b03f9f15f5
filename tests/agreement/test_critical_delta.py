"""Just below and above the largest change of an output, as brute force knows it."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from milp_verix import check
from tests.support.brute_force_cases import Case, case
from tests.support.installed_solvers import SLOW, each_solver
from tests.support.random_networks import Layer
from verix_encodings import interval_bounds

REGRESSIONS = [seed for seed in range(100) if seed % 3 == 2]


def scaled(layers: tuple[Layer, ...], factor: float) -> tuple[Layer, ...]:
    """Return the same function with hidden values ``factor`` times as large, a power of two."""
    (first, shift), *middle, (last, bias) = layers
    inner = [(matrix, factor * offset) for matrix, offset in middle]
    return ((factor * first, factor * shift), *inner, (last / factor, bias))


@cache
def scaled_case(seed: int, factor: float) -> Case:
    """Return the case of ``seed`` with its layers scaled."""
    return replace(case(seed), layers=scaled(case(seed).layers, factor))


def largest_change(problem: Case) -> float:
    """Return the supremum of how far an output moves when everything is free."""
    assert problem.delta is not None
    return float(np.max(problem.brute.worst(range(len(problem.groups))))) + problem.delta


@pytest.mark.nightly
@each_solver
@pytest.mark.parametrize("factor", [1.0, 128.0])
def test_delta_is_bracketed(solver: str, factor: float, tmp_path: Path) -> None:
    # these take longer than the problems
    seeds = REGRESSIONS[::6] if solver in SLOW else REGRESSIONS
    definite = 0
    for seed in seeds:
        problem = case(seed)
        network = scaled_case(seed, factor).network(tmp_path)
        free = range(len(problem.groups))
        options = {**problem.options, "solver": solver, "bounds": interval_bounds}
        largest = largest_change(problem)
        if largest < 1e-3:
            continue  # all its ReLUs are dead
        for gap in (1e-4, 1e-5):
            above = check(network, problem.x, free, **{**options, "delta": largest + gap})
            below = check(network, problem.x, free, **{**options, "delta": largest - gap})
            assert not above.violated, (seed, gap)
            assert not below.holds, (seed, gap)
            definite += (above.holds + below.violated) * (gap == 1e-4)
    # at such big-Ms no proof of CBC is trusted
    proving = not (solver in ("cbc", "pulp") and factor > 1)
    assert definite > (1.5 if proving else 0.7) * len(seeds)
