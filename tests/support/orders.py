"""Orders of features, computed at once."""

from typing import Any

from milp_verix.base.clock import NO_LIMIT
from milp_verix.problem.problem import ProblemData
from milp_verix.searches.order import Order, OrderLike, resolve_order


def make_order(problem: ProblemData, order: OrderLike = "influence", **options: Any) -> Order:
    """Return the order called ``order``, or the one that a list of features gives."""
    return resolve_order(problem, order, **options)(NO_LIMIT, None)
