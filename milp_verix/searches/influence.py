"""Influence: how far a feature moves the margins, the scores of traversal orders.

*Influence* is the share of a rival's distance that a feature can close. Let margin ``j`` be
``m_j(x) < 0`` at the original, and let ``a_j`` be slopes of it. Freeing coordinate ``i`` raises the
margin by about ``max(a_ji (u_i − x_i), a_ji (l_i − x_i))``, a share of ``−m_j(x)``. The influence
of a feature is its largest share over the rivals that can win: the shares of all features in ``B``
must sum to less than one for each rival.

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

from collections.abc import Sequence
from typing import Any

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline, OutOfTimeError
from milp_verix.oracle.attacks import climb, gradient
from milp_verix.oracle.ball_bounds import WholeBall, form_rises, rises_of, whole_ball
from milp_verix.problem.problem import ProblemData
from verix_encodings import Bounds, Network, crown_bounds
from verix_encodings.arrays import FloatArray, dense, unit_rows
from verix_encodings.crown import extend_relaxation, upper_form

_ROUNDS = 3  # of rankings; not measured
_HALVINGS = 6  # of the prefix that is free: to a 64th of the features; not measured
_LEAST_DISTANCE = 1e-9  # of a margin from zero, in logits, to divide by
_ENTRIES = 2**22  # of forms that are followed together: 32 MB
_BOXES = 2**21  # coordinates of boxes that are bounded together: all at once are their square


def influence(
    problem: ProblemData, deadline: Deadline = NO_LIMIT, whole: WholeBall | None = None
) -> FloatArray:
    """Return the influence by CROWN's upper forms over the full ball; shape (features,).

    ``whole`` has the bounds over that ball, if these are known. Raises ``OutOfTimeError`` at the
    ``deadline``, and if these bounds were not finished.
    """
    found = contested(problem, deadline, whole)
    if found.margins.stepped:
        return _alone(problem, found.margins, deadline)
    return boundary_influence(problem, found.margins, found.bounds)


def adaptive(
    problem: ProblemData, deadline: Deadline = NO_LIMIT, whole: WholeBall | None = None
) -> FloatArray:
    """Return the influence by gradients at the worst points that ``B`` allows; shape (features,).

    Starts from :func:`influence`. In each round the first features are freed until climbing makes a
    rival win; the gradients at the points reached rank the features anew, and the result is the
    mean ranking over the rounds. No program is solved. ``whole`` and the errors are those of
    :func:`influence`.
    """
    margins = contested(problem, deadline, whole).margins
    if margins.stepped:
        return _alone(problem, margins, deadline)
    ranking, rounds = influence(problem, deadline, whole), []
    for _ in range(_ROUNDS):
        order = np.argsort(ranking, kind="stable").tolist()
        points = _worst_points(problem, margins, order, deadline)
        slopes = [gradient(margins, j, point) for j, point in enumerate(points)]
        rounds.append(shares(problem, margins, rises_of(problem, np.array(slopes))))
        ranking = np.mean(rounds, axis=0)
    return ranking


def contested(problem: ProblemData, deadline: Deadline, whole: WholeBall | None) -> WholeBall:
    """Return the margins that may reach zero in the full ball, at least one, and the bounds."""
    if whole is None:
        deadline.require_time()
        whole = whole_ball(problem, deadline)
    if not whole.finished:
        raise OutOfTimeError
    upper = whole.bounds[-1].upper
    return whole.only((upper >= 0) | (upper == upper.max()))


def shares(problem: ProblemData, margins: Network, rises: FloatArray) -> FloatArray:
    """Return the influence of each feature, given the rises of margins, shape (m, d)."""
    distance = np.maximum(-margins.evaluate(problem.x.astype(np.float64)), _LEAST_DISTANCE)
    with np.errstate(over="ignore"):
        found = problem.features.totals(rises) / distance[:, None]
    return np.asarray(found.max(axis=0))


def _alone(problem: ProblemData, margins: Network, deadline: Deadline) -> FloatArray:
    """Return the influence of each feature by bounds with it alone free; shape (features,)."""
    x, outer, features = problem.x.astype(np.float64), problem.ball.outer, problem.features
    at_x, found = margins.evaluate(x), list[FloatArray]()
    distance = np.maximum(-at_x, _LEAST_DISTANCE)
    step = max(_BOXES // x.size, 1)
    for first in range(0, features.count, step):
        some = range(first, min(first + step, features.count))
        deadline.require_time()
        moved = features.coordinates(some)
        rows = features.of_coordinate[moved] - first
        lower, upper = np.tile(x, (2, len(some), 1))
        lower[rows, moved], upper[rows, moved] = outer.lower[moved], outer.upper[moved]
        values = [(lower, upper)]
        for node in margins.nodes:
            values.append(node.enclosure(values.__getitem__))
        found.append(((values[-1][1] - at_x) / distance).max(axis=1))
    return np.concatenate(found)


def _worst_points(
    problem: ProblemData, margins: Network, order: list[int], deadline: Deadline
) -> list[FloatArray]:
    """Climb each margin with a prefix of ``order`` free, bisected to where a rival first wins."""
    x = problem.x.astype(np.float64)
    least, most = 0, len(order)
    points = [x] * margins.output_size
    for _ in range(_HALVINGS):
        middle = (least + most + 1) // 2
        region = problem.ball.region(problem.features.coordinates(order[:middle]))
        points = []
        for j in range(margins.output_size):
            deadline.require_time()
            points.append(climb(margins, region, x, j, deadline.passed))
        if any(margins.evaluate(point)[j] >= 0 for j, point in enumerate(points)):
            most = middle - 1
        else:
            least = middle
        if least >= most:
            break
    return points


def boundary(
    problem: ProblemData,
    deadline: Deadline,
    whole: WholeBall | None,
    permutation: Sequence[int],
    beyond: int = 0,
) -> tuple[int, Bounds]:
    """Return how long a prefix of a ``permutation`` CROWN proves, and its bounds where it fails.

    It is 0 where the prefix is not longer than ``beyond``.
    """
    found = contested(problem, deadline, whole)
    least, most, bounds = 0, len(permutation), found.bounds
    while most - least > 1 and most > beyond + 1:
        middle = (least + most) // 2 if least or not beyond else beyond + 1
        free = problem.features.coordinates(permutation[:middle])
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
    return shares(problem, margins, form_rises(problem, margins, bounds))


def total_influence(problem: ProblemData, margins: Network, bounds: Bounds) -> FloatArray:
    """Return the shares of margins' distances on all ways to them; shape (features,)."""
    last, count = len(margins.nodes), margins.output_size
    relaxation = extend_relaxation({}, margins, bounds, last)
    relus = list[tuple[int, int, FloatArray, FloatArray]]()
    for number, node in enumerate(margins.nodes, start=1):
        if (source := node.relu_of) is not None:
            lower, upper = bounds[source].lower, bounds[source].upper
            span = np.where((lower < 0) & (upper > 0), upper - lower, np.inf)
            relus.append((number, source, (lower / span) ** 2, (upper / span) ** 2))
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
                for number, source, of_upper, of_lower in relus:
                    if number in met:
                        through = gained @ np.maximum(dense(met[number]), 0.0)
                        known = gains.get(source, (0.0, 0.0))
                        more = through * of_upper, through * of_lower
                        gains[source] = known[0] + more[0], known[1] + more[1]
    return shares(problem, margins, rises)


RANKINGS = {"boundary_influence": boundary_influence, "total_influence": total_influence}
"""The orders at the boundary, by name."""
