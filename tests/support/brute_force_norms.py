"""What a check over an L1 or L2 ball must say of a tiny network, from every pattern of its ReLUs.

For each pattern the largest margin is that of a linear form over a polytope and the ball: a convex
problem, a linear program for L1, and one for scipy's sequential quadratic programming for L2.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog, minimize

from tests.support.brute_force import _EXACT, Array, BruteForce, _Affine, _pieces
from tests.support.brute_force_cases import Case

NORMS = {"l1": 1, "l2": 2}


def worst_margin(brute: BruteForce, free: Sequence[int], norm: int, epsilon: float) -> float:
    """Return the supremum over the ball of the largest margin, to about 1e-6."""
    key = (frozenset(free), norm, epsilon)
    if key not in brute.over_norms:
        coordinates = [i for feature in free for i in brute.groups[feature]]
        brute.over_norms[key] = _supremum(brute, coordinates, norm, epsilon)
    return brute.over_norms[key]


def _supremum(brute: BruteForce, coordinates: list[int], norm: int, epsilon: float) -> float:
    low, high = brute.x.copy(), brute.x.copy()
    low[coordinates] = np.maximum(brute.x - epsilon, brute.low)[coordinates]
    high[coordinates] = np.minimum(brute.x + epsilon, brute.high)[coordinates]
    C, k = brute.margins()
    n = brute.x.size
    start = _Affine(np.eye(n), np.zeros(n), np.zeros((0, n)), np.zeros(0))
    best = float(np.max(C @ brute.evaluate(brute.x) + k))
    if not coordinates:
        return best
    largest, dual = (_largest_l1, np.inf) if norm == 1 else (_largest_l2, 2)
    moving = low < high
    for piece in _pieces(brute.layers, start, low, high):
        for row, constant in zip(C @ piece.A, C @ piece.b + k, strict=True):
            over_box = np.sum(np.where(row > 0, row * high, row * low)) + constant
            over_ball = row @ brute.x + epsilon * np.linalg.norm(row[moving], dual) + constant
            if min(over_box, over_ball) > best:
                found = largest(row, piece, brute.x, (low, high), epsilon)
                best = max(best, found + constant)
    return best


def _largest_l1(
    row: Array, piece: _Affine, x: Array, box: tuple[Array, Array], epsilon: float
) -> float:
    """Return the largest ``row·x'``, in the two sides of each coordinate; -inf where empty."""
    n, rows = x.size, len(piece.h)
    solved = linprog(
        np.concatenate([-row, row]),
        A_ub=np.vstack([np.ones((1, 2 * n)), np.hstack([piece.G, -piece.G]).reshape(rows, 2 * n)]),
        b_ub=np.concatenate([[epsilon], piece.h - piece.G @ x]),
        bounds=[(0, v) for v in np.concatenate([box[1] - x, x - box[0]])],
        options=_EXACT,
    )
    assert solved.status in (0, 2), solved.message
    return float(row @ x - solved.fun) if solved.status == 0 else -np.inf


def _largest_l2(
    row: Array, piece: _Affine, x: Array, box: tuple[Array, Array], epsilon: float
) -> float:
    """Return the largest ``row·x'`` by two convex problems: is there a point, and the best one.

    Both in ``e = x' − x`` over the coordinates that may move, and scaled to a ball of radius 1.
    """
    free = box[0] < box[1]
    G, h, c = epsilon * piece.G[:, free], piece.h - piece.G @ x, epsilon * row[free]
    low, high = (box[0] - x)[free] / epsilon, (box[1] - x)[free] / epsilon
    walls = [{"type": "ineq", "fun": lambda e: h - G @ e, "jac": lambda _: -G}] if h.size else []
    ball = {"type": "ineq", "fun": lambda e: 1 - e @ e, "jac": lambda e: -2 * e}
    common = {
        "bounds": list(zip(low, high, strict=True)),
        "options": {"maxiter": 500, "ftol": 1e-14},
        "method": "SLSQP",
    }

    def excess(e: Array) -> float:
        """By how much ``e`` is outside the piece, the box or the ball."""
        parts = [G @ e - h, low - e, e - high, [e @ e - 1]]
        return max(float(np.max(part, initial=0.0)) for part in parts)

    start = np.zeros(c.size)
    nearest = minimize(lambda e: e @ e, start, jac=lambda e: 2 * e, constraints=walls, **common)
    if excess(nearest.x) > 1e-9:
        return -np.inf
    best = minimize(
        lambda e: -c @ e, nearest.x, jac=lambda _: -c, constraints=[*walls, ball], **common
    )
    found = best.x if excess(best.x) <= 1e-8 else nearest.x
    return float(row @ x + c @ found)


def radius(problem: Case, norm: str) -> float:
    """Return a radius at which about half of the checks are violated."""
    return problem.epsilon * (1.8 if norm == "l1" else 1.2)
