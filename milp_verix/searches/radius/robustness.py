"""The largest radius at which features are irrelevant, bracketed by proofs and counterfactuals."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from milp_verix.base.arguments import number_in
from milp_verix.base.errors import InputError
from milp_verix.inputs.radii import Epsilon
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.ranges import RobustnessRadii
from milp_verix.searches.radius.balls import Balls, scale_of
from milp_verix.searches.radius.bracket import Bracket
from milp_verix.searches.radius.search import Questions, RadiusProgress, RadiusSearch


def radius_of(
    problem: PosedProblem,
    *,
    free: Sequence[int | str] | None = None,
    each: bool = False,
    largest: float | None = None,
    tolerance: float = 0.01,
    scale: Epsilon = 1.0,
    search: Search = USUAL,
    progress: Callable[[RadiusProgress], None] | None = None,
    snapshots: Callable[[Callable[[], RobustnessRadii]], None] | None = None,
) -> RobustnessRadii:
    """Bracket the largest radius at which features are irrelevant together.

    The radius is the supremum of all ``ε`` for which no change of the features ``free`` by at most
    ``ε`` in ``norm``, inside the domain, changes the prediction while all other features stay. With
    all features free it is the robustness radius of the input. The bracket has a proof at its lower
    end and a counterfactual at its upper end. Ctrl-C and the time limit return the bracket so far.

    Of described ``inputs``, the radius ``ε`` stands for the radii ``ε · scale`` of the features.
    Whole numbers and values of categories only move in steps, so the supremum is where the next
    step comes within reach.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    search.require_only("radius", "the search for radii")
    tolerance, most, request = _share(tolerance), _most(largest), Request.now(problem, search)
    balls = Balls(problem, scale_of(problem.inputs, scale))
    sets = _sets(problem, free, each=each)
    reaches = [_reach(balls, chosen, most) for chosen in sets]
    problem = balls.at(max(reaches))
    require_agreement(problem.network, problem.ball)

    brackets = [Bracket(balls, s, r, tolerance) for s, r in zip(sets, reaches, strict=True)]
    questions = Questions(balls, max(reaches), search)
    run = RadiusSearch(brackets, questions, request, problem, balls.scale, each)
    return run.run(progress, snapshots)


def _share(tolerance: float) -> float:
    try:
        share = float(tolerance)
    except (TypeError, ValueError) as error:
        raise InputError(f"tolerance must be a number, got {tolerance!r}") from error
    if not 0 < share < 1:
        raise InputError(
            f"tolerance is the width of a bracket as a share of its upper end, above 0 and below "
            f"1, such as 0.01; got {tolerance}"
        )
    return share


def _sets(
    problem: PosedProblem, free: Sequence[int | str] | None, *, each: bool
) -> list[tuple[int, ...]]:
    count = problem.features.count
    if each:
        if free is not None:
            raise InputError("each asks about every feature alone: leave it or free out")
        return [(feature,) for feature in range(count)]
    chosen = range(count) if free is None else sorted(problem.features.indices(free, "free"))
    if not len(chosen):
        raise InputError("free lists no feature: there is no radius to ask about")
    return [tuple(chosen)]


def _most(largest: float | None) -> float:
    if largest is None:
        return math.inf
    try:
        most = number_in(largest)
    except InputError as error:
        raise InputError(f"largest must be a number, got {largest!r}") from error
    if not 0 <= most < math.inf:
        raise InputError(f"largest must be finite and not negative, got {largest}")
    return most


def _reach(balls: Balls, features: tuple[int, ...], most: float) -> float:
    """Return the radius from which on the ball over ``features`` is the domain, or ``most``."""
    widest = min(balls.reach(balls.problem.features.coordinates(features)), most)
    if not np.isfinite(widest):
        raise InputError(
            "the domain of the features is unlimited: give the largest radius to ask about "
            "(largest, --largest), or a finite domain"
        )
    return widest
