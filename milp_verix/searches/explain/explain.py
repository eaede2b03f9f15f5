"""Explain a prediction: an order, the VeriX loop over the oracle, and the result."""

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

from milp_verix.base.argument_kinds import checked
from milp_verix.base.clock import Deadline
from milp_verix.models.onnx.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.whole_ball import WholeBall
from milp_verix.problem.one_liner import one_liner, parted
from milp_verix.problem.options import Asked, InputLike, Ordering, OrderLike, TraversalOptions
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.public import Explanation
from milp_verix.searches.explain.explain_search import ExplainSearch, Progress
from milp_verix.searches.explain.order import Order, OrderMaker, resolve_order, without_order
from milp_verix.searches.explain.resume import resumption
from milp_verix.searches.explain.strategies import resolve_strategy
from milp_verix.searches.explain.traversal import Traversal


class Explaining(Ordering, total=False):
    """The options of :func:`explain_problem`."""

    progress: Callable[[Progress], None] | None
    snapshots: Callable[[Callable[[], Explanation]], None] | None
    resume: EarlierResult | None


class ExplainAsked(Asked, TraversalOptions, Explaining, total=False):
    """The options of :func:`explain`."""


@checked()
def explain_problem(
    problem: PosedProblem,
    *,
    order: OrderLike = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[Progress], None] | None = None,
    snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    resume: EarlierResult | None = None,
) -> Explanation:
    """Find a locally minimal set of features that, when fixed, keeps the prediction at ``x``.

    The VeriX method (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1): features are freed one by one in
    a traversal order, each for good if the prediction provably survives. Ctrl-C and the time limit
    return the sound explanation so far, with the features not yet decided in ``unknown``.

    Args:
        order: ``"influence"``, ``"adaptive"``, ``"sensitivity"``, ``"bound"``, ``"bound_crown"``,
            ``"margin"``, ``"random"``, ``"sequential"``, or a list of all features; see
            :mod:`milp_verix.searches.explain.order`. An order whose bounds do not exist is replaced
            by the sequential one, with a note.
        transformation: ``"reversal"`` or ``"deletion"``, for the order ``"sensitivity"``.
        traversal: ``"galloping"``, ``"sequential"``, ``"binary"`` or ``"quickxplain"``: which
            checks are asked; the explanation is the same, see ``traversal.strategies``.
        progress: called before each check, and after each decision.
        snapshots: called with a function that returns the sound result so far: at the start, and
            whenever more is known. The function may be called at any time, in any thread.
        resume: an earlier result of the same question, or the path of its JSON, to go on from: its
            decisions and its order are kept. Counterfactuals are run in onnxruntime again, and the
            claim on the irrelevant features is checked again with a slice of the time. Where that
            does not prove it, the run begins anew; Ctrl-C during that check raises
            ``KeyboardInterrupt``. Give the same ``tolerances``: no result has them.

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    resolve_strategy(traversal)  # an unknown one is refused before a solver is opened
    request = Request.now(problem, search)
    earlier = None if resume is None else earlier_explanation(resume, problem)
    order_by = resolve_order(problem, order, transformation=transformation, seed=search.seed)
    with Oracle(problem, search) as oracle:
        begun = resumption(earlier, oracle, request.deadline, request.check_limit)
        chosen, walked, make = begun.order, begun.traversal, None
        if walked is None:
            why = f"the run ended before the order {order!r} was known"
            chosen = without_order(problem.features.count, why)
            walked, make = Traversal(chosen.permutation), _noted(order_by, begun.order.notes)
        run = ExplainSearch(oracle, request, traversal, chosen, walked, make)
        return run.run(progress, snapshots).of(problem)


@one_liner(explain_problem)
def explain(network: NetworkLike, x: InputLike, **asked: Unpack[ExplainAsked]) -> Explanation:
    """Explain the prediction at ``x``: :meth:`milp_verix.Problem.explain` in one call."""
    problem, search, own = parted(network, x, asked, Explaining)
    return explain_problem(problem, search=search, **own)


def _noted(order_by: OrderMaker, notes: tuple[str, ...]) -> OrderMaker:
    """Return ``order_by`` with further notes for readers of the result."""

    def made(deadline: Deadline, whole: WholeBall | None) -> Order:
        order = order_by(deadline, whole)
        return replace(order, notes=notes + order.notes)

    return made
