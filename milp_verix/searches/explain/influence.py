"""Orders by influence: the share of a rival's distance that each feature can close.

Let margin ``j`` be ``m_j(x) < 0`` at the original, and let ``a_j`` be slopes of it. Freeing
coordinate ``i`` raises the margin by about ``max(a_ji (u_i − x_i), a_ji (l_i − x_i))``, a share of
``−m_j(x)``. The influence of a feature is its largest share over the rivals that can win. The
shares of all features in ``B`` must sum to less than one for each rival, so features with the least
influence come first.
"""

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline, OutOfTimeError
from milp_verix.oracle.attacks import climb, gradient, only
from milp_verix.oracle.whole_ball import WholeBall, whole_ball
from milp_verix.problem.problem import PosedProblem
from verix_encodings import Network
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.propagation.linear_form import upper_form

_ROUNDS = 3  # of rankings; not measured
_HALVINGS = 6  # of the prefix that is free: to a 64th of the features; not measured
_LEAST_DISTANCE = 1e-9  # of a margin from zero, in logits, to divide by


def influence(
    problem: PosedProblem, deadline: Deadline = NO_LIMIT, whole: WholeBall | None = None
) -> FloatArray:
    """Return the influence by CROWN's upper forms over the full ball; shape (features,).

    ``whole`` has the bounds over that ball, if these are known. Raises ``OutOfTimeError`` at the
    ``deadline``, and if these bounds were not finished.
    """
    contested = _contested(problem, deadline, whole)
    margins = contested.margins
    if margins.stepped:
        return _alone(problem, margins)
    every = np.eye(margins.output_size)
    form = upper_form(margins, contested.bounds, len(margins.nodes), every)
    return _shares(problem, margins, dense(form.coefficients))


def adaptive(
    problem: PosedProblem, deadline: Deadline = NO_LIMIT, whole: WholeBall | None = None
) -> FloatArray:
    """Return the influence by gradients at the worst points that ``B`` allows; shape (features,).

    Starts from :func:`influence`. In each round the first features are freed until climbing makes a
    rival win; the gradients at the points reached rank the features anew, and the result is the
    mean ranking over the rounds. No program is solved. ``whole`` and the errors are those of
    :func:`influence`.
    """
    margins = _contested(problem, deadline, whole).margins
    if margins.stepped:
        return _alone(problem, margins)
    ranking, rounds = influence(problem, deadline, whole), []
    for _ in range(_ROUNDS):
        order = np.argsort(ranking, kind="stable").tolist()
        points = _worst_points(problem, margins, order, deadline)
        slopes = [gradient(only(margins, j), point) for j, point in enumerate(points)]
        rounds.append(_shares(problem, margins, np.array(slopes)))
        ranking = np.mean(rounds, axis=0)
    return ranking


def _contested(problem: PosedProblem, deadline: Deadline, whole: WholeBall | None) -> WholeBall:
    """Return the margins that may reach zero in the full ball, at least one, and the bounds."""
    whole = whole_ball(problem, deadline) if whole is None else whole
    if not whole.finished:
        raise OutOfTimeError
    upper = whole.bounds[-1].upper
    return whole.only((upper >= 0) | (upper == upper.max()))


def _shares(problem: PosedProblem, margins: Network, slopes: FloatArray) -> FloatArray:
    """Return the influence of each feature, given slopes of each margin, shape (m, d)."""
    x, outer = problem.x.astype(np.float64), problem.ball.outer
    distance = np.maximum(-margins.evaluate(x), _LEAST_DISTANCE)
    with np.errstate(over="ignore"):  # beyond float64 is infinite, and comes last
        rises = np.maximum(slopes * (outer.upper - x), slopes * (outer.lower - x))
        shares = problem.features.totals(rises) / distance[:, None]
    return np.asarray(shares.max(axis=0))


def _alone(problem: PosedProblem, margins: Network) -> FloatArray:
    """Return the influence of each feature by bounds with it alone free; shape (features,)."""
    x, outer = problem.x.astype(np.float64), problem.ball.outer
    owner = problem.features.of_coordinate[None, :] == np.arange(problem.features.count)[:, None]
    lower, upper = np.where(owner, outer.lower, x), np.where(owner, outer.upper, x)
    values = [(lower, upper)]
    for node in margins.nodes:
        values.append(node.enclosure(values.__getitem__))
    at_x = margins.evaluate(x)
    distance = np.maximum(-at_x, _LEAST_DISTANCE)
    return np.asarray(((values[-1][1] - at_x) / distance).max(axis=1))


def _worst_points(
    problem: PosedProblem, margins: Network, order: list[int], deadline: Deadline
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
            deadline.check()
            points.append(climb(margins, region, x, j, deadline.passed))
        if any(margins.evaluate(point)[j] >= 0 for j, point in enumerate(points)):
            most = middle - 1
        else:
            least = middle
        if least >= most:
            break
    return points
