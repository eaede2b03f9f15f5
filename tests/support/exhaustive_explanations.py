"""Minimal explanations of both kinds by trying every set of features, and hitting sets likewise."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

from milp_verix import Problem
from milp_verix.problem.objective import Objective, make_objective
from tests.support.brute_force import BruteForce
from tests.support.brute_force_cases import Case, case
from tests.support.brute_force_norms import radius, worst_margin
from tests.support.onnx_models import FLOAT
from tests.support.random_networks import random_layers

Sets = frozenset[frozenset[int]]
ORDERS = {"l1": 1, "l2": 2}
SEEDS = range(60)
L1_SEEDS = (1, 4, 6, 8, 9, 11, 13, 14, 16, 17, 18, 19)
CASES = [("linf", seed) for seed in SEEDS] + [
    (norm, seed) for norm in ("l1", "l2") for seed in L1_SEEDS
]


def posed(problem: Case, norm: str) -> dict[str, object]:
    """Return the keyword arguments that pose ``problem`` over a ball of ``norm``."""
    if norm == "linf":
        return problem.options
    return {**problem.options, "epsilon": radius(problem, norm), "norm": norm}


@cache
def truth(seed: int, norm: str = "linf") -> tuple[Sets, Sets]:
    """Return the minimal abductive and contrastive explanations of the tiny case of ``seed``."""
    problem = case(seed)
    if norm == "linf":
        return minimal_sets(len(problem.groups), problem.brute.holds)
    epsilon = radius(problem, norm)
    return minimal_sets(
        len(problem.groups),
        lambda free: worst_margin(problem.brute, free, ORDERS[norm], epsilon) < 0,
    )


def minimal_sets(count: int, holds: Callable[[Sequence[int]], bool]) -> tuple[Sets, Sets]:
    """Return the minimal abductive and contrastive explanations, from ``holds`` on all subsets.

    Smallest first, and what contains a set that changes the prediction is not tried: it does too.
    """
    robust: list[frozenset[int]] = []
    contrasts: list[frozenset[int]] = []
    for free in subsets(range(count)):
        if not any(contrast <= free for contrast in contrasts):
            (robust if holds(sorted(free)) else contrasts).append(free)
    everything = frozenset(range(count))
    largest = [free for free in robust if not any(free < other for other in robust)]
    return frozenset(everything - free for free in largest), frozenset(contrasts)


def hitting_sets(sets: Iterable[frozenset[int]], count: int) -> Sets:
    """Return the minimal sets of numbers below ``count`` that share one with each of ``sets``."""
    family, found = list(sets), []
    for chosen in subsets(range(count)):
        if all(chosen & one for one in family) and not any(known <= chosen for known in found):
            found.append(chosen)
    return frozenset(found)


def subsets(members: Iterable[int]) -> Iterable[frozenset[int]]:
    """Yield all subsets, the smallest first."""
    listed = list(members)
    for size in range(len(listed) + 1):
        yield from map(frozenset, combinations(listed, size))


@cache
def wide_case(seed: int) -> Case:
    """Return a case of 8 features and 3 neurons, with several explanations of each kind."""
    rng = np.random.default_rng([seed, 8])
    layers = random_layers(rng, (8, 3, 3), FLOAT)
    x = rng.uniform(0.2, 0.8, 8).astype(np.float32)
    ends = np.zeros(8), np.ones(8)
    groups = [[i] for i in range(8)]
    epsilon = 0.05
    while True:
        brute = BruteForce(layers, x.astype(np.float64), epsilon, groups, *ends)
        if not brute.holds(range(8)):
            break
        epsilon *= 1.5
    brute = BruteForce(layers, brute.x, epsilon, groups, *ends)
    return Case(seed, layers, FLOAT, x, epsilon, (0.0, 1.0), groups, None, brute)


@cache
def wide_truth(seed: int) -> tuple[Sets, Sets]:
    """Return the minimal explanations of both kinds of :func:`wide_case`."""
    return minimal_sets(8, wide_case(seed).brute.holds)


def fewest(problem: Case) -> int:
    """Return the size of the smallest explanation, by trying all subsets."""
    features = range(len(problem.groups))
    for size in range(len(problem.groups) + 1):
        for explained in combinations(features, size):
            if problem.brute.holds([f for f in features if f not in explained]):
                return size
    raise AssertionError("everything explained must be an explanation")


def cheapest(problem: Case, costs: list[float], must: set[int], must_not: set[int]) -> float | None:
    """Return the least cost of an explanation, by trying all subsets; None where there is none."""
    features = range(len(problem.groups))
    subsets = (set(s) for size in range(len(features) + 1) for s in combinations(features, size))
    found = [
        sum(costs[f] for f in subset)
        for subset in subsets
        if must <= subset
        and not must_not & subset
        and problem.brute.holds([f for f in features if f not in subset])
    ]
    return min(found) if found else None


def least_cost(
    explanations: Sets, costs: Sequence[float], must: set[int], must_not: set[int]
) -> float | None:
    """Return the least cost of an explanation, from the minimal ones; None where there is none."""
    allowed = [one | must for one in explanations if not one & must_not]
    return min((float(sum(costs[f] for f in one)) for one in allowed), default=None)


def objectives(count: int, seed: int) -> Iterable[tuple[list[float], set[int], set[int]]]:
    """Yield costs, features that must be in an explanation, and features that must not."""
    rng = np.random.default_rng([seed, 9])
    first, *_, last = rng.permutation(count).tolist()
    for costs in (np.ones(count), rng.integers(0, 4, count).astype(float), rng.random(count)):
        for must, must_not in ((set(), set()), ({first}, set()), (set(), {last})):
            yield costs.tolist(), must, must_not


def problem_with_least_costs(
    seed: int, folder: Path
) -> tuple[Problem, list[tuple[Objective, float]]]:
    """Return a problem, and objectives with the least cost that an explanation of it has."""
    small = wide_case(seed // 2) if seed % 2 else case(seed)
    explanations, _ = wide_truth(seed // 2) if seed % 2 else truth(seed)
    problem = Problem(small.network(folder), small.x, **small.options)
    count = problem.features.count
    found = []
    for costs, must, must_not in objectives(count, seed):
        least = least_cost(explanations, costs, must, must_not)
        if least is not None:
            objective = make_objective(count, costs, sorted(must), sorted(must_not))
            found.append((objective, least))
    return problem, found
