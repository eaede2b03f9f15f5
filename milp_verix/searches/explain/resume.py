"""A traversal that goes on from the decisions of an earlier result.

Let the earlier run have freed ``B`` and kept the features ``K``, each with a counterfactual that
moves nothing but ``B`` and that feature. The replay of a counterfactual needs no trust; that ``B``
may be free is one claim. It is checked again with a slice of time: by bounds, then exactly. If
that does not prove it, nothing of that run is taken over. Features that it left undecided are asked
about again, in its order. An uninterrupted run decides as this one does, since neither
``B`` nor a counterfactual depends on what comes after it in the order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milp_verix.base.clock import Deadline, Limit
from milp_verix.base.number_text import counted
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Verdict
from milp_verix.results.earlier import Earlier
from milp_verix.results.explanation import Explanation
from milp_verix.searches.explain.order import Order
from milp_verix.searches.explain.traversal import Traversal

_SHARE, _LEAST = 0.25, 1.0
"""The share of the work left that the check of the earlier claim may take, and its least seconds.

It takes no more than the seconds of the earlier run amount to, which are a part of the question: to
begin anew would be faster.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Resumption:
    """The ``traversal`` to go on with, None to begin anew; ``order`` has notes for the result."""

    traversal: Traversal | None
    order: Order


def resumption(
    earlier: Earlier | None,
    oracle: Oracle,
    deadline: Deadline,
    most: Limit,
    must: Sequence[int] = (),
) -> Resumption:
    """Return how to go on from ``earlier``; its claim is checked within ``most``.

    The traversal visits all features but ``must``. Ctrl-C is raised: until the claim is proven, the
    earlier result is all there is.
    """
    if earlier is None:
        return Resumption(None, Order("", ()))
    state = _traversal_of(earlier, must)
    if not state.irrelevant:
        return Resumption(state if state.violated else None, _order_of(earlier.result))
    took = earlier.result.statistics.seconds
    work = max(min(_SHARE * deadline.left, took), _LEAST)
    verdict = _checked_again(earlier, oracle, deadline, deadline.limited(most).within(work))
    claim = f"the claim on {counted(len(state.irrelevant), 'irrelevant feature')}"
    author = f"an earlier run of {earlier.author}"
    if verdict.holds:
        return Resumption(state, _order_of(earlier.result, f"{claim} of {author} was proven again"))
    oracle.forget(deadline)
    why = "was refuted" if verdict.violated else "could not be proven again in time"
    note = f"{claim} of {author} {why}: this run began anew"
    return Resumption(None, _order_of(earlier.result, note))


def _order_of(result: Explanation, *notes: str) -> Order:
    """Return the order of an earlier result, with notes."""
    scores = None if result.sensitivity is None else np.array(result.sensitivity)
    return Order(result.order, result.permutation, scores, notes)


def _traversal_of(earlier: Earlier, must: Sequence[int]) -> Traversal:
    """Return the state after the decisions of the earlier run, those on ``must`` left out."""
    order = tuple(f for f in earlier.result.permutation if f not in must)
    freed = set(earlier.result.irrelevant)
    state = Traversal(order, irrelevant=[f for f in order if f in freed])
    state.violated = {f: v for f, v in earlier.counterfactuals.items() if f not in must}
    return state


def _checked_again(
    earlier: Earlier, oracle: Oracle, deadline: Deadline, until: Deadline
) -> Verdict:
    """Check the earlier claim by ``until``, from points that the counterfactuals suggest."""
    oracle.prepare(deadline)
    free = oracle.problem.features.coordinates(earlier.result.irrelevant)
    inputs = np.tile(oracle.problem.x.astype(np.float64), (len(earlier.counterfactuals) + 1, 1))
    for row, verdict in enumerate(earlier.counterfactuals.values()):
        inputs[row, free] = verdict.point[free]
    oracle.suppose(free, inputs.T, deadline)
    return oracle.check(free, until)
