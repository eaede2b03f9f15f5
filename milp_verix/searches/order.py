"""Traversal orders: a function from a problem to a permutation of its features.

The least important features come first: features freed early stay free, and the last ones tend to
be in the explanation.

Scores by *influence* are those of :mod:`milp_verix.searches.influence`.

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
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from milp_verix.base.arguments import integer_of
from milp_verix.base.clock import NO_LIMIT, Deadline, OutOfTimeError
from milp_verix.base.errors import InputError, require_one_of
from milp_verix.oracle.ball_bounds import WholeBall
from milp_verix.problem.features import Features
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import OrderLike
from milp_verix.searches.influence import (
    RANKINGS,
    adaptive,
    boundary,
    contested,
    influence,
)
from verix_encodings import Bounds, crown_bounds, interval_bounds
from verix_encodings.arrays import FloatArray

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

    ``sensitivity`` is the score that it was sorted by, one per feature, ascending; None if there
    is none, or if some features have none.
    ``notes`` are for readers of the result.
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
