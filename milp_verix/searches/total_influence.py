"""Orders for networks where many neurons are undecided, by how far bounds are widened.

CROWN's bound on a margin depends on the radius of a feature in two ways: by its linear form ``a·x``
in the input, and by the bounds ``[l, u]`` of neurons, on which the lines of that form rest. Where
the form meets an undecided ReLU with the coefficient ``c``, the slopes of its upper line at
``z = 0`` are

    ∂/∂u    c⁺ u (z − l)/(u − l)  =  c⁺ l²/(u − l)²
    ∂/∂(−l) c⁺ u (z − l)/(u − l)  =  c⁺ u²/(u − l)²

and ``u`` and ``−l`` are bounded by such forms themselves. *Total influence* follows them layer by
layer, the last first, down to the input, and sums what a feature adds on all ways. It is taken at
the *boundary*: the smallest prefix of an order that CROWN fails to prove. Forms only rank; bounds
over smaller balls prove.
"""

from typing import Any

import numpy as np

from milp_verix.base.clock import Deadline, OutOfTimeError
from milp_verix.oracle.ball_bounds import WholeBall
from milp_verix.problem.problem import ProblemData
from milp_verix.searches.order import Order, ascending, contested, rises_of, shares
from verix_encodings import Bounds, Network, crown_bounds
from verix_encodings.arrays import FloatArray, dense, unit_rows
from verix_encodings.crown import extend_relaxation, upper_form

_PART = 0.1  # of the work left, for all trials; not measured
_ENTRIES = 2**22  # of forms that are followed together: 32 MB


def furthest(
    problem: ProblemData, deadline: Deadline, whole: WholeBall | None, order: Order
) -> Order:
    """Return ``order``, or one by forms or total influence at its boundary, if it goes further.

    The order goes the furthest of which CROWN proves the longest prefix. ``order`` is returned
    where there is no time to tell.
    """
    deadline = deadline.share(_PART)
    best = order
    try:
        most, bounds = _boundary(problem, deadline, whole, order)
        for name in RANKINGS:
            other = ranked(name, problem, deadline, whole, bounds)
            reached, _ = _boundary(problem, deadline, whole, other, beyond=most)
            if reached > most:
                best, most = other, reached
    except (OutOfTimeError, OverflowError):
        return order
    return best


def ranked(
    name: str, problem: ProblemData, deadline: Deadline, whole: WholeBall | None, bounds: Bounds
) -> Order:
    """Return the order ``name`` of :data:`RANKINGS` by ``bounds`` over a ball at the boundary."""
    margins = contested(problem, deadline, whole).margins
    return ascending(name, RANKINGS[name](problem, margins, bounds))


def at_boundary(
    name: str, problem: ProblemData, deadline: Deadline, whole: WholeBall | None, order: Order
) -> Order:
    """Return the order ``name`` at the boundary of another ``order``; raises ``OutOfTimeError``."""
    _, bounds = _boundary(problem, deadline, whole, order)
    return ranked(name, problem, deadline, whole, bounds)


def _boundary(
    problem: ProblemData,
    deadline: Deadline,
    whole: WholeBall | None,
    order: Order,
    beyond: int = 0,
) -> tuple[int, Bounds]:
    """Return how long a prefix of ``order`` CROWN proves, and its bounds where it fails.

    It is 0 where the prefix is not longer than ``beyond``.
    """
    found = contested(problem, deadline, whole)
    least, most, bounds = 0, len(order.permutation), found.bounds
    while most - least > 1 and most > beyond + 1:
        middle = (least + most) // 2 if least or not beyond else beyond + 1
        free = problem.features.coordinates(order.permutation[:middle])
        region = problem.ball.region(free)
        there = crown_bounds(found.margins, region, late=deadline.passed, within=found.bounds)
        deadline.require_time()
        if there[-1].upper.max() < 0:
            least = middle
        else:
            most, bounds = middle, there
    return least, bounds


def boundary_influence(problem: ProblemData, margins: Network, bounds: Bounds) -> FloatArray:
    """Return the shares of margins' distances by CROWN's forms alone; shape (features,)."""
    every = unit_rows(range(margins.output_size), margins.output_size)
    form = upper_form(margins, bounds, len(margins.nodes), every)
    return shares(problem, margins, rises_of(problem, dense(form.coefficients)))


def total_influence(problem: ProblemData, margins: Network, bounds: Bounds) -> FloatArray:
    """Return the shares of margins' distances on all ways to them; shape (features,)."""
    last, count = len(margins.nodes), margins.output_size
    relaxation = extend_relaxation({}, margins, bounds, last)
    relus = [(number, node.relu_of) for number, node in enumerate(margins.nodes, start=1)]
    rises = np.zeros((count, margins.input_size))
    # what a margin's bound gains by the upper bounds of a value's neurons, and by minus the lower
    gains = {last: (np.eye(count), np.zeros((count, count)))}
    while gains:
        value = max(gains)
        by_upper, by_lower = gains.pop(value)
        neurons = np.flatnonzero(by_upper.any(axis=0) | by_lower.any(axis=0))
        step = max(_ENTRIES // max(margins.sizes), 1)
        for some in np.split(neurons, range(step, neurons.size, step)):
            for sign, gained in ((1.0, by_upper[:, some]), (-1.0, by_lower[:, some])):
                if not gained.any():
                    continue
                met: dict[int, Any] = {}
                rows = sign * unit_rows(some, margins.sizes[value])
                form = upper_form(margins, bounds, value, rows, relaxation, met=met)
                rises += gained @ rises_of(problem, dense(form.coefficients))
                for number, source in relus:
                    if source is None or number not in met:
                        continue
                    lower, upper = bounds[source].lower, bounds[source].upper
                    open_ = (lower < 0) & (upper > 0)
                    span = np.where(open_, upper - lower, np.inf)
                    through = gained @ np.maximum(dense(met[number]), 0.0)
                    more = through * (lower / span) ** 2, through * (upper / span) ** 2
                    known = gains.get(source, (0.0, 0.0))
                    gains[source] = known[0] + more[0], known[1] + more[1]
    return shares(problem, margins, rises)


RANKINGS = {"boundary_influence": boundary_influence, "total_influence": total_influence}
"""The orders at the boundary, by name."""
