"""Traversal orders: a function from a problem to a permutation of its features.

The least important features come first: features freed early stay free, and the last ones tend to
be in the explanation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from milp_verix.base.arguments import integer_of
from milp_verix.base.clock import NO_LIMIT, Deadline, OutOfTimeError
from milp_verix.base.errors import InputError
from milp_verix.base.names import require_one_of
from milp_verix.oracle.whole_ball import WholeBall
from milp_verix.problem.features import Features
from milp_verix.problem.options import OrderLike
from milp_verix.problem.problem import PosedProblem
from milp_verix.searches.explain.freed_alone import BOUND_ORDERS, rises
from milp_verix.searches.explain.influence import adaptive, influence
from verix_encodings.arrays import FloatArray

TRANSFORMATIONS = ("reversal", "deletion")
ORDERS = ("influence", "adaptive", "sensitivity", *BOUND_ORDERS, "random", "sequential")
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
    problem: PosedProblem,
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

    def made(deadline: Deadline, whole: WholeBall | None) -> Order:
        if order == "sequential":
            return Order(order, tuple(range(count)))
        if order == "random":
            shuffled = np.random.default_rng(seed).permutation(count)
            return Order(order, tuple(int(i) for i in shuffled))
        try:
            if order in BOUND_ORDERS:
                return _by_bounds(problem, order, deadline, whole)
            return _ascending(order, _scores(problem, order, transformation, deadline, whole))
        except OutOfTimeError:
            why = f"the time limit passed before the order {order!r} was known"
        except OverflowError as error:
            why = f"the order {order!r} rests on bounds over the ball, but {error}"
        return without_order(count, why)

    return made


def _scores(
    problem: PosedProblem,
    order: str,
    transformation: str,
    deadline: Deadline,
    whole: WholeBall | None,
) -> FloatArray:
    if order == "sensitivity":
        return sensitivity(problem, transformation, deadline)
    by_influence = influence if order == "influence" else adaptive
    return by_influence(problem, deadline, whole)


def sensitivity(
    problem: PosedProblem, transformation: str = "reversal", deadline: Deadline = NO_LIMIT
) -> FloatArray:
    """Return ``f_c(x) − f_c(x')`` for each feature, ``x'`` being ``x`` with it transformed.

    ``"deletion"`` sets the feature to zero (or the end of its domain next to zero), ``"reversal"``
    mirrors it in its domain, ``lower + upper − x`` (Wu, Wu, Barrett, NeurIPS 2023, §4.2). For a
    regression: the largest absolute change of an output. Evaluated by onnxruntime; shape
    (features,). Raises ``InputError`` for an unknown transformation, and for a reversal where the
    domain is not finite; ``OutOfTimeError`` at the ``deadline``.
    """
    ball, network = problem.ball, problem.network
    if transformation == "deletion":
        target = np.clip(0.0, ball.domain_lower, ball.domain_upper)
    elif transformation == "reversal":
        if not (np.isfinite(ball.domain_lower).all() and np.isfinite(ball.domain_upper).all()):
            raise InputError(
                "the transformation 'reversal' needs a finite domain to mirror a feature in: "
                "give one, or use 'deletion'"
            )
        target = ball.domain_lower + ball.domain_upper - problem.x.astype(np.float64)
    else:
        require_one_of(TRANSFORMATIONS, transformation, "transformation")
    changed_to = target.astype(problem.x.dtype)
    before = network.evaluate(problem.x)
    scores = np.empty(problem.features.count)
    for index, group in enumerate(problem.features.groups):
        deadline.check()
        transformed = problem.x.copy()
        transformed[group] = changed_to[group]
        scores[index] = problem.question.confidence_drop(before, network.evaluate(transformed))
    return scores


def _by_bounds(
    problem: PosedProblem, order: str, deadline: Deadline, whole: WholeBall | None
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
    # what is no number comes last
    scores = np.clip(np.nan_to_num(scores, nan=_LARGEST), -_LARGEST, _LARGEST)
    ascending = np.argsort(scores, kind="stable")
    return Order(name, tuple(int(i) for i in ascending), scores)


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
    return tuple(int(i) for i in given.reshape(-1))
