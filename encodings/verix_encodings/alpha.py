"""Backward bounds with optimised slopes (α-CROWN): each neuron's bound has slopes of its own.

The line ``α z`` is below ``max(z, 0)`` for every ``α`` in [0, 1], so each bound of CROWN
(``crown``) holds for every choice. Projected gradient steps minimise it for a neuron:

    c·v ≤ c⁺·(λ z + β) + c⁻·(α z)     at a ReLU with l < 0 < u, c the coefficients met there
    g(α) = max over x in the region of a(α)·x + b(α)                    the bound of the neuron
    ∂g/∂α_j = c⁻_j z_j                z the value there if x is the maximiser and each activation
                                      is replaced by the line that the bound takes
    α ← min(max(α − η_t m_t / √v_t, 0), 1)                             steps of Adam, for each row

(Xu, Zhang, Wang, Wang, Jana, Lin, Hsieh, ICLR 2021.) Layer after layer: tighter bounds of one layer
make the lines of the next ones tighter. Each step's bound is rounded outward as CROWN's is, and the
least one counts: steps that do harm cost time alone.

Bounds on the derivatives of a network: interval arithmetic, backward through its phases.

    v = σ(z), z ∈ [l, u]        ∂f/∂z += ∂f/∂v · [min σ', max σ'] over [l, u]

A network whose slopes are finite is continuous and piecewise smooth, so along a line its values
change by no more than these bounds times the distance (the mean value theorem on each piece): a
known bound on ``f`` over a set of inputs becomes one over a larger set.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray, relative_error
from verix_encodings.bounds.interval import Bounds, Interval, Late, Range, Region, never
from verix_encodings.bounds.norm_ball import NormBall, length
from verix_encodings.crown import (
    behind_relus,
    crown_bounds,
    inside,
    layer_by_layer,
    neurons_to_tighten,
    readers_of,
)
from verix_encodings.interval_bounds import cone
from verix_encodings.network import Network
from verix_encodings.row_slopes import Relaxed, RowSlopes


def slope_bounds(network: Network, bounds: Bounds) -> Range:
    """Bound every ``∂f_j/∂x_i`` where ``bounds`` hold: (lower, upper), each of shape (m, d).

    Bounds that overflow are infinite or NaN.
    """
    size = network.output_size
    zero = np.zeros((size, network.input_size))
    pending: dict[int, Range] = {0: (zero, zero)}
    pending[len(network.nodes)] = (np.eye(size), np.eye(size))
    for value in range(len(network.nodes), 0, -1):
        if value not in pending:
            continue
        lower, upper = pending.pop(value)
        node = network.nodes[value - 1]
        with np.errstate(over="ignore", invalid="ignore"):
            for source, found in node.slopes(bounds, lower, upper):
                known = pending.get(source)
                pending[source] = found if known is None else _sum(known, found)
    return pending[0]


def _sum(first: Range, second: Range) -> Range:
    low, high = first[0] + second[0], first[1] + second[1]
    error = relative_error(1) * (np.abs(low) + np.abs(high) + np.abs(first[0]) + np.abs(first[1]))
    return low - error, high + error


_STEPS = 9

# entries of the arrays of a block, rows × neurons
_ENTRIES = 2**21
# neurons of a convolution in a block: neighbours share most of their receptive fields
_NEIGHBOURS = 64


def alpha_bounds(
    network: Network,
    region: Region,
    late: Late = never,
    *,
    known: Bounds = (),
    within: Bounds = (),
) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``region``, inside CROWN's bounds.

    ``known`` are bounds proven already for the first values; they are returned as they are.
    ``within`` are bounds known to hold there, computed by :func:`crown_bounds` unless they are
    given; neurons that these decide keep them. Once ``late()``, so do all remaining neurons. Raises
    ``OverflowError`` as :func:`interval_bounds` does.
    """
    within = within or crown_bounds(network, region, late=late)
    return layer_by_layer(network, region, _optimised, known, late=late, within=within)


def beyond_input(network: Network, bounds: Bounds) -> int:
    """Return the number of undecided neurons that are no affine function of the input alone."""
    readers, behind = readers_of(network), behind_relus(network)
    return sum(
        neurons_to_tighten(behind, readers, value, bounds[value]).size
        for value in readers
        if value and any(network.nodes[value - 1].sources)
    )


