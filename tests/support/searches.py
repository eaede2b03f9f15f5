"""Searches for minima that tests drive step by step."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from milp_verix import Problem
from milp_verix.base.clock import Deadline, Limit
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.attacks import perturbation_set
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import Objective, make_objective
from milp_verix.problem.search import Request, Search
from milp_verix.searches.minimum.branch_and_cut import BranchAndCut, branch_and_cut
from milp_verix.searches.minimum.incumbent import Adversary, Incumbent
from milp_verix.searches.minimum.minimum_search import Explainer, MinimumSearch
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.solvers.warm_lp import WarmLp
from tests.support.digits_example import images, network

LIMITS = SearchLimits()


def without(*techniques: str, **numbers: Any) -> SearchLimits:
    """Return limits that leave techniques out."""
    return SearchLimits(without=frozenset(techniques), **numbers)


def digit(index: int, epsilon: float = 0.2) -> Problem:
    """Return the problem of a digit."""
    return Problem(network(), images()[index], epsilon=epsilon)


def equal_costs(count: int = 64) -> Objective:
    """Return the objective of the fewest features."""
    return make_objective(count, None, (), ())


def tree(search: MinimumSearch) -> BranchAndCut | None:
    """Return the master by branch and cut."""
    return branch_and_cut(search, WarmLp(1, Tolerances()))


@contextmanager
def opened(
    problem: Problem,
    objective: Objective | None = None,
    limits: SearchLimits = LIMITS,
    *,
    solver: str = "phase",
    gap: float = 0.0,
    deadline: float = np.inf,
) -> Iterator[MinimumSearch]:
    """Open a search that has not begun."""
    request = Request(
        problem,
        Search(solver=solver),
        time.monotonic(),
        Deadline(deadline),
        check_limit=Limit(60.0),
    )
    objective = objective or equal_costs(problem.features.count)
    with Oracle(problem, Search(solver=solver)) as oracle:
        yield MinimumSearch(oracle, request, objective, limits, gap=gap, master=tree)


@contextmanager
def opened_incumbent(
    problem: Problem, objective: Objective | None = None, limits: SearchLimits = LIMITS
) -> Iterator[Incumbent]:
    """Open an incumbent without a search around it."""
    perturbations = perturbation_set(problem)
    objective = objective or equal_costs(problem.features.count)
    with Oracle(problem, Search(solver="phase")) as oracle:
        adversary = Adversary(perturbations, limits)
        yield Incumbent(oracle, perturbations, objective, adversary, check_limit=Limit(60.0))


def begin_with_everything(explainer: Explainer, *_: object) -> None:
    """Take all features as the first explanation, in place of :meth:`Explainer.first`.

    A first explanation would often be a minimum already, and hide a bound that is too high.
    """
    incumbent = explainer._incumbent
    incumbent.adversary.remember(incumbent.adversary.attack(incumbent.selection)[0])
