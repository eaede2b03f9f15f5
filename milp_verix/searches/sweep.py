"""Explanations of one prediction at several radii, each set of irrelevant features in the next.

Let ``N_ε(B)`` be the set of all ``x'`` in the domain with ``x' = x`` outside the features ``B`` and
``‖x' − x‖_p ≤ ε``. With the same norm and domain,

    ε' ≤ ε   ⇒   N_ε'(B) ⊆ N_ε(B),

since ``ε`` occurs in no other condition than ``‖x' − x‖_p ≤ ε``. For described inputs it reads
``|x'_i − x_i| ≤ ε_i`` for each ``i``, and the same holds for ``ε' ≤ ε`` in every entry: integrality
and rules are the same conditions at all radii. So features that are irrelevant together at ``ε``
are irrelevant together at ``ε'``. A sweep begins with the largest radius, and each traversal begins
with the irrelevant features of the radius before, without a check. The sets are nested, and each
explanation is locally minimal at its radius: features freed first stay free, and a traversal asks
about all the others. It is the explanation that Algorithm 1 finds for the order in ``permutation``,
which lists these features first and then the others in an order of their own for each radius.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from milp_verix.base.arguments import number_in, refuse_file
from milp_verix.base.clock import Limit
from milp_verix.base.errors import InputError, listed, refusing, shown
from milp_verix.base.number_text import counted, exact
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon, radii_of
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import INTERRUPTED, TIME_LIMIT
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import USUAL, OrderLike, Request, Search
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.searches.explain_search import ExplainSearch, Progress
from milp_verix.searches.order import Order, OrderMaker, resolve_order, without_order
from milp_verix.searches.strategies import Traversal, resolve_strategy
from milp_verix.views.wording import radius_text

Radius: TypeAlias = float | tuple[float, ...]
"""The radius of a ball; one for each feature of a described input."""

Snapshots = Callable[[Callable[[], EpsilonSweep]], None]


def sweep_of(
    problem: ProblemData,
    epsilons: Epsilon | Sequence[Epsilon],
    *,
    nested: bool = True,
    order: OrderLike = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[Progress], None] | None = None,
    snapshots: Snapshots | None = None,
) -> EpsilonSweep:
    """Answer :func:`milp_verix.epsilon_sweep`, which describes the arguments."""
    inputs = problem.inputs
    radii = _numbers(epsilons) if inputs is None else _vectors(epsilons, inputs)
    request = Request.now(problem.at(radii[0]), search)
    require_agreement(request.problem.network, request.problem.ball)
    resolve_strategy(traversal)  # an unknown one is refused before a solver is opened
    levels: list[Explanation] = []

    def sweep(levels: tuple[Explanation, ...]) -> EpsilonSweep:
        return EpsilonSweep(levels=levels, nested=nested, seconds=request.elapsed)

    def on_step(snapshot: Callable[[], Explanation]) -> None:
        assert snapshots is not None
        before = tuple(levels)
        snapshots(lambda: sweep((*before, snapshot())))

    for place, radius in enumerate(radii):
        here = _at(request, radius, 1 / (len(radii) - place))
        order_by = resolve_order(
            here.problem, order, transformation=transformation, seed=search.seed
        )
        why = f"the run ended before the order {order!r} was known"
        fallback = without_order(here.problem.features.count, why)
        if nested and levels:
            order_by, fallback = _after(levels[-1], order_by), _continued(levels[-1], fallback)
        with Oracle(here.problem, search) as oracle:
            known = levels[-1].irrelevant if nested and levels else ()
            traversed = Traversal(fallback.permutation, [*known])
            run = ExplainSearch(oracle, here, traversal, fallback, traversed, order_by)
            interrupted = levels and levels[-1].statistics.stopped == INTERRUPTED
            if interrupted or (levels and request.deadline.seconds <= 0):
                # the smaller radii get what the larger ones have proven, and no check
                run.stopped = INTERRUPTED if interrupted else TIME_LIMIT
                levels.append(run.result())
            else:
                levels.append(run.run(progress, None if snapshots is None else on_step))
    return sweep(tuple(levels))


def _listed(epsilons: Epsilon | Sequence[Epsilon]) -> list[Any]:
    """Return radii as a list; radii by name and an array with two axes or more are one radius."""
    labels = epsilons.keys() if hasattr(epsilons, "keys") else ()
    named = isinstance(epsilons, str | Mapping) or any(isinstance(one, str) for one in labels)
    if named or not isinstance(epsilons, Iterable) or getattr(epsilons, "ndim", 1) != 1:
        return [epsilons]
    return [*epsilons]


def _vectors(epsilons: Epsilon | Sequence[Epsilon], inputs: Inputs) -> list[Radius]:
    """Return the radii of all features for each entry, the largest first; or ``InputError``."""
    given = _listed(epsilons)
    if not given:
        raise InputError(
            f'epsilons are one radius or more, such as ["1%", "10%", inf]; got {shown(given)}'
        )
    radii = sorted((radii_of(inputs, one, "epsilons") for one in given), reverse=True)
    for larger, smaller in pairwise(radii):
        if larger == smaller:
            raise InputError("epsilons lists the same radius of each feature twice")
        # of ordered radii the larger ones come first in any lexicographic order, too
        over = [n for n, a, b in zip(inputs.names, larger, smaller, strict=True) if b > a]
        if over:
            raise InputError(
                "epsilons are no larger and smaller radii: of two of them, one is larger for "
                f"{over[0]}, the other one for another feature; sweep over radii such as '5%', "
                "'10%', or one set of radii times 1, 2, 3"
            )
    return [*radii]


def _numbers(epsilons: Epsilon | Sequence[Epsilon]) -> list[Radius]:
    """Return the radii, the largest first; ``InputError`` unless they are distinct."""
    given = _listed(epsilons)
    if any(getattr(one, "ndim", isinstance(one, list | tuple)) for one in given):
        raise InputError(
            "epsilons has a radius for each coordinate: pose the problem with such radii, too, as "
            "epsilon="
        )
    for one in given:
        refuse_file(one, "epsilons")
    with refusing(f"epsilons are numbers, got {shown(epsilons)}", TypeError, InputError):
        radii = np.array([number_in(one) for one in given])
    if radii.ndim != 1 or not radii.size:
        raise InputError(f"epsilons are one radius or more, such as [1, 0.1]; got {shown(given)}")
    if np.unique(radii).size != radii.size:
        raise InputError(
            f"epsilons lists a radius twice: {listed([*map(exact, radii.tolist())])}; a radius for "
            "each coordinate is an array in the list"
        )
    if np.min(radii) < 0:
        raise InputError(f"epsilons are not negative, got {exact(np.min(radii))}")
    return [float(radius) for radius in np.sort(radii)[::-1]]


def _at(request: Request, radius: Radius, share: float) -> Request:
    """Return ``request`` at another radius, for a share of the time and the work that are left.

    On a slow machine a share of the work alone may take the seconds of all radii.
    """
    problem, left = request.problem.at(radius), request.deadline
    deadline = left.limited(Limit(share * left.seconds, share * left.left))
    return replace(request, problem=problem, started=time.monotonic(), deadline=deadline)


def _continued(before: Explanation, order: Order) -> Order:
    """Return ``order`` with the irrelevant features of the level ``before`` first."""
    freed = set(before.irrelevant)
    first = [feature for feature in before.permutation if feature in freed]
    permutation = (*first, *(feature for feature in order.permutation if feature not in freed))
    note = (
        f"{counted(len(first), 'feature')} come first in the order, without a check: they are "
        f"irrelevant together at {radius_text(before)}, and so at every smaller radius"
    )
    return replace(order, permutation=permutation, notes=(*order.notes, note))


def _after(before: Explanation, order_by: OrderMaker) -> OrderMaker:
    return lambda deadline, whole: _continued(before, order_by(deadline, whole))