def _optimised(
    network: Network, region: Region, bounds: Bounds, rows: IntArray, late: Late
) -> Interval:
    value, found = len(bounds) - 1, bounds[-1]
    readers, behind = readers_of(network), behind_relus(network)
    for block in () if late() else _blocks(network, value, rows):
        if late():
            return found
        part, inner, places = cone(network, bounds, value, block)
        units = np.eye(part.output_size)[places]
        left, slopes = block, RowSlopes(Relaxed.of(part, inner), np.concatenate([units, -units]))
        for step in range(_STEPS):
            if late():
                return found
            with np.errstate(over="ignore", invalid="ignore"):
                if step:
                    slopes.descend(step)
                found = inside(found, left, slopes.extremes(region))
            if value != len(network.nodes):
                kept = np.isin(left, neurons_to_tighten(behind, readers, value, found))
                left = left[kept]
                slopes.keep(np.tile(kept, 2))
            if not left.size:
                break
    return found


def _blocks(network: Network, value: int, rows: IntArray) -> list[IntArray]:
    """Return ``rows`` in blocks whose arrays fit the memory, and narrow cones share."""
    matrices = network.nodes[value - 1].matrices
    sparse = any(not isinstance(matrix, np.ndarray) for _, matrix in matrices)
    most = _ENTRIES // (2 * max(network.sizes[: value + 1]))
    at_once = max(1, min(_NEIGHBOURS, most) if sparse else most)
    return [rows[first : first + at_once] for first in range(0, rows.size, at_once)]


_PROGRAMS = 16  # for a ball of L2, each with one tangent more; not measured
_OUTSIDE = 1 + 1e-9  # times the radius
_TINY = 1e-12  # a least violation of phases


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """Rows after steps: their ``upper`` bounds, (R,), with the ``dials`` that prove them.

    ``left`` are the numbers of the rows that are not proven below their goals.
    """

    upper: FloatArray
    dials: FloatArray
    left: IntArray


def lowered(
    rows: RowSlopes, region: Region, upper: FloatArray, goals: FloatArray, steps: tuple[int, ...]
) -> Lowered:
    """Lower the bounds of ``rows`` over ``region`` by ``steps``, until they are below ``goals``.

    ``upper`` are bounds known, shape (R,) as ``goals``. The first of ``steps`` only bounds. Rows
    below their goals are dropped from ``rows``; the bounds and points in it are those of the last
    step.
    """
    upper, best = upper.copy(), rows.dials.copy()
    left = np.flatnonzero(~(upper < goals))
    above = np.zeros(left.size)
    rows.keep(np.isin(np.arange(upper.size), left))
    for place, step in enumerate(steps):
        if not left.size:
            break
        if place and step:
            rows.descend(step, above)
        found = rows.extremes(region)
        if not place:
            best[left] = rows.dials  # with the coefficients met
        better = found < upper[left]
        at = left[better]
        upper[at], best[at] = found[better], rows.dials[better]
        open_ = ~(upper[left] < goals[left])
        above = (found - goals[left])[open_]
        left = left[open_]
        rows.keep(open_)
    return Lowered(upper, best, left)


def least(
    rows: RowSlopes, region: NormBall, found: Lowered, goals: FloatArray, evaluations: int
) -> Lowered:
    """Minimise the bounds of ``rows`` that ``found`` has left, until they are below ``goals``.

    ``goals`` are those of all rows, shape (R,). One row after the other has so many
    ``evaluations`` of L-BFGS-B over a ball of L2: there the bound is smooth in the multipliers but
    where the box cuts the ball, and the steps of :func:`lowered` stop short of its minimum. What
    is left has the multipliers of linear programs, as rows over a ball of L1 have. Rows below their
    goals are dropped from ``rows``, whose points are those of the least bounds or the optima.
    """
    upper, dials = found.upper.copy(), found.dials.copy()
    for place, row in enumerate(found.left.tolist()):
        one, goal = rows.only(place, dials[row]), float(goals[row])
        descent = partial(_least, evaluations=evaluations)
        for minimised in (_by_programs,) if region.norm == 1 else (descent, _by_programs):
            bound = minimised(one, region, goal)
            rows.points[place] = one.points[0]
            if bound < upper[row]:
                upper[row], dials[row] = bound, one.dials[0]
            # no bound is below a value that is reached
            if upper[row] < goal or one.reached()[0] >= goal:
                break
    open_ = ~(upper[found.left] < goals[found.left])
    rows.keep(open_)
    return Lowered(upper, dials, found.left[open_])


