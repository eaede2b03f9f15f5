"""Orders by influence: how much of a rival's distance each feature can make up for.

Let margin ``j`` be ``m_j(x) < 0`` at the original, and let ``a_j`` be slopes of it. Freeing
coordinate ``i`` raises the margin by about ``max(a_ji (u_i − x_i), a_ji (l_i − x_i))``, which uses
up that share of ``−m_j(x)``; the influence of a feature is the largest share over the rivals that
can win. As all the shares of ``B`` in one rival add up to less than one, features with the least go
first.
"""

import numpy as np

from milp_verix.ascent import climb, gradient, only
from milp_verix.problem import Problem
from verix_encodings import Bounds, Interval, Network, crown_bounds
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.crown import upper_form

_ROUNDS = 3
_HALVINGS = 6
_LEAST_DISTANCE = 1e-9


def influence(problem: Problem) -> FloatArray:
    """Return the influence by CROWN's upper forms over the full ball; shape (features,)."""
    margins, bounds = _contested(problem)
    every = np.eye(margins.output_size)
    form = upper_form(margins, bounds, len(margins.nodes), every)
    return _shares(problem, margins, dense(form.coefficients))


def adaptive(problem: Problem) -> FloatArray:
    """Return the influence by gradients where it will count: at the worst points that ``B`` allows.

    Starts from :func:`influence`. In each round the features in front are freed until a rival can
    be made to win by climbing, and the gradients at the points climbed to are a new ranking; the
    ranking is their mean over the rounds. Nothing is proven and nothing solved. Shape (features,).
    """
    margins, _ = _contested(problem)
    ranking, rounds = influence(problem), []
    for _ in range(_ROUNDS):
        points = _worst_points(problem, margins, np.argsort(ranking, kind="stable").tolist())
        slopes = [gradient(only(margins, j), point) for j, point in enumerate(points)]
        rounds.append(_shares(problem, margins, np.array(slopes)))
        ranking = np.mean(rounds, axis=0)
    return ranking


def _contested(problem: Problem) -> tuple[Network, Bounds]:
    """Return the margins that may reach zero in the full ball, the highest anyway; with bounds."""
    margins = problem.question.margins(problem.network.ir)
    *inner, last = crown_bounds(margins, problem.ball.region(np.arange(problem.x.size)))
    chosen = (last.upper >= 0) | (last.upper == last.upper.max())
    part = margins.then(np.eye(chosen.size)[chosen], np.zeros(int(chosen.sum())))
    return part, (*inner, Interval(last.lower[chosen], last.upper[chosen]))


def _shares(problem: Problem, margins: Network, slopes: FloatArray) -> FloatArray:
    """Return the influence of each feature, given slopes of each margin, shape (m, d)."""
    x, outer = problem.x.astype(np.float64), problem.ball.outer
    distance = np.maximum(-margins.evaluate(x), _LEAST_DISTANCE)
    with np.errstate(over="ignore"):  # beyond float64 is infinite, and comes last
        rises = np.maximum(slopes * (outer.upper - x), slopes * (outer.lower - x))
        shares = problem.features.totals(rises) / distance[:, None]
    return np.asarray(shares.max(axis=0))


def _worst_points(problem: Problem, margins: Network, order: list[int]) -> list[FloatArray]:
    """Climb each margin with as many features free, from the front of ``order``, as it takes."""
    x = problem.x.astype(np.float64)
    least, most = 0, len(order)
    points = [x] * margins.output_size
    for _ in range(_HALVINGS):
        middle = (least + most + 1) // 2
        region = problem.ball.region(problem.features.coordinates(order[:middle]))
        points = [climb(margins, region, x, j) for j in range(margins.output_size)]
        if any(margins.evaluate(point)[j] >= 0 for j, point in enumerate(points)):
            most = middle - 1
        else:
            least = middle
        if least >= most:
            break
    return points
