"""Traversal orders: a function from a problem to a permutation of its features.

The least important features come first: features freed early stay free, and the last ones tend to
be in the explanation.

Orders by *bounds* over the set where one feature is free and all others are fixed have the score

    max_k (upper bound of L_k(x') over x' with x'_j = x_j for j ≠ i)  −  max_k L_k(x)

| order | L | bounds |
|---|---|---|
| ``bound`` | the loss: minus the score of the predicted class | interval arithmetic |
| ``bound_crown`` | the loss | CROWN |
| ``margin`` | the margins of all rivals | CROWN |

The first two are those of VeriX+ (Wu, Li, Wu, Barrett, 2024, arXiv:2409.03060): features are freed
in descending order of the lower bound on the predicted class's score. Its authors' program takes
intervals for dense networks and CROWN for convolutional ones. ``margin`` knows the rivals, too.
A run of affine operators counts as one layer.

``boundary_influence`` and ``total_influence`` are made where CROWN fails to prove a prefix of the
order by influence.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from milp_verix.base.arguments import integer_of
from milp_verix.base.clock import NO_LIMIT, Deadline, OutOfTimeError
from milp_verix.base.errors import InputError, require_one_of
from milp_verix.oracle.attacks import climb, gradient
from milp_verix.oracle.ball_bounds import WholeBall, form_rises, rises_of, whole_ball
from milp_verix.problem.features import Features
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import OrderLike
from verix_encodings import Bounds, Network, crown_bounds, interval_bounds
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


BOUND_ORDERS = ("bound", "bound_crown", "margin")

_TRIED = 0.1  # of the work left, for all trials of orders; not measured
_PART = 0.2
"""The part of the work left that bounds may take: the checks need the rest."""


def rises(
    problem: ProblemData, order: str, turn: Sequence[int], deadline: Deadline = NO_LIMIT
) -> FloatArray:
    """Return scores of features, computed until a fifth of the remaining work is spent.

    ``order`` is one of ``BOUND_ORDERS``; ``turn`` is the sequence in which features are bounded.
    Scores have the shape (features,) and the units of the network's outputs, NaN for features
    that were not reached. Raises ``OutOfTimeError`` if there is no time for a single one,
    ``OverflowError`` where a bound leaves the range of float64.
    """
    deadline.require_time()
    deadline = deadline.share(_PART)
    losses = problem.question.losses(problem.network.ir)
    network = problem.margins if order == "margin" else losses
    highest = np.full(problem.features.count, np.nan)
    for feature in turn:
        region = problem.ball.region(problem.features.groups[feature])
        if order == "bound":
            bounds = interval_bounds(network, region)
        else:
            bounds = crown_bounds(network, region, late=deadline.passed)
        if deadline.passed():  # the last bounds may have been cut short
            break
        highest[feature] = bounds[-1].upper.max()
    if np.isnan(highest).all():
        raise OutOfTimeError
    return highest - float(network.evaluate(problem.x).max())


TRANSFORMATIONS = ("reversal", "deletion")
ORDERS = (
    "auto",
    "influence",
    "boundary_influence",
    "total_influence",
    "adaptive",
    "sensitivity",
    *BOUND_ORDERS,
    "random",
    "sequential",
)
_LARGEST = 1e300  # of the scores that results hold


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """A permutation of the features with the name of the order that made it.

    ``sensitivity`` is the score that it was sorted by, one per feature, ascending; None if there is
    none, or if some features have none. ``notes`` are for readers of the result.
    """

    name: str
    permutation: tuple[int, ...]
    sensitivity: FloatArray | None = None
    notes: tuple[str, ...] = ()


def without_order(count: int, why: str) -> Order:
    """Return the sequential order with a note: ``why`` prevented the order that was wanted."""
    note = f"{why}: the features are in sequential order"
    return Order("sequential", tuple(range(count)), notes=(note,))


OrderMaker: TypeAlias = Callable[[Deadline, WholeBall | None], Order]
"""Computes an order by a deadline, from the bounds over the whole ball if these are known."""


def resolve_order(
    problem: ProblemData,
    order: OrderLike = "influence",
    *,
    transformation: str = "reversal",
    seed: int = 0,
) -> OrderMaker:
    """Return a function that computes the order called ``order``, or given as a list of features.

    Unknown names and lists that are not permutations are refused at once.

    An order that is not known by the deadline, or rests on bounds that do not exist, is replaced by
    the sequential one, with a note. In the orders by bounds, features that there was no time for
    follow the others by influence.
    """
    count = problem.features.count
    require_one_of(TRANSFORMATIONS, transformation, "transformation")
    seed = integer_of(seed, "seed", least=0)
    if not isinstance(order, str):
        custom = Order("custom", _permutation(order, problem.features))
        return lambda _deadline, _whole: custom
    require_one_of(ORDERS, order, "order", ", or give a list of features")

    named = "influence" if order == "auto" else order

    def made(deadline: Deadline, whole: WholeBall | None) -> Order:
        if order == "sequential":
            return Order(order, tuple(range(count)))
        if order == "random":
            shuffled = np.random.default_rng(seed).permutation(count)
            return Order(order, tuple(int(i) for i in shuffled))
        try:
            if order in BOUND_ORDERS:
                return _by_bounds(problem, order, deadline, whole)
            if order == "sensitivity":
                return _ascending(order, sensitivity(problem, transformation, deadline))
            return _by_influence(problem, order, deadline, whole)
        except OutOfTimeError:
            why = f"the time limit passed before the order {named!r} was known"
        except OverflowError as error:
            why = f"the order {named!r} rests on bounds over the ball, but {error}"
        return without_order(count, why)

    return made


def furthest(
    problem: ProblemData, deadline: Deadline, whole: WholeBall | None, order: Order
) -> Order:
    """Return ``order``, or one by forms or total influence at its boundary, if it goes further.

    The order goes the furthest of which CROWN proves the longest prefix. ``order`` is returned
    where there is no time to tell.
    """
    deadline = deadline.share(_TRIED)
    best = order
    try:
        most, bounds = boundary(problem, deadline, whole, order.permutation)
        for name in RANKINGS:
            other = _ranked(name, problem, deadline, whole, bounds)
            reached, _ = boundary(problem, deadline, whole, other.permutation, beyond=most)
            if reached > most:
                best, most = other, reached
    except (OutOfTimeError, OverflowError):
        return order
    return best


def _ranked(
    name: str, problem: ProblemData, deadline: Deadline, whole: WholeBall | None, bounds: Bounds
) -> Order:
    """Return the order ``name`` of ``RANKINGS`` by ``bounds`` over a ball at the boundary."""
    margins = contested(problem, deadline, whole).margins
    return _ascending(name, RANKINGS[name](problem, margins, bounds))


def sensitivity(
    problem: ProblemData, transformation: str = "reversal", deadline: Deadline = NO_LIMIT
) -> FloatArray:
    """Return ``f_c(x) − f_c(x')`` for each feature, ``x'`` being ``x`` with it transformed.

    ``"deletion"`` sets the feature to zero (or the end of its domain next to zero), ``"reversal"``
    mirrors it in its domain, ``lower + upper − x`` (Wu, Wu, Barrett, NeurIPS 2023, §4.2). For a
    regression: the largest absolute change of an output. Evaluated by onnxruntime; shape
    (features,). Raises ``InputError`` for an unknown transformation, and for a reversal where the
    domain is not finite; ``OutOfTimeError`` at the ``deadline``.
    """
    require_one_of(TRANSFORMATIONS, transformation, "transformation")
    ball, network = problem.ball, problem.network
    if transformation == "deletion":
        target = np.clip(0.0, ball.domain_lower, ball.domain_upper)
    else:
        if not (np.isfinite(ball.domain_lower).all() and np.isfinite(ball.domain_upper).all()):
            raise InputError(
                "the transformation 'reversal' needs a finite domain to mirror a feature in: "
                "give one, or use 'deletion'"
            )
        target = ball.domain_lower + ball.domain_upper - problem.x.astype(np.float64)
    changed_to = target.astype(problem.x.dtype)
    before = network.outputs_at(problem.x)
    scores = np.empty(problem.features.count)
    for index, group in enumerate(problem.features.groups):
        deadline.require_time()
        transformed = problem.x.copy()
        transformed[group] = changed_to[group]
        scores[index] = problem.question.confidence_drop(before, network.outputs_at(transformed))
    return scores


def _by_influence(
    problem: ProblemData, order: str, deadline: Deadline, whole: WholeBall | None
) -> Order:
    if order == "adaptive":
        return _ascending(order, adaptive(problem, deadline, whole))
    first = _ascending("influence", influence(problem, deadline, whole))
    if order in ("auto", "influence"):
        return first
    _, bounds = boundary(problem, deadline, whole, first.permutation)
    return _ranked(order, problem, deadline, whole, bounds)


def _by_bounds(
    problem: ProblemData, order: str, deadline: Deadline, whole: WholeBall | None
) -> Order:
    """Sort features by the bounds that there is time for; the others follow by their influence."""
    features = turn = np.arange(problem.features.count)
    if deadline.at < np.inf:
        turn = np.argsort(influence(problem, deadline, whole), kind="stable")
    scores = rises(problem, order, turn.tolist(), deadline)
    unknown = np.isnan(scores)
    if not unknown.any():
        return _ascending(order, scores)
    ties = np.where(unknown, np.argsort(turn), features)
    note = (
        f"there was time for the bounds of {np.sum(~unknown)} of {features.size} features: in the "
        f"order {order!r} the others come last, by their influence"
    )
    return Order(order, tuple(np.lexsort((ties, scores)).tolist()), notes=(note,))


def _ascending(name: str, scores: FloatArray) -> Order:
    """Return the order of features by ascending ``scores``."""
    # what is no number comes last
    scores = np.clip(np.nan_to_num(scores, nan=_LARGEST), -_LARGEST, _LARGEST)
    ascending = np.argsort(scores, kind="stable")
    return Order(name, tuple(ascending.tolist()), scores)


def _permutation(order: OrderLike, features: Features) -> tuple[int, ...]:
    try:
        given = np.asarray(features.unnamed(order, "order"))
    except InputError:
        raise
    except ValueError:  # rows of different lengths
        given = np.array(None)
    count = features.count
    if not np.issubdtype(given.dtype, np.integer) or not np.array_equal(
        np.sort(given, axis=None), np.arange(count)
    ):
        raise InputError(
            f"a custom order lists each of the {count} features 0..{count - 1} exactly once"
        )
    return tuple(given.reshape(-1).tolist())