def _least(one: RowSlopes, region: NormBall, goal: float, *, evaluations: int) -> float:
    """Minimise the bound of a single row; the row keeps the dials and the point of the least."""
    from scipy.optimize import minimize

    best, kept, point = np.inf, one.dials, one.points

    def bound(dials: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, kept, point
        one.dials = dials[None].copy()  # bounds put the coefficients met into it
        upper = float(one.extremes(region)[0])
        if upper < best:
            best, kept, point = upper, one.dials.copy(), one.points
        if upper < goal:
            raise StopIteration
        return upper, one.derivatives()[0]

    phases = one.signs[0, : one.relaxed.phases].tolist()
    ends: list[tuple[float | None, float | None]] = [
        (0.0, None if sign else 1.0) for sign in phases
    ]
    ends += [(None, None)] * one.relaxed.points
    options = {"maxfun": evaluations, "ftol": 1e-10, "gtol": 1e-10}
    with suppress(StopIteration):
        minimize(bound, kept[0], jac=True, method="L-BFGS-B", bounds=ends, options=options)
    one.dials, one.points = kept, point
    return best


def _by_programs(one: RowSlopes, ball: NormBall, goal: float) -> float:
    """Bound a single row over a ball by the multipliers of linear programs; it keeps the dials.

    A program has the row's maximum where its phases hold, in a ball of L1 or in tangents of one of
    L2. If nothing satisfies the phases, the multipliers are those of the least violation, times
    what lowers the bound by twice its distance from the ``goal``. No bound rests on a program: each
    holds for all multipliers from zero on.
    """
    from scipy.optimize import linprog

    places, forms, constants = one.forms()
    free = np.flatnonzero(ball.box.lower < ball.box.upper)
    there, best, kept = forms @ ball.centre + constants, np.inf, one.dials
    above = float(constants[0] + ball.greatest(forms[:1])[0]) - goal
    if not (places.size and np.isfinite(there).all()):
        return best
    # moves up and down, and the violation of phases
    moves = np.concatenate([forms[:, free], -forms[:, free]], axis=1)
    headroom = ball.box.upper - ball.centre, ball.centre - ball.box.lower
    most = np.concatenate([*(room[free] for room in headroom), [0.0]])
    cost, rows = np.append(-moves[0], 0.0), np.pad(-moves[1:], ((0, 0), (0, 1)), constant_values=-1)
    if ball.norm == 1:
        rows = np.concatenate([rows, np.append(np.ones(2 * free.size), 0.0)[None]])
    for _ in range(_PROGRAMS):
        solved = linprog(
            cost,
            rows,
            np.append(there[1:], np.full(len(rows) - places.size, ball.radius)),
            bounds=np.stack([np.zeros_like(most), most], axis=1),
            method="highs-ds",
            options={"presolve": False},  # it takes more time than the rest
        )
        if solved.status == 2 and not most[-1]:
            most[-1], cost = np.inf, np.append(np.zeros(2 * free.size), 1.0)
            continue
        if solved.status:
            break
        scale = 2 * above / max(float(solved.fun), _TINY) if most[-1] else 1.0
        one.dials = kept.copy()
        one.dials[0, places] = np.maximum(-scale * solved.ineqlin.marginals[: places.size], 0.0)
        upper = float(one.extremes(ball)[0])
        if upper < best:
            best, kept = upper, one.dials
        move = solved.x[: free.size] - solved.x[free.size : -1]
        if ball.norm == 1 and not most[-1]:
            point = ball.centre.copy()
            point[free] += move
            one.points = np.clip(point, ball.box.lower, ball.box.upper)[None]
        far = length(move, ball.norm)
        if best < goal or ball.norm == 1 or far <= ball.radius * _OUTSIDE:
            break
        rows = np.concatenate([rows, np.concatenate([move, -move, [0.0]])[None] / far])
    one.dials = kept
    return best
