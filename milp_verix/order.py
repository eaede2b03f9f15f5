"""Traversal orders: a function from a problem to a permutation of its features.

Least important first: what is freed early stays free, what comes late tends to be explained.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.arguments import integer_of
from milp_verix.errors import InputError
from milp_verix.influence import adaptive, influence
from milp_verix.problem import Problem
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray

TRANSFORMATIONS = ("reversal", "deletion")
ORDERS = ("influence", "adaptive", "sensitivity", "bound", "random", "sequential")


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """A permutation of the features with the name of the order that made it.

    ``sensitivity`` is the score that it was sorted by, one per feature, ascending, or None.
    """

    name: str
    permutation: tuple[int, ...]
    sensitivity: FloatArray | None = None


def make_order(
    problem: Problem,
    order: str | Sequence[int] | NDArray[Any] = "influence",
    *,
    transformation: str = "reversal",
    seed: int = 0,
) -> Order:
    """Return the order called ``order``, or the custom one that a list of features gives.

    Raises ``InputError`` for an unknown name, for a list that is not a permutation, and where the
    bounds that an order rests on overflow.
    """
    count = problem.features.count
    if transformation not in TRANSFORMATIONS:
        raise _unknown_transformation(transformation)
    seed = integer_of(seed, "seed", least=0)
    if not isinstance(order, str):
        return Order("custom", _permutation(order, count))
    if order == "sequential":
        return Order(order, tuple(range(count)))
    if order == "random":
        shuffled = np.random.default_rng(seed).permutation(count)
        return Order(order, tuple(int(i) for i in shuffled))
    if order == "sensitivity":
        return _ascending(order, sensitivity(problem, transformation))
    if order in _SCORES:
        try:
            return _ascending(order, _SCORES[order](problem))
        except OverflowError as error:
            raise InputError(
                f"the order {order!r} rests on bounds over the ball, but {error}: give a smaller "
                "epsilon, or another order, such as 'sequential'"
            ) from error
    raise InputError(
        f"unknown order {order!r}; choose one of {', '.join(ORDERS)}, or give a list of features"
    )


def sensitivity(problem: Problem, transformation: str = "reversal") -> FloatArray:
    """Return ``f_c(x) − f_c(x')`` for each feature, ``x'`` being ``x`` with it transformed.

    ``"deletion"`` sets the feature to zero (or the end of its domain next to zero), ``"reversal"``
    mirrors it in its domain, ``lower + upper − x`` (Wu, Wu, Barrett, NeurIPS 2023, §4.2). For a
    regression: the largest absolute change of an output. Evaluated by onnxruntime; shape
    (features,). Raises ``InputError`` for an unknown transformation, and for a reversal where the
    domain is not finite.
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
        raise _unknown_transformation(transformation)
    changed_to = target.astype(problem.x.dtype)
    before = network.evaluate(problem.x)
    scores = np.empty(problem.features.count)
    for index, group in enumerate(problem.features.groups):
        transformed = problem.x.copy()
        transformed[group] = changed_to[group]
        scores[index] = problem.question.confidence_drop(before, network.evaluate(transformed))
    return scores


def _unknown_transformation(given: object) -> InputError:
    known = ", ".join(TRANSFORMATIONS)
    return InputError(f"unknown transformation {given!r}; choose one of {known}")


def bound_sensitivity(problem: Problem) -> FloatArray:
    """Return how far bound propagation lets the prediction drop with one feature freed.

    The order of VeriX+ (Wu, Li, Wu, Barrett, 2024): features whose freedom leaves the lower bound
    on the predicted score high come first. Here the bound is on the worst margin, which serves
    regression as well; shape (features,).
    """
    margins = problem.question.margins(problem.network.ir)
    highest = [
        crown_bounds(margins, problem.ball.region(group))[-1].upper.max()
        for group in problem.features.groups
    ]
    return np.array(highest, dtype=np.float64)


_SCORES = {"influence": influence, "adaptive": adaptive, "bound": bound_sensitivity}


def _ascending(name: str, scores: FloatArray) -> Order:
    ascending = np.argsort(scores, kind="stable")
    return Order(name, tuple(int(i) for i in ascending), scores)


def _permutation(order: Sequence[int] | NDArray[Any], count: int) -> tuple[int, ...]:
    try:
        given = np.asarray(order)
    except ValueError:  # rows of different lengths
        given = np.array(None)
    if not np.issubdtype(given.dtype, np.integer) or not np.array_equal(
        np.sort(given, axis=None), np.arange(count)
    ):
        raise InputError(
            f"a custom order lists each of the {count} features 0..{count - 1} exactly once"
        )
    return tuple(int(i) for i in given.reshape(-1))
